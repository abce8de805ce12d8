"""Random sources for tests: one replays given noise, one records what a run asked for. Neither is private."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpicl_core.randomness import SeededRandomness


class ReplayedRandomness:
    """Noise from a given list of standard normals; each query takes as many as it needs, in order."""

    private = False

    def __init__(self, standard_normals: Iterable[float]) -> None:
        self._stream = iter(standard_normals)
        self.scales: list[float] = []

    def _next(self) -> float:
        return next(self._stream)

    def draw(self, population, count):
        return tuple(range(count))

    def choose(self, population):
        return 0

    def uniform(self):
        return 0.5

    def gaussian(self, value, scale):
        self.scales.append(scale)
        return value + scale * self._next()

    def gaussian_vector(self, value, scale):
        self.scales.append(scale)
        return np.array([entry + scale * self._next() for entry in value])

    def noisy_max(self, scores, epsilon):
        return int(np.argmax(scores))


class RecordingRandomness(SeededRandomness):
    """The seeded twin that also remembers every draw and every noise value."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.draws: list[tuple[int, ...]] = []
        self.noises: list[tuple[float, ...]] = []
        self.queries: list[tuple[str, float]] = []

    def draw(self, population, count):
        drawn = super().draw(population, count)
        self.draws.append(drawn)
        return drawn

    def gaussian(self, value, scale):
        noisy = super().gaussian(value, scale)
        self.noises.append((noisy - value,))
        self.queries.append(("scalar", scale))
        return noisy

    def gaussian_vector(self, value, scale):
        noisy = super().gaussian_vector(value, scale)
        self.noises.append(tuple(noisy - value))
        self.queries.append(("vector", scale))
        return noisy
