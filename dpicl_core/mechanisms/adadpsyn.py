"""AdaDPSyn (Gao et al. 2024, Algorithm 1): shrink the ball around a noisy mean, then average inside it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedStep, ReleasedTrace, StopReason
from dpicl_core.mechanisms.good_radius import good_radius
from dpicl_core.mechanisms.noisy_mean import noisy_mean
from dpicl_core.mechanisms.outcome import TokenOutcome
from dpicl_core.mechanisms.simplex import points_within, project_to_ball, to_simplex
from dpicl_core.randomness import RandomSource, noise_scale
from dpicl_core.specs import HALF_DIAMETER, AdaDPSynSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def target_count(fraction: float, subsets: int) -> int:
    """t = floor(tau M), at least 1; the tiny addend undoes rounding of products such as 0.7 * 10."""
    return max(1, math.floor(fraction * subsets + 1e-9))


def adadpsyn(spec: AdaDPSynSpec, probabilities: Matrix, public: Vector, *, rng: RandomSource) -> TokenOutcome:
    """Release one token; `public` is not used, as published. Every noisy value is priced by spec.queries()."""
    subsets, size = probabilities.shape
    found_radius = good_radius(
        probabilities,
        target_count(spec.target_fraction, subsets),
        spec.sigma0,
        spec.radius_comparisons,
        rng=rng,
    )
    radius = HALF_DIAMETER
    mean, scale = noisy_mean(probabilities, 2 * radius, spec.sigma1, rng=rng)
    centre = to_simplex(mean, spec.simplex)
    steps = [ReleasedStep(radius, scale)]
    means = [centre]
    stopped_by: StopReason = "iterations"
    for _ in range(spec.iterations):
        candidate = found_radius + 2 * spec.margin * radius * spec.sigma1 * math.sqrt(size) / subsets
        if radius < candidate:
            stopped_by = "radius"
            break
        covered = rng.gaussian(float(points_within(probabilities, centre, candidate)), noise_scale(spec.sigma2, 1.0))
        if covered < spec.coverage * subsets:
            stopped_by = "coverage"
            break
        radius = candidate
        projected = project_to_ball(probabilities, centre, radius)
        mean, scale = noisy_mean(projected, 2 * radius, spec.sigma1, rng=rng)
        centre = to_simplex(mean, spec.simplex)
        steps.append(ReleasedStep(radius, scale, coverage_passed=True))
        means.append(centre)
    trace = ReleasedTrace(found_radius, tuple(steps), stopped_by)
    return TokenOutcome(int(np.argmax(centre)), centre, trace, tuple(means))
