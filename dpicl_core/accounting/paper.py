"""The papers' accountant: Renyi divergences of a token, added over tokens, turned into (epsilon, delta) at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import dp_accounting
import numpy as np
from dp_accounting import rdp
from numpy.typing import NDArray

from dpicl_core.accounting.charges import Charge
from dpicl_core.accounting.profiles import SampledPureMechanism
from dpicl_core.specs import MechanismSpec, require
from dpicl_core.values import require_delta

DEFAULT_ORDERS: tuple[float, ...] = tuple(float(order) for order in rdp.RdpAccountant().orders)
"""The orders that dp-accounting optimises over."""

SCOUTS: tuple[float, ...] = tuple(
    map(float, (1.1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 32, 39, 45, 54, 63, 128, 512, 1024))
)
"""Orders that are tried first. Epsilon falls and rises again along the orders, so that the least lies between the two
neighbours of the best of these, unless that is beyond LARGE."""

LARGE = 54.0
"""Where the best scout is beyond, all orders from here on are tried: the library changes to a looser formula there."""

LARGEST_MULTIPLIER = 1e6
"""Noise beyond is priced as this much: the library's series loses its digits there, and less noise costs more."""


def epsilon_paper(spec: MechanismSpec, *, sampling_rate: float, composed_tokens: int, delta: float) -> float:
    """Upper bound of epsilon by Renyi differential privacy: 0 without private rows, inf without noise.

    Gaussian mechanisms: Wang, Balle, Kasiviswanathan 2019, Theorem 9, for sampling without replacement, as in
    dp-accounting, which loses to no sampling at all from a rate of about one half on. Report-noisy-max: the moments of
    its three-valued loss. Conversion: Balle et al. 2020. sampling_rate and composed_tokens as in Charge, whose
    ConfigErrors it raises.
    """
    return epsilon_of_charges([Charge(spec, sampling_rate, composed_tokens)], delta=delta)


def epsilon_of_charges(charges: Sequence[Charge], *, delta: float, orders: tuple[float, ...] | None = None) -> float:
    """epsilon_paper of several charges that one unit pays together, least over DEFAULT_ORDERS.

    orders: others to take the least over; fewer cost less time and more epsilon. Any order gives an upper bound.
    """
    require_delta(delta)
    require(len(charges) > 0, "nothing to compose; give at least one charge.")
    epsilon, best = _least(charges, orders or SCOUTS, delta)
    if orders is None:
        epsilon = min(epsilon, _least(charges, _around(best), delta)[0])
    return epsilon


def _least(charges: Sequence[Charge], orders: tuple[float, ...], delta: float) -> tuple[float, float]:
    """The least epsilon over these orders, and the order that gives it."""
    divergences = sum(charge.composed_tokens * _token_divergences(charge, orders) for charge in charges)
    epsilon, best = rdp.compute_epsilon(orders, divergences, delta)
    return float(epsilon), float(best)


def _around(best: float) -> tuple[float, ...]:
    """The orders in which the least is looked for, `best` being the best of the scouts."""
    if best > LARGE:
        return tuple(order for order in DEFAULT_ORDERS if order >= LARGE)
    place = SCOUTS.index(best)
    low, high = SCOUTS[max(place - 1, 0)], SCOUTS[place + 1]
    return tuple(order for order in DEFAULT_ORDERS if low <= order <= high)


def _token_divergences(charge: Charge, orders: tuple[float, ...]) -> NDArray[np.float64]:
    """Renyi divergence of one token at each order, shape (len(orders),)."""
    if charge.is_free or charge.is_unbounded:
        return np.full(len(orders), 0.0 if charge.is_free else math.inf)
    sigma, epsilon0 = charge.spec.sigma_eff, charge.pure_epsilon
    if sigma is not None:
        multiplier = min(sigma, LARGEST_MULTIPLIER)
        return np.array([_sampled_gaussian_divergence(multiplier, charge.sampling_rate, order) for order in orders])
    assert epsilon0 is not None
    profile = SampledPureMechanism(epsilon0, charge.sampling_rate)
    return np.array([profile.log_moment(order) / (order - 1) for order in orders])


@lru_cache(maxsize=50_000)
def _sampled_gaussian_divergence(sigma: float, rate: float, order: float) -> float:
    accountant = rdp.RdpAccountant([order], neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    # The library reads nothing but sample_size / source_dataset_size, so the rate itself over 1 is exact.
    event = dp_accounting.SampledWithoutReplacementDpEvent(
        source_dataset_size=1, sample_size=rate, event=dp_accounting.GaussianDpEvent(sigma)
    )
    accountant.compose(event)
    return max(float(accountant.rdp[0]), 0.0)
