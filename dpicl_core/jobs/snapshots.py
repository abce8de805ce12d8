"""What a screen may know of a run at one moment: frozen, public settings and DP-released values alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dpicl_core.events import EndReason, TokenReleased
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.runs import PrivacyRequest, RunRecord
from dpicl_core.values import GenerationPlan, Price


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    LOADING = "loading"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    PARTIAL = "partial"
    """Closed for good by a person, with the texts as far as they came."""

    @property
    def over(self) -> bool:
        return self in (RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.PARTIAL)


@dataclass(frozen=True, slots=True)
class DraftView:
    """One demonstration so far. tokens: committed ones, in order."""

    index: int
    label: str
    text: str
    tokens: tuple[TokenReleased, ...] = field(repr=False)
    ended_by: EndReason | None


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """One run. place: runs before this one in the queue. stage: what loading the model does just now, in words.

    reason: one sentence, where the run ended early. tokens_most: T_max times demonstrations, less what ended early.
    opened_views: internal views that a person opened, with the time (ISO 8601). spends: whether the ledger holds a
    payment for it. ledger_run_id: its id there, once it is paid; it stands in the exported file, while run_id opens
    this screen and stands nowhere. asset_id, asset_name: who pays; the id is empty until a new asset is registered.
    seconds_taken: from the first step to the last token, where all of it was drawn by this server, else None.
    """

    run_id: str
    ledger_run_id: str
    asset_id: str
    asset_name: str
    state: RunState
    place: int
    plan: GenerationPlan
    request: PrivacyRequest
    prices: tuple[Price, ...]
    drafts: tuple[DraftView, ...]
    stage: str
    stage_fraction: float
    reason: str
    tokens_done: int
    tokens_most: int
    tokens_per_second: float | None
    seconds_left: float | None
    model: ModelInfo | None
    record: RunRecord | None
    opened_views: tuple[tuple[str, str], ...]
    diagnostics_kept: int
    spends: bool
    seconds_taken: float | None = None

    @property
    def drawn_here(self) -> bool:
        """Whether this server drew a token of it, rather than read the run from the ledger."""
        return self.tokens_per_second is not None

    @property
    def epsilon_tight(self) -> float:
        """Privacy loss of the whole run by the tight accountant: that of the dearest pool."""
        return max(price.epsilon_tight for price in self.prices)

    @property
    def epsilon_paper(self) -> float:
        """The same by the paper's accountant."""
        return max(price.epsilon_paper for price in self.prices)
