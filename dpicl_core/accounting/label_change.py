"""The switch "a unit may also change its label": pool sizes are private, and one unit can touch two pools.

Neighbours: one unit of label a is replaced by one of label b. Pool a then loses a unit and pool b gains one. Let n be
the size of the larger of the two versions of a pool and m the units drawn for a token. A sample of the larger version
holds the unit with probability m/n; given that it does not, it is a sample of the smaller version; given that it does,
putting a uniformly drawn other unit in its place makes it one. So with Q for the smaller version and P for the larger,
P = (1 - m/n) Q + (m/n) P1, where P1 and Q are mixtures of outputs on samples that differ in one unit. That is the pair
which C_gamma symmetrises (profiles.py), at gamma = m/n, and its profile grows with gamma. As n is at least the declared
lower bound n_min, gamma = m/n_min is an upper bound, in both directions. Groups that are fixed for the run take the
place of units, M/floor(n_min/N) that of m/n_min (docs/privacy.md, section 5). A run pays for both pools: the tokens of
a at m/n_min(a) composed with those of b at m/n_min(b), for the worst pair of labels. A unit that keeps its label, or
one label of the pair that is not a target, costs no more than some such pair. The papers' accountant has the same rule:
its bound rests on one sampled unit and on joint convexity alone.

The guarantee holds between data sets that both respect the declared bounds, or fall one unit short of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpicl_core.accounting import paper
from dpicl_core.accounting.calibration import Accountant, calibrate, settle
from dpicl_core.accounting.charges import Charge
from dpicl_core.accounting.losses import ComposedLoss, charge_losses
from dpicl_core.accounting.pricing import sampling_rate
from dpicl_core.specs import MechanismSpec, require
from dpicl_core.values import Price


@dataclass(frozen=True, slots=True)
class WorstPair:
    """The labels, two or the only one, whose exchange costs most, and that epsilon."""

    labels: tuple[str, ...]
    epsilon: float


@dataclass(frozen=True, slots=True)
class WorstLoss:
    """The largest of several losses at every epsilon: one for each pair of labels that a unit may move between."""

    losses: Mapping[tuple[str, ...], ComposedLoss]

    def delta(self, epsilon: float) -> float:
        """Upper bound of delta at any real epsilon."""
        return max(loss.delta(epsilon) for loss in self.losses.values())

    def epsilon(self, delta: float) -> float:
        """Upper bound of the least epsilon >= 0 at this delta."""
        return max(loss.epsilon(delta) for loss in self.losses.values())


def label_change_charges(
    spec: MechanismSpec | Mapping[str, MechanismSpec],
    *,
    lower_bounds: Mapping[str, int],
    units_per_token: int,
    composed_tokens: Mapping[str, int],
    group_size: int | None = None,
) -> dict[str, Charge]:
    """The charge of every target label at the rate M*N / n_min, or M / floor(n_min/N) for fixed groups.

    spec: one for all labels, or one for each. lower_bounds: declared n_min for each label, in units. composed_tokens:
    for each target label. group_size: N where a secret partition is fixed for the run, None for fresh subsets.
    Raises ConfigError for a target label without a lower bound, or with one below M*N.
    """
    charges = {}
    for label, tokens in composed_tokens.items():
        require(
            label in lower_bounds,
            f"label {label} needs a declared lower bound of its units, because labels may change; declare one.",
        )
        chosen = spec if isinstance(spec, MechanismSpec) else spec[label]
        rate = sampling_rate(
            chosen,
            label=label,
            pool_units=lower_bounds[label],
            units_per_token=units_per_token,
            group_size=group_size,
        )
        charges[label] = Charge(chosen, rate, tokens)
    return charges


def worst_loss(charges: Mapping[str, Charge], *, delta: float) -> WorstLoss:
    """Privacy profile of a run in which a unit may change its label; for risk.py and for any delta."""
    require(len(charges) > 0, "nothing to compose; give at least one target label.")
    single = _single_losses(charges, delta)
    return WorstLoss({pair: _composed(pair, single) for pair in _pairs(charges)})


def worst_pair(charges: Mapping[str, Charge], *, delta: float, accountant: Accountant = "tight") -> WorstPair:
    """The pair of target labels with the largest epsilon under the accountant."""
    epsilons = _pair_epsilons(charges, delta, accountant)
    labels = max(epsilons, key=lambda pair: epsilons[pair])
    return WorstPair(labels, epsilons[labels])


def calibrate_label_change(
    template: MechanismSpec,
    *,
    lower_bounds: Mapping[str, int],
    units_per_token: int,
    composed_tokens: Mapping[str, int],
    delta: float,
    epsilon: float,
    accountant: Accountant = "tight",
    group_size: int | None = None,
) -> dict[str, MechanismSpec]:
    """Noise for every target label so that the worst pair's epsilon lies in [0.999, 1] of the request.

    Each label is first calibrated with its tokens counted twice, as if units moved to a label like itself; one common
    factor then brings the worst pair to the request. Arguments as in label_change_charges, ConfigErrors as there and
    in calibrate.
    """
    charges = label_change_charges(
        template,
        lower_bounds=lower_bounds,
        units_per_token=units_per_token,
        composed_tokens=composed_tokens,
        group_size=group_size,
    )
    both = min(len(charges), 2)
    specs = {
        label: calibrate(
            template,
            sampling_rate=charge.sampling_rate,
            composed_tokens=both * charge.composed_tokens,
            delta=delta,
            epsilon=epsilon,
            accountant=accountant,
        )
        for label, charge in charges.items()
    }

    def scaled(log_factor: float) -> dict[str, Charge]:
        factor = math.exp(log_factor)
        return {label: replace(charge, spec=specs[label].rescaled(factor)) for label, charge in charges.items()}

    log_factor = settle(lambda x: worst_pair(scaled(x), delta=delta, accountant=accountant).epsilon, 0.0, epsilon)
    return {label: charge.spec for label, charge in scaled(log_factor).items()}


def price_label_change(
    charges: Mapping[str, Charge], *, lower_bounds: Mapping[str, int], delta: float
) -> tuple[Price, ...]:
    """One price for each target label: the worst pair that the label is part of; pool_units is the declared bound.

    The run costs the largest of them.
    """
    tight = _pair_epsilons(charges, delta, "tight")
    by_paper = _pair_epsilons(charges, delta, "paper")
    return tuple(
        Price(
            label=label,
            mechanism=charge.spec,
            pool_units=lower_bounds[label],
            sampling_rate=charge.sampling_rate,
            composed_tokens=charge.composed_tokens,
            delta=delta,
            epsilon_tight=max(value for pair, value in tight.items() if label in pair),
            epsilon_paper=max(value for pair, value in by_paper.items() if label in pair),
        )
        for label, charge in charges.items()
    )


def _pairs(charges: Mapping[str, Charge]) -> list[tuple[str, ...]]:
    """All pairs of target labels; the only label where there is one, its partner being a label that is no target."""
    return list(itertools.combinations(charges, 2)) if len(charges) > 1 else [tuple(charges)]


def _single_losses(charges: Mapping[str, Charge], delta: float) -> dict[str, ComposedLoss]:
    """The loss of each label's tokens, all on one grid."""
    return dict(zip(charges, charge_losses(list(charges.values()), delta=delta), strict=True))


def _composed(pair: tuple[str, ...], single: Mapping[str, ComposedLoss]) -> ComposedLoss:
    first, *rest = (single[label] for label in pair)
    for other in rest:
        first = first.compose(other)
    return first


def _pair_epsilons(charges: Mapping[str, Charge], delta: float, accountant: Accountant) -> dict[tuple[str, ...], float]:
    """Epsilon of every pair; pairs with equal charges are composed once."""
    require(len(charges) > 0, "nothing to compose; give at least one target label.")
    known: dict[frozenset[tuple[Charge, int]], float] = {}
    epsilons = {}
    single = _single_losses(charges, delta) if accountant == "tight" else {}
    for pair in _pairs(charges):
        members = [charges[label] for label in pair]
        key = frozenset((charge, members.count(charge)) for charge in members)
        if key not in known:
            if accountant == "tight":
                known[key] = _composed(pair, single).epsilon(delta)
            else:
                known[key] = paper.epsilon_of_charges(members, delta=delta)
        epsilons[pair] = known[key]
    return epsilons
