"""Small pure functions on text: flattening for prompts, and the phrases that messages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_GAPS = re.compile(r"[ \x00-\x1f\x7f-\x9f]+")

SHOWN_LINES = 20
"""Line numbers that one message or notice names at most."""


def flatten_text(text: str) -> str:
    """One line for a prompt: every run of blanks, line ends and control characters becomes one space.

    Blanks at both ends go. Letters, marks, emoji and their order stay as they are.
    """
    flat = " ".join(text.split())
    # isprintable is quick and rarely False; only then can a control character be left
    return flat if flat.isprintable() else _GAPS.sub(" ", flat).strip()


def is_blank(cell: str) -> bool:
    """Whether a cell holds nothing but white space."""
    return not cell or cell.isspace()


def shorten(name: str, limit: int = 40) -> str:
    """A column, label or sheet name for a message: one line of at most `limit` characters."""
    flat = flatten_text(name)
    return flat if len(flat) <= limit else flat[: limit - 3].rstrip() + "..."


def counted(number: int, noun: str) -> str:
    """`1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(words: Sequence[str], limit: int = 20) -> str:
    """Words as a phrase: `a, b and c`, with the number of those left out."""
    shown = list(words[:limit])
    rest = len(words) - len(shown)
    if rest:
        shown.append(f"{rest:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def line_phrase(lines: Sequence[int], total: int | None = None) -> str:
    """`line 4`, `lines 4, 9 and 12`, `lines 1, 2, ... and 30 more`; total: where `lines` holds the first of many."""
    total = len(lines) if total is None else total
    shown = [str(line) for line in lines[:SHOWN_LINES]]
    if total > len(shown):
        shown.append(f"{total - len(shown):,} more")
    return f"{'line' if total == 1 else 'lines'} {listed(shown, SHOWN_LINES + 1)}"


def first_lines(lines: Iterable[int]) -> tuple[int, ...]:
    """The line numbers that a notice keeps."""
    kept: list[int] = []
    for line in lines:
        kept.append(line)
        if len(kept) == SHOWN_LINES:
            break
    return tuple(kept)
