"""What noise changes on rehearsed tokens, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpicl_core.mechanisms import release_token
from dpicl_core.randomness import RandomSource
from dpicl_core.rehearsal.steps import Step
from dpicl_core.specs import MechanismSpec

NOISE_DRAWS = 20
"""Noise draws per token, mechanism and epsilon at most; fewer where `noise_draws` says so."""

_UNSEEN = 0.025
"""Half of what a 95% interval leaves out."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% confidence interval over rehearsed tokens."""

    mean: float
    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Whether the two share a value."""
        return self.low <= other.high and other.low <= self.high


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


def noise_draws(steps: int, subsets: int) -> int:
    """Draws on each of so many tokens: 4 to 20.

    The differences between tokens are what an interval is made of, so many tokens need few draws each. The radius
    search compares all pairs of M rows, so its work grows with M^2.
    """
    return int(np.clip(min(800 // max(steps, 1), NOISE_DRAWS * 2500 // subsets**2), 4, NOISE_DRAWS))


def forecast(
    steps: Sequence[Step],
    specs: Mapping[str | None, MechanismSpec],
    epsilon: float,
    *,
    rng: RandomSource,
    tell: Callable[[], None] | None = None,
) -> Forecast:
    """Draw the noise of one mechanism several times on every step. tell: called after each step."""
    unchanged, relative, variation = [], [], []
    draws = noise_draws(len(steps), len(steps[0].rows))
    for step in steps:
        spec = specs.get(step.label) or specs[None]
        reference = step.noise_free
        outcomes = [release_token(spec, step.rows, step.public, rng=rng) for _ in range(draws)]
        choices = np.array([outcome.choice for outcome in outcomes])
        unchanged.append(float(np.mean(choices == np.argmax(reference))))
        relative.append(float(np.mean(reference[choices] / reference.max())))
        vectors = [outcome.vector for outcome in outcomes if outcome.vector is not None]
        if vectors:
            variation.append(float(np.mean([np.abs(vector - reference).sum() / 2 for vector in vectors])))
        if tell is not None:
            tell()
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
    """Mean of n values within [0, 1] with a 95% interval.

    Student's t over the values, widened for what n values cannot have shown: a kind of token that makes up a share of
    1 - 0.025^(1/n) may never have been met, and may go either way. Where all values are 1 (or 0), t alone would claim
    certainty; the bound is then Clopper and Pearson's (1934): n successes in n trials leave 0.025^(1/n) possible.
    """
    mean, many = float(np.mean(values)), len(values)
    margin = 0.0
    if many > 1:
        margin = float(stats.t.ppf(1 - _UNSEEN, many - 1) * np.std(values, ddof=1) / np.sqrt(many))
    met = _UNSEEN ** (1 / many)
    low, high = min(mean - margin, mean * met), max(mean + margin, 1 - (1 - mean) * met)
    return Interval(mean, max(0.0, low), min(1.0, high))


def measured_schedule(steps: Sequence[Step]) -> tuple[float, ...]:
    """Two radii read off the pseudo-records: 80% of rows around the public row, then around their mean."""
    outer = np.concatenate([np.linalg.norm(step.rows - step.public, axis=1) for step in steps])
    inner = np.concatenate([np.linalg.norm(step.rows - step.noise_free, axis=1) for step in steps])
    first = float(np.clip(round(float(np.quantile(outer, 0.8)), 2), 0.05, 0.70))
    second = float(np.clip(round(float(np.quantile(inner, 0.8)), 2), 0.02, 0.70))
    return (first, second) if second < first else (first,)
