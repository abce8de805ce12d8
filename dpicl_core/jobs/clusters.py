"""The cluster picture: one token's private vectors in two principal components. Internal, not DP."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import ReleasedTrace, StewardDiagnostics

Plane = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """points (M, 2) and public (2,) in the plane of the private vectors' first two principal components.

    means (steps, 2): noisy means in order. centre (2,) and radius: the ball of the last step, None where there is
    none; in the plane it is a circle of the same radius. kept_variance: share of the points' variance in the plane.
    inside: private vectors within the ball in all K dimensions.
    """

    points: Plane = field(repr=False)
    public: Plane = field(repr=False)
    means: Plane = field(repr=False)
    centre: Plane | None = field(repr=False)
    radius: float | None
    kept_variance: float
    inside: int | None


def cluster_view(seen: StewardDiagnostics, trace: ReleasedTrace) -> ClusterView:
    """Project one token's vectors; the plane is through the mean of the private vectors."""
    rows = seen.probabilities
    origin = rows.mean(axis=0)
    _, values, axes = np.linalg.svd(rows - origin, full_matrices=False)
    plane = np.zeros((2, rows.shape[1]))
    plane[: min(2, len(axes))] = axes[:2]
    total = float((values**2).sum())
    ball = _last_ball(seen, trace)
    means = np.array(seen.means) if seen.means else np.zeros((0, rows.shape[1]))
    return ClusterView(
        points=(rows - origin) @ plane.T,
        public=plane @ (seen.public - origin),
        means=(means - origin) @ plane.T,
        centre=None if ball is None else plane @ (ball[0] - origin),
        radius=None if ball is None else ball[1],
        kept_variance=float((values[:2] ** 2).sum()) / total if total > 0 else 1.0,
        inside=None if ball is None else int(np.count_nonzero(np.linalg.norm(rows - ball[0], axis=1) <= ball[1])),
    )


def _last_ball(seen: StewardDiagnostics, trace: ReleasedTrace) -> tuple[Plane, float] | None:
    """Centre and radius of the ball that the last noisy mean was taken in.

    It lies around the mean before; the first ball of a schedule lies around the public vector, and AdaDPSyn's first
    is the whole simplex, which has no centre worth drawing.
    """
    if not trace.steps:
        return None
    radius = trace.steps[-1].radius
    if len(trace.steps) >= 2 and len(seen.means) >= 2:
        return np.asarray(seen.means[-2]), radius
    return (seen.public, radius) if trace.good_radius is None and trace.stopped_by == "iterations" else None
