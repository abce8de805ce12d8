"""How closely the private next-token vectors agree (Gao et al. 2024, Table 1), and the noise that a ball would allow.

For each token: the radius of the smallest ball around one of the M vectors that holds 80% of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpicl_core.charged_runs.internal_view import InternalView
from dpicl_core.events import StewardDiagnostics
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.mechanisms.simplex import pairwise_distances
from dpicl_core.runs import PrivacyRequest
from dpicl_core.specs import SIMPLEX_DIAMETER, require
from dpicl_core.values import GenerationPlan

COVERED_SHARE = 0.8
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class TokenConsensus:
    """One token: its place, the radius, and how many vectors there were."""

    demonstration: int
    position: int
    radius: float
    vectors: int


@dataclass(frozen=True, slots=True)
class LabelConsensus:
    """Mean radius over the tokens of one label, None for the mean over labels' means (`label` is None then).

    noise_allowed, noise_whole: standard deviation per coordinate of the noisy mean, were the sum's sensitivity twice
    the mean radius, and as it is over the whole simplex (sqrt(2)); None where the plan has no noise.
    """

    label: str | None
    tokens: int
    radius: float
    noise_allowed: float | None
    noise_whole: float | None


@dataclass(frozen=True, slots=True)
class Consensus:
    tokens: tuple[TokenConsensus, ...]
    labels: tuple[LabelConsensus, ...]
    average: LabelConsensus


def covering_radius(vectors: NDArray[np.float64], share: float = COVERED_SHARE) -> float:
    """Least radius of a ball around one of the vectors (M, K) that holds at least `share` of them, itself included."""
    require(0 < share <= 1, f"the covered share must be above 0 and at most 1, but is {share}; the papers use 0.8.")
    needed = max(1, math.ceil(share * len(vectors) - 1e-9))
    return float(np.min(np.sort(pairwise_distances(vectors), axis=1)[:, needed - 1]))


def measure_consensus(
    view: InternalView,
    plan: GenerationPlan,
    request: PrivacyRequest,
    model: LanguageModel,
    *,
    progress: Progress | None = None,
) -> Consensus:
    """Along one unpaid run of the plan (the paper follows Tang's); its text is forgotten, the radii are kept."""
    seen: list[TokenConsensus] = []

    def watch(diagnostics: StewardDiagnostics) -> None:
        rows = diagnostics.probabilities
        seen.append(TokenConsensus(diagnostics.demonstration, diagnostics.position, covering_radius(rows), len(rows)))
        if progress is not None:
            progress("following a run", (diagnostics.position + 1) / plan.tokens)

    require(
        plan.mechanism.reads_private_rows,
        f"{plan.mechanism.name} reads no private row, so there are no vectors to compare; choose tang-gaussian.",
    )
    record = view.run(plan, request, model, observe=watch)
    noise = {price.label: price.mechanism.sigma_eff for price in record.prices}
    pool_of = {label: None if plan.task.open_labels else label for label in plan.target_labels}
    return consensus_of(seen, plan.target_labels, {label: noise[pool_of[label]] for label in pool_of})


def consensus_of(
    tokens: Sequence[TokenConsensus], labels: Sequence[str], noise_multipliers: dict[str, float | None]
) -> Consensus:
    """Averages per label, in order of first use, and over labels. labels: of each demonstration."""
    found = []
    for label in dict.fromkeys(labels):
        own = [token for token in tokens if labels[token.demonstration] == label]
        radius = float(np.mean([token.radius for token in own]))
        multiplier, vectors = noise_multipliers[label], own[0].vectors
        allowed = None if multiplier is None else 2 * radius * multiplier / vectors
        whole = None if multiplier is None else SIMPLEX_DIAMETER * multiplier / vectors
        found.append(LabelConsensus(label, len(own), radius, allowed, whole))
    return Consensus(tuple(tokens), tuple(found), _average(found))


def _average(labels: Sequence[LabelConsensus]) -> LabelConsensus:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if len(known) == len(values) else None

    return LabelConsensus(
        None,
        sum(label.tokens for label in labels),
        float(np.mean([label.radius for label in labels])),
        mean([label.noise_allowed for label in labels]),
        mean([label.noise_whole for label in labels]),
    )
