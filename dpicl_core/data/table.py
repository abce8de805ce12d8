"""A table opened but not yet read: the one shape that text files and workbooks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from dpicl_core.data.dataset import Delimiter, Encoding, Notice
from dpicl_core.data.delimited import Row, strict_rows
from dpicl_core.data.encodings import Source, detect_encoding
from dpicl_core.data.header import find_layout, name_columns

_DETECTION_SHARE = 0.1
"""Share of the progress bar that checking the encoding takes."""


@dataclass(frozen=True, slots=True)
class Table:
    """cells: the header as written; names: unique names of the columns.

    open_rows: walks the rows below the header afresh, given the positions of the columns in use (a workbook checks the
    kinds of their cells); one walk at a time. fraction: how far that walk is, from 0 to 1.
    """

    cells: tuple[str, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    encoding: Encoding
    delimiter: Delimiter
    open_rows: Callable[[frozenset[int]], Iterator[Row]] = field(repr=False)
    fraction: Callable[[], float] = field(repr=False)
    notices: tuple[Notice, ...] = ()


def open_delimited(
    source: Source, wanted: Sequence[str], delimiter: str | None, progress: Callable[[float], None] | None
) -> Table:
    """Open a text table. Raises DataError as detect_encoding and find_layout do."""

    def checked(fraction: float) -> None:
        if progress is not None:
            progress(_DETECTION_SHARE * fraction)

    encoding = detect_encoding(source, checked)
    layout = find_layout(lambda: source.lines(encoding), wanted, delimiter)

    def open_rows(_columns: frozenset[int]) -> Iterator[Row]:
        with source.lines(encoding) as lines:
            list(islice(lines, layout.skipped))
            rows = strict_rows(lines, layout.delimiter, layout.skipped)
            next(rows)
            yield from rows

    notices: tuple[Notice, ...] = ()
    if encoding.code == "windows-1252":
        sentence = (
            "The bytes are not UTF-8 and were read as Windows-1252; look at accented letters and currency signs before "
            "going on."
        )
        notices = (Notice("windows-1252", sentence),)
    return Table(
        cells=layout.cells,
        names=name_columns(layout.cells),
        encoding=encoding,
        delimiter=layout.delimiter,
        open_rows=open_rows,
        fraction=lambda: _DETECTION_SHARE + (1 - _DETECTION_SHARE) * source.fraction(),
        notices=notices,
    )
