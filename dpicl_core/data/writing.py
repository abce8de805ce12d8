"""Writing CSV that no spreadsheet runs: cells that could start a formula are neutralised, the file appears whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpicl_core.errors import ExportError
from dpicl_core.files import write_atomically

# also the full-width forms, which some spreadsheets fold to the plain ones
_RISKY_STARTS = tuple("=+-@|%\t\r\n＝＋－＠")


def neutralise_cell(cell: str) -> str:
    """The cell with an apostrophe in front when a spreadsheet could take it for a formula, else unchanged."""
    risky = cell.startswith(_RISKY_STARTS) or cell.lstrip().startswith(_RISKY_STARTS)
    return f"'{cell}" if risky else cell


def write_neutralised_csv(path: Path | str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write neutralised_csv through a temporary file beside it and a rename.

    Raises ExportError as neutralised_csv does, or when the file cannot be written; then nothing is left behind and an
    older file of that name stays as it was.
    """
    write_atomically(Path(path), neutralised_csv(header, rows))


def neutralised_csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """UTF-8 CSV with every cell quoted and neutralised. Raises ExportError when a row has not the header's width."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL)
    writer.writerow([neutralise_cell(cell) for cell in header])
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ExportError(
                f"row {number} has {len(row)} cells where the header has {len(header)}; nothing was written."
            )
        writer.writerow([neutralise_cell(cell) for cell in row])
    try:
        return buffer.getvalue().encode()
    except UnicodeEncodeError:
        raise ExportError("a cell holds half of a surrogate pair, which UTF-8 lacks; nothing was written.") from None
