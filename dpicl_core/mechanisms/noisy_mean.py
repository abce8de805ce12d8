"""The one step that all vector mechanisms share: a noisy mean of rows that lie in a ball."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.randomness import RandomSource, noise_scale

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def noisy_mean(rows: Matrix, sensitivity: float, noise_multiplier: float, *, rng: RandomSource) -> tuple[Vector, float]:
    """(sum of rows + Gaussian noise) / M and the noise standard deviation per coordinate of that mean.

    rows: (M, K), any two of which are at most `sensitivity` apart in L2; the noise is added to the sum.
    """
    subsets, size = rows.shape
    scale = noise_scale(noise_multiplier, sensitivity, size)
    return rng.gaussian_vector(rows.sum(axis=0), scale) / subsets, scale / subsets
