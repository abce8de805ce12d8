"""Tang et al. 2023, Gaussian variant: argmax of the sum of rows plus N(0, 2 sigma^2 I)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedStep, ReleasedTrace
from dpicl_core.mechanisms.noisy_mean import noisy_mean
from dpicl_core.mechanisms.outcome import TokenOutcome
from dpicl_core.mechanisms.simplex import euclidean_projection
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import HALF_DIAMETER, SIMPLEX_DIAMETER, TangGaussianSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def tang_gaussian(spec: TangGaussianSpec, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome:
    """Release one token; the choice is taken from the raw noisy mean, the vector is its projection."""
    mean, scale = noisy_mean(probabilities, SIMPLEX_DIAMETER, spec.sigma, rng=rng)
    trace = ReleasedTrace(None, (ReleasedStep(HALF_DIAMETER, scale),), "single")
    vector = euclidean_projection(mean)
    return TokenOutcome(int(np.argmax(mean)), vector, trace, (vector,))
