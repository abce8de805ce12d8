"""Tight accountant: privacy loss distributions of tokens, composed over tokens, pools and runs.

Each token's profile is laid on a grid by Connect-the-Dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), which
gives an upper bound on any grid, and composed by dp-accounting. Dominating pairs compose adaptively (Zhu, Dong, Wang
2022), so tokens may depend on earlier ones, while the charges themselves are fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from dp_accounting.pld import pld_pmf, privacy_loss_distribution

from dpicl_core.accounting.charges import Charge
from dpicl_core.accounting.profiles import TokenProfile, Vector, profile_of
from dpicl_core.specs import MechanismSpec, require
from dpicl_core.values import require_delta

ROUNDING = 1e-15
"""Absolute error of one evaluated delta, and of the Fourier transform for each token, about ten times what was
measured against long-double convolution. Both are added as infinite loss, so that the result stays an upper bound."""

SMALLEST_DELTA_PER_TOKEN = 1e-14
"""A smaller target delta would be lost in the rounding margin."""

TAIL_SHARE = 1e-6
"""Share of delta that may be spent on losses beyond the grid."""

LARGEST_LOSS = 1e4
"""Losses beyond count as infinite."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """How fine the grid is. Any choice gives an upper bound; a finer one is closer and slower.

    share: step divided by the standard deviation of one token's loss. points: grid points on the positive half at most.
    """

    share: float = 0.02
    points: int = 10_000
    largest_step: float = 0.02
    smallest_step: float = 1e-9


FINE = Resolution()
COARSE = Resolution(share=0.16, points=2_000, largest_step=0.05)


@dataclass(frozen=True, slots=True, eq=False)
class ComposedLoss:
    """The privacy loss of everything composed so far, as an upper bound of its privacy profile.

    step: grid step of the losses; only losses on the same step can be composed.
    composed_tokens: tokens composed, for the rounding margin.
    """

    step: float
    composed_tokens: int
    distribution: Any = field(repr=False)

    def delta(self, epsilon: float) -> float:
        """Upper bound of delta at any real epsilon, negative ones included; within [0, 1]."""
        value = float(self.distribution.get_delta_for_epsilon(float(epsilon)))
        return min(max(value, 0.0), 1.0)

    def epsilon(self, delta: float) -> float:
        """Upper bound of the least epsilon >= 0 at this delta; inf where the bound holds for no finite one."""
        require_delta(delta)
        return float(self.distribution.get_epsilon_for_delta(delta)) * (1 + 1e-9)

    def compose(self, other: ComposedLoss) -> ComposedLoss:
        """The loss of both together. Raises ConfigError where the grids differ: build them with one `step`."""
        require(
            self.step == other.step,
            f"losses on different grids ({self.step:g} and {other.step:g}) cannot be composed; build them together.",
        )
        return ComposedLoss(
            self.step,
            self.composed_tokens + other.composed_tokens,
            self.distribution.compose(other.distribution, tail_mass_truncation=ROUNDING),
        )


def composed_loss(
    spec: MechanismSpec,
    *,
    sampling_rate: float,
    composed_tokens: int,
    delta: float,
    step: float | None = None,
    resolution: Resolution = FINE,
) -> ComposedLoss:
    """Privacy loss of one pool's tokens. delta: the target, which sets where the grid ends; step: a grid to share.

    Raises ConfigError for a rate outside (0, 1], no token, or a delta that double precision cannot carry.
    """
    charge = Charge(spec, sampling_rate, composed_tokens)
    return charge_losses([charge], delta=delta, step=step, resolution=resolution)[0]


def compose_charges(charges: Sequence[Charge], *, delta: float, resolution: Resolution = FINE) -> ComposedLoss:
    """Privacy loss of several pools or runs that one unit pays together, all fixed in advance, on one shared grid."""
    require(len(charges) > 0, "nothing to compose; give at least one charge.")
    return reduce(ComposedLoss.compose, charge_losses(charges, delta=delta, resolution=resolution))


def charge_losses(
    charges: Sequence[Charge], *, delta: float, step: float | None = None, resolution: Resolution = FINE
) -> list[ComposedLoss]:
    """One composed loss for each charge, in order, all on one grid that suits their composition at `delta`."""
    require_delta(delta)
    tokens = sum(charge.composed_tokens for charge in charges)
    require(
        delta >= SMALLEST_DELTA_PER_TOKEN * tokens,
        f"delta must be at least {SMALLEST_DELTA_PER_TOKEN * tokens:.3g} for {tokens} composed tokens (double "
        f"precision ends there), but is {delta:g}; give a larger one.",
    )
    tail = TAIL_SHARE * delta / tokens
    priced = [profile_of(charge) for charge in charges if not (charge.is_free or charge.is_unbounded)]
    if step is None:
        step = shared_step(priced, tail, resolution)
    return [_charge_loss(charge, step, tail, delta) for charge in charges]


def shared_step(parts: Sequence[tuple[TokenProfile, int]], tail: float, resolution: Resolution) -> float:
    """Grid step for composing these profiles, each a number of times.

    Connect-the-Dots splits mass between neighbouring grid points and so adds at most step^2/4 to a token's variance:
    a step that is a small share of the mean token's standard deviation moves epsilon by a far smaller one. A loss of
    a few exact values is laid on those.
    """
    if not parts:
        return resolution.largest_step
    exact = {profile.exact_step() for profile, _ in parts}
    if len(exact) == 1 and (only := exact.pop()) is not None:
        return only
    tokens = sum(count for _, count in parts)
    deviation = math.sqrt(sum(count * profile.variance() for profile, count in parts) / tokens)
    reach = min(max(profile.reach(tail) for profile, _ in parts), LARGEST_LOSS)
    fine = min(resolution.largest_step, resolution.share * deviation)
    return max(fine, reach / resolution.points, resolution.smallest_step)


def _charge_loss(charge: Charge, step: float, tail: float, delta: float) -> ComposedLoss:
    tokens = charge.composed_tokens
    if charge.is_free:
        return ComposedLoss(step, tokens, _constant_loss(step, infinite=False))
    if charge.is_unbounded:
        return ComposedLoss(step, tokens, _constant_loss(step, infinite=True))
    profile, count = profile_of(charge)
    token = privacy_loss_distribution.PrivacyLossDistribution(_token_pmf(profile, step, tail))
    if count == 1:
        return ComposedLoss(step, tokens, token)
    truncated = count * ROUNDING + TAIL_SHARE * delta
    return ComposedLoss(step, tokens, token.self_compose(count, tail_mass_truncation=truncated))


def _token_pmf(profile: TokenProfile, step: float, tail: float) -> Any:
    """The symmetric pair of one token on the grid -n..n times step; mass beyond counts as infinite loss."""
    half = max(1, math.ceil(min(profile.reach(tail), LARGEST_LOSS) / step))
    epsilons: Vector = np.arange(half + 1, dtype=np.float64) * step
    deltas = np.clip(profile.delta(epsilons) + ROUNDING, 0.0, 1.0)
    # Rounding must not let the profile rise: the larger value stands, which keeps it an upper bound.
    deltas = np.maximum.accumulate(deltas[::-1])[::-1]
    mirrored = -np.expm1(-epsilons[:0:-1]) + np.exp(-epsilons[:0:-1]) * deltas[:0:-1]
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        step, -half, half, np.concatenate([np.minimum(mirrored, 1.0), deltas])
    )


def _constant_loss(step: float, *, infinite: bool) -> Any:
    return privacy_loss_distribution.PrivacyLossDistribution.create_from_rounded_probability(
        {0: 0.0 if infinite else 1.0}, 1.0 if infinite else 0.0, step
    )


def epsilon_tight(spec: MechanismSpec, *, sampling_rate: float, composed_tokens: int, delta: float) -> float:
    """Least epsilon that the tight accountant proves at delta: 0 without private rows, inf without noise.

    sampling_rate and composed_tokens as in Charge, whose ConfigErrors it raises.
    """
    return epsilon_of_charge(Charge(spec, sampling_rate, composed_tokens), delta)


@lru_cache(maxsize=256)
def epsilon_of_charge(charge: Charge, delta: float) -> float:
    """epsilon_tight of a charge; kept, since calibration, price and screen ask for the same one."""
    if charge.is_free or charge.is_unbounded:
        require_delta(delta)
        return 0.0 if charge.is_free else math.inf
    return compose_charges([charge], delta=delta).epsilon(delta)
