"""Statistics of the audit: from counts of an event in two worlds to a proven lower bound of the privacy loss.

Each comparison has two halves. On the first half of the runs an event is chosen (a threshold, a direction, which
world it points to); on the second half, which that choice never saw, its two probabilities are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]
Side = Literal["left", "right"]

CONFIDENCE = 0.999
"""Each comparison's two Clopper-Pearson bounds hold together at least this often (each one 0.9995)."""

THRESHOLDS = 400
"""Thresholds tried for one statistic, at most, before the tails get their own."""


def least_probability(hits: Counts, runs: int) -> Vector:
    """Clopper-Pearson lower bound of an event's probability, for each number of hits in `runs` runs."""
    bound = stats.beta.ppf((1 - CONFIDENCE) / 2, hits, runs - hits + 1)
    return np.where(hits == 0, 0.0, bound)


def largest_probability(hits: Counts, runs: int) -> Vector:
    """Clopper-Pearson upper bound of an event's probability, for each number of hits in `runs` runs."""
    bound = stats.beta.ppf((1 + CONFIDENCE) / 2, hits + 1, runs - hits)
    return np.where(hits == runs, 1.0, bound)


@dataclass(frozen=True, slots=True)
class GaussianClaim:
    """The two worlds are at most as easy to tell apart as N(0, 1) and N(mu, 1)."""

    mu: float

    @property
    def claimed(self) -> float:
        return self.mu

    @property
    def unit(self) -> str:
        return "mu"

    def bound(self, likely: Vector, unlikely: Vector) -> Vector:
        """Least mu that allows an event of probability >= `likely` in one world and <= `unlikely` in the other."""
        return np.asarray(stats.norm.ppf(likely) - stats.norm.ppf(unlikely), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LossClaim:
    """(epsilon, delta): no event is likelier in one world than e^epsilon times the other, plus delta."""

    epsilon: float
    delta: float = 0.0

    @property
    def claimed(self) -> float:
        return self.epsilon

    @property
    def unit(self) -> str:
        return "epsilon" if self.delta == 0 else f"epsilon at delta {self.delta:.1e}"

    def bound(self, likely: Vector, unlikely: Vector) -> Vector:
        """Least epsilon, at this delta, that allows an event with these two probabilities."""
        above = np.maximum(likely - self.delta, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(above) - np.log(unlikely), dtype=np.float64)


Claim = GaussianClaim | LossClaim


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number per run in each world (runs,), and what is claimed about it; of several claims all must hold.

    Values may be infinite, never NaN.
    """

    name: str
    left: Vector
    right: Vector
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """ "The statistic is >= threshold" (or <=, where not above); `likelier` says in which world it is expected."""

    threshold: float
    above: bool
    likelier: Side

    def hits(self, values: Vector) -> int:
        inside = values >= self.threshold if self.above else values <= self.threshold
        return int(np.count_nonzero(inside))


@dataclass(frozen=True, slots=True)
class Finding:
    """What one statistic proves. lower_bound: in the claim's unit, at 99.9%, at least 0."""

    statistic: str
    unit: str
    claimed: float
    lower_bound: float
    event: Event
    runs: int

    @property
    def exceeds(self) -> bool:
        return self.lower_bound > self.claimed

    @property
    def share(self) -> float:
        """Lower bound over claim: above 1 is a proven violation; infinite where nothing was to be learned."""
        if self.claimed > 0:
            return self.lower_bound / self.claimed
        return float("inf") if self.lower_bound > 0 else 0.0


def examine(statistic: Statistic) -> Finding:
    """Choose claim and event on the first half of the runs, bound them on the second half."""
    middle = len(statistic.left) // 2
    claim, event = strongest_event(statistic.left[:middle], statistic.right[:middle], statistic.claims)
    likely, unlikely = statistic.left[middle:], statistic.right[middle:]
    if event.likelier == "right":
        likely, unlikely = unlikely, likely
    bound = claim.bound(
        least_probability(np.array([event.hits(likely)]), len(likely)),
        largest_probability(np.array([event.hits(unlikely)]), len(unlikely)),
    )
    proven = max(0.0, float(bound[0]))
    return Finding(statistic.name, claim.unit, claim.claimed, proven, event, len(statistic.left))


def strongest_event(left: Vector, right: Vector, claims: Sequence[Claim]) -> tuple[Claim, Event]:
    """The claim and event that these runs speak most strongly against: the largest bound, measured in its claim."""
    thresholds = thresholds_of(np.concatenate([left, right]))
    directions: tuple[tuple[Side, int, int], ...] = (("left", 0, 1), ("right", 1, 0))
    best: tuple[float, Claim, Event] | None = None
    for above in (True, False):
        counts = [_hits(values, thresholds, above) for values in (left, right)]
        low = [least_probability(hits, len(left)) for hits in counts]
        high = [largest_probability(hits, len(left)) for hits in counts]
        for likelier, one, other in directions:
            for claim in claims:
                share = claim.bound(low[one], high[other]) / (claim.claimed or 1.0)
                place = int(np.argmax(share))
                if best is None or share[place] > best[0]:
                    best = (float(share[place]), claim, Event(float(thresholds[place]), above, likelier))
    assert best is not None, "a statistic without a claim cannot be examined"
    return best[1], best[2]


def thresholds_of(values: Vector) -> Vector:
    """Thresholds worth trying: evenly spaced ranks, and ranks ever closer together towards both ends."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    tail = np.geomspace(1, max(last // 4, 2), THRESHOLDS // 8)
    ranks = np.concatenate([np.linspace(0, last, THRESHOLDS), tail, last - tail])
    return np.unique(ordered[np.clip(np.rint(ranks).astype(int), 0, last)])


def _hits(values: Vector, thresholds: Vector, above: bool) -> Counts:
    """How many values lie in the event of each threshold."""
    ordered = np.sort(values)
    if above:
        return np.asarray(len(ordered) - np.searchsorted(ordered, thresholds, side="left"), dtype=np.int64)
    return np.asarray(np.searchsorted(ordered, thresholds, side="right"), dtype=np.int64)
