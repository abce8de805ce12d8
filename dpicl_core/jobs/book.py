"""The registry's mutable entries, and how a frozen snapshot is made of one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dpicl_core.events import DemonstrationFinished, ReleasedEvent, StewardDiagnostics, TokenReleased
from dpicl_core.jobs.snapshots import DraftView, RunSnapshot, RunState
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.runs import PreparedRun, RunRecord

_RECENT_TOKENS = 12


@dataclass(slots=True)
class RunEntry:
    """One run. prepared holds private rows and is let go once the child has them."""

    run_id: str
    prepared: PreparedRun | None = field(repr=False)
    public: PreparedRun = field(repr=False)
    model_name: str | None
    state: RunState = RunState.QUEUED
    stage: str = ""
    stage_fraction: float = 0.0
    reason: str = ""
    tokens: list[list[TokenReleased]] = field(default_factory=list, repr=False)
    finished: dict[int, DemonstrationFinished] = field(default_factory=dict, repr=False)
    times: list[float] = field(default_factory=list, repr=False)
    began: float | None = None
    model: ModelInfo | None = None
    record: RunRecord | None = None
    opened: list[tuple[str, str]] = field(default_factory=list)
    diagnostics: list[StewardDiagnostics] = field(default_factory=list, repr=False)
    stop_deadline: float | None = None
    spends: bool = True

    def take(self, event: ReleasedEvent) -> None:
        """Note one released event."""
        if isinstance(event, TokenReleased):
            self.tokens[event.demonstration].append(event)
            self.times.append(time.monotonic())
        elif isinstance(event, DemonstrationFinished):
            self.finished[event.demonstration] = event

    def end(self, state: RunState, reason: str = "") -> None:
        """The run is over; nothing private stays but what a person opened."""
        self.state, self.reason, self.prepared, self.stop_deadline = state, reason, None, None

    def open_view(self, name: str) -> None:
        """Record that an internal view was opened, once."""
        if name not in [known for known, _ in self.opened]:
            self.opened.append((name, datetime.now(UTC).isoformat(timespec="seconds")))


def without_rows(prepared: PreparedRun) -> PreparedRun:
    """The public half of a prepared run."""
    return PreparedRun(prepared.plan, prepared.request, prepared.prices, {})


def snapshot_of(entry: RunEntry, place: int) -> RunSnapshot:
    """A frozen view; costs a copy of tuples of references."""
    plan = entry.public.plan
    done = sum(map(len, entry.tokens))
    most = sum(len(tokens) if index in entry.finished else plan.tokens for index, tokens in enumerate(entry.tokens))
    speed = _speed(entry.times, entry.began)
    return RunSnapshot(
        run_id=entry.run_id,
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
        spends=entry.spends,
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
