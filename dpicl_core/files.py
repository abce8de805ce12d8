"""Writing files so that nothing half-written is ever seen."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from dpicl_core.errors import ExportError


def check_writable(path: Path) -> None:
    """Raise ExportError before any work is done where a file could not be written to `path`."""
    if path.is_dir():
        raise ExportError(f"{path.name or 'the output'} is a folder; give a file name such as demos.json.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ExportError(
            f"the file {path.name} could not be written ({error.strerror or type(error).__name__}); "
            "choose a folder that exists, that you may write to and that has space."
        ) from None


def write_atomically(path: Path, content: bytes) -> None:
    """Write to a temporary file beside `path`, flush it to disk, then rename it into place.

    Raises ExportError with the system's reason (no such folder, disk full, not allowed); nothing is left behind.
    """
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ExportError(
            f"the file {path.name} could not be written ({error.strerror or type(error).__name__}); "
            "choose a folder that exists, that you may write to and that has space."
        ) from None


def read_bytes(path: Path, limit_bytes: int = 64 * 1024 * 1024) -> bytes:
    """The whole of a small file. Raises ExportError where it cannot be read or is larger than the limit."""
    try:
        size = path.stat().st_size
        if size > limit_bytes:
            raise ExportError(
                f"the file {path.name} has {size} bytes, over the limit of {limit_bytes}; is it the right file?"
            )
        return path.read_bytes()
    except OSError as error:
        raise ExportError(
            f"the file {path.name} could not be read ({error.strerror or type(error).__name__}); check its path."
        ) from None
