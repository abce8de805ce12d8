"""The mechanisms: private next-token vectors in, one noisy choice out. This package is the privacy boundary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.mechanisms.adadpsyn import adadpsyn
from dpicl_core.mechanisms.anchored import anchored
from dpicl_core.mechanisms.gaussian import tang_gaussian
from dpicl_core.mechanisms.noisy_max import tang_noisy_max
from dpicl_core.mechanisms.outcome import Mechanism, TokenOutcome
from dpicl_core.mechanisms.reference import public_only, unprotected
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import (
    AdaDPSynSpec,
    AnchoredSpec,
    MechanismSpec,
    PublicOnlySpec,
    TangGaussianSpec,
    TangNoisyMaxSpec,
    UnprotectedSpec,
)

__all__ = ["MECHANISMS", "Mechanism", "TokenOutcome", "release_token"]

MECHANISMS: dict[type[MechanismSpec], Mechanism] = {
    AdaDPSynSpec: adadpsyn,
    TangGaussianSpec: tang_gaussian,
    TangNoisyMaxSpec: tang_noisy_max,
    AnchoredSpec: anchored,
    PublicOnlySpec: public_only,
    UnprotectedSpec: unprotected,
}


def release_token(
    spec: MechanismSpec,
    probabilities: NDArray[np.float64],
    public: NDArray[np.float64],
    *,
    rng: RandomSource,
) -> TokenOutcome:
    """Run the mechanism that `spec` names on private rows (M, K) and the public row (K,), both on the simplex."""
    return MECHANISMS[type(spec)](spec, probabilities, public, rng=rng)
