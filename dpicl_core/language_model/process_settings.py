"""Settings of this process that make a token step cheaper and change no number; measured in docs/performance.md."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's malloc.h."""

_KEPT_BYTES = 2**30
_LARGEST_BYTES = 32 * 2**20
"""glibc takes no larger threshold."""


def settle() -> None:
    """Make the settings that every device gains from; one that a person made in the environment stands."""
    rest_while_waiting()
    keep_freed_memory()


def rest_while_waiting() -> None:
    """Let torch's threads sleep, not spin, while they wait for each other; works until torch is first imported.

    Spinning gains nothing measurable on an idle machine and made a token step five times slower on a busy one.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def keep_freed_memory() -> None:
    """Let the C library keep freed blocks for the next layer instead of giving them back to the system each time.

    Getting a page back costs a fault that clears it: 5,600 of them in one feed-forward layer, a third of its time.
    """
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError, AttributeError):  # another C library may lack it, and then nothing is lost but time
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def read_keys_once() -> None:
    """Let attention read keys and values that several heads share where they lie; transformers copies them otherwise.

    Gives the same bits on a CPU. Only asked for there: with a mask, other devices would fall back to slow kernels.
    """
    os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Put the search for unreachable cycles off: importing three thousand modules starts it a thousand times, in vain.

    It saves a sixth of the time that importing torch and transformers takes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
