"""A demo film from a browser test: an animated PNG of the journey, written where DPICL_FILM names a file."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

VARIABLE = "DPICL_FILM"
WIDTH, COLOURS = 960, 96
MILLISECONDS = 2600


@dataclass
class Film:
    """Frames in order; nothing is kept where no film was asked for."""

    path: Path | None
    frames: list[Image.Image] = field(default_factory=list)

    def take(self, page, *, top: str | None = None, milliseconds: int = MILLISECONDS) -> None:
        """One frame of what the page shows; top: an element that is scrolled to first."""
        if self.path is None:
            return
        if top is not None:
            page.locator(top).first.evaluate("element => element.scrollIntoView({block: 'center'})")
        page.mouse.move(0, 0)
        page.wait_for_timeout(700)
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        shot = shot.resize((WIDTH, round(shot.height * WIDTH / shot.width)), Image.Resampling.LANCZOS)
        frame = shot.quantize(COLOURS, dither=Image.Dither.NONE)
        frame.info["duration"] = milliseconds
        self.frames.append(frame)

    def write(self) -> None:
        """The film, where one was asked for."""
        if self.path is None or not self.frames:
            return
        first, *others = self.frames
        first.save(
            self.path,
            format="PNG",
            save_all=True,
            append_images=others,
            duration=[frame.info["duration"] for frame in self.frames],
            loop=0,
            optimize=True,
        )


def film_of(name: str) -> Film:
    """The film of that journey, where the variable names its file: FOLDER/NAME.png of a folder."""
    folder = os.environ.get(VARIABLE)
    return Film(Path(folder) / f"{name}.png" if folder else None)
