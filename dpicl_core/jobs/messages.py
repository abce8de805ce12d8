"""What the server and its child process say to each other. Each family has its own channel.

Orders go down one pipe and hold private rows. Released messages come up a second one and hold public settings and
DP-released values alone. Internal messages come up a third one, only when a person asked for them.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

from dpicl_core.charged_runs import ReadyRun, ResumableRun
from dpicl_core.events import ReleasedEvent, StewardDiagnostics
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.runs import RunRecord

Work = ReadyRun | ResumableRun
"""A run to pay for and make, or one to go on with."""


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Do this run with the model of that name (None: the default one).

    packed: the work, opened by the child inside the order, since opening it opens the ledger there, which may fail.
    """

    run_id: str
    packed: bytes = field(repr=False)
    model: str | None


def packed(work: Work) -> bytes:
    """The work for another process: private rows, and the ledger by its address; no connection crosses over."""
    return pickle.dumps(work)


def unpacked(order: RunOrder) -> Work:
    """What `packed` was given. Raises LedgerError where the ledger cannot be opened here."""
    work: Work = pickle.loads(order.packed)  # noqa: S301 - written by the server that started this process
    return work


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """Do this task, pickled as packed, with the model of that name (None: the default one)."""

    order_id: str
    packed: bytes = field(repr=False)
    model: str | None


@dataclass(frozen=True, slots=True)
class StopOrder:
    """Stop the run after the token that is being made, or the task where it tells next. run_id: of either."""

    run_id: str


@dataclass(frozen=True, slots=True)
class RevealOrder:
    """Send the internal diagnostics of a run: those there are, and the next ones as they come."""

    run_id: str


@dataclass(frozen=True, slots=True)
class ForgetOrder:
    """Drop everything private that is kept of a run."""

    run_id: str


Order = RunOrder | TaskOrder | StopOrder | RevealOrder | ForgetOrder


@dataclass(frozen=True, slots=True)
class ModelStage:
    """How far loading the model is; fraction from 0 to 1."""

    stage: str
    fraction: float


@dataclass(frozen=True, slots=True)
class ModelReady:
    """A model is in memory."""

    info: ModelInfo


@dataclass(frozen=True, slots=True)
class Paid:
    """The run is paid for, from this asset; nothing of it has been drawn yet."""

    run_id: str
    asset_id: str
    asset_name: str


@dataclass(frozen=True, slots=True)
class Told:
    """One released event of a run, stored in the ledger before it was told."""

    run_id: str
    event: ReleasedEvent


@dataclass(frozen=True, slots=True)
class Done:
    """The run is finished."""

    run_id: str
    record: RunRecord


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run or task stopped because a person asked."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Failed:
    """An order failed; reason is one sentence without private text."""

    order_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskStage:
    """How far a task is, in public words; fraction of the whole, from 0 to 1."""

    order_id: str
    stage: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Answered:
    """A task was carried out; its result went up the internal channel before."""

    order_id: str


ReleasedMessage = ModelStage | ModelReady | Paid | Told | Done | Stopped | Failed | TaskStage | Answered


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Internal, not DP: what the mechanism saw at some tokens of a run, in order."""

    run_id: str
    tokens: tuple[StewardDiagnostics, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """Internal, not DP: what a task found."""

    order_id: str
    result: object = field(repr=False)


InternalMessage = Diagnostics | Answer
