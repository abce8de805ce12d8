"""What every mechanism hands back for one token, and the interface that all of them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedTrace
from dpicl_core.randomness import RandomSource

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TokenOutcome:
    """One token's release.

    choice: index into the candidate set. vector: (K,) released vector on the simplex, None where only the choice
    is private. trace: the DP-released trace. means: the released centres in order, for the cluster picture.
    """

    choice: int
    vector: Vector | None = field(repr=False)
    trace: ReleasedTrace
    means: tuple[Vector, ...] = field(default=(), repr=False)


class Mechanism(Protocol):
    """(M, K) private rows and the (K,) public row in, one noisy release out; everything private ends here."""

    def __call__(self, spec: Any, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome: ...
