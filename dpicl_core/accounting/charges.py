"""What is priced: one mechanism, run on fresh samples of one pool, for a number of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpicl_core.specs import MechanismSpec, TangNoisyMaxSpec, require


@dataclass(frozen=True, slots=True)
class Charge:
    """What the units of one pool pay in one run, before it is turned into a number.

    spec: the mechanism with its noise.
    sampling_rate: units drawn for a token divided by units in the pool (or groups drawn divided by groups of a fixed
        secret partition), above 0 and at most 1; not read where the mechanism sees no private row.
    composed_tokens: tokens released from this pool, each on its own fresh draw.
    Raises ConfigError outside these bounds.
    """

    spec: MechanismSpec
    sampling_rate: float
    composed_tokens: int

    def __post_init__(self) -> None:
        rate, tokens = self.sampling_rate, self.composed_tokens
        require(
            not self.spec.reads_private_rows or (math.isfinite(rate) and 0 < rate <= 1),
            f"the sampling rate must be above 0 and at most 1, but is {rate}; draw fewer units or use a larger pool.",
        )
        require(
            isinstance(tokens, int) and tokens >= 1,
            f"composed tokens must be a whole number of at least 1, but are {tokens}; give a larger --tokens.",
        )

    @property
    def is_free(self) -> bool:
        """True where no private row is read: epsilon is 0."""
        return not self.spec.reads_private_rows

    @property
    def is_unbounded(self) -> bool:
        """True where private rows are read and nothing hides them: epsilon is infinite."""
        return self.spec.reads_private_rows and self.spec.sigma_eff is None and self.pure_epsilon is None

    @property
    def pure_epsilon(self) -> float | None:
        """epsilon_0 of a mechanism that is epsilon_0-DP on the drawn sample, None for the others."""
        return self.spec.epsilon0 if isinstance(self.spec, TangNoisyMaxSpec) else None
