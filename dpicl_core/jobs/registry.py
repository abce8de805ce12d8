"""The registry of runs: it queues them, feeds one child process, and keeps what was released until it is closed.

It lives in the server process and knows nothing of screens: a page that goes away, doubles or reloads only asks for
another snapshot. The supervisor's thread owns the child; all threads touch the entries under one lock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from dpicl_core.charged_runs import ResumableRun
from dpicl_core.errors import ConfigError, ExportError, LedgerError
from dpicl_core.events import StewardDiagnostics
from dpicl_core.export import document_for
from dpicl_core.jobs import messages as say
from dpicl_core.jobs.book import STOPPED_WORDS, UNPAID_WORDS, RunEntry, entry_of, new_entry, snapshot_of
from dpicl_core.jobs.snapshots import RunSnapshot, RunState
from dpicl_core.jobs.supervisor import Desk, Job, Supervisor
from dpicl_core.jobs.tasks import Task, TaskEntry, TaskSnapshot, TaskState, packed_task
from dpicl_core.ledger import OPEN_STATES, Ledger, close_partial, record_decision, stored_run, user_name
from dpicl_core.unsigned_export import recorded_bytes

DEFAULT_LOADER = "dpicl_core.language_model:load_model"
STOP_SECONDS = 1.2
"""How long a run may take to stop by itself before its process is ended."""
KEPT_RUNS = 200
QUEUE_LIMIT = 20
CLUSTER_VIEW = "cluster picture"


class JobRegistry:
    """Runs by unguessable id. loader: `module:function` that loads a model by name, imported in the child alone."""

    def __init__(self, loader: str = DEFAULT_LOADER) -> None:
        self._desk = Desk()
        self._by_token: dict[str, str] = {}
        self._supervisor = Supervisor(self._desk, loader)

    def submit(self, work: say.Work, *, token: str, model: str | None = None) -> str:
        """Queue a run and return the id of its page; the same token gives the same run, however often it is sent.

        A run that goes on keeps the page that it has here. Raises ConfigError where the queue is full.
        """
        with self._desk.lock:
            if token in self._by_token:
                return self._by_token[token]
            known = self._of_ledger_run(work.stored.id) if isinstance(work, ResumableRun) else None
            if known is not None and not known.state.over:
                return known.run_id
            self._check_room()
            if known is not None and isinstance(work, ResumableRun):
                entry = known
                entry.go_on(work, model)
            else:
                entry = new_entry(work, model)
            self._desk.runs[entry.run_id] = entry
            self._by_token[token] = entry.run_id
            self._desk.queue.append(entry)
            self._drop_oldest()
            self._desk.lock.notify_all()
            return entry.run_id

    def close_partial(self, ledger: Ledger, ledger_run_id: str, reason: str, *, asset_name: str) -> str:
        """End an interrupted run for good, with the texts as far as they came; the id of its page.

        Raises ConfigError for a run that goes on here, LedgerError for one that has ended.
        """
        with self._desk.lock:
            known = self._of_ledger_run(ledger_run_id)
            if known is not None and not known.state.over:
                raise ConfigError("this run is still going on; stop it before it is closed.")
        stored = close_partial(ledger, ledger_run_id, reason, actor=user_name())
        with self._desk.lock:
            if known is None:
                known = entry_of(stored, asset_name, ledger, user_name())
                self._desk.runs[known.run_id] = known
            known.show_stored(stored)
            return known.run_id

    def show_ended(self, ledger: Ledger, ledger_run_id: str, *, asset_name: str) -> str:
        """A page for a run that has ended and stands in the ledger: released texts and public settings alone.

        It is another page than the one that made the run, so nothing internal of it can be opened there. Raises
        LedgerError for a run that has not ended.
        """
        with ledger.read() as connection:
            stored = stored_run(connection, ledger_run_id)
        if stored.state in OPEN_STATES:
            raise LedgerError(f"run {ledger_run_id} is {stored.state}; it can be shown once it has ended.")
        token = f"ended {ledger.ledger_id} {ledger_run_id}"
        with self._desk.lock:
            if token not in self._by_token:
                entry = entry_of(stored, asset_name, ledger, user_name())
                self._desk.runs[entry.run_id] = entry
                self._by_token[token] = entry.run_id
                self._drop_oldest()
            return self._by_token[token]

    def submitted(self, tokens: Sequence[str]) -> tuple[str, ...] | None:
        """Ids of the pages that these tokens were given, where all of them were sent before; else None."""
        with self._desk.lock:
            known = [self._by_token.get(token) for token in tokens]
            found = tuple(each for each in known if each is not None)
            return found if len(found) == len(known) else None

    def check_room(self, runs: int) -> None:
        """Raise ConfigError where the queue does not hold so many more runs."""
        with self._desk.lock:
            self._check_room(runs)

    def going_on(self) -> frozenset[str]:
        """Ids in the ledger of the runs that are on, or in the queue, here."""
        with self._desk.lock:
            return frozenset(entry.ledger_run_id for entry in self._desk.runs.values() if not entry.state.over)

    def export(self, run_id: str) -> bytes:
        """The demonstrations JSON of a run; who took it, and its SHA-256, are in the ledger before it is handed out.

        Raises ExportError where there is nothing to export, LedgerError where it cannot be recorded.
        """
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
        if entry is None or entry.record is None:
            raise ExportError("this run has no finished texts to export.")
        document = document_for(entry.record)
        return recorded_bytes(document, entry.ledger, run_id=entry.ledger_run_id, actor=user_name())

    def ask(self, task: Task, *, token: str, model: str | None = None) -> str:
        """Queue work that is no run, and return its id; the same token gives the same task, however often it is sent.

        Raises ConfigError where the queue is full.
        """
        work = packed_task(task)
        with self._desk.lock:
            if token in self._by_token:
                return self._by_token[token]
            self._check_room()
            entry = TaskEntry(work, model)
            self._desk.tasks[entry.task_id] = entry
            self._by_token[token] = entry.task_id
            self._desk.queue.append(entry)
            self._drop_oldest()
            self._desk.lock.notify_all()
            return entry.task_id

    def answer(self, task_id: str) -> TaskSnapshot | None:
        """The task as it stands, with what it found once it is done; None where no task has this id."""
        with self._desk.lock:
            entry = self._desk.tasks.get(task_id)
            return None if entry is None else entry.snapshot(self._place(entry))

    def stop_task(self, task_id: str) -> None:
        """Stop a task: where it tells next, or by ending its process shortly after."""
        with self._desk.lock:
            entry = self._desk.tasks.get(task_id)
            if entry is None or entry.state.over:
                return
            if entry.state is TaskState.QUEUED:
                self._desk.queue.remove(entry)
                entry.end(TaskState.STOPPED, "You stopped this before it began.")
                return
            if entry.stop_deadline is None:
                entry.state = TaskState.STOPPING
                entry.stop_deadline = time.monotonic() + STOP_SECONDS
                self._desk.side_orders.append(say.StopOrder(task_id))

    def forget_task(self, task_id: str) -> None:
        """Drop a task and what it found; one that goes on is stopped first."""
        self.stop_task(task_id)
        with self._desk.lock:
            self._desk.tasks.pop(task_id, None)
            self._forget_tokens_of({task_id})

    def snapshot(self, run_id: str) -> RunSnapshot | None:
        """The run as it stands, None where no run has this id."""
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
            return None if entry is None else snapshot_of(entry, self._place(entry))

    def stop(self, run_id: str) -> None:
        """Stop a run: after its current token, or by ending its process shortly after."""
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
            if entry is None or entry.state.over:
                return
            if entry.state is RunState.QUEUED:
                self._desk.queue.remove(entry)
                entry.end(RunState.STOPPED, STOPPED_WORDS if entry.paid else UNPAID_WORDS)
                return
            if entry.stop_deadline is None:
                entry.state = RunState.STOPPING
                entry.stop_deadline = time.monotonic() + STOP_SECONDS
                self._desk.side_orders.append(say.StopOrder(run_id))

    def open_clusters(self, run_id: str) -> None:
        """Open the cluster picture of a run; as open_internal."""
        self.open_internal(run_id, CLUSTER_VIEW)

    def open_internal(self, run_id: str, view: str) -> None:
        """Open an internal view of a run on purpose; who did is in the ledger before anything is shown.

        view: its name in public words. Raises LedgerError where that cannot be recorded; it then stays closed.
        """
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
            if entry is None or not entry.paid or view in [name for name, _ in entry.opened]:
                return
        details = {"view": view}
        record_decision(entry.ledger, "internal-view", actor=user_name(), run_id=entry.ledger_run_id, details=details)
        with self._desk.lock:
            entry.open_view(view)
            self._desk.side_orders.append(say.RevealOrder(run_id))

    def diagnostics(self, run_id: str) -> tuple[StewardDiagnostics, ...]:
        """Internal, not DP: what came so far; empty unless an internal view of the run was opened."""
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
            return () if entry is None else tuple(entry.diagnostics)

    def close(self, run_id: str) -> None:
        """Drop everything private of a run; a run that goes on is stopped first."""
        self.stop(run_id)
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
            if entry is not None:
                entry.diagnostics.clear()
                self._desk.side_orders.append(say.ForgetOrder(run_id))

    def pace(self) -> float | None:
        """Seconds per row-token (one token position of one private prompt) of the last run, None before any."""
        with self._desk.lock:
            return self._desk.pace

    def child_pid(self) -> int | None:
        """Process id of the child, None where none runs."""
        with self._desk.lock:
            return self._desk.child_pid

    def shutdown(self) -> None:
        """Stop everything and end the child."""
        with self._desk.lock:
            self._desk.closed = True
            self._desk.lock.notify_all()
        self._supervisor.join(10)

    def _place(self, job: Job) -> int:
        if job not in self._desk.queue:
            return 0
        return self._desk.queue.index(job) + int(self._desk.current is not None)

    def _check_room(self, runs: int = 1) -> None:
        if len(self._desk.queue) + runs > QUEUE_LIMIT:
            raise ConfigError(f"the queue holds at most {QUEUE_LIMIT} runs and is full; try again later.")

    def _of_ledger_run(self, ledger_run_id: str) -> RunEntry | None:
        return next((entry for entry in self._desk.runs.values() if entry.ledger_run_id == ledger_run_id), None)

    def _drop_oldest(self) -> None:
        gone: set[str] = set()
        for kept in (self._desk.runs, self._desk.tasks):
            over = [name for name, entry in kept.items() if entry.state.over]
            dropped = over[: max(0, len(kept) - KEPT_RUNS)]
            gone.update(dropped)
            for name in dropped:
                del kept[name]
        self._forget_tokens_of(gone)

    def _forget_tokens_of(self, gone: set[str]) -> None:
        self._by_token = {token: known for token, known in self._by_token.items() if known not in gone}
