"""Measures that make runs of their own: unpaid, for the steward alone; texts are forgotten, the measures are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpicl_core.evaluation import work
from dpicl_core.evaluation.canaries import RUNS, canary_text, plant_and_count
from dpicl_core.evaluation.consensus import measure_consensus
from dpicl_core.evaluation.private_table import CANARY_VIEW, CONSENSUS_VIEW, PrivateTable
from dpicl_core.evaluation.results import CanaryRuns, ConsensusRun
from dpicl_core.evaluation.tasks import Progress
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.randomness import SecretRandomness
from dpicl_core.runs import PrivacyRequest, check_context
from dpicl_core.values import GenerationPlan


@dataclass(frozen=True, slots=True)
class OwnRun:
    """A plan, and what its noise is calibrated to (no epsilon where it has none)."""

    plan: GenerationPlan
    request: PrivacyRequest


@dataclass(frozen=True, slots=True)
class ConsensusTask:
    """How closely the private next-token vectors agree along one run; the papers follow one of Tang's."""

    followed: OwnRun
    private: PrivateTable
    epsilon: float

    def run(self, model: LanguageModel, tell: Progress) -> ConsensusRun:
        """Follow the run and measure the balls."""
        plan, request = self.followed.plan, self.followed.request
        check_context(plan, model)
        found = measure_consensus(self.private.open(CONSENSUS_VIEW), plan, request, model, progress=tell)
        return ConsensusRun(found, plan.mechanism.name, model.info.name, self.epsilon)

    def seconds(self, pace: float | None) -> float:
        """A guess from public numbers; pace as in work.seconds."""
        return work.seconds(work.generating(self.followed.plan), pace)


@dataclass(frozen=True, slots=True)
class CanaryTask:
    """Plant one row, make many runs of each plan, count its words. canary: None for made-up words."""

    tried: tuple[OwnRun, ...]
    private: PrivateTable
    epsilon: float
    runs: int = RUNS
    canary: str | None = field(default=None, repr=False)

    def run(self, model: LanguageModel, tell: Progress) -> CanaryRuns:
        """Plant, run, count, forget."""
        for each in self.tried:
            check_context(each.plan, model)
        view = self.private.open(CANARY_VIEW)
        canary = self.canary or canary_text(view.dataset.examples, rng=SecretRandomness())
        results = tuple(
            plant_and_count(view, each.plan, each.request, model, canary, runs=self.runs, progress=told)
            for each, told in zip(self.tried, work.portions(tell, self._works()), strict=True)
        )
        return CanaryRuns(results, canary, model.info.name, self.epsilon)

    def seconds(self, pace: float | None) -> float:
        """A guess from public numbers; pace as in work.seconds."""
        return work.seconds(sum(self._works()), pace)

    def _works(self) -> list[float]:
        return [self.runs * work.generating(each.plan) for each in self.tried]
