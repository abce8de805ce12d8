"""What a priced run costs an asset: one part for each pool, in the currency of the asset's rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dpicl_core.accounting import Charge
from dpicl_core.ledger import filters
from dpicl_core.ledger.assets import Asset
from dpicl_core.values import GenerationPlan, NeighbouringRelation, Price


@dataclass(frozen=True, slots=True)
class CostPart:
    """What the units of one label pay, or the units of every label where `label` is None.

    charge: the mechanism, its sampling rate and its tokens. divergence: at the asset's order, None under the plain sum.
    epsilon, delta: the price of the run to these units, what the plain sum adds.
    """

    label: str | None
    charge: Charge
    divergence: float | None
    epsilon: float
    delta: float

    @property
    def cost(self) -> float:
        """In the currency of the asset's budget."""
        return self.epsilon if self.divergence is None else self.divergence

    @property
    def pays(self) -> bool:
        """Whether it takes anything: a part of epsilon 0 still takes its delta where deltas are added up."""
        return self.cost > 0 or self.delta > 0


def price_charges(prices: Iterable[Price]) -> list[Charge]:
    """The charge of every pool."""
    return [Charge(price.mechanism, price.sampling_rate, price.composed_tokens) for price in prices]


def cost_parts(asset: Asset, plan: GenerationPlan, prices: Sequence[Price]) -> tuple[CostPart, ...]:
    """The parts of a run; nothing where no private row is read.

    Under replacement within a label the labels' pools are disjoint and a unit pays for its own label alone. Open labels
    have one pool that every unit pays for. Where a unit may change its label it pays for the two labels that cost most,
    whichever it has, so both parts go to every label.
    """
    if not plan.mechanism.reads_private_rows:
        return ()
    parts = [
        CostPart(
            label=price.label,
            charge=charge,
            divergence=None if asset.order is None else filters.charge_divergence(charge, asset.order),
            epsilon=price.epsilon_tight,
            delta=price.delta,
        )
        for price, charge in zip(prices, price_charges(prices), strict=True)
    ]
    if plan.neighbouring_relation is NeighbouringRelation.REPLACE_ONE_ANY and not plan.task.open_labels:
        # each price of such a plan is already that of the worst pair, so epsilon and delta are counted once
        worst, *second = sorted(parts, key=lambda part: part.cost, reverse=True)[:2]
        dearest = max(part.epsilon for part in parts)
        first = replace(worst, label=None, epsilon=dearest)
        return (first, *(replace(part, label=None, epsilon=0.0, delta=0.0) for part in second))
    return tuple(parts)


def for_every_label(parts: Sequence[CostPart]) -> tuple[CostPart, ...]:
    """The same run where rows may carry other labels than the budgets were kept for: the dearest part, paid by all.

    In this run a unit still has one label and pays one part; which of the asset's labels it had is not relied on.
    """
    labelled = [part for part in parts if part.label is not None]
    shared = [part for part in parts if part.label is None]
    if not labelled:
        return tuple(shared)
    dearest = max(labelled, key=lambda part: part.cost)
    worst = replace(dearest, label=None, epsilon=max(part.epsilon for part in labelled))
    return (*shared, worst)


@dataclass(frozen=True, slots=True)
class Paid:
    """One part that was charged: to a label's units, or to everybody's (None). cost: in the budget's currency."""

    label: str | None
    cost: float
    delta: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What an asset's labels have spent, and what is left."""

    asset: Asset
    paid: tuple[Paid, ...] = ()

    def labels(self) -> tuple[str, ...]:
        """The asset's labels, and any other that something was charged to."""
        charged = (part.label for part in self.paid if part.label is not None)
        return tuple(dict.fromkeys((*self.asset.labels, *charged)))

    def costs(self, label: str) -> list[float]:
        """Everything that the label's units paid, one by one."""
        return [part.cost for part in self.paid if part.label in (None, label)]

    def spent(self, label: str) -> float:
        """Exact sum of what the label's units paid."""
        return math.fsum(self.costs(label))

    def left(self, label: str) -> float:
        """What the label's units may still pay, at least 0."""
        return max(self.asset.budget - self.spent(label), 0.0)

    def delta_spent(self, label: str) -> float:
        """What the plain sum has added to delta; 0 under the Renyi filter, which fixes delta."""
        return 0.0 if self.asset.rule == "renyi" else math.fsum(_deltas(self, label))

    def delta_left(self, label: str) -> float:
        """What the plain sum may still add to delta; without bound under the Renyi filter."""
        return math.inf if self.asset.rule == "renyi" else max(self.asset.delta - self.delta_spent(label), 0.0)

    def share_left(self, label: str) -> float:
        """Of the budget, for the label's units, from 0 to 1: of epsilon or of delta, whichever has less left."""
        shares = (self.spent(label) / self.asset.budget, self.delta_spent(label) / self.asset.delta)
        return max(1 - max(shares), 0.0)

    def with_parts(self, parts: Iterable[CostPart]) -> Standing:
        """The standing once these parts are paid as well."""
        asked = (Paid(part.label, part.cost, part.delta) for part in parts if part.pays)
        return replace(self, paid=(*self.paid, *asked))

    @property
    def worst_spent(self) -> float:
        """What the label that has spent most has spent."""
        return max(self.spent(label) for label in self.labels())

    @property
    def share_spent(self) -> float:
        """Of the budget, by the label that has spent most; from 0 to 1."""
        return max(1 - self.share_left(label) for label in self.labels())

    @property
    def epsilon_spent(self) -> float:
        """The epsilon, at the asset's delta, that covers everything so far, whatever plans come next."""
        if self.asset.order is None:
            return self.worst_spent
        return filters.epsilon_of_divergence(self.worst_spent, order=self.asset.order, delta=self.asset.delta)


def labels_over(standing: Standing, parts: Sequence[CostPart]) -> list[str]:
    """The labels whose units cannot pay these parts as well; none means that the run fits."""
    asset = standing.asset
    together = standing.with_parts(parts)
    return [
        label
        for label in together.labels()
        if any(part.label in (None, label) for part in parts if part.pays)
        and not (
            filters.fits(together.costs(label), asset.budget)
            and (asset.rule == "renyi" or filters.fits(_deltas(together, label), asset.delta * (1 + 1e-12)))
        )
    ]


def _deltas(standing: Standing, label: str) -> list[float]:
    return [part.delta for part in standing.paid if part.label in (None, label)]
