"""GoodRadius: a noisy binary search for the radius of a ball that holds t of the points.

After Nissim, Stemmer, Vadhan 2016 (Algorithms 4 and 5), in the Gaussian form that Gao et al. 2024 use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.mechanisms.simplex import pairwise_distances
from dpicl_core.randomness import RandomSource, noise_scale
from dpicl_core.specs import HALF_DIAMETER

Matrix = NDArray[np.float64]

SCORE_SENSITIVITY = 2.0
"""Replacing one row moves the capped-count score by at most 2 - 2/t, so by less than this."""


def capped_count_score(distances: Matrix, radius: float, target: int) -> float:
    """L(radius): mean, over the `target` points with most neighbours, of min(neighbours, target).

    distances: (M, M). A point counts as its own neighbour. 1 <= target <= M. docs/privacy.md proves the sensitivity.
    """
    neighbours = np.minimum(np.count_nonzero(distances <= radius, axis=1), target)
    return float(np.mean(np.sort(neighbours)[-target:]))


def good_radius(rows: Matrix, target: int, noise_multiplier: float, comparisons: int, *, rng: RandomSource) -> float:
    """Midpoint of the interval that the noisy search ends in, within (0, sqrt(2)/2).

    rows: (M, K). comparisons: noisy values drawn, exactly as many as the accountant priced: two per halving,
    always both, and never more, whatever the rows are.
    """
    distances = pairwise_distances(rows)
    scale = noise_scale(noise_multiplier, SCORE_SENSITIVITY)
    low, high = 0.0, HALF_DIAMETER
    for _ in range(comparisons // 2):
        middle = (low + high) / 2
        whole = rng.gaussian(capped_count_score(distances, middle, target), scale)
        half = rng.gaussian(capped_count_score(distances, middle / 2, target), scale)
        if whole >= target or half >= target:
            high = middle
        else:
            low = middle
    return (low + high) / 2
