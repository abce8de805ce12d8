"""Frozen events of a run, in two families that never mix.

Released events hold public settings and DP-released values alone: they may be stored, drawn and exported.
StewardDiagnostics holds private values: it travels by its own channel, stays in memory, and is "internal, not DP".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpicl_core.values import Price

EndReason = Literal["ending-token", "token-limit", "stopped"]
"""`stopped`: the run was closed before this demonstration was done."""
StopReason = Literal["radius", "coverage", "iterations", "single"]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReleasedStep:
    """One noisy mean: the radius R that bounded it and the noise standard deviation per coordinate of the mean."""

    radius: float
    noise_scale: float
    coverage_passed: bool | None = None


@dataclass(frozen=True, slots=True)
class ReleasedTrace:
    """What one token's mechanism released besides the token.

    good_radius: r of the radius search, None where the mechanism has none.
    steps: the noisy means in order; stopped_by: which check ended them.
    """

    good_radius: float | None
    steps: tuple[ReleasedStep, ...]
    stopped_by: StopReason


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Public settings are fixed and priced; nothing has been drawn yet."""

    target_labels: tuple[str, ...]
    prices: tuple[Price, ...]
    private: bool


@dataclass(frozen=True, slots=True)
class TokenReleased:
    """One committed token of one demonstration (both counted from 0), with its trace, all at once.

    text: the demonstration so far, this token included (without it, where the token ends the text).
    """

    demonstration: int
    position: int
    token_id: int
    text: str
    trace: ReleasedTrace
    ends: bool


@dataclass(frozen=True, slots=True)
class DemonstrationFinished:
    """A whole demonstration: post-processing of its released tokens."""

    demonstration: int
    label: str
    text: str
    token_ids: tuple[int, ...]
    ended_by: EndReason


@dataclass(frozen=True, slots=True)
class RunFinished:
    """All demonstrations are done."""

    demonstrations: tuple[DemonstrationFinished, ...]


ReleasedEvent = RunStarted | TokenReleased | DemonstrationFinished | RunFinished


@dataclass(frozen=True, slots=True)
class StewardDiagnostics:
    """Internal, not DP: what the mechanism saw for one token. Never stored, logged or exported.

    probabilities: (M, K) private rows; public: (K,) public row; candidates: (K,) token ids;
    means: the noisy centres in order (released, kept here for the cluster picture).
    """

    demonstration: int
    position: int
    probabilities: Vector = field(repr=False)
    public: Vector = field(repr=False)
    candidates: NDArray[np.int64] = field(repr=False)
    means: tuple[Vector, ...] = field(repr=False)
    unusable_rows: int = field(default=0, repr=False)
