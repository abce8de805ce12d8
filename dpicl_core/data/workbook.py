"""Excel workbooks (.xlsx) through openpyxl, read as text exactly as a person sees the cells, or refused."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from openpyxl import load_workbook
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.utils.escape import unescape

from dpicl_core.data.dataset import Delimiter, Encoding, Notice
from dpicl_core.data.delimited import Row
from dpicl_core.data.encodings import Source
from dpicl_core.data.header import name_columns
from dpicl_core.data.table import Table
from dpicl_core.data.wording import counted, is_blank, listed, shorten
from dpicl_core.errors import DataError

ZIP_MARK = b"PK\x03\x04"

_WORKBOOK = Encoding("xlsx", "Excel workbook", "")
_CELLS = Delimiter("", "workbook cells")
_MAX_ROWS = 1_048_576
_MAX_PARTS = 10_000
_CHUNK_BYTES = 1 << 20
_PLACE = re.compile(rb'<(?:\w+:)?(?:row|c)\s(?:[^>]*?\s)?r\s*=\s*["\']([A-Z]{0,3})(\d{1,7})["\']')
_SMALL_PART_BYTES = 10 * 1024 * 1024
_MAX_RATIO = 200
_PLAIN_FORMATS = ("General", "@", "0")
_MAX_PLAIN_DIGITS = 11
_BROKEN = "the file is not a workbook that can be read; open it in a spreadsheet program and save it as .xlsx or CSV."


@contextmanager
def open_workbook(source: Source, sheet: str | None, max_bytes: int) -> Iterator[Table]:
    """Open one sheet: the named one, or the first.

    max_bytes bounds the unpacked size too. Raises DataError for a file that is no workbook, unpacks to too much, or has
    no such sheet.
    """
    _check_archive(source, max_bytes)
    source.handle.seek(0)
    with warnings.catch_warnings():
        # openpyxl warns of parts that it ignores; some of its warnings quote cells
        warnings.filterwarnings("ignore", module="openpyxl")
        try:
            book = load_workbook(source.handle, read_only=True, data_only=False, rich_text=False)
        except Exception:
            raise DataError(_BROKEN) from None
        try:
            yield _open_sheet(book, sheet)
        finally:
            book.close()


def _open_sheet(book: Any, wanted: str | None) -> Table:
    sheets = list(book.worksheets)
    titles = [str(sheet.title) for sheet in sheets]
    if not sheets:
        raise DataError("the workbook has no sheet with cells; give one with a header row and at least one row.")
    if wanted is not None and wanted not in titles:
        shown = listed([shorten(title) for title in titles])
        raise DataError(f"the workbook has no sheet called {shorten(wanted)}; choose one of {shown}.")
    sheet = sheets[0 if wanted is None else titles.index(wanted)]
    expected = sheet.max_row or 0
    # the size that the file states may be false and would cut rows off
    sheet.reset_dimensions()
    reached = [0]

    def all_rows(columns: frozenset[int] | None, width: int | None) -> Iterator[Row]:
        for number, cells in enumerate(_cells(sheet), start=1):
            reached[0] = number
            if number > _MAX_ROWS:
                raise DataError(
                    f"the sheet has over {_MAX_ROWS:,} rows, the most that a workbook holds; it is damaged."
                )
            yield Row(number, 1, _texts(cells, number, columns, width))

    first = next(all_rows(None, None), None)
    header = [] if first is None else first.cells
    while header and is_blank(header[-1]):
        header.pop()
    if not header:
        raise DataError("row 1 of the sheet is empty; put the header on the first row.")
    if len(header) == 1:
        raise DataError("the sheet has one column only; a table needs a text and a label column: add the missing one.")

    def open_rows(columns: frozenset[int]) -> Iterator[Row]:
        rows = all_rows(columns, len(header))
        next(rows)
        yield from rows

    notices: tuple[Notice, ...] = ()
    if wanted is None and len(sheets) > 1:
        sentence = (
            f"The workbook has {counted(len(sheets), 'sheet')}; the first, {shorten(titles[0])}, was read and the "
            "others were not: name another with --sheet."
        )
        notices = (Notice("first-sheet", sentence, (), len(sheets) - 1),)
    return Table(
        cells=tuple(header),
        names=name_columns(header),
        encoding=_WORKBOOK,
        delimiter=_CELLS,
        open_rows=open_rows,
        fraction=lambda: min(1.0, reached[0] / expected) if expected else 0.5,
        notices=notices,
    )


def _cells(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Rows of openpyxl cells; what openpyxl stumbles over becomes one refusal without its text."""
    rows = iter(sheet.iter_rows())
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except Exception:
            raise DataError(_BROKEN) from None
        yield tuple(cells)


def _texts(cells: tuple[Any, ...], row: int, columns: frozenset[int] | None, width: int | None) -> list[str]:
    """Cells as text, of the header's width. columns: those in use, where only faithful text will do; None: all."""
    texts = []
    for position, cell in enumerate(cells):
        place = f"row {row}, column {position + 1} (cell {get_column_letter(position + 1)}{row})"
        strict = columns is None or position in columns
        texts.append(_text(cell, place) if strict else _loose_text(cell))
    if width is None:
        return texts
    if any(not is_blank(text) for text in texts[width:]):
        raise DataError(
            f"row {row} has a cell beyond the {width} columns of the header; name that column, or clear the cell."
        )
    texts = texts[:width] + [""] * (width - len(texts))
    return [] if all(text == "" for text in texts) else texts


def _text(cell: Any, place: str) -> str:
    """The text of a cell as its sheet shows it. Raises DataError where that is not certain."""
    value = cell.value
    kind = cell.data_type
    if value is None:
        return ""
    if isinstance(value, str) and kind in ("s", "inlineStr"):
        return str(unescape(value))
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if kind == "n" and isinstance(value, int | float):
        plain = _plain_number(value)
        whole = plain is not None and plain.lstrip("-").isdigit()
        if plain is not None and cell.number_format in _PLAIN_FORMATS and (whole or cell.number_format != "0"):
            return plain
        raise DataError(
            f"{place} shows a formatted number; change the column to plain text so that it is read as seen."
        )
    found = {"f": "a formula", "e": "an error value", "d": "a date"}.get(kind, "a value that is not text")
    raise DataError(f"{place} holds {found}; replace it by its text (copy, then paste as values in a text column).")


def _plain_number(value: int | float) -> str | None:
    """Digits as a General cell shows them, or None where the display would be rounded or scientific."""
    text = str(int(value)) if float(value).is_integer() else repr(value)
    digits = sum(character.isdigit() for character in text)
    return text if digits <= _MAX_PLAIN_DIGITS and "e" not in text else None


def _loose_text(cell: Any) -> str:
    return "" if cell.value is None else str(cell.value)


def _check_archive(source: Source, max_bytes: int) -> None:
    source.handle.seek(0)
    try:
        with zipfile.ZipFile(source.handle) as archive:
            parts = archive.infolist()
            names = {part.filename for part in parts}
            unpacked = sum(part.file_size for part in parts)
            bomb = any(
                part.file_size > _SMALL_PART_BYTES and part.file_size > _MAX_RATIO * max(part.compress_size, 1)
                for part in parts
            )
            if len(parts) > _MAX_PARTS or bomb:
                raise DataError("the workbook is packed like a decompression bomb; save it again, or export it as CSV.")
            if unpacked > max_bytes:
                raise DataError(
                    f"the workbook unpacks to {unpacked:,} bytes, over the limit of {max_bytes:,}; give a part of it, "
                    "or export it as CSV."
                )
            if "[Content_Types].xml" not in names or "xl/workbook.xml" not in names:
                raise DataError("the file is an archive, not a workbook; unpack it and give the CSV or .xlsx inside.")
            for part in parts:
                if part.filename.endswith((".xml", ".rels")):
                    with archive.open(part) as opened:
                        _check_part(opened, part.filename)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError):
        raise DataError(_BROKEN) from None


def _check_part(opened: IO[bytes], name: str) -> None:
    """Refuse what openpyxl would read wrong in silence.

    These are sheets whose rows or cells are out of order (it drops them), and shared strings with an escaped underscore
    (it removes the escape, so that a literal _x000D_ can no longer be told from a line end).
    """
    before = b""
    reached = (0, 0)
    is_sheet = False
    while chunk := opened.read(_CHUNK_BYTES):
        data = before + chunk
        if b"\x00" in chunk or (not before and b"<!DOCTYPE" in data[:4096]):
            raise DataError(_BROKEN)  # NUL: UTF-16, in which no tag would be found below
        if name.endswith("sharedStrings.xml") and b"x005F_" in data:
            raise DataError(
                'the workbook holds escaped text ("_x005F_") that is not read for certain; export it as CSV.'
            )
        # the last tag may go on in the next chunk
        end = max(data.rfind(b"<"), 0)
        is_sheet = is_sheet or b"sheetData" in data  # wherever the archive keeps it
        if is_sheet:
            reached = _place_reached(data[:end], reached)
        before = data[end:] or b" "


def _place_reached(xml: bytes, reached: tuple[int, int]) -> tuple[int, int]:
    """The last (row, column) of a piece of a sheet; each must come after the one before, and cells in their row."""
    for match in _PLACE.finditer(xml):
        column, row = match[1].decode(), int(match[2])
        place = (row, column_index_from_string(column) if column else 0)
        if place <= reached or (column and row != reached[0]):
            raise DataError(f"the sheet has rows or cells out of order near row {row}; save it again.")
        reached = place
    return reached
