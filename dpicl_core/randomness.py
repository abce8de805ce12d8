"""Where chance comes from: operating-system entropy and OpenDP noise, and a seeded twin for tests.

SecretRandomness is the only source whose output may leave. OpenDP adds the noise to the value itself on an
exact grid, which is what defeats attacks on floating-point noise; noise is never drawn first and added later.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

NOISE_INFLATION = 1 + 1e-9
"""Factor on every noise scale that covers rounding in sums, projections and renormalised rows."""

GRANULARITY_LOG2 = -40
"""OpenDP rounds values to multiples of 2**-40 before it adds noise."""


def granular_sensitivity(sensitivity: float, size: int) -> float:
    """L2 sensitivity after each of `size` coordinates was rounded to the grid (an upper bound)."""
    return sensitivity + math.sqrt(size) * 2.0**GRANULARITY_LOG2


def noise_scale(noise_multiplier: float, sensitivity: float, size: int = 1) -> float:
    """Noise standard deviation that gives at least this multiplier, rounding included."""
    return noise_multiplier * granular_sensitivity(sensitivity, size) * NOISE_INFLATION


class RandomSource(Protocol):
    """All chance that one run uses. `private` says whether its output may be released."""

    @property
    def private(self) -> bool: ...

    def draw(self, population: int, count: int) -> tuple[int, ...]:
        """`count` distinct numbers below `population`, in uniformly random order."""
        ...

    def choose(self, population: int) -> int:
        """One number below `population`, uniform."""
        ...

    def uniform(self) -> float:
        """One number in [0, 1), uniform; for sampling from an already released vector."""
        ...

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        """value (n,) plus independent Gaussian noise of standard deviation `scale` per coordinate."""
        ...

    def gaussian(self, value: float, scale: float) -> float:
        """value plus Gaussian noise of standard deviation `scale`."""
        ...

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        """Index of the largest of `scores` (n,) after Exponential noise of scale 2/epsilon; sensitivity 1 a score."""
        ...


@cache
def _opendp() -> Any:
    """OpenDP's prelude with the needed features on; loaded on first use, since it takes a while."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=256)
def _gaussian_measurement(scale: float, size: int | None) -> Any:
    """OpenDP's Gaussian mechanism for a vector of `size`, or for one number where that is None.

    It is a description without a state: each call of it draws new noise, so it may be kept. k is the grid of the noise:
    the coarser, the faster and the looser OpenDP's own bound; at 2**-40 the loss is `granular_sensitivity`.
    """
    dp = _opendp()
    number = dp.atom_domain(T=float, nan=False)
    if size is None:
        return dp.m.make_gaussian(number, dp.absolute_distance(T=float), scale=scale, k=GRANULARITY_LOG2)
    return dp.m.make_gaussian(
        dp.vector_domain(number, size=size), dp.l2_distance(T=float), scale=scale, k=GRANULARITY_LOG2
    )


class SecretRandomness:
    """Operating-system entropy for draws, OpenDP for noise. It has no seed and cannot be replayed."""

    private = True

    def __init__(self) -> None:
        self._system = random.SystemRandom()

    def draw(self, population: int, count: int) -> tuple[int, ...]:
        return tuple(self._system.sample(range(population), count))

    def choose(self, population: int) -> int:
        return self._system.randrange(population)

    def uniform(self) -> float:
        return self._system.random()

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        return np.asarray(_gaussian_measurement(scale, len(value))(value.tolist()), dtype=np.float64)

    def gaussian(self, value: float, scale: float) -> float:
        return float(_gaussian_measurement(scale, None)(float(value)))

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        dp = _opendp()
        measurement = dp.m.make_noisy_max(
            dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(scores)),
            dp.linf_distance(T=float),
            dp.max_divergence(),
            scale=2 / epsilon * NOISE_INFLATION,
        )
        return int(measurement(scores.tolist()))


class SeededRandomness:
    """The reproducible twin for tests: NOT private, its output is marked and never exported."""

    private = False

    def __init__(self, seed: int | Sequence[int]) -> None:
        self._generator = np.random.default_rng(seed)

    def draw(self, population: int, count: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self._generator.permutation(population)[:count])

    def choose(self, population: int) -> int:
        return int(self._generator.integers(population))

    def uniform(self) -> float:
        return float(self._generator.random())

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        return np.asarray(value + self._generator.normal(0.0, scale, size=len(value)), dtype=np.float64)

    def gaussian(self, value: float, scale: float) -> float:
        return float(value + self._generator.normal(0.0, scale))

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        return int(np.argmax(scores + self._generator.exponential(2 / epsilon, size=len(scores))))
