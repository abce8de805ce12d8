"""The one thread that owns the child process: it hands out orders, takes messages, stops and buries.

What it shares with the registry, and so with the screens, lies on a desk under one lock. The ledger is asked outside
of the lock, since a database may take its time.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from dpicl_core.charged_runs import settle
from dpicl_core.errors import LedgerError
from dpicl_core.events import TokenReleased
from dpicl_core.jobs import messages as say
from dpicl_core.jobs.book import RunEntry, sentence
from dpicl_core.jobs.child import Child
from dpicl_core.jobs.quotes import row_tokens
from dpicl_core.jobs.snapshots import RunState
from dpicl_core.jobs.tasks import TaskEntry, TaskState

_STOPPED = "You stopped this run."
_STOPPED_TASK = "You stopped this; it spent nothing."
_SPENT = "What the run reserved stays spent."
_UNPAID = "The run was not paid for yet, so nothing was drawn or spent."
_UNKNOWN = "Whether the run was paid for cannot be asked just now; if it was, what it reserved stays spent."
_CRASHED = "The process that runs the model ended unexpectedly (exit code {code}{hint})."
_TICK_SECONDS = 0.05


Job = RunEntry | TaskEntry
"""What stands in the queue."""


@dataclass(slots=True)
class Desk:
    """What screens and supervisor share. lock guards all of it; current is changed by the supervisor alone."""

    lock: threading.Condition = field(default_factory=threading.Condition)
    runs: OrderedDict[str, RunEntry] = field(default_factory=OrderedDict)
    tasks: OrderedDict[str, TaskEntry] = field(default_factory=OrderedDict)
    queue: list[Job] = field(default_factory=list)
    side_orders: list[say.Order] = field(default_factory=list)
    current: Job | None = None
    child_pid: int | None = None
    closed: bool = False
    pace: float | None = None


class Supervisor:
    """Works through a desk's queue with one child. loader: as in JobRegistry."""

    def __init__(self, desk: Desk, loader: str) -> None:
        self._desk = desk
        self._loader = loader
        self._child: Child | None = None
        self._thread = threading.Thread(target=self._supervise, name="dpicl-jobs", daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for the end, once the desk is closed."""
        self._thread.join(timeout=seconds)

    def _supervise(self) -> None:
        desk = self._desk
        while True:
            with desk.lock:
                if desk.closed:
                    break
                if desk.current is None and not desk.queue and not desk.side_orders and self._child is None:
                    desk.lock.wait(timeout=1.0)
                    continue
            self._begin_next()
            self._pass_side_orders()
            self._read_messages()
            self._enforce_stop()
        if self._child is not None:
            self._child.kill()
        if isinstance(desk.current, RunEntry):
            self._settle(desk.current, RunState.FAILED, "The server was shut down.")

    def _begin_next(self) -> None:
        desk = self._desk
        with desk.lock:
            if desk.current is not None or not desk.queue:
                return
            job = desk.current = desk.queue.pop(0)
            if isinstance(job, RunEntry):
                job.state, job.stage = RunState.LOADING, "starting"
            else:
                job.show_loading("starting", 0.0)
            if self._child is None:
                self._child = Child(self._loader)
                desk.child_pid = self._child.pid
        assert job.work is not None
        if isinstance(job, RunEntry):
            self._child.send(say.RunOrder(job.run_id, say.packed(job.work), job.model_name))
        else:
            self._child.send(say.TaskOrder(job.task_id, job.work, job.model_name))
        with desk.lock:
            job.work = None

    def _pass_side_orders(self) -> None:
        with self._desk.lock:
            orders, self._desk.side_orders = self._desk.side_orders, []
        for order in orders:
            if self._child is not None:
                self._child.send(order)

    def _read_messages(self) -> None:
        if self._child is None:
            return
        busy = self._desk.current is not None
        released, internal, alive = self._child.receive(_TICK_SECONDS if busy else 4 * _TICK_SECONDS)
        with self._desk.lock:
            for message in internal:
                self._take_internal(message)
            failed = [told for told in released if not self._take_released(told)]
        for failure in failed:
            self._settle_failure(failure)
        if not alive:
            self._bury()

    def _take_internal(self, message: say.InternalMessage) -> None:
        desk = self._desk
        if isinstance(message, say.Diagnostics):
            entry = desk.runs.get(message.run_id)
            if entry is not None:
                entry.diagnostics.extend(message.tokens)
        elif message.order_id in desk.tasks:
            desk.tasks[message.order_id].result = message.result

    def _take_released(self, message: say.ReleasedMessage) -> bool:
        """Note a message; False for a failure that only the ledger can tell the cost of."""
        desk, job = self._desk, self._desk.current
        if isinstance(job, RunEntry):
            if isinstance(message, say.Failed) and not job.paid:
                return False
            job.take_message(message)
            if isinstance(message, say.Told) and isinstance(message.event, TokenReleased):
                self._note_pace(job)
            if job.state.over:
                desk.current = None
        elif isinstance(job, TaskEntry):
            _take_for_task(job, message)
            if job.state.over:
                desk.current = None
        return True

    def _note_pace(self, entry: RunEntry) -> None:
        if entry.began is not None and entry.times:
            seconds = (entry.times[-1] - entry.began) / len(entry.times)
            self._desk.pace = seconds / row_tokens(entry.public.plan)

    def _enforce_stop(self) -> None:
        with self._desk.lock:
            job = self._desk.current
            late = job is not None and job.stop_deadline is not None and time.monotonic() > job.stop_deadline
        if not late or self._child is None:
            return
        self._drop_child()
        if isinstance(job, RunEntry):
            self._settle(job, RunState.STOPPED, _STOPPED)
        elif job is not None:
            self._end_task(job, TaskState.STOPPED, _STOPPED_TASK)

    def _bury(self) -> None:
        """The child is gone: tell whoever waited for it; the next order starts another."""
        assert self._child is not None
        code = self._child.exit_code()
        self._drop_child()
        job = self._desk.current
        words = _CRASHED.format(code=code, hint=", as when memory runs out" if code == -9 else "")
        if isinstance(job, RunEntry):
            stopping = job.state is RunState.STOPPING
            self._settle(job, RunState.STOPPED if stopping else RunState.FAILED, _STOPPED if stopping else words)
        elif job is not None and job.state is TaskState.STOPPING:
            self._end_task(job, TaskState.STOPPED, _STOPPED_TASK)
        elif job is not None:
            self._end_task(job, TaskState.FAILED, words)

    def _end_task(self, job: TaskEntry, state: TaskState, words: str) -> None:
        with self._desk.lock:
            job.end(state, words)
            self._desk.current = None

    def _drop_child(self) -> None:
        assert self._child is not None
        self._child.kill()
        self._child = None
        with self._desk.lock:
            self._desk.child_pid = None

    def _settle_failure(self, message: say.ReleasedMessage) -> None:
        job = self._desk.current
        if isinstance(message, say.Failed) and isinstance(job, RunEntry) and job.run_id == message.order_id:
            self._settle(job, RunState.FAILED, sentence(message.reason))

    def _settle(self, entry: RunEntry, state: RunState, words: str) -> None:
        """Nobody works on the run any more: what the ledger holds of it is what happened, and what it costs."""
        stored = None
        try:
            stored = settle(entry.ledger, entry.ledger_run_id, words, actor=entry.actor)
            words = f"{words} {_UNPAID if stored is None else _SPENT}"
        except LedgerError:
            entry.paid = True
            words = f"{words} {_UNKNOWN}"
        with self._desk.lock:
            entry.end(state, words)
            if stored is not None:
                entry.show_stored(stored)
            self._desk.current = None


def _take_for_task(task: TaskEntry, message: say.ReleasedMessage) -> None:
    """Note what the child said while it did this task."""
    if isinstance(message, say.ModelStage):
        task.show_loading(message.stage, message.fraction)
    elif isinstance(message, say.TaskStage):
        task.show_working(message.stage, message.fraction)
    elif isinstance(message, say.Answered):
        task.end(TaskState.DONE)
    elif isinstance(message, say.Stopped):
        task.end(TaskState.STOPPED, _STOPPED_TASK)
    elif isinstance(message, say.Failed):
        task.end(TaskState.FAILED, sentence(message.reason))
