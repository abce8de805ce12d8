"""Does a released text repeat what stands in the private table? Word runs, duplicates, personal data.

Compared without case and punctuation. Common phrases stand in any table of a kind: the same measures against a table
that was never used say how much of it is chance.
Library: rapidfuzz (MIT) for near duplicates; comparing one text with 100,000 rows takes about a second, so no index of
hashes is needed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz, process

from dpicl_core.specs import require
from dpicl_core.values import Example
from dpicl_core.vetting.personal_data import personal_data

NEAR_DUPLICATE_PERCENT = 85.0
"""Share of letters in common, in order (normalised Indel similarity), from which two texts count as one."""

SHORTEST_PASSAGE = 4
"""Letters and digits below which a passage that looks like personal data is too short to be found by chance alone."""

Progress = Callable[[str, float], None]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SharedRun:
    """The longest run of words that a text shares with one row. words: its length. span: where it stands in the text,
    in characters. rows: how many rows hold a run of this length. row: index of the first of them, None without any."""

    words: int
    span: tuple[int, int] = field(repr=False)
    rows: int
    row: int | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SharedPassage:
    """Something in the text that looks like personal data and stands in the table. what: in words, with its article."""

    what: str
    span: tuple[int, int] = field(repr=False)
    rows: int


@dataclass(frozen=True, slots=True)
class TextLeakage:
    """What one text shares with a table. words: of the text. near_duplicates: rows at NEAR_DUPLICATE_PERCENT or more,
    exact ones included; likeness: of the most similar row, in percent."""

    words: int
    longest_run: SharedRun
    exact_duplicates: int
    near_duplicates: int
    likeness: float
    passages: tuple[SharedPassage, ...]


def leakage(
    texts: Sequence[str],
    rows: Sequence[Example],
    *,
    near_percent: float = NEAR_DUPLICATE_PERCENT,
    progress: Progress | None = None,
) -> tuple[TextLeakage, ...]:
    """Each text against all rows. Raises ConfigError for a percentage outside 0 to 100."""
    require(
        0 < near_percent <= 100,
        f"near duplicates need a percentage above 0 and at most 100, but it is {near_percent:g}; usual is 85.",
    )
    words_of_rows = [words_of(row.text) for row in rows]
    normal_rows = [" ".join(words) for words in words_of_rows]
    found = []
    for number, text in enumerate(texts):
        if progress is not None:
            progress("comparing texts with rows", number / max(len(texts), 1))
        normal = " ".join(words_of(text))
        alike = process.cdist([normal], normal_rows, scorer=fuzz.ratio, dtype=float)[0] if normal and rows else []
        found.append(
            TextLeakage(
                words=len(words_of(text)),
                longest_run=longest_shared_run(text, words_of_rows),
                exact_duplicates=sum(normal == other for other in normal_rows) if normal else 0,
                near_duplicates=int(sum(value >= near_percent for value in alike)),
                likeness=float(max(alike, default=0.0)),
                passages=shared_passages(text, normal_rows),
            )
        )
    return tuple(found)


def words_of(text: str) -> list[str]:
    """The words of a text without case and punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def longest_shared_run(text: str, words_of_rows: Iterable[Sequence[str]]) -> SharedRun:
    """The longest run of words that the text shares with a row; its first place in the text where there are several."""
    matches = list(_WORD.finditer(text))
    places: dict[str, list[int]] = defaultdict(list)
    for place, match in enumerate(matches):
        places[match.group().casefold()].append(place)
    best, end, first, count = 0, 0, None, 0
    for row, words in enumerate(words_of_rows):
        length, ends_at = _longest_common_run(places, words)
        if length > best:
            best, end, first, count = length, ends_at, row, 0
        count += length == best and best > 0
    if best == 0:
        return SharedRun(0, (0, 0), 0, None)
    return SharedRun(best, (matches[end - best + 1].start(), matches[end].end()), count, first)


def shared_passages(text: str, normal_rows: Sequence[str]) -> tuple[SharedPassage, ...]:
    """Passages that look like personal data and stand in a row, letters and digits compared alone."""
    found = []
    squeezed: list[str] | None = None
    for match in personal_data(text):
        passage = _squeezed(text[slice(*match.span)])
        if len(passage) < SHORTEST_PASSAGE:
            continue
        squeezed = [_squeezed(row) for row in normal_rows] if squeezed is None else squeezed
        rows = sum(passage in row for row in squeezed)
        if rows:
            found.append(SharedPassage(match.what, match.span, rows))
    return tuple(found)


def _longest_common_run(places: dict[str, list[int]], words: Sequence[str]) -> tuple[int, int]:
    """Length of the longest run, and the place in the text where it ends. Runs that end at each place, word by word."""
    best, end = 0, 0
    running: dict[int, int] = {}
    for word in words:
        running = {place: running.get(place - 1, 0) + 1 for place in places.get(word, ())}
        for place, length in running.items():
            if length > best:
                best, end = length, place
    return best, end


def _squeezed(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
