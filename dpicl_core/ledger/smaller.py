"""A refusal that helps: what is left, and which smaller plans would still fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from dpicl_core import accounting
from dpicl_core.errors import BudgetError, ConfigError
from dpicl_core.ledger import filters
from dpicl_core.ledger.assets import Asset
from dpicl_core.ledger.costs import CostPart, Standing, labels_over
from dpicl_core.values import GenerationPlan

_SMALLEST_EPSILON = 0.01
_DELTA_OF_NOBODY = 0.0
_NOTHING_FITS = "No smaller plan of this kind fits any more; runs on public text alone still cost nothing."


@dataclass(frozen=True, slots=True)
class SmallerPlan:
    """One change that makes a run fit: shots, tokens (each demonstration) or epsilon, and the largest that does.

    epsilon: where the noise follows from a requested epsilon, the one to ask for together with fewer shots or tokens;
    with the old one the noise would only shrink. None where the request may stay as it is.
    """

    setting: Literal["shots", "tokens", "epsilon"]
    largest: float
    epsilon: float | None = None

    def plain(self) -> str:
        """As a person says it."""
        count = f"{self.largest:g} demonstration{'s' if self.largest > 1 else ''}"
        words = {
            "shots": count,
            "tokens": f"at most {self.largest:g} tokens each",
            "epsilon": f"epsilon {self.largest:g}",
        }
        return words[self.setting] + ("" if self.epsilon is None else f" at epsilon {self.epsilon:g}")

    def words(self) -> str:
        """As options of the command line."""
        option = f"--{self.setting} {self.largest:g}"
        return option if self.epsilon is None else f"{option} with --epsilon {self.epsilon:g}"


class OverTheCapError(BudgetError):
    """A refusal by the cap. facts: what is left and what was asked, in words. options: what would fit instead."""

    def __init__(self, facts: str, options: Sequence[SmallerPlan], otherwise: str = "") -> None:
        offered = "These would fit: " + ", or ".join(option.words() for option in options) + "." if options else ""
        super().__init__(facts + (offered or otherwise))
        self.facts, self.options, self.otherwise = facts, tuple(options), otherwise

    def plain(self) -> str:
        """The refusal without the command line's options."""
        if not self.options:
            return self.facts + _NOTHING_FITS
        return self.facts + "These would fit: " + ", or ".join(option.plain() for option in self.options) + "."

    def __reduce__(self) -> tuple[type[OverTheCapError], tuple[str, tuple[SmallerPlan, ...], str]]:
        return type(self), (self.facts, self.options, self.otherwise)


def refusal(
    before: Standing,
    labels: Sequence[str],
    plans: Sequence[GenerationPlan],
    parts: Sequence[Sequence[CostPart]],
    *,
    calibrated: bool,
) -> OverTheCapError:
    """The refusal of a run, or of several together, that would go over the cap; calibrated as in smaller_plans."""
    asset = before.asset
    worst = max(labels, key=before.spent)
    subject = "this run" if len(plans) == 1 else f"these {len(plans)} runs together"
    cap = f"epsilon {asset.epsilon:g} at delta {asset.delta:g}"
    used = f"{100 * before.spent(worst) / asset.budget:.0f}% of it"
    asked = math.fsum(part.cost for each in parts for part in each if part.label in (None, worst))
    share = "more than any budget" if math.isinf(asked) else f"{100 * asked / asset.budget:.3g}%"
    sentence = (
        f"the cap of asset {asset.name} ({cap}) does not allow {subject}: rows of label {worst} have spent {used}, and "
        f"{subject} would take {share} more. Nothing was spent or drawn. "
    )
    if asset.rule == "sum" and before.delta_left(worst) < max(part.delta for each in parts for part in each):
        sentence += f"Of delta, {before.delta_left(worst):.3g} is left, so ask for a smaller --delta. "
    if len(plans) > 1:
        return OverTheCapError(sentence, (), "Run fewer mechanisms, or ask for a smaller --epsilon.")
    options = smaller_plans(before, plans[0], parts[0], calibrated=calibrated)
    return OverTheCapError(sentence, options, _NOTHING_FITS)


def smaller_plans(
    before: Standing, plan: GenerationPlan, parts: Sequence[CostPart], *, calibrated: bool = False
) -> list[SmallerPlan]:
    """The largest number of shots with the same noise, of tokens with the same noise, and the largest epsilon.

    A setting without a value that fits is left out. calibrated: the noise follows from a requested epsilon, so fewer
    shots or tokens are offered with the epsilon that leaves the noise as it is.
    """
    found = []
    asset = before.asset

    def fits(candidate: Sequence[CostPart]) -> bool:
        return not labels_over(before, candidate)

    def offer(setting: Literal["shots", "tokens"], count: int, candidate: Sequence[CostPart]) -> None:
        same_charges = {part.charge for part in candidate} <= {part.charge for part in parts}
        epsilon = None if same_charges or not calibrated else _epsilon_at_most(candidate)
        if same_charges or not calibrated or epsilon is not None:
            found.append(SmallerPlan(setting, count, epsilon))

    payers = [(part, label) for part in parts for label in before.labels() if part.label in (None, label)]
    if any(before.delta_left(label) < part.delta for part, label in payers):
        return []  # no plan fits at this delta
    shots = _largest(lambda count: fits(_with_shots(asset, plan, parts, count)), len(plan.target_labels) - 1)
    if shots:
        offer("shots", shots, _with_shots(asset, plan, parts, shots))
    tokens = _largest(lambda count: fits(_with_tokens(asset, plan, parts, count)), plan.tokens - 1)
    if tokens >= plan.min_tokens:
        offer("tokens", tokens, _with_tokens(asset, plan, parts, tokens))
    epsilon = _largest_epsilon(before, parts)
    if epsilon is not None:
        found.append(SmallerPlan("epsilon", epsilon))
    return found


def _largest(fits: Callable[[int], bool], high: int) -> int:
    """The largest count from 1 to `high` that fits, 0 for none; costs grow with the count."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _with_shots(asset: Asset, plan: GenerationPlan, parts: Sequence[CostPart], shots: int) -> list[CostPart]:
    """The first `shots` target labels of the plan."""
    smaller = replace(plan, target_labels=plan.target_labels[:shots])
    charged = []
    for part in parts:
        pools = [part.label] if part.label in plan.pool_labels() else list(plan.pool_labels())
        tokens = max((_composed(smaller, pool) for pool in pools), default=0)
        if tokens:
            charged.append(_rescaled(asset, part, min(tokens, part.charge.composed_tokens)))
    return charged


def _composed(plan: GenerationPlan, pool: str | None) -> int:
    return plan.composed_tokens(pool) if pool in plan.pool_labels() else 0


def _with_tokens(asset: Asset, plan: GenerationPlan, parts: Sequence[CostPart], tokens: int) -> list[CostPart]:
    return [_rescaled(asset, part, max(part.charge.composed_tokens * tokens // plan.tokens, 1)) for part in parts]


def _rescaled(asset: Asset, part: CostPart, tokens: int, noise: float = 1.0) -> CostPart:
    """The part with other tokens or noise, priced again in the currency of the asset."""
    spec = part.charge.spec if noise == 1.0 else part.charge.spec.rescaled(noise)
    charge = replace(part.charge, spec=spec, composed_tokens=tokens)
    if asset.order is not None:
        return replace(part, charge=charge, divergence=filters.charge_divergence(charge, asset.order))
    if part.epsilon == 0:
        return replace(part, charge=charge)
    return replace(part, charge=charge, epsilon=_epsilon_of(charge, part.delta))


@lru_cache(maxsize=256)
def _epsilon_of(charge: accounting.Charge, delta: float) -> float:
    return accounting.epsilon_tight(
        charge.spec, sampling_rate=charge.sampling_rate, composed_tokens=charge.composed_tokens, delta=delta
    )


def _largest_epsilon(before: Standing, parts: Sequence[CostPart]) -> float | None:
    """Two significant digits, rounded down, so that calibrating to it gives at least the noise that fits."""
    if before.asset.order is None:
        labels = {label for part in parts for label in ([part.label] if part.label else before.labels())}
        return _rounded_down(min(before.left(label) for label in labels))
    try:
        noise = _least_noise(before, parts)
    except ConfigError:
        return None
    if noise is None:
        return None
    return _epsilon_at_most([_rescaled(before.asset, part, part.charge.composed_tokens, noise) for part in parts])


def _epsilon_at_most(parts: Sequence[CostPart]) -> float | None:
    """An epsilon that calibrates every part to at least the noise that it has here."""
    epsilons = [_epsilon_of(part.charge, part.delta) for part in parts if part.delta > _DELTA_OF_NOBODY]
    return _rounded_down(min(epsilons, default=0.0))


def _least_noise(before: Standing, parts: Sequence[CostPart]) -> float | None:
    """The factor on all noise with which the parts just fit, from above; None where no sensible noise does."""

    def fits(log_factor: float) -> bool:
        factor = math.exp(log_factor)
        scaled = [_rescaled(before.asset, part, part.charge.composed_tokens, factor) for part in parts]
        return not labels_over(before, scaled)

    low, high = 0.0, math.log(1000)
    if not fits(high):
        return None
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return math.exp(high)


def _rounded_down(epsilon: float) -> float | None:
    if epsilon < _SMALLEST_EPSILON:
        return None
    digits = 1 - math.floor(math.log10(epsilon))
    return float(math.floor(epsilon * 10.0**digits + 1e-9) / 10.0**digits)
