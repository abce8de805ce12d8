"""The registry's mutable entries, what messages do to them, and how a frozen snapshot is made of one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dpicl_core.charged_runs import ReadyRun, ResumableRun, stored_record
from dpicl_core.events import DemonstrationFinished, ReleasedEvent, RunStarted, StewardDiagnostics, TokenReleased
from dpicl_core.jobs import messages as say
from dpicl_core.jobs.snapshots import DraftView, RunSnapshot, RunState
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.ledger import Ledger, StoredRun
from dpicl_core.runs import PreparedRun, RunRecord

STOPPED_WORDS = "You stopped this run. What the run reserved stays spent."
UNPAID_WORDS = "You stopped this run. The run was not paid for yet, so nothing was drawn or spent."
_RECENT_TOKENS = 12


@dataclass(slots=True, eq=False)
class RunEntry:
    """One run. work holds private rows and is let go once the child has it.

    run_id: unguessable, the name in the page's address. ledger_run_id: the name in the ledger, known before it is paid.
    replayed: stored tokens that the child tells again where a run goes on; they say nothing about speed.
    """

    run_id: str
    work: say.Work | None = field(repr=False)
    public: PreparedRun = field(repr=False)
    ledger: Ledger = field(repr=False)
    ledger_run_id: str
    actor: str
    model_name: str | None
    asset_id: str = ""
    asset_name: str = ""
    paid: bool = False
    state: RunState = RunState.QUEUED
    stage: str = ""
    stage_fraction: float = 0.0
    reason: str = ""
    tokens: list[list[TokenReleased]] = field(default_factory=list, repr=False)
    finished: dict[int, DemonstrationFinished] = field(default_factory=dict, repr=False)
    times: list[float] = field(default_factory=list, repr=False)
    replayed: int = 0
    began: float | None = None
    model: ModelInfo | None = None
    record: RunRecord | None = None
    opened: list[tuple[str, str]] = field(default_factory=list)
    diagnostics: list[StewardDiagnostics] = field(default_factory=list, repr=False)
    stop_deadline: float | None = None

    def take_message(self, message: say.ReleasedMessage) -> None:
        """Note what the child said of this run."""
        if isinstance(message, say.ModelStage):
            self.stage, self.stage_fraction = message.stage, message.fraction
        elif isinstance(message, say.ModelReady):
            self.model = message.info
        elif isinstance(message, say.Paid):
            self.paid, self.asset_id, self.asset_name = True, message.asset_id, message.asset_name
        elif isinstance(message, say.Told):
            self.take(message.event)
        elif isinstance(message, say.Done):
            self.record = message.record
            self.end(RunState.FINISHED)
        elif isinstance(message, say.Stopped):
            self.end(RunState.STOPPED, STOPPED_WORDS if self.paid else UNPAID_WORDS)
        elif isinstance(message, say.Failed):
            self.end(RunState.FAILED, sentence(message.reason))

    def take(self, event: ReleasedEvent) -> None:
        """Note one released event."""
        if isinstance(event, RunStarted):
            self.began = time.monotonic()
            self.tokens = [[] for _ in self.public.plan.target_labels]
            self.state = RunState.RUNNING if self.state is RunState.LOADING else self.state
        elif isinstance(event, TokenReleased):
            self.tokens[event.demonstration].append(event)
            if sum(map(len, self.tokens)) > self.replayed:
                self.times.append(time.monotonic())
            else:
                self.began = time.monotonic()
        elif isinstance(event, DemonstrationFinished):
            self.finished[event.demonstration] = event

    def show_stored(self, stored: StoredRun) -> None:
        """Show what the ledger holds: whatever the child had stored, told or not."""
        self.paid = True
        self.tokens = grouped(stored.tokens, len(stored.plan.target_labels))
        if stored.state in ("finished", "partial"):
            self.record = stored_record(stored)
            self.finished = {part.demonstration: part for part in self.record.demonstrations}
            self.end(RunState.FINISHED if stored.state == "finished" else RunState.PARTIAL)

    def end(self, state: RunState, reason: str = "") -> None:
        """The run is over; nothing private stays but what a person opened."""
        self.state, self.reason, self.work, self.stop_deadline = state, reason, None, None

    def go_on(self, work: ResumableRun, model_name: str | None) -> None:
        """Queue this run once more, to go on from its stored tokens."""
        self.end(RunState.QUEUED)
        self.work, self.model_name, self.replayed = work, model_name, len(work.stored.tokens)
        self.times, self.began, self.stage, self.stage_fraction = [], None, "", 0.0
        self.opened, self.diagnostics = [], []

    def open_view(self, name: str) -> None:
        """Note that an internal view was opened, once."""
        if name not in [known for known, _ in self.opened]:
            self.opened.append((name, datetime.now(UTC).isoformat(timespec="seconds")))


def new_entry(work: say.Work, model_name: str | None) -> RunEntry:
    """An entry for work that is to be queued."""
    if isinstance(work, ReadyRun):
        entry = _entry(work.ledger, work.run_id, without_rows(work.prepared), work.actor)
        entry.asset_id, entry.asset_name = work.asset.id, work.asset.name
        entry.work, entry.model_name = work, model_name
        return entry
    entry = entry_of(work.stored, work.asset_name, work.ledger, work.actor)
    entry.go_on(work, model_name)
    return entry


def entry_of(stored: StoredRun, asset_name: str, ledger: Ledger, actor: str) -> RunEntry:
    """An entry for a run that the ledger holds."""
    public = PreparedRun(stored.plan, stored.request, stored.prices, {})
    entry = _entry(ledger, stored.id, public, actor)
    entry.asset_id, entry.asset_name, entry.model = stored.asset_id, asset_name, stored.model
    entry.show_stored(stored)
    return entry


def _entry(ledger: Ledger, ledger_run_id: str, public: PreparedRun, actor: str) -> RunEntry:
    entry = RunEntry(secrets.token_urlsafe(24), None, public, ledger, ledger_run_id, actor, None)
    entry.tokens = [[] for _ in public.plan.target_labels]
    return entry


def without_rows(prepared: PreparedRun) -> PreparedRun:
    """The public half of a prepared run."""
    return PreparedRun(prepared.plan, prepared.request, prepared.prices, {})


def grouped(tokens: Iterable[TokenReleased], demonstrations: int) -> list[list[TokenReleased]]:
    """Tokens by demonstration."""
    found: list[list[TokenReleased]] = [[] for _ in range(demonstrations)]
    for token in tokens:
        found[token.demonstration].append(token)
    return found


def sentence(reason: str) -> str:
    """A reason with a capital letter."""
    return reason[:1].upper() + reason[1:]


def snapshot_of(entry: RunEntry, place: int) -> RunSnapshot:
    """A frozen view; costs a copy of tuples of references."""
    plan = entry.public.plan
    done = sum(map(len, entry.tokens))
    most = sum(
        len(tokens) if index in entry.finished or (tokens and tokens[-1].ends) else plan.tokens
        for index, tokens in enumerate(entry.tokens)
    )
    speed = _speed(entry.times, entry.began)
    return RunSnapshot(
        run_id=entry.run_id,
        ledger_run_id=entry.ledger_run_id if entry.paid else "",
        asset_id=entry.asset_id,
        asset_name=entry.asset_name,
        state=entry.state,
        place=place,
        plan=plan,
        request=entry.public.request,
        prices=entry.public.prices,
        drafts=tuple(_draft(entry, index, label) for index, label in enumerate(plan.target_labels)),
        stage=entry.stage,
        stage_fraction=entry.stage_fraction,
        reason=entry.reason,
        tokens_done=done,
        tokens_most=most,
        tokens_per_second=speed,
        seconds_left=(most - done) / speed if speed and entry.state is RunState.RUNNING else None,
        model=entry.model,
        record=entry.record,
        opened_views=tuple(entry.opened),
        diagnostics_kept=len(entry.diagnostics),
        spends=entry.paid,
        seconds_taken=None
        if entry.began is None or entry.replayed or not entry.times
        else entry.times[-1] - entry.began,
    )


def _draft(entry: RunEntry, index: int, label: str) -> DraftView:
    tokens = tuple(entry.tokens[index])
    finished = entry.finished.get(index)
    text = finished.text if finished else tokens[-1].text if tokens else ""
    return DraftView(index, label, text, tokens, finished.ended_by if finished else None)


def _speed(times: Sequence[float], began: float | None) -> float | None:
    """Tokens per second over the last dozen tokens."""
    if began is None or not times:
        return None
    recent = ([began, *times])[-_RECENT_TOKENS - 1 :]
    span = recent[-1] - recent[0]
    return (len(recent) - 1) / span if span > 0 else None
