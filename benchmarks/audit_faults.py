"""Faults to plant, from outside the engine: sources that misbehave, and a mechanism that reads what it must not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit_transcripts import PassingSource
from dpicl_core.mechanisms import TokenOutcome, release_token
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import MechanismSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class HalfNoise(PassingSource):
    """Every noise has half the scale that was asked for."""

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        return self.inner.gaussian_vector(value, scale / 2)

    def gaussian(self, value: float, scale: float) -> float:
        return self.inner.gaussian(value, scale / 2)

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        return self.inner.noisy_max(scores, 2 * epsilon)


class MeanNoiseOnSum(PassingSource):
    """Sums get the noise of the mean: the priced scale, divided by the number of rows M."""

    def __init__(self, inner: RandomSource, *, subsets: int) -> None:
        super().__init__(inner)
        self._subsets = subsets

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        return self.inner.gaussian_vector(value, scale / self._subsets)


class OneNoiseVector(PassingSource):
    """The noise of the first sum is used again, rescaled, for every later one. One object per run."""

    def __init__(self, inner: RandomSource) -> None:
        super().__init__(inner)
        self._noise: Vector | None = None

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        if self._noise is None:
            noisy = self.inner.gaussian_vector(value, scale)
            self._noise = (noisy - value) / scale
            return noisy
        return value + self._noise * scale


class OneDraw(PassingSource):
    """The rows drawn for the first token are used again for every later one. One object per run."""

    def __init__(self, inner: RandomSource) -> None:
        super().__init__(inner)
        self._drawn: tuple[int, ...] | None = None

    def draw(self, population: int, count: int) -> tuple[int, ...]:
        if self._drawn is None:
            self._drawn = self.inner.draw(population, count)
        return self._drawn


def private_mean_as_public(
    spec: MechanismSpec, probabilities: Matrix, public: Vector, *, rng: RandomSource
) -> TokenOutcome:
    """A mechanism that claims to use the public row alone, handed the mean of the private rows in its place."""
    return release_token(spec, probabilities, probabilities.mean(axis=0), rng=rng)
