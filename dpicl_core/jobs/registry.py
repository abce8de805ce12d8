"""The registry of runs: it queues them, feeds one child process, and keeps what was released until it is closed.

It lives in the server process and knows nothing of screens: a page that goes away, doubles or reloads only asks for
another snapshot. One supervisor thread owns the child; all other threads touch the entries under one lock.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

from dpicl_core.errors import ConfigError
from dpicl_core.events import RunStarted, StewardDiagnostics, TokenReleased
from dpicl_core.jobs import messages as say
from dpicl_core.jobs.book import RunEntry, snapshot_of, without_rows
from dpicl_core.jobs.child import Child
from dpicl_core.jobs.lengths import TokenLengths
from dpicl_core.jobs.quotes import row_tokens
from dpicl_core.jobs.snapshots import RunSnapshot, RunState
from dpicl_core.runs import PreparedRun
from dpicl_core.values import Example

DEFAULT_LOADER = "dpicl_core.language_model:load_model"
STOP_SECONDS = 1.2
"""How long a run may take to stop by itself before its process is ended."""
KEPT_RUNS = 200
QUEUE_LIMIT = 20
_TICK_SECONDS = 0.05
_CRASHED = (
    "The process that runs the model ended unexpectedly (exit code {code}{hint}). The run has stopped and what it "
    "reserved stays spent."
)


class JobRegistry:
    """Runs by unguessable id. loader: `module:function` that loads a model by name, imported in the child alone."""

    def __init__(self, loader: str = DEFAULT_LOADER) -> None:
        self._loader = loader
        self._lock = threading.Condition()
        self._runs: OrderedDict[str, RunEntry] = OrderedDict()
        self._by_token: dict[str, str] = {}
        self._queue: list[RunEntry | say.LengthOrder] = []
        self._lengths: OrderedDict[str, TokenLengths | str | None] = OrderedDict()
        self._side_orders: list[say.Order] = []
        self._current: RunEntry | say.LengthOrder | None = None
        self._child: Child | None = None
        self._closed = False
        self._pace: float | None = None
        self._thread = threading.Thread(target=self._supervise, name="dpicl-jobs", daemon=True)
        self._thread.start()

    def submit(self, prepared: PreparedRun, *, token: str, model: str | None = None) -> str:
        """Queue a run and return its id; the same token gives the same run, however often it is sent.

        Raises ConfigError where the queue is full.
        """
        with self._lock:
            if token in self._by_token:
                return self._by_token[token]
            if len(self._queue) >= QUEUE_LIMIT:
                raise ConfigError(f"the queue holds at most {QUEUE_LIMIT} runs and is full; try again later.")
            entry = RunEntry(secrets.token_urlsafe(24), prepared, without_rows(prepared), model)
            entry.tokens = [[] for _ in prepared.plan.target_labels]
            self._runs[entry.run_id] = entry
            self._by_token[token] = entry.run_id
            self._queue.append(entry)
            self._drop_oldest()
            self._lock.notify_all()
            return entry.run_id

    def measure(self, examples: Sequence[Example], cap: int, *, model: str | None = None) -> str:
        """Ask for lengths in tokens; the id of the answer, see `lengths`. The model is then warm for a run."""
        with self._lock:
            order = say.LengthOrder(secrets.token_urlsafe(16), tuple(examples), cap, model)
            self._lengths[order.order_id] = None
            while len(self._lengths) > KEPT_RUNS:
                self._lengths.popitem(last=False)
            self._queue.append(order)
            self._lock.notify_all()
            return order.order_id

    def lengths(self, order_id: str) -> TokenLengths | str | None:
        """The lengths, a sentence that says why there are none, or None while they are being counted."""
        with self._lock:
            return self._lengths.get(order_id)

    def snapshot(self, run_id: str) -> RunSnapshot | None:
        """The run as it stands, None where no run has this id."""
        with self._lock:
            entry = self._runs.get(run_id)
            return None if entry is None else snapshot_of(entry, self._place(entry))

    def stop(self, run_id: str) -> None:
        """Stop a run: after its current token, or by ending its process shortly after."""
        with self._lock:
            entry = self._runs.get(run_id)
            if entry is None or entry.state.over:
                return
            if entry.state is RunState.QUEUED:
                self._queue.remove(entry)
                entry.spends = False
                entry.end(RunState.STOPPED, "You stopped this run before it began. Nothing was drawn or spent.")
                return
            if entry.stop_deadline is None:
                entry.state = RunState.STOPPING
                entry.stop_deadline = time.monotonic() + STOP_SECONDS
                self._side_orders.append(say.StopOrder(run_id))

    def open_clusters(self, run_id: str) -> None:
        """Open the cluster picture of a run on purpose; recorded on the run."""
        with self._lock:
            entry = self._runs.get(run_id)
            if entry is not None and not entry.opened:
                entry.open_view("cluster picture")
                self._side_orders.append(say.RevealOrder(run_id))

    def diagnostics(self, run_id: str) -> tuple[StewardDiagnostics, ...]:
        """Internal, not DP: what came so far; empty unless the picture was opened."""
        with self._lock:
            entry = self._runs.get(run_id)
            return () if entry is None else tuple(entry.diagnostics)

    def close(self, run_id: str) -> None:
        """Drop everything private of a run; a run that goes on is stopped first."""
        self.stop(run_id)
        with self._lock:
            entry = self._runs.get(run_id)
            if entry is not None:
                entry.diagnostics.clear()
                self._side_orders.append(say.ForgetOrder(run_id))

    def pace(self) -> float | None:
        """Seconds per row-token (one token position of one private prompt) of the last run, None before any."""
        with self._lock:
            return self._pace

    def child_pid(self) -> int | None:
        """Process id of the child, None where none runs."""
        with self._lock:
            return None if self._child is None else self._child.pid

    def shutdown(self) -> None:
        """Stop everything and end the child."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._thread.join(timeout=10)

    def _place(self, entry: RunEntry) -> int:
        if entry.state is not RunState.QUEUED:
            return 0
        before = [job for job in self._queue[: self._queue.index(entry)] if isinstance(job, RunEntry)]
        return len(before) + int(isinstance(self._current, RunEntry))

    def _drop_oldest(self) -> None:
        over = [run_id for run_id, entry in self._runs.items() if entry.state.over]
        for run_id in over[: max(0, len(self._runs) - KEPT_RUNS)]:
            del self._runs[run_id]
            self._by_token = {token: known for token, known in self._by_token.items() if known != run_id}

    # The supervisor thread. Only it touches the child.

    def _supervise(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    break
                if self._current is None and not self._queue and not self._side_orders and self._child is None:
                    self._lock.wait(timeout=1.0)
                    continue
            self._begin_next()
            self._pass_side_orders()
            self._read_messages()
            self._enforce_stop()
        if self._child is not None:
            self._child.kill()

    def _begin_next(self) -> None:
        with self._lock:
            if self._current is not None or not self._queue:
                return
            job = self._current = self._queue.pop(0)
            order: say.Order
            if isinstance(job, RunEntry):
                assert job.prepared is not None
                order = say.RunOrder(job.run_id, job.prepared, job.model_name)
                job.state, job.stage = RunState.LOADING, "starting"
            else:
                order = job
            if self._child is None:
                self._child = Child(self._loader)
        self._child.send(order)
        with self._lock:
            if isinstance(job, RunEntry):
                job.prepared = None

    def _pass_side_orders(self) -> None:
        with self._lock:
            orders, self._side_orders = self._side_orders, []
        for order in orders:
            if self._child is not None:
                self._child.send(order)

    def _read_messages(self) -> None:
        if self._child is None:
            return
        busy = self._current is not None
        released, internal, alive = self._child.receive(_TICK_SECONDS if busy else 4 * _TICK_SECONDS)
        with self._lock:
            for message in internal:
                self._take_internal(message)
            for told in released:
                self._take_released(told)
        if not alive:
            self._bury()

    def _take_internal(self, message: say.InternalMessage) -> None:
        if isinstance(message, say.Diagnostics):
            entry = self._runs.get(message.run_id)
            if entry is not None:
                entry.diagnostics.extend(message.tokens)
        elif message.order_id in self._lengths:
            self._lengths[message.order_id] = message.lengths

    def _take_released(self, message: say.ReleasedMessage) -> None:
        job = self._current
        if isinstance(message, say.Measured):
            self._current = None
        elif isinstance(message, say.Failed) and isinstance(job, say.LengthOrder):
            self._lengths[message.order_id] = _sentence(message.reason)
            self._current = None
        elif isinstance(job, RunEntry):
            self._take_run_message(job, message)

    def _take_run_message(self, entry: RunEntry, message: say.ReleasedMessage) -> None:
        if isinstance(message, say.ModelStage):
            entry.stage, entry.stage_fraction = message.stage, message.fraction
        elif isinstance(message, say.ModelReady):
            entry.model = message.info
        elif isinstance(message, say.Told):
            if isinstance(message.event, RunStarted):
                entry.began = time.monotonic()
                entry.state = RunState.RUNNING if entry.state is RunState.LOADING else entry.state
            entry.take(message.event)
            if isinstance(message.event, TokenReleased):
                self._note_pace(entry)
        elif isinstance(message, say.Done):
            entry.record = message.record
            entry.end(RunState.FINISHED)
            self._current = None
        elif isinstance(message, say.Stopped):
            entry.end(RunState.STOPPED, "You stopped this run. What it reserved stays spent.")
            self._current = None
        elif isinstance(message, say.Failed):
            entry.end(RunState.FAILED, _sentence(message.reason))
            self._current = None

    def _note_pace(self, entry: RunEntry) -> None:
        if entry.began is not None and entry.times:
            seconds = (entry.times[-1] - entry.began) / len(entry.times)
            self._pace = seconds / row_tokens(entry.public.plan)

    def _enforce_stop(self) -> None:
        with self._lock:
            job = self._current
            late = isinstance(job, RunEntry) and job.stop_deadline is not None and time.monotonic() > job.stop_deadline
            if not late or self._child is None:
                return
            assert isinstance(job, RunEntry)
            self._child.kill()
            self._child, self._current = None, None
            job.end(RunState.STOPPED, "You stopped this run. What it reserved stays spent.")

    def _bury(self) -> None:
        """The child is gone: tell whoever waited for it; the next order starts another."""
        assert self._child is not None
        code = self._child.exit_code()
        self._child.kill()
        with self._lock:
            job, self._current, self._child = self._current, None, None
            sentence = _CRASHED.format(code=code, hint=", as when memory runs out" if code == -9 else "")
            if isinstance(job, RunEntry):
                stopped = job.state is RunState.STOPPING
                job.end(RunState.STOPPED if stopped else RunState.FAILED, sentence)
            elif job is not None:
                self._lengths[job.order_id] = "The lengths could not be counted; the other numbers stand."


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:]
