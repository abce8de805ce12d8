"""Renyi divergence of a run at one order, from the tight pair: what a Renyi filter adds up."""

from __future__ import annotations

import math

from dpicl_core.accounting.charges import Charge
from dpicl_core.accounting.profiles import SampledGaussian, SampledPureMechanism
from dpicl_core.specs import MechanismSpec, require


def renyi_divergence(spec: MechanismSpec, order: float, *, sampling_rate: float, composed_tokens: int) -> float:
    """Upper bound of the Renyi divergence at `order` > 1, in both directions, of all composed tokens.

    Every f-divergence, hence every Renyi divergence, is bounded by that of a pair with a larger privacy profile; the
    pair of C_gamma is symmetric, so one number serves both directions; divergences of adaptively chosen tokens add
    (Mironov 2017, Proposition 1). Valid in a filter whose order is fixed beforehand (Feldman, Zrnic 2021).
    0 without private rows, inf without noise. Raises ConfigError for an order that is not finite and above 1.
    """
    require(
        math.isfinite(order) and order > 1,
        f"the order must be a finite number above 1, but is {order}; usual values are 2 to 64.",
    )
    charge = Charge(spec, sampling_rate, composed_tokens)
    if charge.is_free or charge.is_unbounded:
        return 0.0 if charge.is_free else math.inf
    sigma, epsilon0 = spec.sigma_eff, charge.pure_epsilon
    if sigma is not None:
        moment = SampledGaussian(1 / sigma, sampling_rate).log_moment(order)
    else:
        assert epsilon0 is not None
        moment = SampledPureMechanism(epsilon0, sampling_rate).log_moment(order)
    # The quadrature is exact to about 1e-12; the margin keeps the result an upper bound.
    return composed_tokens * moment / (order - 1) * (1 + 1e-9)
