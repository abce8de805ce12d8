"""A rehearsal on pseudo-records: what the noise of each mechanism would change, at no privacy cost.

Nothing here reads a private row, so a fast generator stands in for OpenDP's noise; the law is the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.mechanisms import release_token
from dpicl_core.planning import Accountant, price_plan
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.pseudo_records import pseudo_pool
from dpicl_core.randomness import RandomSource, SeededRandomness
from dpicl_core.specs import AnchoredSpec, MechanismSpec, TangGaussianSpec
from dpicl_core.subsets import FreshSubsets
from dpicl_core.token_inputs import token_inputs
from dpicl_core.values import GenerationPlan, Pool

Vector = NDArray[np.float64]
Progress = Callable[[str, float], None]

NOISE_DRAWS = 20
"""Noise draws per step, mechanism and epsilon."""

POOL_FACTOR = 2
"""Pseudo-records per label, in multiples of M*N, so that draws differ between steps."""

CANDIDATE_SCHEDULES = ((0.35,), (0.35, 0.10), (0.30, 0.15), (0.45, 0.20, 0.10))


@dataclass(frozen=True, slots=True)
class Step:
    """One rehearsed token: rows (M, K) and public row (K,) of pseudo-records, under a public label."""

    label: str
    rows: NDArray[np.float64]
    public: Vector

    @property
    def noise_free(self) -> Vector:
        return np.asarray(self.rows.mean(axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% confidence interval over steps (Student's t)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one mechanism at one epsilon does to the noise-free vector.

    unchanged: share of tokens whose choice the noise leaves as it is. relative_probability: probability of the
    chosen token over the best one, noise-free. total_variation: distance of released and noise-free vector, None
    where no vector is released. sigma_eff: of the first pool.
    """

    mechanism: str
    epsilon: float
    sigma_eff: float | None
    unchanged: Interval
    relative_probability: Interval
    total_variation: Interval | None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Forecasts for every mechanism and epsilon, and the anchored schedule that did best, with its share."""

    steps: int
    forecasts: tuple[Forecast, ...]
    proposed_schedule: tuple[float, ...]
    public_unchanged: Interval


def rehearse(
    plan: GenerationPlan,
    mechanisms: Sequence[MechanismSpec],
    epsilons: Sequence[float],
    pool_units: Mapping[str | None, int],
    model: LanguageModel,
    *,
    delta: float,
    accountant: Accountant = "tight",
    progress: Progress | None = None,
) -> Rehearsal:
    """Rehearse a plan; pool_units are declared or public counts. Spends nothing, reads no private row."""
    tell = progress or (lambda stage, fraction: None)
    rng = SeededRandomness(secrets.randbits(128))
    middle = sorted(epsilons)[(len(epsilons) - 1) // 2]

    def calibrated(spec: MechanismSpec, epsilon: float) -> dict[str | None, MechanismSpec]:
        return _calibrated(plan, spec, epsilon, pool_units, delta, accountant)

    # Calibration first: a plan that cannot be priced is refused before the model has worked on it.
    asked = [[(epsilon, calibrated(spec, epsilon)) for epsilon in epsilons] for spec in mechanisms]
    steps = _pseudo_steps(plan, model, rng, tell)
    forecasts = []
    for done, specs_by_epsilon in enumerate(asked):
        forecasts += [forecast(steps, specs, epsilon, rng=rng) for epsilon, specs in specs_by_epsilon]
        tell("noise", (done + 1) / len(mechanisms))
    tried = {
        schedule: forecast(steps, calibrated(AnchoredSpec(schedule=schedule), middle), middle, rng=rng)
        for schedule in (*CANDIDATE_SCHEDULES, measured_schedule(steps))
    }
    best = max(tried, key=lambda schedule: tried[schedule].relative_probability.mean)
    agreement = [float(np.argmax(step.public) == np.argmax(step.noise_free)) for step in steps]
    return Rehearsal(len(steps), tuple(forecasts), best, interval(agreement))


def forecast(
    steps: Sequence[Step], specs: Mapping[str | None, MechanismSpec], epsilon: float, *, rng: RandomSource
) -> Forecast:
    """Run one mechanism NOISE_DRAWS times on every step."""
    unchanged, relative, variation = [], [], []
    for step in steps:
        spec = specs.get(step.label) or specs[None]
        reference = step.noise_free
        outcomes = [release_token(spec, step.rows, step.public, rng=rng) for _ in range(NOISE_DRAWS)]
        choices = np.array([outcome.choice for outcome in outcomes])
        unchanged.append(float(np.mean(choices == np.argmax(reference))))
        relative.append(float(np.mean(reference[choices] / reference.max())))
        vectors = [outcome.vector for outcome in outcomes if outcome.vector is not None]
        if vectors:
            variation.append(float(np.mean([np.abs(vector - reference).sum() / 2 for vector in vectors])))
    first = next(iter(specs.values()))
    return Forecast(
        mechanism=first.name,
        epsilon=epsilon,
        sigma_eff=first.sigma_eff,
        unchanged=interval(unchanged),
        relative_probability=interval(relative),
        total_variation=interval(variation) if variation else None,
    )


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95% interval of values within [0, 1]; the whole of [0, 1] where there are fewer than two."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, 0.0, 1.0)
    margin = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Interval(mean, max(0.0, mean - margin), min(1.0, mean + margin))


def measured_schedule(steps: Sequence[Step]) -> tuple[float, ...]:
    """Two radii read off the pseudo-records: 80% of rows around the public row, then around their mean."""
    outer = np.concatenate([np.linalg.norm(step.rows - step.public, axis=1) for step in steps])
    inner = np.concatenate([np.linalg.norm(step.rows - step.noise_free, axis=1) for step in steps])
    first = float(np.clip(round(float(np.quantile(outer, 0.8)), 2), 0.05, 0.70))
    second = float(np.clip(round(float(np.quantile(inner, 0.8)), 2), 0.02, 0.70))
    return (first, second) if second < first else (first,)


def _calibrated(
    plan: GenerationPlan,
    spec: MechanismSpec,
    epsilon: float,
    pool_units: Mapping[str | None, int],
    delta: float,
    accountant: Accountant,
) -> dict[str | None, MechanismSpec]:
    prices = price_plan(replace(plan, mechanism=spec), pool_units, delta=delta, epsilon=epsilon, accountant=accountant)
    return {price.label: price.mechanism for price in prices}


def _pseudo_steps(plan: GenerationPlan, model: LanguageModel, rng: RandomSource, tell: Progress) -> tuple[Step, ...]:
    """Write pseudo-records for every distinct target label, then follow their noise-free choice."""
    plan = replace(plan, mechanism=TangGaussianSpec())  # any mechanism that reads rows over the reduced vocabulary
    encoder = PromptEncoder(plan.task, model.tokenizer, plan.record_tokens)
    labels = tuple(dict.fromkeys(plan.target_labels))
    length = min(plan.record_tokens, max(plan.tokens, 8))
    count = POOL_FACTOR * plan.units_per_token
    share = -(-count // len(labels)) if plan.task.open_labels else count
    pools: dict[str, Pool] = {}
    for number, label in enumerate(labels):
        tell("writing pseudo-records", number / len(labels))
        pools[label] = pseudo_pool(encoder, model, label, share, length, rng=rng)
    everything = Pool(None, tuple(unit for pool in pools.values() for unit in pool.units))
    steps: list[Step] = []
    for number, label in enumerate(labels):
        tell("rehearsing tokens", number / len(labels))
        pool = everything if plan.task.open_labels else pools[label]
        steps.extend(_walk(plan, encoder, model, label, pool, rng))
    return tuple(steps)


def _walk(
    plan: GenerationPlan, encoder: PromptEncoder, model: LanguageModel, label: str, pool: Pool, rng: RandomSource
) -> list[Step]:
    released: list[int] = []
    steps: list[Step] = []
    subsets = FreshSubsets(plan, pool)
    while len(released) < plan.tokens:
        seen = token_inputs(plan, encoder, model, label, released, subsets, rng=rng)
        steps.append(Step(label, seen.rows, seen.public))
        released.append(int(seen.candidates[int(np.argmax(steps[-1].noise_free))]))
        if released[-1] in model.tokenizer.ending_ids:
            break
    return steps
