"""The two ends of the scale: no private row at all, and no protection at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedTrace
from dpicl_core.mechanisms.outcome import TokenOutcome
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import PublicOnlySpec, UnprotectedSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_NOTHING = ReleasedTrace(None, (), "single")


def public_only(spec: PublicOnlySpec, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome:
    """Take the public vector; `probabilities` is never read and may be empty."""
    return TokenOutcome(int(np.argmax(public)), public, _NOTHING, (public,))


def unprotected(spec: UnprotectedSpec, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome:
    """Noise-free mean of the private rows: steward-only, without any guarantee."""
    mean = np.asarray(probabilities.mean(axis=0), dtype=np.float64)
    return TokenOutcome(int(np.argmax(mean)), mean, _NOTHING, (mean,))
