"""What to take from a rehearsal: a mechanism, an epsilon, whether private data is needed at all, in plain words.

The rule, in full:

- **Epsilon**: the smallest rehearsed one at which some mechanism leaves at least 9 of 10 tokens as they would be
  without any noise (GOOD_SHARE). Where none does, no epsilon is recommended and the plan's own is looked at.
- **Mechanism**: the one that leaves most tokens unchanged there (of equals, the one named first).
- **Not clearly better**: every other mechanism whose 95% interval there overlaps is named beside it. All were tried on
  the same tokens, so overlap is a cautious test: intervals apart mean better, overlapping ones decide nothing.
- **Public only**: where the public prompt alone makes the noise-free choice in at least 9 of 10 tokens
  (PUBLIC_ENOUGH), private data may not be needed; where it does so no less often than the mechanism above, that is said
  too. Pseudo-records come from that same prompt, which flatters it.

What it cannot say: pseudo-records are not the private rows. Rows that lie further apart than what the model writes
itself are changed more by noise and agree less with the public prompt. Tokens of one text hang together, so the
intervals are narrower than they should be. And unchanged tokens are not yet good text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpicl_core.rehearsal.forecasts import Forecast, Interval
from dpicl_core.rehearsal.rehearsing import Rehearsal

GOOD_SHARE = 0.9
"""Share of tokens unchanged that a recommended epsilon must reach."""

PUBLIC_ENOUGH = 0.9
"""Agreement of the public prompt alone from which private data may not be needed."""

FEW_STEPS = 30
"""Rehearsed tokens below which the sentences call them few."""

_SHARES = ((19, 20), *((tenths, 10) for tenths in range(9, 0, -1)))

_ROUNDING = 1e-9
"""A mean of shares that is 0.9 may come out a hair below."""

Titled = Callable[[str], str]
"""From a mechanism's name to how a screen calls it."""


@dataclass(frozen=True, slots=True)
class Advice:
    """mechanism and epsilon with the share of tokens they leave unchanged.

    reached: whether that is at least GOOD_SHARE; if not, epsilon is the plan's own and none is recommended.
    tied: mechanisms whose intervals overlap with that of the chosen one at this epsilon. alone: no other was tried.
    """

    mechanism: str
    epsilon: float
    unchanged: Interval
    reached: bool
    tied: tuple[str, ...]
    alone: bool
    public_may_do: bool


def recommend(found: Rehearsal) -> Advice:
    """Apply the rule of this module."""
    epsilons = sorted({each.epsilon for each in found.forecasts})
    enough = GOOD_SHARE - _ROUNDING
    good = [epsilon for epsilon in epsilons if _best_at(found.forecasts, epsilon).unchanged.mean >= enough]
    epsilon = good[0] if good else found.at
    best = _best_at(found.forecasts, epsilon)
    others = [each for each in found.forecasts if each.epsilon == epsilon and each is not best]
    return Advice(
        mechanism=best.mechanism,
        epsilon=epsilon,
        unchanged=best.unchanged,
        reached=bool(good),
        tied=tuple(each.mechanism for each in others if each.unchanged.overlaps(best.unchanged)),
        alone=not others,
        public_may_do=found.public_unchanged.mean >= PUBLIC_ENOUGH - _ROUNDING,
    )


def sentences(found: Rehearsal, advice: Advice, *, titled: Titled = str) -> tuple[str, ...]:
    """The advice as a person reads it: what to take, what rivals it, whether private data is needed, how sure it is."""
    return (_main(found, advice, titled), *_rivals(advice, titled), _public(found, advice, titled), _caution(found))


def plan_is_worse(found: Rehearsal, mechanism: str, epsilon: float, *, titled: Titled = str) -> str:
    """What another choice leaves unchanged that the plan's own does not, in a sentence; nothing where that is unclear.

    Only intervals that do not overlap count, as in the rule above. Looks at the plan's own epsilon alone.
    """
    mine = next((each for each in found.forecasts if (each.mechanism, each.epsilon) == (mechanism, epsilon)), None)
    if mine is None:
        return ""
    own = f"{titled(mechanism)} leaves {in_words(mine.unchanged.mean)} unchanged at epsilon {epsilon:g}"
    if found.public_unchanged.mean > mine.unchanged.mean and not found.public_unchanged.overlaps(mine.unchanged):
        return (
            f"this plan does worse than no data at all: {own}, while the public prompt alone makes the same choice "
            f"in {in_words(found.public_unchanged.mean)} and spends nothing."
        )
    best = _best_at(found.forecasts, epsilon)
    if best is not mine and not best.unchanged.overlaps(mine.unchanged):
        return f"{own}; {titled(best.mechanism)} leaves {in_words(best.unchanged.mean)} at the same privacy loss."
    return ""


def schedule_sentence(found: Rehearsal) -> str:
    """The proposed schedule against the plan's own, at the epsilon that it was chosen for."""
    new = next(f for f in found.proposed if f.epsilon == found.at).unchanged
    radii = ", ".join(f"{radius:g}" for radius in found.proposed_schedule)
    if not found.proposes_another:
        return f"No other schedule did better than the plan's own radii, {radii}, at epsilon {found.at:g}."
    kept = f"At epsilon {found.at:g}, Anchored with the radii {radii} left {in_words(new.mean)} unchanged {_range(new)}"
    own = next((f for f in found.forecasts if f.mechanism == "anchored" and f.epsilon == found.at), None)
    if own is None:
        return f"{kept}."
    against = f"{kept}; with the plan's radii, {in_words(own.unchanged.mean)} {_range(own.unchanged)}."
    return f"{against} The intervals overlap, so it is not clearly better." if own.unchanged.overlaps(new) else against


def in_words(share: float) -> str:
    """A share of tokens for a person, rounded down: `9 of 10 tokens`, `nearly all tokens` from 0.99 on."""
    if share >= 0.99:
        return "nearly all tokens"
    found = next(((part, whole) for part, whole in _SHARES if share >= part / whole - _ROUNDING), None)
    return "fewer than 1 of 10 tokens" if found is None else f"{found[0]} of {found[1]} tokens"


def _best_at(forecasts: Sequence[Forecast], epsilon: float) -> Forecast:
    return max((each for each in forecasts if each.epsilon == epsilon), key=lambda each: each.unchanged.mean)


def _main(found: Rehearsal, advice: Advice, titled: Titled) -> str:
    name, share = titled(advice.mechanism), in_words(advice.unchanged.mean)
    if advice.reached:
        return (
            f"At epsilon {advice.epsilon:g}, {share} would be the same without any noise, with {name} "
            f"{_range(advice.unchanged)}."
        )
    most = max(each.epsilon for each in found.forecasts)
    return (
        f"Up to epsilon {most:g} no mechanism left 9 of 10 tokens unchanged. At epsilon {advice.epsilon:g}, {share} "
        f"would be the same without any noise, with {name} {_range(advice.unchanged)}. More rows, larger M or fewer "
        "tokens need less noise."
    )


def _rivals(advice: Advice, titled: Titled) -> tuple[str, ...]:
    if advice.alone:
        return ()
    if not advice.tied:
        return ("No other mechanism comes near: the intervals do not overlap.",)
    names = [titled(name) for name in advice.tied]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    overlap = f"The interval of {listed} overlaps" if len(names) == 1 else f"The intervals of {listed} overlap"
    return (f"{overlap} with it, so no mechanism is clearly better here.",)


def _public(found: Rehearsal, advice: Advice, titled: Titled) -> str:
    share = f"{in_words(found.public_unchanged.mean)} {_range(found.public_unchanged)}"
    alone = f"The public prompt alone, without any row, makes the same choice in {share}"
    if found.public_unchanged.mean >= advice.unchanged.mean:
        alone += f", no fewer than {titled(advice.mechanism)} at epsilon {advice.epsilon:g}"
    if advice.public_may_do:
        alone += ": private data may not be needed"
    flattered = "Pseudo-records come from that same prompt, which flatters it"
    if advice.public_may_do or found.public_unchanged.mean >= advice.unchanged.mean:
        return f"{alone}. {flattered}, so look at what Public only writes first; it spends nothing."
    return f"{alone}."


def _caution(found: Rehearsal) -> str:
    few = ", which is few" if found.steps < FEW_STEPS else ""
    return (
        f"Tried on {found.steps} tokens of rows that the model wrote itself{few}. Your rows may lie further apart, and "
        "then noise changes more; and tokens that stay the same are not yet good text."
    )


def _range(interval: Interval) -> str:
    return f"({interval.low:.0%} to {interval.high:.0%})"
