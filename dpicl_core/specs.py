"""Mechanism specifications: the one frozen object that a mechanism runs and an accountant prices.

A spec holds noise multipliers (noise standard deviation divided by the sensitivity, no unit) and public
settings. It knows which noisy queries one token costs, and nothing about data, models or accountants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from dpicl_core.errors import ConfigError

SIMPLEX_DIAMETER = math.sqrt(2.0)
"""Largest L2 distance of two points of the probability simplex."""

HALF_DIAMETER = SIMPLEX_DIAMETER / 2
"""Starting radius R of AdaDPSyn: 2R is then the L2 sensitivity of a sum of simplex points."""

Simplex = Literal["clip", "euclidean"]


def require(condition: bool, message: str) -> None:
    """Raise ConfigError(message) unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def require_positive(name: str, value: float) -> None:
    """Raise ConfigError unless value is a finite number above 0."""
    require(
        isinstance(value, int | float) and math.isfinite(value) and value > 0,
        f"{name} must be a finite number above 0, but is {value}; give a larger one.",
    )


@dataclass(frozen=True, slots=True)
class GaussianQuery:
    """One kind of Gaussian release within a token, made at most `count` times."""

    name: str
    count: int
    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class MechanismSpec:
    """Base of all specs. Subclasses are frozen values; two equal specs cost the same and run the same."""

    name: ClassVar[str]
    releases_vector: ClassVar[bool] = True
    reads_private_rows: ClassVar[bool] = True
    exportable: ClassVar[bool] = True

    @property
    def reduced_vocabulary(self) -> bool:
        """Whether candidates are the public top K; Tang's mechanisms can be run on the whole vocabulary."""
        return True

    def queries(self) -> tuple[GaussianQuery, ...]:
        """All Gaussian queries of one token, early stopping padded with null queries."""
        return ()

    @property
    def sigma_eff(self) -> float | None:
        """Noise multiplier of the single Gaussian that dominates one token; None where there is none.

        Adaptive composition of Gaussian mechanisms: 1/sigma_eff^2 is the sum of count/multiplier^2.
        """
        rate = sum(query.count / query.noise_multiplier**2 for query in self.queries())
        return 1 / math.sqrt(rate) if rate > 0 else None

    def noise_multipliers(self) -> dict[str, float]:
        """Noise multipliers by name, for reports and exports."""
        return {query.name: query.noise_multiplier for query in self.queries()}

    def rescaled(self, factor: float) -> MechanismSpec:
        """The same mechanism with every noise standard deviation multiplied by `factor`."""
        raise ConfigError(f"{self.name} has no noise to calibrate; leave epsilon out or choose another mechanism.")


@dataclass(frozen=True, slots=True)
class TangGaussianSpec(MechanismSpec):
    """Tang et al. 2023, Gaussian variant: argmax of the noisy sum of the rows."""

    name: ClassVar[str] = "tang-gaussian"
    sigma: float = 1.0
    whole_vocabulary: bool = False

    @property
    def reduced_vocabulary(self) -> bool:
        return not self.whole_vocabulary

    def __post_init__(self) -> None:
        require_positive("sigma", self.sigma)

    def queries(self) -> tuple[GaussianQuery, ...]:
        return (GaussianQuery("sigma", 1, self.sigma),)

    def rescaled(self, factor: float) -> TangGaussianSpec:
        return replace(self, sigma=self.sigma * factor)


@dataclass(frozen=True, slots=True)
class AdaDPSynSpec(MechanismSpec):
    """Gao et al. 2024, Algorithm 1 with GoodRadius.

    sigma0, sigma1, sigma2: noise multipliers of radius search, means and coverage checks.
    iterations: T^, refinements at most. margin: lambda. target_fraction: tau. coverage: mu.
    radius_tolerance: theta, length of the last interval of the radius search.
    """

    name: ClassVar[str] = "adadpsyn"
    sigma0: float = 10.0
    sigma1: float = 1.0
    sigma2: float = 10.0
    iterations: int = 1
    margin: float = 0.2
    target_fraction: float = 0.8
    coverage: float = 0.55
    radius_tolerance: float = 0.1
    simplex: Simplex = "clip"

    def __post_init__(self) -> None:
        for name in ("sigma0", "sigma1", "sigma2"):
            require_positive(name, getattr(self, name))
        require(
            isinstance(self.iterations, int) and 1 <= self.iterations <= 20,
            f"iterations must be a whole number from 1 to 20, but is {self.iterations}; choose 1 to 3.",
        )
        require(
            math.isfinite(self.margin) and self.margin >= 0,
            f"margin must be a finite number of at least 0, but is {self.margin}; the default is 0.2.",
        )
        for name in ("target_fraction", "coverage"):
            value = getattr(self, name)
            require(0 < value <= 1, f"{name} must be above 0 and at most 1, but is {value}; choose one in between.")
        require(
            0.001 <= self.radius_tolerance <= 0.5,
            f"radius_tolerance must be from 0.001 to 0.5, but is {self.radius_tolerance}; the default is 0.1.",
        )
        require(
            self.simplex in ("clip", "euclidean"),
            f"simplex must be clip or euclidean, but is {self.simplex}; the published form is clip.",
        )

    @property
    def radius_comparisons(self) -> int:
        """Noisy values drawn by GoodRadius: two for every halving of [0, sqrt(2)/2] down to theta."""
        halvings = math.ceil(math.log2(HALF_DIAMETER / self.radius_tolerance))
        return 2 * max(halvings, 0)

    def queries(self) -> tuple[GaussianQuery, ...]:
        return (
            GaussianQuery("sigma0", self.radius_comparisons, self.sigma0),
            GaussianQuery("sigma1", self.iterations + 1, self.sigma1),
            GaussianQuery("sigma2", self.iterations, self.sigma2),
        )

    def rescaled(self, factor: float) -> AdaDPSynSpec:
        return replace(self, sigma0=self.sigma0 * factor, sigma1=self.sigma1 * factor, sigma2=self.sigma2 * factor)

    def split_as(self, radius_share: float, mean_share: float, coverage_share: float) -> AdaDPSynSpec:
        """The spec with sigma_eff 1 whose 1/sigma_eff^2 is divided in these shares (they must add to 1)."""
        shares = (radius_share, mean_share, coverage_share)
        require(
            all(math.isfinite(share) and share > 0 for share in shares) and abs(sum(shares) - 1) < 1e-9,
            f"the noise split must be three shares above 0 that add to 1, but is {shares}; "
            "the default is 0.03,0.94,0.03.",
        )
        sigma0, sigma1, sigma2 = (
            math.sqrt(query.count / share) for query, share in zip(self.queries(), shares, strict=True)
        )
        return replace(self, sigma0=sigma0, sigma1=sigma1, sigma2=sigma2)


@dataclass(frozen=True, slots=True)
class AnchoredSpec(MechanismSpec):
    """Ours: anchored radius reduction, starting at the public vector, radii fixed in advance.

    schedule: strictly decreasing radii, one noisy mean each; a function of public things only.
    """

    name: ClassVar[str] = "anchored"
    sigma1: float = 1.0
    schedule: tuple[float, ...] = (0.30, 0.15)

    def __post_init__(self) -> None:
        require_positive("sigma1", self.sigma1)
        require(len(self.schedule) >= 1, "schedule must hold at least one radius, but is empty; try 0.30,0.15.")
        descending = all(a > b for a, b in zip(self.schedule, self.schedule[1:], strict=False))
        in_range = all(0.001 <= radius <= HALF_DIAMETER + 1e-12 for radius in self.schedule)
        require(
            descending and in_range,
            f"schedule must fall strictly, within 0.001 to 0.7071, but is {self.schedule}; try 0.30,0.15.",
        )

    def queries(self) -> tuple[GaussianQuery, ...]:
        return (GaussianQuery("sigma1", len(self.schedule), self.sigma1),)

    def rescaled(self, factor: float) -> AnchoredSpec:
        return replace(self, sigma1=self.sigma1 * factor)


@dataclass(frozen=True, slots=True)
class TangNoisyMaxSpec(MechanismSpec):
    """Tang et al. 2023, report-noisy-max: Exponential noise of scale 2/epsilon0; only the argmax is released."""

    name: ClassVar[str] = "tang-noisy-max"
    releases_vector: ClassVar[bool] = False
    epsilon0: float = 1.0
    whole_vocabulary: bool = False

    @property
    def reduced_vocabulary(self) -> bool:
        return not self.whole_vocabulary

    def __post_init__(self) -> None:
        require_positive("epsilon0", self.epsilon0)

    def rescaled(self, factor: float) -> TangNoisyMaxSpec:
        return replace(self, epsilon0=self.epsilon0 / factor)

    def noise_multipliers(self) -> dict[str, float]:
        return {"exponential_scale": 2 / self.epsilon0}


@dataclass(frozen=True, slots=True)
class PublicOnlySpec(MechanismSpec):
    """The public next-token vector alone: no private row is read, epsilon is 0."""

    name: ClassVar[str] = "public-only"
    reads_private_rows: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class UnprotectedSpec(MechanismSpec):
    """The noise-free mean, for the steward's eyes: no guarantee, never exported."""

    name: ClassVar[str] = "unprotected"
    exportable: ClassVar[bool] = False
