"""The rule that keeps adaptively chosen runs under a cap: a Renyi filter at one fixed order, or the plain sum.

Renyi filter (Feldman, Zrnic 2021, "Individual Privacy Accounting via a Renyi Filter"): fix an order a > 1 and a
budget rho beforehand; before each run, know an upper bound of its Renyi divergence at order a given everything released
so far; refuse it when the bounds would add up to more than rho. Everything released then has divergence at most rho,
however the plans were chosen. The conversion to (epsilon, delta) is that of Canonne, Kamath, Steinke 2020 (Proposition
12), which is also Balle et al. 2020 (Theorem 21), at the same order. docs/ledger.md has the proof.

Plain sum: epsilons and deltas add, for adaptively chosen ones too (the basic composition filter of Rogers, Roth,
Ullman, Vadhan 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from scipy import optimize

from dpicl_core.accounting import Charge, renyi_divergence
from dpicl_core.errors import ConfigError
from dpicl_core.specs import require
from dpicl_core.values import PrivacyTarget, require_delta

SMALLEST_ORDER, LARGEST_ORDER = 1.05, 512.0
_SAFETY = 1 - 1e-12
_SCAN_POINTS = 36


def epsilon_of_divergence(divergence: float, *, order: float, delta: float) -> float:
    """Upper bound of epsilon at delta for a Renyi divergence at one order > 1; 0 for no divergence at all."""
    require_delta(delta)
    if divergence == 0:
        return 0.0
    converted = divergence + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(converted, 0.0)


def renyi_budget(*, order: float, epsilon: float, delta: float) -> float:
    """The largest divergence at this order that still converts to at most (epsilon, delta); may be negative."""
    PrivacyTarget(epsilon, delta)
    slack = -math.log1p(-1 / order) + (math.log(delta) + math.log(order)) / (order - 1)
    return (epsilon + slack) * _SAFETY


def charge_divergence(charge: Charge, order: float) -> float:
    """Upper bound of the Renyi divergence of a charge at `order`, both directions; inf without noise."""
    return _divergence(charge, order)


@lru_cache(maxsize=4096)
def _divergence(charge: Charge, order: float) -> float:
    if charge.is_free:
        return 0.0
    return renyi_divergence(
        charge.spec, order, sampling_rate=charge.sampling_rate, composed_tokens=charge.composed_tokens
    )


def best_order(epsilon: float, delta: float, reference: Sequence[Charge] = ()) -> float:
    """The order at which most runs like the reference fit under the cap; public, fixed for good with the asset.

    reference: the charges of a typical run, one for each pool, of which the most expensive counts; none stands for a
    Gaussian mechanism that is not amplified, whose divergence is proportional to the order. Every choice is safe; a
    good one wastes little. Searched on a logarithmic scale from 1.05 to 512, then refined.
    Raises ConfigError where no order leaves any budget.
    """
    PrivacyTarget(epsilon, delta)
    paid = [charge for charge in reference if not (charge.is_free or charge.is_unbounded)]

    def runs_that_fit(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        budget = renyi_budget(order=order, epsilon=epsilon, delta=delta)
        if budget <= 0:
            return budget - 1e9
        cost = max((charge_divergence(charge, order) for charge in paid), default=order)
        return budget / cost if cost > 0 else 0.0

    low, high = math.log(SMALLEST_ORDER - 1), math.log(LARGEST_ORDER - 1)
    grid = [low + (high - low) * step / (_SCAN_POINTS - 1) for step in range(_SCAN_POINTS)]
    values = [runs_that_fit(point) for point in grid]
    best = max(range(len(grid)), key=values.__getitem__)
    if values[best] <= 0:
        raise ConfigError(
            f"a cap of epsilon {epsilon:g} at delta {delta:g} leaves a Renyi filter no budget at any order up to "
            f"{LARGEST_ORDER:g}; take a larger epsilon, or the rule `sum`."
        )
    around = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    refined = optimize.minimize_scalar(
        lambda x: -runs_that_fit(x), bounds=around, method="bounded", options={"xatol": 0.01}
    )
    chosen = refined.x if -refined.fun > values[best] else grid[best]
    # three digits are enough, and let a person read the order back
    return max(float(f"{1 + math.exp(chosen):.4g}"), SMALLEST_ORDER)


def fits(costs: Sequence[float], budget: float) -> bool:
    """Whether the exact sum of all costs, the one that is asked for included, stays at or under the budget."""
    require(all(cost >= 0 for cost in costs), "a cost below 0 cannot be charged.")
    return math.fsum(costs) <= budget
