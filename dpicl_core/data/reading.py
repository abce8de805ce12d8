"""`read_dataset`: from a file or its bytes to a Dataset, exactly, or refused with one sentence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpicl_core.data.dataset import Dataset, Delimiter, DroppedRow, DropReason, Notice
from dpicl_core.data.delimited import Row
from dpicl_core.data.encodings import MAX_BYTES, open_source
from dpicl_core.data.header import ColumnChoice, choose_columns, columns_clause, header_notices, looks_like_names
from dpicl_core.data.identifiers import person_like_notices
from dpicl_core.data.suspicions import (
    first_line_notices,
    many_line_notices,
    repeated_header_notices,
    variant_notices,
)
from dpicl_core.data.table import Table, open_delimited
from dpicl_core.data.wording import counted, first_lines, is_blank, line_phrase
from dpicl_core.data.workbook import ZIP_MARK, open_workbook
from dpicl_core.errors import DataError
from dpicl_core.values import Example

_SAMPLED_ROWS = 20_000
_PROGRESS_ROWS = 4096
_FORMULA_STARTS = ("=", "+", "-", "@")


def read_dataset(
    source: Path | str | bytes,
    *,
    name: str = "",
    text_column: str | None = None,
    label_column: str | None = None,
    person_column: str | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Callable[[float], None] | None = None,
) -> Dataset:
    """Read a CSV or Excel table of private labelled texts.

    source: a path, or the bytes of an upload. name: shown for the table; default the file's name.
    text_column, label_column, person_column: names as in Dataset.columns; text and label are found by these names when
    not given; a person column is used only when given. sheet: of a workbook, default the first. delimiter: a character
    or its name, default decided from the header. max_bytes: size limit in bytes, checked before reading.
    progress: called with the share done, from 0 to 1.
    Raises DataError, with lines and columns but never a cell's text, for whatever is not certain.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(open_source(source if isinstance(source, bytes) else Path(source), max_bytes))
        if opened.head(4) == ZIP_MARK:
            table = stack.enter_context(open_workbook(opened, sheet, max_bytes))
        else:
            if sheet is not None:
                raise DataError("a sheet was named, but the file is not an Excel workbook; leave --sheet out.")
            wanted = [column for column in (text_column, label_column, person_column) if column is not None]
            table = open_delimited(opened, wanted, delimiter, progress)
        columns = choose_columns(
            table.cells,
            table.names,
            text=text_column,
            label=label_column,
            person=person_column,
            shown=lambda: columns_clause(
                table.cells,
                table.names,
                filter(None, (text_column or "text", label_column or "label", person_column)),
                lambda: table.open_rows(frozenset()),
            ),
        )
        found = _collect(table, columns, progress)
        default_name = "upload" if isinstance(source, bytes) else Path(source).name
        dataset = replace(_assemble(table, columns, found, name or default_name), content_sha256=opened.sha256())
    if progress is not None:
        progress(1.0)
    return dataset


@dataclass(slots=True)
class _Found:
    """What one walk over the rows gathers."""

    examples: list[Example] = field(default_factory=list, repr=False)
    lines: list[int] = field(default_factory=list)
    persons: list[str] = field(default_factory=list, repr=False)
    dropped: list[DroppedRow] = field(default_factory=list)
    blank_lines: list[int] = field(default_factory=list)
    header_lines: list[int] = field(default_factory=list)
    many_lines: list[tuple[int, list[str]]] = field(default_factory=list, repr=False)
    formulas: list[int] = field(default_factory=list)
    sample: list[list[str]] = field(default_factory=list, repr=False)
    label_names: dict[str, str] = field(default_factory=dict, repr=False)


def _collect(table: Table, columns: ColumnChoice, progress: Callable[[float], None] | None) -> _Found:
    found = _Found()
    header = list(table.cells)
    width = len(header)
    text_at, label_at, person_at = columns.text, columns.label, columns.person
    used = frozenset(columns.positions())
    spare = width > len(used)
    intern = found.label_names.setdefault
    person_names: dict[str, str] = {}
    for count, row in enumerate(table.open_rows(used)):
        if progress is not None and count % _PROGRESS_ROWS == 0:
            progress(table.fraction())
        cells = row.cells
        if not cells:
            found.blank_lines.append(row.line)
            continue
        if len(cells) != width:
            raise _ragged(row, width, table.delimiter)
        if cells == header:
            found.header_lines.append(row.line)
        text, label = cells[text_at], cells[label_at]
        person = None if person_at is None else cells[person_at]
        reason = _drop_reason(text, label, person)
        if reason is not None:
            found.dropped.append(DroppedRow(row.line, reason))
            continue
        if row.span > 1:
            found.many_lines.append((row.line, [cell for cell in cells if "\n" in cell or "\r" in cell]))
        if text.startswith(_FORMULA_STARTS) or label.startswith(_FORMULA_STARTS):
            found.formulas.append(row.line)
        # one string object per label and person: a million rows share them
        found.examples.append(Example(intern(label, label), text))
        found.lines.append(row.line)
        if person is not None:
            found.persons.append(person_names.setdefault(person, person))
        if spare and count < _SAMPLED_ROWS:
            found.sample.append([cell for at, cell in enumerate(cells) if at not in used])
    return found


def _drop_reason(text: str, label: str, person: str | None) -> DropReason | None:
    if is_blank(text):
        return DropReason.BLANK_TEXT_AND_LABEL if is_blank(label) else DropReason.BLANK_TEXT
    if is_blank(label):
        return DropReason.BLANK_LABEL
    return DropReason.BLANK_PERSON if person is not None and is_blank(person) else None


def _ragged(row: Row, width: int, delimiter: Delimiter) -> DataError:
    if len(row.cells) > width:
        advice = f"a cell that holds a {delimiter.words} must stand in double quotes"
    else:
        advice = "a cell that holds a line end must stand in double quotes, and no cell may be left out"
    place = f"line {row.line}" if row.span == 1 else f"the row on lines {row.line} to {row.line + row.span - 1}"
    return DataError(
        f"{place} has {counted(len(row.cells), 'cell')} where the header has {counted(width, 'column')}: column "
        f"{min(len(row.cells), width) + 1} is {'one too many' if len(row.cells) > width else 'missing'}; {advice}."
    )


def _assemble(table: Table, columns: ColumnChoice, found: _Found, name: str) -> Dataset:
    if not found.examples:
        if found.dropped:
            count = counted(len(found.dropped), "row")
            raise DataError(f"no row is left: {count} with a blank text, label or person; fill these cells in.")
        raise DataError("the file holds a header and no row; give at least one row.")
    used = frozenset(columns.positions())
    spare_names = [table.names[at] for at in range(len(table.names)) if at not in used]
    labels = [example.label for example in found.examples]
    notices = (
        *table.notices,
        *header_notices(table.cells, sorted(used)),
        *first_line_notices(table.cells, columns, labels),
        *repeated_header_notices(table.cells, columns, found.header_lines),
        *many_line_notices(found.many_lines, found.examples, columns.label, len(table.cells), table.delimiter),
        *_row_notices(found),
        *variant_notices(labels, found.lines, found.persons),
        *person_like_notices(spare_names, found.sample, show_names=looks_like_names(table.cells)),
    )
    return Dataset(
        name=name,
        examples=tuple(found.examples),
        lines=tuple(found.lines),
        persons=None if columns.person is None else tuple(found.persons),
        columns=table.names,
        text_column=table.names[columns.text],
        label_column=table.names[columns.label],
        person_column=None if columns.person is None else table.names[columns.person],
        encoding=table.encoding,
        delimiter=table.delimiter,
        dropped=tuple(found.dropped),
        notices=notices,
    )


def _row_notices(found: _Found) -> list[Notice]:
    notices = []
    if found.dropped:
        lines = [row.line for row in found.dropped]
        sentence = f"{counted(len(lines), 'row')} with a blank text, label or person left out: {line_phrase(lines)}."
        notices.append(Notice("dropped-rows", sentence, first_lines(lines), len(lines)))
    if found.blank_lines:
        lines = found.blank_lines
        sentence = f"{counted(len(lines), 'empty line')} skipped: {line_phrase(lines)}."
        notices.append(Notice("blank-lines", sentence, first_lines(lines), len(lines)))
    if found.formulas:
        lines = found.formulas
        sentence = (
            f"{counted(len(lines), 'row')} with a cell that a spreadsheet would run as a formula, kept as text and "
            f"made harmless in every CSV that is written: {line_phrase(lines)}."
        )
        notices.append(Notice("formula-cells", sentence, first_lines(lines), len(lines)))
    return notices
