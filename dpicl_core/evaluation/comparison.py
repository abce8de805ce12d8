"""Mechanisms side by side on one plan: what each released, what only the steward may see, and what that shows.

Two kinds that never mix. `Released` is made of DP-released values and public numbers alone. `Unprotected` is made of
the private vectors that a run saw: internal, not DP, shown only after it was recorded that it is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dpicl_core.evaluation.consensus import covering_radius
from dpicl_core.events import StewardDiagnostics, TokenReleased
from dpicl_core.specs import PublicOnlySpec
from dpicl_core.values import GenerationPlan, Price, Selection

PUBLISHED, BASELINES = "adadpsyn", ("tang-gaussian", "tang-noisy-max")
_NAMES = {"tang-gaussian": "Tang, Gaussian", "tang-noisy-max": "Tang, noisy max"}


@dataclass(frozen=True, slots=True)
class Released:
    """DP-released and public numbers of one run. epsilon_tight, epsilon_paper: of the whole run, by its dearest pool.

    noise: standard deviation per coordinate of the mean that a token was taken from; radius: the last R. Both are means
    over the tokens so far, None where the mechanism releases neither.
    """

    mechanism: str
    epsilon_tight: float
    epsilon_paper: float
    noise: float | None
    radius: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Unprotected:
    """Internal, not DP. radii: by label in order of first use, the mean over its tokens of the radius of the smallest
    ball around one private vector that holds 80% of them; average: over labels, as in the papers' Table 1.

    agreement: share of tokens that are the choice made without noise, the largest entry of the mean of the private
    vectors. tokens: how many were seen.
    """

    mechanism: str
    radii: tuple[tuple[str, float], ...]
    average: float
    agreement: float
    tokens: int


Numbers = TypeVar("Numbers", Released, Unprotected)


def shape_of(plan: GenerationPlan) -> GenerationPlan:
    """The plan without its mechanism and its way to pick from what a mechanism releases: equal for runs that can stand
    side by side."""
    return replace(plan, mechanism=PublicOnlySpec(), selection=Selection())


def released_numbers(plan: GenerationPlan, prices: Sequence[Price], tokens: Sequence[TokenReleased]) -> Released:
    """What one run released so far, in numbers."""
    last = [token.trace.steps[-1] for token in tokens if token.trace.steps]
    return Released(
        mechanism=plan.mechanism.name,
        epsilon_tight=max((price.epsilon_tight for price in prices), default=0.0),
        epsilon_paper=max((price.epsilon_paper for price in prices), default=0.0),
        noise=_mean([step.noise_scale for step in last]),
        radius=_mean([step.radius for step in last]),
        tokens=len(tokens),
    )


def unprotected_numbers(
    plan: GenerationPlan, tokens: Sequence[TokenReleased], seen: Sequence[StewardDiagnostics]
) -> Unprotected | None:
    """What the private vectors of one run say; None where none are there (a mechanism that reads no row has none).

    seen: of any of the tokens, in any order; vectors without a released token are left out.
    """
    chosen = {(token.demonstration, token.position): token.token_id for token in tokens}
    there = [each for each in seen if (each.demonstration, each.position) in chosen]
    if not plan.mechanism.reads_private_rows or not there:
        return None
    radii: dict[str, list[float]] = {label: [] for label in plan.target_labels}
    agreed = []
    for each in there:
        radii[plan.target_labels[each.demonstration]].append(covering_radius(each.probabilities))
        noise_free = int(each.candidates[int(np.argmax(each.probabilities.mean(axis=0)))])
        agreed.append(noise_free == chosen[each.demonstration, each.position])
    by_label = tuple((label, float(np.mean(found))) for label, found in radii.items() if found)
    average = float(np.mean([radius for _, radius in by_label]))
    return Unprotected(plan.mechanism.name, by_label, average, float(np.mean(agreed)), len(there))


def verdict(
    released: Sequence[Released],
    seconds: Mapping[str, float] | None = None,
    unprotected: Sequence[Unprotected] = (),
) -> tuple[str, ...]:
    """Whether AdaDPSyn beats each form of Tang in what is shown, one sentence for each measure that both have.

    A tie, as far as the digits shown go, is no win. seconds: of each mechanism's run; unprotected: of runs whose
    internal figures are open. The sentences about those two are internal too.
    """
    return tuple(
        sentence for baseline in BASELINES for sentence in _against(baseline, released, seconds or {}, unprotected)
    )


def _against(
    baseline: str, released: Sequence[Released], seconds: Mapping[str, float], unprotected: Sequence[Unprotected]
) -> Iterator[str]:
    ours, theirs = _of(released, PUBLISHED), _of(released, baseline)
    if ours is not None and theirs is not None and ours.noise is not None and theirs.noise is not None:
        unequal = float(f"{ours.epsilon_tight:.2g}") != float(f"{theirs.epsilon_tight:.2g}")
        note = " The two runs spent different epsilons, so this is no fair comparison." if unequal else ""
        yield _sentence("noise a coordinate", baseline, ours.noise, theirs.noise, ".3g", smaller_wins=True) + note
    if PUBLISHED in seconds and baseline in seconds:
        yield _sentence("seconds", baseline, seconds[PUBLISHED], seconds[baseline], ".3g", smaller_wins=True)
    seen, other = _of(unprotected, PUBLISHED), _of(unprotected, baseline)
    if seen is not None and other is not None:
        measure = "agreement with the choice made without noise"
        yield _sentence(measure, baseline, seen.agreement, other.agreement, ".0%", smaller_wins=False)


def _sentence(measure: str, baseline: str, ours: float, theirs: float, form: str, *, smaller_wins: bool) -> str:
    """form: how the numbers are written; what looks equal counts as equal."""
    first, second = format(ours, form), format(theirs, form)
    ahead = ours < theirs if smaller_wins else ours > theirs
    wins = ahead and first != second
    verb = "beats" if wins else "does not beat"
    note = "; one run each proves little" if wins else ""
    return f"By {measure} AdaDPSyn {verb} {_NAMES[baseline]} here: {first} against {second}{note}."


def _of(found: Sequence[Numbers], mechanism: str) -> Numbers | None:
    return next((each for each in found if each.mechanism == mechanism), None)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
