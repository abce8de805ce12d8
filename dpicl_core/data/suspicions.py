"""What a well-formed table may still hide: a first line that is data, rows inside a quoted cell, two spellings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence

from dpicl_core.data.dataset import Delimiter, Level, Notice
from dpicl_core.data.header import ColumnChoice, looks_like_names
from dpicl_core.data.wording import counted, first_lines, flatten_text, line_phrase
from dpicl_core.errors import DataError
from dpicl_core.values import Example

_STYLE_ROWS = 1000
_LINE_ENDS = re.compile(r"\r\n|\n|\r")


def first_line_notices(cells: Sequence[str], columns: ColumnChoice, labels: Sequence[str]) -> list[Notice]:
    """Whether the header is really a row: its label stands again below, or its text reads like a text.

    Raises DataError when its label stands again more than once and its text is a sentence.
    """
    repeats = labels.count(cells[columns.label])
    text = cells[columns.text]
    if repeats > 1 and _is_sentence(text):
        raise DataError(
            f"the first line looks like data: its label stands again in {counted(repeats, 'row')} and its text does "
            "not read like a column name; add a header line, or rename the columns."
        )
    if not repeats and looks_like_names([text]):
        return []
    why = f"its label stands again in {counted(repeats, 'row')}" if repeats else "its text cell reads like a text"
    sentence = f"The first line was taken as the header, but {why}; if it is a row, add a header line."
    return [Notice("first-line", sentence, (1,), 1, Level.WARNING)]


def repeated_header_notices(cells: Sequence[str], columns: ColumnChoice, lines: Sequence[int]) -> list[Notice]:
    """Rows equal to the header, as when files are joined.

    Raises DataError when the columns are really called text or label; with other names the row may be meant, and is
    kept with a warning.
    """
    if not lines:
        return []
    if cells[columns.text].strip().casefold() == "text" or cells[columns.label].strip().casefold() == "label":
        verb = "repeats" if len(lines) == 1 else "repeat"
        raise DataError(f"{line_phrase(lines)} {verb} the header, as when files are joined; delete what is repeated.")
    sentence = (
        f"{counted(len(lines), 'row')} equal to the header, as when files are joined, kept as read; delete the line if "
        f"it is a header: {line_phrase(lines)}."
    )
    return [Notice("header-again", sentence, first_lines(lines), len(lines), Level.WARNING)]


def many_line_notices(
    found: Sequence[tuple[int, Sequence[str]]],
    examples: Sequence[Example],
    label_at: int,
    width: int,
    delimiter: Delimiter,
) -> list[Notice]:
    """Cells over several lines whose inner lines would be rows of their own.

    Two stray quotes, one row apart or a thousand, make a well-formed cell out of all that lies between. Its inner lines
    then have as many cells as the header, and a label that other rows have.
    found: (line where the row starts, its cells that hold line ends).
    Raises DataError with the line when such a cell is met.
    """
    known = {example.label for example in examples}
    padded = _cells_begin_blank(examples[:_STYLE_ROWS])
    likely: list[int] = []
    for line, cells in found:
        inner = [part for cell in cells for part in _LINE_ENDS.split(cell)[1:]]
        rows = [
            parts for parts in (part.split(delimiter.code) for part in inner) if _could_be_row(parts, width, padded)
        ]
        if any(parts[label_at] in known for parts in rows):
            raise DataError(
                f"line {line} opens a quoted cell whose further lines look like rows of the table, so a stray double "
                "quote has probably merged them; remove it, or write the cell on one line if it is right."
            )
        if rows and len(rows) == len([part for part in inner if part]):
            likely.append(line)
    if not likely:
        return []
    sentence = (
        f"{counted(len(likely), 'row')} with a cell over several lines that could be rows of their own; look for a "
        f"stray double quote: {line_phrase(likely)}."
    )
    return [Notice("rows-inside-cell", sentence, first_lines(likely), len(likely), Level.WARNING)]


def variant_notices(labels: Sequence[str], lines: Sequence[int], persons: Sequence[str]) -> list[Notice]:
    """Labels with blanks around them; labels, and persons, that differ in case, blanks or Unicode form only."""
    notices = []
    padded = {label for label in set(labels) if label != label.strip()}
    if padded:
        at = [line for label, line in zip(labels, lines, strict=True) if label in padded]
        sentence = f"{counted(len(at), 'row')} with blanks around the label, kept byte for byte: {line_phrase(at)}."
        notices.append(Notice("padded-labels", sentence, first_lines(at), len(at)))
    rarer = _rarer_spellings(labels)
    if rarer:
        at = [line for label, line in zip(labels, lines, strict=True) if label in rarer]
        sentence = (
            f"{counted(len(rarer), 'label')} differing from another one in case, blanks or accents' coding only, kept "
            f"apart; merge them if they mean the same: {line_phrase(at)}."
        )
        notices.append(Notice("label-spellings", sentence, first_lines(at), len(rarer), Level.WARNING))
    rarer = _rarer_spellings(persons)
    if rarer:
        at = [line for person, line in zip(persons, lines, strict=True) if person in rarer]
        sentence = (
            f"{counted(len(rarer), 'person')} differing from another one in case, blanks or accents' coding only; two "
            f"spellings of one person are protected as two persons, so make them equal: {line_phrase(at)}."
        )
        notices.append(Notice("person-spellings", sentence, first_lines(at), len(rarer), Level.WARNING))
    return notices


def _is_sentence(text: str) -> bool:
    words = len(text.split())
    return words > 4 or (words > 1 and text.rstrip().endswith((".", "!", "?")))


def _could_be_row(parts: Sequence[str], width: int, padded: bool) -> bool:
    # prose has a blank after its commas; cells begin with one only where the whole table is written so
    return len(parts) == width and (padded or all(part and not part[0].isspace() for part in parts[1:]))


def _cells_begin_blank(examples: Sequence[Example]) -> bool:
    blank = sum(example.text[0].isspace() or example.label[0].isspace() for example in examples)
    return 2 * blank > len(examples)


def _rarer_spellings(values: Sequence[str]) -> set[str]:
    """Values that equal a more frequent one after folding; the most frequent spelling of each is left out."""
    groups: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for value, count in Counter(values).items():
        folded = flatten_text(unicodedata.normalize("NFKC", value)).casefold()
        groups[folded].append((count, value))
    return {value for group in groups.values() if len(group) > 1 for _, value in sorted(group)[:-1]}
