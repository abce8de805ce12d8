"""Two sets of demonstrations against each other, paired by seed: what chance they share cancels out.

For each seed the difference is averaged over the tasks and epsilons that both sets have; the interval is Student's t on
the seeds' differences. A set without noise stands against each epsilon of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import stats

Line = dict[str, Any]
PAIRS = (
    ("adadpsyn", "tang-gaussian"),
    ("anchored", "tang-gaussian"),
    ("anchored", "adadpsyn"),
    ("anchored", "public-only"),
    ("tang-gaussian", "public-only"),
    ("adadpsyn", "public-only"),
    ("noise-free", "tang-gaussian"),
)
PAIRED_TITLE = "Against each other, paired by seed, mean over tasks and epsilons, tight accountant (points of accuracy)"
PAIRED_HEADS = ("accuracy", "set", "against", "tokens", "difference", "95% interval")
SAMPLED = ("tang-gaussian", "adadpsyn", "anchored", "noise-free")
Key = tuple[str, int]


def paired_rows(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """The table, a line for each pair."""
    rows: list[tuple[str, ...]] = []
    for measure in ("calibrated", "raw"):
        for one, other, selection, found in pairs(lines, measure):
            low, high = interval(found)
            how = {"argmax": "largest entry", "sample": "sampled", "": "both"}[selection]
            sure = f"[{100 * low:+.1f} to {100 * high:+.1f}]" if len(found) > 1 else "one seed"
            rows.append((measure, one, other, how, f"{100 * float(np.mean(found)):+.1f}", sure))
    return rows


def pairs(lines: Sequence[Line], measure: str) -> Iterator[tuple[str, str, str, list[float]]]:
    """One set, the other one, how tokens were selected, and the difference of each seed, under the tight accountant."""
    for selection in ("argmax", "sample"):
        for one, other in PAIRS:
            found = differences(_scores(lines, one, selection, measure), _scores(lines, other, selection, measure))
            if found:
                yield one, other, selection, found
    for mechanism in SAMPLED:
        argmax, sampled = (_scores(lines, mechanism, selection, measure) for selection in ("argmax", "sample"))
        if found := differences(sampled, argmax):
            yield f"{mechanism}, sampled", f"{mechanism}, largest entry", "", found


def differences(one: dict[Key, dict[float, float]], other: dict[Key, dict[float, float]]) -> list[float]:
    """For each seed, the mean difference over what both have; keys are (task, seed)."""
    by_seed: dict[int, list[float]] = {}
    for key in one.keys() & other.keys():
        mine, theirs = one[key], other[key]
        for epsilon in sorted((mine.keys() | theirs.keys()) - {0.0}) or [0.0]:
            first, second = mine.get(epsilon, mine.get(0.0)), theirs.get(epsilon, theirs.get(0.0))
            if first is not None and second is not None:
                by_seed.setdefault(key[1], []).append(first - second)
    return [float(np.mean(by_seed[seed])) for seed in sorted(by_seed)]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95% interval of the mean, Student's t; the whole line for fewer than two values."""
    if len(values) < 2:
        return -float("inf"), float("inf")
    half = float(stats.t.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return float(np.mean(values)) - half, float(np.mean(values)) + half


def _scores(lines: Sequence[Line], mechanism: str, selection: str, measure: str) -> dict[Key, dict[float, float]]:
    """By task and seed: the score at each epsilon, 0 standing for none."""
    found: dict[Key, dict[float, float]] = {}
    for line in lines:
        mine = line["mechanism"] == mechanism and line["selection"] == selection and line[measure] is not None
        if mine and (line["epsilon"] is None or line["accountant"] == "tight"):
            found.setdefault((line["task"], line["seed"]), {})[line["epsilon"] or 0.0] = line[measure]
    return found
