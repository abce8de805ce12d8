"""Anchored radius reduction (ours): start at the public vector, shrink by a schedule fixed in advance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedStep, ReleasedTrace
from dpicl_core.mechanisms.noisy_mean import noisy_mean
from dpicl_core.mechanisms.outcome import TokenOutcome
from dpicl_core.mechanisms.simplex import euclidean_projection, project_to_ball
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import AnchoredSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def anchored(spec: AnchoredSpec, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome:
    """Release one token: one noisy mean per radius of the schedule, each around the one before."""
    centre = public
    mean = public
    steps: list[ReleasedStep] = []
    means: list[Vector] = []
    for radius in spec.schedule:
        projected = project_to_ball(probabilities, centre, radius)
        mean, scale = noisy_mean(projected, 2 * radius, spec.sigma1, rng=rng)
        centre = euclidean_projection(mean)
        steps.append(ReleasedStep(radius, scale))
        means.append(centre)
    trace = ReleasedTrace(None, tuple(steps), "iterations")
    return TokenOutcome(int(np.argmax(mean)), centre, trace, tuple(means))
