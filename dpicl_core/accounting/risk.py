"""What a privacy loss means, in numbers and in plain sentences that an officer can read aloud.

Each number follows from the privacy profile delta(.) alone, so it holds for every attacker, whatever she knows and
however often the released texts are used. Roundings in the sentences never understate a risk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import optimize

from dpicl_core.rounding import rounded_up
from dpicl_core.specs import require
from dpicl_core.values import PrivacyUnit

_GRID_POINTS = 65
_LOWEST_EPSILON = -40.0


class PrivacyProfile(Protocol):
    """A composed privacy loss: ComposedLoss, or WorstLoss where a unit may change its label."""

    def delta(self, epsilon: float) -> float:
        """Upper bound of delta at any real epsilon."""

    def epsilon(self, delta: float) -> float:
        """Upper bound of the least epsilon >= 0 at this delta."""


def best_guess_percent(loss: PrivacyProfile) -> float:
    """From even odds, how often the best possible guess whether this unit or another was used is right, on average.

    100 (1 + delta(0)) / 2, in percent: delta(0) is the total variation distance of the two output distributions.
    """
    return 50 * (1 + loss.delta(0.0))


def belief_probability(loss: PrivacyProfile, belief_percent: float) -> float:
    """From even odds, the probability at most that the output lifts the belief in this unit above `belief_percent`.

    Belief exceeds q percent where the privacy loss exceeds l = ln(q / (100 - q)); delta(epsilon) is at least
    P(loss > l)(1 - e^(epsilon - l)) for every epsilon < l, and the least quotient is returned, at most 1.
    Raises ConfigError unless 0 < belief_percent < 100.
    """
    require(
        0 < belief_percent < 100,
        f"belief must be above 0 and below 100 percent, but is {belief_percent}; usual values are 75 to 99.",
    )
    limit = math.log(belief_percent / (100 - belief_percent))

    def bound(gap: float) -> float:
        return loss.delta(limit - gap) / -math.expm1(-gap)

    return min(1.0, _least(bound, 1e-6, max(limit, 0.0) - _LOWEST_EPSILON))


def true_positive_rate(loss: PrivacyProfile, false_positive_rate: float) -> float:
    """Largest share of true cases that a test can find when it is wrong on this share of the others.

    min(1, min over real epsilon of delta(epsilon) + e^epsilon a). Raises ConfigError outside [0, 1].
    """
    require(
        0 <= false_positive_rate <= 1,
        f"the false-positive rate must be from 0 to 1, but is {false_positive_rate}; usual values are 0.001 to 0.1.",
    )
    if false_positive_rate == 0:
        return loss.delta(math.inf)
    highest = -math.log(false_positive_rate)
    return min(1.0, _least(lambda x: loss.delta(x) + math.exp(x) * false_positive_rate, _LOWEST_EPSILON, highest))


def odds_factor(loss: PrivacyProfile, delta: float) -> float:
    """How many times as likely any output can be with this unit as with another, except with probability delta."""
    epsilon = loss.epsilon(delta)
    return math.exp(epsilon) if epsilon < 700 else math.inf


def sayings(
    loss: PrivacyProfile,
    *,
    delta: float,
    unit: PrivacyUnit = PrivacyUnit.ROW,
    belief_percent: float = 90,
    false_positive_rate: float = 0.01,
) -> tuple[str, ...]:
    """The four sentences of the certificate: odds, best guess, belief, test. Bounds as in the functions above."""
    name = unit.value
    factor = odds_factor(loss, delta)
    if math.isinf(factor):
        return (f"There is no limit on what the released texts give away about a {name}: no noise hides it.",)
    return (
        f"The privacy loss epsilon of this run is at most {rounded_up(loss.epsilon(delta))}: whatever is released is "
        f"at most {rounded_up(factor)} times as likely with this {name} as with another {name} in its place, except "
        f"with probability {rounded_up(delta)}.",
        f"Starting from 50:50, the best possible guess whether this {name} or another was used is right at most "
        f"{_percent(best_guess_percent(loss) / 100)} of the time on average.",
        f"Starting from 50:50, the noise keeps the belief that this {name} was used from rising above "
        f"{belief_percent:g}%, except with probability at most {_percent(belief_probability(loss, belief_percent))}.",
        f"A test that wrongly points at a {name} {false_positive_rate * 100:g}% of the time rightly points at one at "
        f"most {_percent(true_positive_rate(loss, false_positive_rate))} of the time.",
    )


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Least value found on [low, high] of a function that first falls and then rises; any value found is a bound."""
    grid = np.linspace(low, high, _GRID_POINTS)
    values = [function(float(x)) for x in grid]
    best = int(np.argmin(values))
    bounds = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)]))
    refined = optimize.minimize_scalar(function, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(min(values[best], refined.fun))


def _percent(share: float) -> str:
    """A share in percent, rounded up to a tenth, or to three digits below one percent."""
    percent = 100 * share
    return f"{rounded_up(percent)}%" if percent < 1 else f"{math.ceil(percent * 10 - 1e-9) / 10:g}%"
