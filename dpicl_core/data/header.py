"""The header line: which delimiter it shows, what its columns are called, and whether it is a header at all.

A first line that is really data holds private text. So column names are shown in a message only where the line looks
like names and none of its cells stands again below in its own column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

from dpicl_core.data.dataset import Delimiter, Level, Notice
from dpicl_core.data.delimited import DELIMITERS, Row, delimiter_called, strict_rows
from dpicl_core.data.wording import is_blank, listed, shorten
from dpicl_core.errors import ColumnsNotFoundError, DataError

OpenLines = Callable[[], AbstractContextManager[Iterator[str]]]

_SEPARATOR_LINE = re.compile(r"sep=(.)(?:\r\n|\n|\r)?", re.IGNORECASE)
_NOT_A_NAME = re.compile(r"[.!?…]\s*$|[\r\n]|@|://|[.!?] [A-Z]|\d{3}|^[\s\d.,:/+-]+$")
_NAME_CHARACTERS = 40
_NAME_WORDS = 5
_ROWS_COMPARED = 50_000


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text table is cut. cells: the header as written; line: where it stands; skipped: lines before it."""

    delimiter: Delimiter
    cells: tuple[str, ...]
    line: int
    skipped: int


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """Positions, from 0, of the columns in use."""

    text: int
    label: int
    person: int | None

    def positions(self) -> tuple[int, ...]:
        """All positions in use."""
        return tuple(at for at in (self.text, self.label, self.person) if at is not None)


def find_layout(open_lines: OpenLines, wanted: Sequence[str], delimiter: str | None = None) -> Layout:
    """Decide the delimiter from the header alone, by rule.

    A delimiter is possible when it cuts the header into two cells or more. Where several are, the column names settle
    it: wanted, or text and label. Nothing is decided by counting in the rows, where prose misleads.
    Raises DataError when the file has one column only, or two delimiters remain possible.
    """
    separator = _separator_line(open_lines)
    skipped = 0 if separator is None else 1
    fixed = delimiter if delimiter is not None else separator
    tried = DELIMITERS if fixed is None else (delimiter_called(fixed),)
    possible: list[Layout] = []
    fault: DataError | None = None
    seen_one_column = False
    for candidate in tried:
        try:
            row = _header_row(open_lines, candidate, skipped)
        except DataError as error:
            fault = fault or error
            continue
        if len(row.cells) > 1:
            possible.append(Layout(candidate, tuple(row.cells), row.line, skipped))
        else:
            seen_one_column = True
    if not possible:
        if fault is not None and not seen_one_column:
            raise fault
        raise DataError(
            f"the header on line {skipped + 1} has one column only (tried {listed([d.words for d in tried])}); a table "
            "needs a text and a label column: add the missing one, or save the file with another delimiter."
        )
    if len(possible) > 1:
        named = [layout for layout in possible if _holds(layout.cells, wanted or ("text", "label"))]
        possible = named if len(named) == 1 else possible
    if len(possible) > 1:
        raise DataError(
            f"the header can be cut at {' or at '.join(layout.delimiter.words for layout in possible)}; name the "
            'delimiter, or put a first line such as "sep=;" into the file.'
        )
    return possible[0]


def name_columns(cells: Sequence[str]) -> tuple[str, ...]:
    """Unique column names: a blank one becomes `column 3`, the second `label` becomes `label#2`.

    Raises DataError when all are blank, or a made-up name is already taken.
    """
    if all(is_blank(cell) for cell in cells):
        raise DataError("the first line holds no column name; put the header on the first line of the file.")
    seen: Counter[str] = Counter()
    names: list[str] = []
    for position, cell in enumerate(cells, start=1):
        name = f"column {position}" if is_blank(cell) else cell
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    by_position = {f"column {position}" for position, cell in enumerate(cells, start=1) if is_blank(cell)}
    if len(set(names)) < len(names) or not by_position.isdisjoint(cells):
        raise DataError(
            'the header uses names that end in "#2" or read "column 1", which stand for repeated and blank names '
            "here; rename those columns."
        )
    return tuple(names)


def header_notices(cells: Sequence[str], chosen: Iterable[int]) -> list[Notice]:
    """Blank and repeated column names, as far as they matter."""
    notices = []
    blank = [position for position, cell in enumerate(cells, start=1) if is_blank(cell)]
    if blank:
        numbers = listed([str(position) for position in blank])
        notices.append(
            Notice("blank-header", f"Column {numbers} has no name and is called by its position.", (), len(blank))
        )
    repeated = [position for position in chosen if cells.count(cells[position]) > 1]
    if repeated:
        notices.append(
            Notice(
                "repeated-header",
                f"Column {repeated[0] + 1} was taken, but {cells.count(cells[repeated[0]])} columns have its name; "
                "add #2 to a name for the second.",
                (),
                len(repeated),
                Level.WARNING,
            )
        )
    return notices


def choose_columns(
    cells: Sequence[str],
    names: Sequence[str],
    *,
    text: str | None,
    label: str | None,
    person: str | None,
    shown: Callable[[], str],
) -> ColumnChoice:
    """Positions of the text, label and person columns.

    Columns that are not named by the caller must be called text and label (in any case); of exactly two columns, one
    such name settles the other. shown: a clause that lists the columns, asked for only when a message needs it.
    Raises DataError when a column is missing, ambiguous or used twice.
    """
    person_at = None if person is None else _position(names, person, "person", shown)
    text_at = _given_or_default(cells, names, text, "text", shown)
    label_at = _given_or_default(cells, names, label, "label", shown)
    if len(cells) == 2 and person_at is None and (text_at is None) != (label_at is None):
        text_at = 1 - label_at if text_at is None and label_at is not None else text_at
        label_at = 1 - text_at if label_at is None and text_at is not None else label_at
    missing = [kind for kind, at in (("text", text_at), ("label", label_at)) if at is None]
    if text_at is None or label_at is None:
        options = " and ".join(f"--{kind}-column" for kind in missing)
        raise ColumnsNotFoundError(
            f"no column is called {' or '.join(missing)}; choose the {' and the '.join(missing)} column ({options}); "
            f"{shown()}.",
            tuple(names),
        )
    if len({text_at, label_at, person_at}) < 3:
        raise DataError(f"one column cannot be two of text, label and person; choose different ones; {shown()}.")
    return ColumnChoice(text_at, label_at, person_at)


def looks_like_names(cells: Sequence[str]) -> bool:
    """Whether every cell could be a column's name: short, few words, no sentence, long number or address."""
    return all(
        len(cell) <= _NAME_CHARACTERS and len(cell.split()) <= _NAME_WORDS and not _NOT_A_NAME.search(cell)
        for cell in cells
    )


def recurs_below(cells: Sequence[str], rows: Iterator[Row]) -> bool:
    """Whether a cell of the first line stands again in its own column, as a label of a data row would.

    Rows that cannot be read, or are ragged, cannot clear the first line either.
    """
    try:
        return any(
            (row.cells and len(row.cells) != len(cells))
            or any(above == below and not is_blank(above) for above, below in zip(cells, row.cells, strict=False))
            for row in islice(rows, _ROWS_COMPARED)
        )
    except DataError:
        return True


def columns_clause(
    cells: Sequence[str], names: Sequence[str], wanted: Iterable[str], open_rows: Callable[[], Iterator[Row]]
) -> str:
    """`the columns are: a, b`, or why they are not shown: a file without a header line begins with a row.

    wanted: names that were asked for. Where not one of them is there, nothing proves that the line is a header, and a
    short row ("Anna Kowalska, positive") looks like names.
    """
    present = {_folded(name) for name in names}
    if not any(_folded(name) in present for name in wanted):
        return (
            f"the {len(cells)} cells of the first line are not shown, because none has a name that was asked for and "
            "they may be a row: add a header line if there is none"
        )
    if looks_like_names(cells) and not recurs_below(cells, open_rows()):
        return f"the columns are: {', '.join(shorten(name) for name in names[:30])}"
    return (
        f"the {len(cells)} cells of the first line look like data, not like column names, so they are not shown: add a "
        "header line if there is none"
    )


def _separator_line(open_lines: OpenLines) -> str | None:
    with open_lines() as lines:
        match = _SEPARATOR_LINE.fullmatch(next(lines, ""))
    return match[1] if match else None


def _header_row(open_lines: OpenLines, delimiter: Delimiter, skipped: int) -> Row:
    with open_lines() as lines:
        for _ in range(skipped):
            next(lines, None)
        row = next(strict_rows(lines, delimiter, skipped), None)
    if row is None:
        raise DataError("the file holds no header line; give a table with a header and at least one row.")
    if not row.cells:
        raise DataError(f"line {row.line} is blank; put the header on the first line of the file.")
    return row


def _holds(cells: Sequence[str], wanted: Iterable[str]) -> bool:
    folded = {_folded(name) for name in name_columns(cells)}
    return all(_folded(name) in folded for name in wanted)


def _folded(name: str) -> str:
    return name.strip().casefold()


def _position(names: Sequence[str], wanted: str, kind: str, shown: Callable[[], str]) -> int:
    if wanted in names:
        return names.index(wanted)
    close = [position for position, name in enumerate(names) if _folded(name) == _folded(wanted)]
    if len(close) == 1:
        return close[0]
    problem = "there is no" if not close else f"{len(close)} columns could be the"
    raise DataError(f"{problem} {kind} column called {shorten(wanted)}; choose another; {shown()}.")


def _given_or_default(
    cells: Sequence[str], names: Sequence[str], given: str | None, default: str, shown: Callable[[], str]
) -> int | None:
    if given is not None:
        return _position(names, given, default, shown)
    found = [position for position, cell in enumerate(cells) if _folded(cell) == default]
    if len(found) > 1:
        raise DataError(
            f"{len(found)} columns are called {default}; choose one of "
            f"{' or '.join(shorten(names[position]) for position in found)} (--{default}-column)."
        )
    return found[0] if found else None
