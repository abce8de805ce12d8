"""Tang et al. 2023, report-noisy-max: only the index of the largest noisy score leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedTrace
from dpicl_core.mechanisms.outcome import TokenOutcome
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import TangNoisyMaxSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def peak_scores(probabilities: Matrix) -> Vector:
    """(K,) sum of the rows, each scaled so that its largest entry is 1: one row moves a score by at most 1."""
    return np.asarray((probabilities / probabilities.max(axis=1, keepdims=True)).sum(axis=0), dtype=np.float64)


def tang_noisy_max(spec: TangNoisyMaxSpec, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome:
    """Release one token; no vector, no margin and no alternative is released with it."""
    choice = rng.noisy_max(peak_scores(probabilities), spec.epsilon0)
    return TokenOutcome(choice, None, ReleasedTrace(None, (), "single"))
