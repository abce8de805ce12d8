"""The smallest noise whose epsilon is at or under a request: every search ends on the private side."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from scipy import optimize

from dpicl_core.accounting import losses, paper
from dpicl_core.accounting.charges import Charge
from dpicl_core.errors import ConfigError
from dpicl_core.specs import MechanismSpec, TangNoisyMaxSpec, require
from dpicl_core.values import PrivacyTarget

Accountant = Literal["tight", "paper"]

SMALLEST_SHARE = 0.999
"""A calibrated epsilon is at least this share of the request, and never above it."""

_AIM = 0.9997
_NARROWEST = 1e-6
_LOG_BOUNDS = (math.log(0.02), math.log(1e6))
"""Noise multipliers (for noisy max: 1/epsilon_0) that are searched, in logarithms."""


@lru_cache(maxsize=512)
def calibrate(
    template: MechanismSpec,
    *,
    sampling_rate: float,
    composed_tokens: int,
    delta: float,
    epsilon: float,
    accountant: Accountant = "tight",
) -> MechanismSpec:
    """`template` with all its noise scaled by one factor: the least whose epsilon is at most the request.

    The result's epsilon under the accountant lies in [0.999, 1] of the request (the Renyi bound has a least positive
    value, about ln(1/delta)/1000; a request below it gets the least noise that costs nothing by that accountant).
    sampling_rate and composed_tokens as in Charge. Kept, since a screen asks again with every change of another number.
    Raises ConfigError for a template without noise, an unknown accountant, a request outside PrivacyTarget's bounds,
    and where even almost no noise stays under the request.
    """
    PrivacyTarget(epsilon, delta)
    require(accountant in ("tight", "paper"), f"accountant must be tight or paper, but is {accountant}; choose one.")
    unit = _at_unit_noise(template)

    def charge_at(log_noise: float) -> Charge:
        return Charge(unit.rescaled(math.exp(log_noise)), sampling_rate, composed_tokens)

    start = _rough_tight(charge_at, delta, epsilon)
    if accountant == "tight":
        log_noise = settle(lambda x: losses.epsilon_of_charge(charge_at(x), delta), start, epsilon)
    else:
        start = _rough_paper(charge_at, delta, epsilon, start)
        log_noise = settle(lambda x: paper.epsilon_of_charges([charge_at(x)], delta=delta), start, epsilon)
    return charge_at(log_noise).spec


def _at_unit_noise(template: MechanismSpec) -> MechanismSpec:
    """The template at sigma_eff 1, or at epsilon_0 1. Raises ConfigError where there is no noise to scale."""
    if template.sigma_eff is not None:
        return template.rescaled(1 / template.sigma_eff)
    if isinstance(template, TangNoisyMaxSpec):
        return template.rescaled(template.epsilon0)
    return template.rescaled(1.0)


def _rough_tight(charge_at: Callable[[float], Charge], delta: float, epsilon: float) -> float:
    """Log noise at which a coarse grid puts delta(epsilon) at delta; asking for delta is cheaper than for epsilon."""

    def excess(log_noise: float) -> float:
        loss = losses.compose_charges([charge_at(log_noise)], delta=delta, resolution=losses.COARSE)
        return math.log(max(loss.delta(epsilon), 1e-300) / delta)

    return _root(excess, 0.0, epsilon, delta, tolerance=5e-5)


def _rough_paper(charge_at: Callable[[float], Charge], delta: float, epsilon: float, tight: float) -> float:
    """Log noise at which a few Renyi orders give epsilon; the least over all of them settles it afterwards."""

    def excess(log_noise: float) -> float:
        value = paper.epsilon_of_charges([charge_at(log_noise)], delta=delta, orders=paper.SCOUTS)
        return math.log(max(value, 1e-300) / epsilon)

    return _root(excess, tight + 0.2, epsilon, delta, tolerance=2e-3)


def _root(excess: Callable[[float], float], start: float, epsilon: float, delta: float, *, tolerance: float) -> float:
    """Root of a falling function of log noise, bracketed by steps that double, then by Brent's method."""
    low = high = start
    stride = 0.25
    value = excess(start)
    while value > 0 and high < _LOG_BOUNDS[1]:
        low, high = high, min(high + stride, _LOG_BOUNDS[1])
        value, stride = excess(high), 2 * stride
    require(value <= 0, f"no noise reaches epsilon {epsilon:g} at delta {delta:g}; ask for a larger epsilon or delta.")
    if low == high:
        while value <= 0 and low > _LOG_BOUNDS[0]:
            low, high = max(low - stride, _LOG_BOUNDS[0]), low
            value, stride = excess(low), 2 * stride
        require(
            value > 0,
            f"almost no noise already stays under epsilon {epsilon:g} at delta {delta:g}; ask for a smaller epsilon, "
            "or set the noise by hand.",
        )
    return float(optimize.brentq(excess, low, high, xtol=tolerance))


def settle(epsilon_at: Callable[[float], float], start: float, request: float) -> float:
    """Log noise near `start` whose epsilon lies in [SMALLEST_SHARE, 1] of the request, tested on `epsilon_at` itself.

    epsilon_at falls as log noise grows. Regula falsi in logarithms with the Illinois rule: an end of the bracket that
    stays twice loses half its weight, so that both ends close in. Where epsilon_at jumps over the interval, the result
    is the private side of the jump. Raises ConfigError where no noise tried stays under the request.
    """
    ends: dict[bool, tuple[float, float]] = {}
    x, last = start, None
    for _ in range(60):
        value = epsilon_at(x)
        if SMALLEST_SHARE * request <= value <= request:
            return x
        over = value > request
        if over == last and (other := ends.get(not over)) is not None:
            ends[not over] = (other[0], other[1] / 2)
        gap = math.log(min(max(value, 1e-12), 1e12) / (_AIM * request))
        ends[over], last = (x, gap), over
        if len(ends) == 2:
            (low, above), (high, below) = ends[True], ends[False]
            if high - low < _NARROWEST:
                return high
            x = low + (high - low) * min(max(above / (above - below), 0.02), 0.98)
        else:
            x += math.copysign(min(max(abs(gap), 1e-4), 0.5), gap)
    raise ConfigError(f"no noise was found that keeps epsilon at or under {request:g}; set the noise by hand.")
