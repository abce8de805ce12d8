"""Privacy profile of one token: the least delta at every epsilon, for a mechanism run on a fresh sample.

A mechanism that is f-DP on the sample, run on a sample drawn without replacement at rate gamma, is C_gamma(f)-DP for
two data sets that differ in one replaced unit (Dong, Roth, Su 2019, "Gaussian Differential Privacy", the theorem on
subsampling). C_gamma(f) is symmetric, so its profile is fixed by its half with epsilon >= 0,

    delta(epsilon) = gamma * H_a,    a = 1 + (e^epsilon - 1) / gamma,

with H_a the hockey-stick divergence of the mechanism on the sample, and delta(-epsilon) = 1 - e^-epsilon
+ e^-epsilon delta(epsilon). The half alone must not be composed: a unit may stand out at one token in one direction and
at the next token in the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpicl_core.accounting.charges import Charge
from dpicl_core.errors import ConfigError

Vector = NDArray[np.float64]

_SCAN_STEP = 0.05
_FAR_TAIL = 40.0
"""Standard deviations beyond which a Gaussian tail is below the smallest double."""


class TokenProfile(Protocol):
    """Privacy profile and moments of one token; every value is that of a dominating pair, hence an upper bound."""

    def delta(self, epsilons: Vector) -> Vector:
        """Least delta at each epsilon >= 0, both shape (n,)."""

    def reach(self, tail: float) -> float:
        """An epsilon whose delta is at most `tail`, close above the least such."""

    def variance(self) -> float:
        """Second moment of the privacy loss, for choosing a grid; no bound rests on it."""

    def exact_step(self) -> float | None:
        """Grid step on which the loss lies exactly, None where the loss is continuous."""

    def log_moment(self, order: float) -> float:
        """ln E_P[e^((order - 1) loss)], so that the Renyi divergence is log_moment / (order - 1)."""


def log_one_minus_exp(x: Vector) -> Vector:
    """ln(1 - e^-x) for x > 0 without cancellation; -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.where(x > math.log(2), np.log1p(-np.exp(-x)), np.log(-np.expm1(-x)))


def gaussian_hockey_stick(log_a: Vector, mu: float) -> Vector:
    """H_a of N(mu, 1) against N(0, 1) at a = e^log_a >= 1, shape (n,): Phi(x) - a Phi(x - mu), x = mu/2 - log_a/mu.

    The two terms nearly cancel in the tail. Since a phi(x - mu) = phi(x), they are phi(x) times a difference of Mills
    ratios, and those are scaled complementary error functions; far above 0 the plain form has nothing to cancel.
    """
    x = mu / 2 - log_a / mu
    low = np.minimum(x, 5.0)
    mills = special.erfcx(-low / math.sqrt(2)) - special.erfcx((mu - low) / math.sqrt(2))
    plain = special.ndtr(x) - np.exp(log_a + special.log_ndtr(x - mu))
    value: Vector = np.where(x > 5.0, plain, 0.5 * np.exp(-low * low / 2) * mills)
    return value


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """One token of a Gaussian mechanism: mu = 1 / sigma_eff on the sample, drawn at `sampling_rate`."""

    mu: float
    sampling_rate: float

    def _loss(self, log_ratio: Vector) -> Vector:
        """ln(1 - gamma + gamma e^log_ratio) for log_ratio >= 0: the sampled loss from the loss on the sample."""
        near = np.minimum(log_ratio, 30.0)
        far = log_ratio + math.log(self.sampling_rate)
        rest = math.log1p(-self.sampling_rate) if self.sampling_rate < 1 else -math.inf
        return np.where(log_ratio > 30.0, np.logaddexp(rest, far), np.log1p(self.sampling_rate * np.expm1(near)))

    def delta(self, epsilons: Vector) -> Vector:
        rate = self.sampling_rate
        near = np.log1p(np.expm1(np.minimum(epsilons, 1.0)) / rate)
        far = epsilons - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-epsilons))
        return rate * gaussian_hockey_stick(np.where(epsilons < 1.0, near, far), self.mu)

    def reach(self, tail: float) -> float:
        x = np.arange(self.mu / 2, -_FAR_TAIL, -_SCAN_STEP)
        log_a = self.mu * (self.mu / 2 - x)
        small = self.sampling_rate * gaussian_hockey_stick(log_a, self.mu) <= tail
        first = int(np.argmax(small)) if small.any() else len(x) - 1
        return float(self._loss(log_a)[first])

    def variance(self) -> float:
        z = np.arange(self.mu / 2, 2 * self.mu + 12, 0.01)
        loss = self._loss(self.mu * z - self.mu**2 / 2)
        density = (2 - self.sampling_rate) * np.exp(-z * z / 2) + self.sampling_rate * np.exp(-((z - self.mu) ** 2) / 2)
        return float(np.sum(density * loss * loss) * 0.01 / math.sqrt(2 * math.pi))

    def exact_step(self) -> float | None:
        return None

    def log_moment(self, order: float) -> float:
        """As in the Protocol. The pair's two losses +l and -l come together, with likelihood ratio r = e^l against
        N(0, 1) on z > mu/2, and the rest of the mass has loss 0, so the moment is

            1 + integral over z > mu/2 of phi(z) (r^(order-1) - 1) (r - r^(1-order)):

        a positive integrand, summed here in logarithms by Gauss-Legendre panels around its peak.
        """
        width = 1 / max(1.0, self.mu * math.sqrt(order))

        def log_integrand(z: Vector) -> Vector:
            loss = self._loss(np.maximum(self.mu * z - self.mu**2 / 2, 0.0))
            edges = log_one_minus_exp((order - 1) * loss) + log_one_minus_exp(order * loss)
            return order * loss - z * z / 2 + edges

        scan = np.linspace(self.mu / 2, max(order, 1.0) * self.mu + _FAR_TAIL, 20_001)
        heights = log_integrand(scan)
        kept = np.flatnonzero(heights > heights.max() - 60)
        start, stop = scan[max(kept[0] - 1, 0)], scan[min(kept[-1] + 1, len(scan) - 1)]
        edges = np.linspace(start, stop, math.ceil((stop - start) / width) + 1)
        nodes, weights = np.polynomial.legendre.leggauss(20)
        half = np.diff(edges)[:, None] / 2
        points = edges[:-1, None] + half * (nodes + 1)
        log_sum = special.logsumexp(log_integrand(points), b=weights * half / math.sqrt(2 * math.pi))
        return float(np.logaddexp(0.0, log_sum))


@dataclass(frozen=True, slots=True)
class SampledPureMechanism:
    """One token of a mechanism that is epsilon_0-DP on the sample and tight, such as report-noisy-max.

    Its loss has three values, +epsilon_1, 0 and -epsilon_1 with epsilon_1 = ln(1 + gamma (e^epsilon_0 - 1)), of
    probability e^epsilon_1 / (1 + e^epsilon_0), the rest, and 1 / (1 + e^epsilon_0).
    """

    epsilon0: float
    sampling_rate: float

    @property
    def epsilon1(self) -> float:
        if self.epsilon0 < 30:
            return math.log1p(self.sampling_rate * math.expm1(self.epsilon0))
        rest = math.log1p(-self.sampling_rate) if self.sampling_rate < 1 else -math.inf
        return float(np.logaddexp(rest, math.log(self.sampling_rate) + self.epsilon0))

    @property
    def largest_probability(self) -> float:
        """Probability of the loss epsilon_1."""
        return math.exp(self.epsilon1 - float(np.logaddexp(0.0, self.epsilon0)))

    def delta(self, epsilons: Vector) -> Vector:
        return self.largest_probability * -np.expm1(np.minimum(epsilons - self.epsilon1, 0.0))

    def reach(self, tail: float) -> float:
        return self.epsilon1

    def variance(self) -> float:
        return self.epsilon1**2 * self.largest_probability * (1 + math.exp(-self.epsilon1))

    def exact_step(self) -> float | None:
        return self.epsilon1 / max(1, math.ceil(self.epsilon1 / 0.5))

    def log_moment(self, order: float) -> float:
        """As in the Protocol: the moment is 1 + P(-l) (e^(order l) - 1)(1 - e^(-(order-1) l)) with l = epsilon_1."""
        one, above = order * self.epsilon1, (order - 1) * self.epsilon1
        factors = log_one_minus_exp(np.array([one, above]))
        return float(np.logaddexp(0.0, one + factors.sum() - np.logaddexp(0.0, self.epsilon0)))


def profile_of(charge: Charge) -> tuple[TokenProfile, int]:
    """The profile that a charge composes and how often; needs a charge that is neither free nor unbounded.

    Without sampling (rate 1) several Gaussian tokens are exactly one Gaussian with a smaller multiplier.
    """
    sigma, epsilon0 = charge.spec.sigma_eff, charge.pure_epsilon
    if sigma is not None:
        if charge.sampling_rate == 1:
            return SampledGaussian(math.sqrt(charge.composed_tokens) / sigma, 1.0), 1
        return SampledGaussian(1 / sigma, charge.sampling_rate), charge.composed_tokens
    if epsilon0 is not None:
        return SampledPureMechanism(epsilon0, charge.sampling_rate), charge.composed_tokens
    raise ConfigError(f"{charge.spec.name} has no bounded privacy loss; choose a mechanism with noise.")
