"""The server's handle of its child process: three pipes, orders down, messages up."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from dpicl_core.jobs.messages import InternalMessage, Order, ReleasedMessage

WORKER = "dpicl_core.jobs.worker"


class Child:
    """One worker process, started at once.

    It is started as a program of its own rather than by multiprocessing, which would run the server's main module
    (the Streamlit script) in it again. Its output goes nowhere, so that nothing private can be printed.
    """

    def __init__(self, loader: str) -> None:
        orders_end, self._orders = Pipe(duplex=False)
        self._released, released_end = Pipe(duplex=False)
        self._internal, internal_end = Pipe(duplex=False)
        ends = (orders_end, released_end, internal_end)
        descriptors = tuple(end.fileno() for end in ends)
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, *map(str, descriptors), loader],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        for end in ends:
            end.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, order: Order) -> None:
        """Give an order; a child that is gone is noticed when its messages are read."""
        with contextlib.suppress(BrokenPipeError, OSError):
            self._orders.send(order)

    def receive(self, seconds: float) -> tuple[list[ReleasedMessage], list[InternalMessage], bool]:
        """Messages that came within `seconds`, and whether the child is still there. Nothing that was sent is lost."""
        ready = wait([self._released, self._internal], timeout=seconds)
        released, released_open = _drain(self._released) if self._released in ready else ([], True)
        internal, internal_open = _drain(self._internal) if self._internal in ready else ([], True)
        return released, internal, released_open and internal_open

    def exit_code(self) -> int | None:
        """How the process ended; waits a moment, since its pipes close a little before."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        return self._process.returncode

    def kill(self) -> None:
        """End the process at once and close the pipes."""
        self._process.kill()
        self._process.wait()
        for end in (self._orders, self._released, self._internal):
            end.close()


def _drain(end: Connection) -> tuple[list[Any], bool]:
    found: list[Any] = []
    try:
        while end.poll():
            found.append(end.recv())
    except (EOFError, OSError):
        return found, False
    return found, True
