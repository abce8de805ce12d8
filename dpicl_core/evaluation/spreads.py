"""Means over seeds, with what they are worth: standard deviation and 95% interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import stats

from dpicl_core.randomness import SeededRandomness
from dpicl_core.specs import require

Row = TypeVar("Row")

CONFIDENCE = 0.95
RESAMPLES = 1000
_BOOTSTRAP_SEED = 20_260_101
"""Resampling a table of scores protects nothing, so a fixed seed makes reports repeatable."""


@dataclass(frozen=True, slots=True)
class Spread:
    """deviation: sample standard deviation (n - 1). low, high: Student's t interval of the mean, cut to [0, 1].

    All three are None for a single value, which says nothing about how much seeds differ.
    """

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value with a 95% bootstrap interval; None where there is nothing to resample."""

    value: float
    low: float | None
    high: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and spread of shares within [0, 1], one for each seed. Raises ConfigError where there is none."""
    require(len(values) > 0, "a mean needs at least one value; evaluate at least one seed.")
    mean = float(np.mean(values))
    if len(values) == 1:
        return Spread(mean, None, None, None, 1)
    deviation = float(np.std(values, ddof=1))
    margin = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) * deviation / math.sqrt(len(values))
    return Spread(mean, deviation, max(0.0, mean - margin), min(1.0, mean + margin), len(values))


def bootstrap_mean(groups: Sequence[Sequence[float]]) -> Bounded:
    """Mean of the groups' means, with a percentile interval from resampling groups, and values within each.

    groups: for each demonstration that was attacked, its trials; trials of one demonstration are not independent of
    each other, which is why groups are drawn first. Raises ConfigError without a value.
    """
    require(bool(groups) and all(groups), "a mean needs at least one value in every group; run at least one trial.")
    value = float(np.mean([np.mean(group) for group in groups]))
    if len(groups) == 1 and len(groups[0]) == 1:
        return Bounded(value, None, None)
    rng = SeededRandomness(_BOOTSTRAP_SEED)
    means = []
    for _ in range(RESAMPLES):
        drawn = [groups[rng.choose(len(groups))] for _ in groups]
        means.append(np.mean([np.mean([group[rng.choose(len(group))] for _ in group]) for group in drawn]))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [tail, 100 - tail])
    return Bounded(value, float(low), float(high))


def evenly_spaced(rows: Sequence[Row], limit: int | None) -> tuple[Row, ...]:
    """At most `limit` rows spread over the whole table, the same ones each time; all where limit is None."""
    if limit is None or limit >= len(rows):
        return tuple(rows)
    return tuple(rows[index * len(rows) // limit] for index in range(limit))
