"""Strict reading of delimited text: Python's csv parser, fenced so that none of its leniencies can pass in silence.

csv with strict=True still keeps a quote inside an unquoted cell, lets a line end differ from row to row, and says of
an unclosed quote only where the file ended. Here every row that holds a quote must also match the grammar below
(RFC 4180), every row must end like the first, and a fault is placed on the line where the cell begins.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from dpicl_core.data.dataset import Delimiter
from dpicl_core.errors import DataError

DELIMITERS = (
    Delimiter(",", "comma"),
    Delimiter(";", "semicolon"),
    Delimiter("\t", "tab"),
    Delimiter("|", "pipe"),
)
CELL_LIMIT_CHARACTERS = 16 * 1024 * 1024
"""Longest cell that is read; a longer one is nearly always a quote that was never closed."""

_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
_ENDINGS = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}


class Row(NamedTuple):
    """One row of a table. line: where it starts, from 1; span: lines that it covers; cells: empty for a blank line."""

    line: int
    span: int
    cells: list[str]


def delimiter_called(name: str) -> Delimiter:
    """The delimiter with this character or this name. Raises DataError for any other."""
    for delimiter in DELIMITERS:
        if name in (delimiter.code, delimiter.words):
            return delimiter
    known = ", ".join(delimiter.words for delimiter in DELIMITERS)
    raise DataError(f"the delimiter must be one of {known}; save the file with one of them.")


def strict_rows(lines: Iterator[str], delimiter: Delimiter, lines_before: int = 0) -> Iterator[Row]:
    """Rows of a delimited text, exactly as RFC 4180 reads them.

    lines: with their line ends; lines_before: lines of the file that were taken off already.
    Raises DataError with line and column for stray or unclosed quotes, NUL characters, changing line ends, and cells
    over the limit.
    """
    csv.field_size_limit(CELL_LIMIT_CHARACTERS)
    tap = _Tap(lines, lines_before)
    reader = csv.reader(tap.feed(), delimiter=delimiter.code, quotechar='"', doublequote=True, strict=True)
    grammar = _grammar(delimiter.code)
    ending = ""
    while True:
        start = tap.taken + 1
        tap.pieces.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raise _fault("".join(tap.pieces), delimiter, start) from None
        pieces = tap.pieces
        raw = pieces[0] if len(pieces) == 1 else "".join(pieces)
        if '"' in raw and grammar.fullmatch(raw) is None:
            raise _fault(raw, delimiter, start)
        if not ending:
            ending = _ending(raw)
        elif not raw.endswith(ending) or (ending == "\n" and raw.endswith("\r\n")):
            _check_last(raw, ending, tap.taken, last=tap.exhausted())
        yield Row(start, len(pieces), cells)


class _Tap:
    """Passes lines on to csv, keeping those of the current row and counting all."""

    def __init__(self, lines: Iterator[str], lines_before: int) -> None:
        self._lines = lines
        self.taken = lines_before
        self.pieces: list[str] = []

    def feed(self) -> Iterator[str]:
        size = 0
        for line in self._lines:
            self.taken += 1
            if "\0" in line:
                raise DataError(
                    f"line {self.taken} holds a NUL character (character {line.index(chr(0)) + 1} of the line); the "
                    "file is damaged, or UTF-16 without its byte-order mark: save it again as UTF-8."
                )
            size = size + len(line) if self.pieces else len(line)
            if size > 2 * CELL_LIMIT_CHARACTERS:
                raise _too_long(self.taken - len(self.pieces))
            self.pieces.append(line)
            yield line

    def exhausted(self) -> bool:
        return next(self._lines, None) is None


def _grammar(delimiter: str) -> re.Pattern[str]:
    bare = re.escape(delimiter)
    cell = rf'(?:"(?:[^"]++|"")*+"|[^"{bare}\r\n]*+)'
    return re.compile(rf"{cell}(?:{bare}{cell})*+(?:\r\n|\n|\r)?")


def _ending(raw: str) -> str:
    return "\r\n" if raw.endswith("\r\n") else raw[-1] if raw[-1:] in ("\n", "\r") else ""


def _check_last(raw: str, ending: str, line: int, *, last: bool) -> None:
    found = _ending(raw)
    if not found and last:
        return
    raise DataError(
        f"line {line} ends with {_ENDINGS.get(found, 'nothing')}, but the first line with {_ENDINGS[ending]}; a line "
        "end inside a cell must stand in double quotes, and the others must be of one kind: save the file again."
    )


def _too_long(line: int) -> DataError:
    return DataError(
        f"the row on line {line} has a cell of over {CELL_LIMIT_CHARACTERS:,} characters; if a double quote opens "
        "there and is never closed, close it, otherwise shorten the cell."
    )


def _fault(raw: str, delimiter: Delimiter, first_line: int) -> DataError:
    """Name the first place where a row leaves the grammar; raw: all that was read of it."""
    bare = re.compile(rf'[^"{re.escape(delimiter.code)}\r\n]*+')
    position = 0
    column = 1
    while position < len(raw):
        line = first_line + _line_ends(raw[:position])
        place = f"line {line}, column {column}"
        quoted = raw[position] == '"'
        match = (_QUOTED if quoted else bare).match(raw, position)
        if match is None:
            if len(raw) > CELL_LIMIT_CHARACTERS:
                return _too_long(line)
            return DataError(
                f"{place}: a cell opens with a double quote that is never closed; close it, or write a quote that "
                'belongs to the text as "" inside a quoted cell.'
            )
        end = match.end()
        after = raw[end : end + 1]
        if after == delimiter.code:
            position, column = end + 1, column + 1
            continue
        if quoted and after and after not in "\r\n":
            closing = first_line + _line_ends(raw[:end])
            return DataError(
                f"{place}: the quoted cell that opens here is closed on line {closing} in the middle of text; a stray "
                f'double quote is likely: remove it, or write a quote that belongs to the text as "".'
            )
        if after == '"':
            return DataError(
                f"{place}: a double quote stands inside a cell that does not begin with one; put the whole cell in "
                'double quotes and write the quote as "".'
            )
        break
    if len(raw) > CELL_LIMIT_CHARACTERS:
        return _too_long(first_line)
    return DataError(f"the row on line {first_line} cannot be read as {delimiter.words}-separated text; save it again.")


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")
