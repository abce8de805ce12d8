"""From a file or bytes to characters: size first, then a byte-order mark, strict UTF-8, or strict Windows-1252."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import BinaryIO

from dpicl_core.data.dataset import Encoding
from dpicl_core.errors import DataError

MAX_BYTES = 512 * 1024 * 1024
"""Default size limit of a file, in bytes."""

_CHUNK_BYTES = 1 << 20
_CHANGED = "the file was changed while it was read; read it again."
_UTF8 = Encoding("utf-8", "UTF-8 (no byte-order mark)", "utf-8")
_WINDOWS_1252 = Encoding("windows-1252", "Windows-1252 (Western European)", "cp1252")
_MARKED = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, Encoding("utf-32-le", "UTF-32 little-endian (byte-order mark)", "utf-32-le", 4)),
    (codecs.BOM_UTF32_BE, Encoding("utf-32-be", "UTF-32 big-endian (byte-order mark)", "utf-32-be", 4)),
    (codecs.BOM_UTF8, Encoding("utf-8-sig", "UTF-8 (byte-order mark)", "utf-8", 3)),
    (codecs.BOM_UTF16_LE, Encoding("utf-16-le", "UTF-16 little-endian (byte-order mark)", "utf-16-le", 2)),
    (codecs.BOM_UTF16_BE, Encoding("utf-16-be", "UTF-16 big-endian (byte-order mark)", "utf-16-be", 2)),
)
_NOT_IN_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_OTHER_KINDS = (
    (b"\xd0\xcf\x11\xe0", "an old or password-protected Office file; save it as .xlsx without a password, or as CSV"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"PAR1", "a Parquet file; export it as CSV"),
    (b"%PDF", "a PDF; export the table as CSV"),
    (b"SQLite format 3", "an SQLite database; export the table as CSV"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """An open table. handle: at any position; size: in bytes."""

    handle: BinaryIO
    size: int

    def head(self, length: int) -> bytes:
        """The first bytes."""
        self.handle.seek(0)
        return self.handle.read(length)

    def sha256(self) -> str:
        """Of all bytes, hexadecimal; a third of a second for 300 MB."""
        self.handle.seek(0)
        found = hashlib.sha256()
        while chunk := self.handle.read(_CHUNK_BYTES):
            found.update(chunk)
        return found.hexdigest()

    def fraction(self) -> float:
        """How far the handle has been read, from 0 to 1."""
        return min(1.0, self.handle.tell() / self.size) if self.size else 1.0

    @contextmanager
    def lines(self, encoding: Encoding) -> Iterator[Iterator[str]]:
        """All lines with their own line ends (LF, CRLF or CR), from the start; one such walk at a time."""
        self.handle.seek(encoding.mark_bytes)
        text = TextIOWrapper(self.handle, encoding=encoding.codec, errors="strict", newline="")
        try:
            yield iter(text)
        except UnicodeDecodeError:
            # every byte was checked before, and the error object holds private bytes
            raise DataError(_CHANGED) from None
        finally:
            text.detach()


@contextmanager
def open_source(source: Path | bytes, max_bytes: int) -> Iterator[Source]:
    """Open a file or bytes, after checking the size.

    Raises DataError when there is no such file, it is empty, over max_bytes, of another kind, or changed meanwhile.
    """
    if isinstance(source, bytes):
        _check_size(len(source), max_bytes)
        opened = Source(BytesIO(source), len(source))
        _check_kind(opened)
        yield opened
        return
    try:
        handle = source.open("rb")
    except IsADirectoryError:
        raise DataError(f"{source} is a folder; give a CSV or Excel file.") from None
    except OSError as error:
        raise DataError(f"cannot open {source}: {error.strerror}; check the path and the permission.") from None
    with handle:
        before = os.fstat(handle.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise DataError(f"{source} is not a regular file; save the table to a file first.")
        _check_size(before.st_size, max_bytes)
        opened = Source(handle, before.st_size)
        _check_kind(opened)
        yield opened
        after = os.fstat(handle.fileno())
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise DataError(_CHANGED)


def detect_encoding(source: Source, progress: Callable[[float], None] | None = None) -> Encoding:
    """The encoding of a text table, decided by rule and verified on every byte.

    progress: called with the share of the file that was looked at, from 0 to 1.
    Raises DataError with the byte position (counted from 1) when no rule fits.
    """
    head = source.head(4)
    marked = next((encoding for mark, encoding in _MARKED if head.startswith(mark)), None)
    encoding = marked or _UTF8
    fault = _first_fault(source, encoding, progress)
    if fault is None:
        return encoding
    if marked is not None:
        raise DataError(
            f"the byte-order mark says {marked.words.split(' (')[0]}, but byte {fault + 1} does not fit it; "
            "the file is damaged or cut short: save it again as UTF-8."
        )
    undefined = _first_undefined(source)
    if undefined is not None:
        raise DataError(
            f"the bytes are neither UTF-8 (byte {fault + 1} does not fit) nor Windows-1252 (byte {undefined + 1}, "
            f"on line {_line_of(source, undefined)}, is undefined there); save the file again as UTF-8."
        )
    good, bad = _utf8_sequences(source)
    if good > 1 and good > bad:
        raise DataError(
            f"the file is UTF-8 in {good:,} places, but byte {fault + 1} on line {_line_of(source, fault)} does not "
            "fit; it is damaged, cut short or joined from files of two encodings: save it again as UTF-8."
        )
    return _WINDOWS_1252


def _check_size(size: int, max_bytes: int) -> None:
    if size == 0:
        raise DataError("the file is empty (0 bytes); give a table with a header line and at least one row.")
    if size > max_bytes:
        raise DataError(
            f"the file has {size:,} bytes, over the limit of {max_bytes:,}; give a part of it, or raise the limit."
        )


def _check_kind(source: Source) -> None:
    head = source.head(16)
    for signature, advice in _OTHER_KINDS:
        if head.startswith(signature):
            raise DataError(f"the file is not a text table but {advice}.")


def _chunks(source: Source, start: int) -> Iterator[bytes]:
    source.handle.seek(start)
    while source.handle.tell() <= source.size and (chunk := source.handle.read(_CHUNK_BYTES)):
        # a file that grows faster than it is read would never end; the change itself is refused on closing
        yield chunk


def _first_fault(source: Source, encoding: Encoding, progress: Callable[[float], None] | None) -> int | None:
    """Offset of the first byte that the codec refuses, from 0, or None."""
    decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
    offset = encoding.mark_bytes
    pending = 0
    try:
        for chunk in _chunks(source, offset):
            decoder.decode(chunk)
            offset += len(chunk)
            pending = len(decoder.getstate()[0])
            if progress is not None:
                progress(source.fraction())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # the error object holds private bytes: keep its position, drop the rest
        return offset - pending + error.start
    return None


def _first_undefined(source: Source) -> int | None:
    offset = 0
    for chunk in _chunks(source, 0):
        match = _NOT_IN_1252.search(chunk)
        if match is not None:
            return offset + match.start()
        offset += len(chunk)
    return None


def _utf8_sequences(source: Source) -> tuple[int, int]:
    """How many multi-byte sequences are good UTF-8 and how many bytes are not, over the whole file."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    good = bad = 0
    for chunk in _chunks(source, 0):
        text = decoder.decode(chunk)
        faults = text.count("\ufffd")
        bad += faults
        good += sum(1 for character in text if character > "\x7f") - faults
    return good, bad


def _line_of(source: Source, offset: int) -> int:
    prefix = source.head(offset)
    return prefix.count(b"\n") + prefix.count(b"\r") - prefix.count(b"\r\n") + 1
