"""Work for the child process that is no run: it pays nothing, releases nothing, and answers on the internal channel.

Counting lengths, a rehearsal, an evaluation. A task may hold private rows; it is let go once the child has it. Whether
it may be done at all, and what the ledger holds of it, is the business of whoever asks.
"""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from dpicl_core.language_model.protocol import LanguageModel

Tell = Callable[[str, float], None]
"""What is being done, in public words, and the share of the whole that is done; raises where a person pressed Stop."""


class Task(Protocol):
    """A picklable frozen dataclass. Its result is picklable and small, and counts as internal."""

    def run(self, model: LanguageModel, tell: Tell) -> object:
        """Do it; `tell` is called every few seconds of work at least."""
        ...


class TaskState(StrEnum):
    """Where a task stands."""

    QUEUED = "queued"
    LOADING = "loading"
    WORKING = "working"
    STOPPING = "stopping"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        return self in (TaskState.DONE, TaskState.STOPPED, TaskState.FAILED)


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """One task at one moment. place: work before it in the queue. stage, fraction: public words and the share done.

    result: internal, not DP, unless the task read nothing private; None before it is done. reason: one sentence, where
    it ended early.
    """

    task_id: str
    state: TaskState
    place: int
    stage: str
    fraction: float
    seconds_left: float | None
    result: object | None = field(repr=False)
    reason: str

    @property
    def over(self) -> bool:
        return self.state.over


@dataclass(slots=True, eq=False)
class TaskEntry:
    """One task in the registry. work: the task, pickled; let go once the child has it."""

    work: bytes | None = field(repr=False)
    model_name: str | None
    task_id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    state: TaskState = TaskState.QUEUED
    stage: str = ""
    fraction: float = 0.0
    began: float | None = None
    result: object | None = field(default=None, repr=False)
    reason: str = ""
    stop_deadline: float | None = None

    def show_loading(self, stage: str, fraction: float) -> None:
        """The model is being loaded for it."""
        if self.state is not TaskState.STOPPING:
            self.state = TaskState.LOADING
        self.stage, self.fraction = stage, fraction

    def show_working(self, stage: str, fraction: float) -> None:
        """It is being done."""
        if self.began is None:
            self.began = time.monotonic()
        if self.state is not TaskState.STOPPING:
            self.state = TaskState.WORKING
        self.stage, self.fraction = stage, fraction

    def end(self, state: TaskState, reason: str = "") -> None:
        """It is over; nothing private stays but what it answered."""
        self.state, self.reason, self.work, self.stop_deadline = state, reason, None, None

    def snapshot(self, place: int) -> TaskSnapshot:
        """A frozen view."""
        return TaskSnapshot(
            self.task_id,
            self.state,
            place,
            self.stage,
            min(max(self.fraction, 0.0), 1.0),
            self._seconds_left(),
            self.result,
            self.reason,
        )

    def _seconds_left(self) -> float | None:
        if self.state is not TaskState.WORKING or self.began is None or self.fraction <= 0.0:
            return None
        return (time.monotonic() - self.began) * (1.0 - self.fraction) / self.fraction


def packed_task(task: Task) -> bytes:
    """The task for another process; pickled at once, so that what cannot be sent fails where it is asked for."""
    return pickle.dumps(task)


def unpacked_task(content: bytes) -> Task:
    """What `packed_task` was given."""
    task: Task = pickle.loads(content)  # noqa: S301 - written by the server that started this process
    return task
