"""What a score tells members from others: ROC curve, area under it, and the ceiling that a privacy loss proves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpicl_core.accounting.risk import PrivacyProfile
from dpicl_core.specs import require

Vector = NDArray[np.float64]

GRID = np.linspace(0.0, 1.0, 101)
"""False-positive rates at which curves are averaged."""

_LARGEST_EPSILON = 40.0
_LINES = 801
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """Corners (false_positive, true_positive) of a curve of straight pieces, from (0, .) to (1, 1). area: under it."""

    false_positive: tuple[float, ...] = field(repr=False)
    true_positive: tuple[float, ...] = field(repr=False)
    area: float

    def at(self, false_positive: float) -> float:
        """The largest true-positive rate at this false-positive rate."""
        x = np.array(self.false_positive)
        left = int(np.searchsorted(x, false_positive, side="right")) - 1
        if left < 0:
            return 0.0
        if left == len(x) - 1:
            return self.true_positive[left]
        share = (false_positive - x[left]) / (x[left + 1] - x[left])
        return float(self.true_positive[left] + share * (self.true_positive[left + 1] - self.true_positive[left]))


def area_under_scores(members: Sequence[float], others: Sequence[float]) -> float:
    """Chance that a random member scores above a random other, ties counted half (Mann-Whitney)."""
    require(len(members) > 0 and len(others) > 0, "an ROC curve needs at least one member and one non-member.")
    ranks = stats.rankdata(np.concatenate([members, others]))
    above = float(ranks[: len(members)].sum()) - len(members) * (len(members) + 1) / 2
    return above / (len(members) * len(others))


def curve_of_scores(members: Sequence[float], others: Sequence[float]) -> Curve:
    """The ROC curve of "at least this score means member"; equal scores make one slanted piece."""
    area = area_under_scores(members, others)
    xs, ys = [0.0], [0.0]
    inside, outside = np.asarray(members), np.asarray(others)
    for threshold in sorted(set(members) | set(others), reverse=True):
        xs.append(float(np.mean(outside >= threshold)))
        ys.append(float(np.mean(inside >= threshold)))
    return Curve(tuple(xs), tuple(ys), area)


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Mean true-positive rate at each of GRID; the area is the mean of the curves' own areas."""
    heights = np.mean([[curve.at(float(x)) for x in GRID] for curve in curves], axis=0)
    return Curve(tuple(map(float, GRID)), tuple(map(float, heights)), float(np.mean([curve.area for curve in curves])))


def ceiling(loss: PrivacyProfile | None) -> Curve:
    """The highest ROC curve that any attack on anything released can have, whatever it knows.

    For every epsilon the true-positive rate is at most delta(epsilon) + e^epsilon * false-positive rate; the curve is
    the least of such lines and of 1, and its area is computed piece by piece, so it is a bound for any choice of lines.
    loss: composed; None for no protection, whose ceiling is 1 everywhere.
    On average over members and others of one distribution, as an attack is measured, it holds as well, since the curve
    is concave.
    """
    if loss is None:
        return Curve((0.0, 1.0), (1.0, 1.0), 1.0)
    epsilons = np.linspace(-_reach(loss), _reach(loss), _LINES)
    starts = np.array([1.0, *(loss.delta(float(epsilon)) for epsilon in epsilons)])
    xs, ys = _least_of_lines(starts, np.array([0.0, *np.exp(epsilons)]))
    pieces = (ys[1:] + ys[:-1]) / 2 * np.diff(xs)
    return Curve(tuple(map(float, xs)), tuple(map(float, ys)), float(pieces.sum()))


def _reach(loss: PrivacyProfile) -> float:
    """An epsilon behind which delta hardly falls any more."""
    floor = loss.delta(math.inf) + _NEGLIGIBLE
    reach = 0.125
    while reach < _LARGEST_EPSILON and loss.delta(reach) > floor:
        reach *= 2
    return min(reach, _LARGEST_EPSILON)


def _least_of_lines(starts: Vector, slopes: Vector) -> tuple[Vector, Vector]:
    """Corners over [0, 1] of the least of lines start + slope * x: from steep to flat, each while it is the least."""
    order = np.lexsort((starts, -slopes))
    kept: list[tuple[float, float]] = []
    for start, slope in zip(starts[order], slopes[order], strict=True):
        if kept and slope == kept[-1][1]:
            continue  # parallel, and not lower
        while kept:
            last_start, last_slope = kept[-1]
            if start <= last_start:  # flatter and not higher at 0: the last line is never the least
                kept.pop()
                continue
            if len(kept) > 1:
                before_start, before_slope = kept[-2]
                cross_before = (last_start - before_start) / (before_slope - last_slope)
                cross_now = (start - before_start) / (before_slope - slope)
                if cross_now <= cross_before:
                    kept.pop()
                    continue
            break
        kept.append((float(start), float(slope)))
    corners = [0.0]
    for (a, b), (c, d) in itertools.pairwise(kept):
        corners.append(min((c - a) / (b - d), 1.0))
    xs = np.array(sorted({*corners, 1.0}))
    ys = np.min([start + slope * xs for start, slope in kept], axis=0)
    return xs, np.minimum(ys, 1.0)
