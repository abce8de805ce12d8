"""The registry of runs: it queues them, feeds one child process, and keeps what was released until it is closed.

It lives in the server process and knows nothing of screens: a page that goes away, doubles or reloads only asks for
another snapshot. The supervisor's thread owns the child; all threads touch the entries under one lock.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Sequence

from dpicl_core.charged_runs import ResumableRun
from dpicl_core.errors import ConfigError, ExportError
from dpicl_core.events import StewardDiagnostics
from dpicl_core.export import document_bytes, document_for
from dpicl_core.jobs import messages as say
from dpicl_core.jobs.book import STOPPED_WORDS, UNPAID_WORDS, RunEntry, entry_of, new_entry, snapshot_of
from dpicl_core.jobs.lengths import TokenLengths
from dpicl_core.jobs.snapshots import RunSnapshot, RunState
from dpicl_core.jobs.supervisor import Desk, Supervisor
from dpicl_core.ledger import Ledger, close_partial, record_decision, user_name
from dpicl_core.values import Example

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
            if len(self._desk.queue) >= QUEUE_LIMIT:
                raise ConfigError(f"the queue holds at most {QUEUE_LIMIT} runs and is full; try again later.")
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
        content = document_bytes(document_for(entry.record))
        details = {"format": "json", "sha256": hashlib.sha256(content).hexdigest()}
        record_decision(entry.ledger, "exported", actor=user_name(), run_id=entry.ledger_run_id, details=details)
        return content

    def measure(self, examples: Sequence[Example], cap: int, *, model: str | None = None) -> str:
        """Ask for lengths in tokens; the id of the answer, see `lengths`. The model is then warm for a run."""
        with self._desk.lock:
            order = say.LengthOrder(secrets.token_urlsafe(16), tuple(examples), cap, model)
            self._desk.lengths[order.order_id] = None
            while len(self._desk.lengths) > KEPT_RUNS:
                self._desk.lengths.popitem(last=False)
            self._desk.queue.append(order)
            self._desk.lock.notify_all()
            return order.order_id

    def lengths(self, order_id: str) -> TokenLengths | str | None:
        """The lengths, a sentence that says why there are none, or None while they are being counted."""
        with self._desk.lock:
            return self._desk.lengths.get(order_id)

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
        """Open the cluster picture of a run on purpose; who did is in the ledger before anything is shown.

        Raises LedgerError where that cannot be recorded; the picture then stays closed.
        """
        with self._desk.lock:
            entry = self._desk.runs.get(run_id)
            if entry is None or entry.opened or not entry.paid:
                return
        details = {"view": CLUSTER_VIEW}
        record_decision(entry.ledger, "internal-view", actor=user_name(), run_id=entry.ledger_run_id, details=details)
        with self._desk.lock:
            entry.open_view(CLUSTER_VIEW)
            self._desk.side_orders.append(say.RevealOrder(run_id))

    def diagnostics(self, run_id: str) -> tuple[StewardDiagnostics, ...]:
        """Internal, not DP: what came so far; empty unless the picture was opened."""
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

    def _place(self, entry: RunEntry) -> int:
        if entry.state is not RunState.QUEUED:
            return 0
        before = [job for job in self._desk.queue[: self._desk.queue.index(entry)] if isinstance(job, RunEntry)]
        return len(before) + int(isinstance(self._desk.current, RunEntry))

    def _of_ledger_run(self, ledger_run_id: str) -> RunEntry | None:
        return next((entry for entry in self._desk.runs.values() if entry.ledger_run_id == ledger_run_id), None)

    def _drop_oldest(self) -> None:
        over = [run_id for run_id, entry in self._desk.runs.items() if entry.state.over]
        for run_id in over[: max(0, len(self._desk.runs) - KEPT_RUNS)]:
            del self._desk.runs[run_id]
            self._by_token = {token: known for token, known in self._by_token.items() if known != run_id}
