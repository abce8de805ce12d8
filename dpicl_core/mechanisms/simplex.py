"""Geometry of next-token vectors: the simplex, balls, and distances. Pure numpy, no noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.specs import Simplex

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def uniform_vector(size: int) -> Vector:
    """(size,) vector with equal entries that add to 1."""
    return np.full(size, 1.0 / size)


def clip_and_rescale(vector: Vector) -> Vector:
    """max(v, 0) divided by its sum, as AdaDPSyn publishes it; uniform where nothing is positive."""
    positive = np.maximum(vector, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else uniform_vector(len(vector))


def euclidean_projection(vector: Vector) -> Vector:
    """Nearest point of the simplex in L2 (Duchi et al. 2008, the sorting algorithm)."""
    descending = np.sort(vector)[::-1]
    excess = np.cumsum(descending) - 1.0
    ranks = np.arange(1, len(vector) + 1)
    kept = int(np.max(np.nonzero(descending - excess / ranks > 0)[0], initial=0))
    projected = np.maximum(vector - excess[kept] / (kept + 1), 0.0)
    return np.asarray(projected / projected.sum(), dtype=np.float64)


def to_simplex(vector: Vector, how: Simplex) -> Vector:
    """Post-process a noisy mean (K,) into the simplex."""
    return clip_and_rescale(vector) if how == "clip" else euclidean_projection(vector)


def project_to_ball(rows: Matrix, centre: Vector, radius: float) -> Matrix:
    """Move every row (M, K) that is farther than `radius` from `centre` (K,) to the ball's surface."""
    offsets = rows - centre
    lengths = np.linalg.norm(offsets, axis=1, keepdims=True)
    return np.asarray(centre + offsets / np.maximum(1.0, lengths / radius), dtype=np.float64)


def pairwise_distances(rows: Matrix) -> Matrix:
    """(M, M) L2 distances of the rows (M, K); exact zeros on the diagonal.

    Each distance is computed from its two rows alone, so that no bit of it depends on a third. A product of matrices
    would be faster still, but loses the digits of small distances and leaves the order of its sums to a library.
    """
    from scipy.spatial.distance import pdist, squareform  # takes a second to import, and only this mechanism needs it

    return np.asarray(squareform(pdist(rows)), dtype=np.float64)


def points_within(rows: Matrix, centre: Vector, radius: float) -> int:
    """How many rows lie within `radius` of `centre`; moves by at most 1 when one row is replaced."""
    return int(np.count_nonzero(np.linalg.norm(rows - centre, axis=1) <= radius))
