"""From public settings to a priced plan: defaults of the task, noise for the request, a price for every pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from dpicl_core.errors import ConfigError
from dpicl_core.sampling import Grouping
from dpicl_core.specs import (
    AdaDPSynSpec,
    AnchoredSpec,
    MechanismSpec,
    PublicOnlySpec,
    TangGaussianSpec,
    TangNoisyMaxSpec,
    UnprotectedSpec,
)
from dpicl_core.tasks import target_labels
from dpicl_core.values import GenerationPlan, Price, PrivacyTarget, PrivacyUnit, Selection, Task

Accountant = Literal["tight", "paper"]

DEFAULT_NOISE_SPLIT = (0.03, 0.94, 0.03)
"""Shares of 1/sigma_eff^2 for radius search, means and coverage checks: close to the published parameters, whose
means take 0.86 to 0.97."""

DEFAULT_MECHANISM = "anchored"
"""Least noise and most tokens as without noise on all three tables of docs/results.md; accuracy decided nothing."""

DEFAULT_VOCABULARY = 100

DEFAULT_GROUPING = Grouping.FIXED
"""Costs the same where N divides the pool and little more elsewhere, and saves most of the work in pools of a few
hundred rows (docs/performance.md)."""

MECHANISM_TEMPLATES: dict[str, MechanismSpec] = {
    spec.name: spec
    for spec in (
        AdaDPSynSpec().split_as(*DEFAULT_NOISE_SPLIT),
        TangGaussianSpec(),
        TangNoisyMaxSpec(),
        AnchoredSpec(),
        PublicOnlySpec(),
        UnprotectedSpec(),
    )
}


def mechanism_named(name: str) -> MechanismSpec:
    """The mechanism of that name with its default settings, its noise still to be calibrated."""
    if name not in MECHANISM_TEMPLATES:
        raise ConfigError(f"mechanism {name} is unknown; choose one of {', '.join(MECHANISM_TEMPLATES)}.")
    return MECHANISM_TEMPLATES[name]


def plan_for(
    task: Task,
    mechanism: MechanismSpec | str = DEFAULT_MECHANISM,
    *,
    shots: int = 4,
    targets: Sequence[str] = (),
    subsets: int | None = None,
    per_subset: int | None = None,
    tokens: int | None = None,
    vocabulary: int = DEFAULT_VOCABULARY,
    record_tokens: int | None = None,
    min_tokens: int | None = None,
    unit: PrivacyUnit = PrivacyUnit.ROW,
    selection: Selection | None = None,
    label_bounds: Mapping[str, int] | None = None,
    grouping: Grouping = DEFAULT_GROUPING,
) -> GenerationPlan:
    """A plan with the task's defaults where nothing is given; units and bounds as in GenerationPlan."""
    length = task.tokens if tokens is None else tokens
    return GenerationPlan(
        task=task,
        target_labels=target_labels(task, shots, targets),
        mechanism=mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism,
        subsets=task.subsets if subsets is None else subsets,
        per_subset=task.per_subset if per_subset is None else per_subset,
        tokens=length,
        vocabulary=vocabulary,
        record_tokens=task.record_tokens if record_tokens is None else record_tokens,
        min_tokens=min(task.min_tokens, max(length, 1)) if min_tokens is None else min_tokens,
        unit=unit,
        selection=selection or Selection(),
        label_bounds=None if label_bounds is None else tuple(label_bounds.items()),
        grouping=grouping,
    )


def calibrated_mechanisms(
    plan: GenerationPlan,
    pool_units: Mapping[str | None, int],
    *,
    delta: float,
    epsilon: float,
    accountant: Accountant = "tight",
) -> dict[str | None, MechanismSpec]:
    """The plan's mechanism for each pool, with the least noise that keeps it at or under the request; not priced.

    pool_units and errors as in price_plan. A mechanism without noise comes back as it is.
    """
    from dpicl_core import accounting

    PrivacyTarget(epsilon, delta)
    labels, spec = plan.pool_labels(), plan.mechanism
    if not spec.noise_multipliers():
        return dict.fromkeys(labels, spec)
    if plan.label_bounds is not None:
        named = [label for label in labels if label is not None]
        by_label = accounting.calibrate_label_change(
            spec,
            lower_bounds=dict(plan.label_bounds),
            units_per_token=plan.units_per_token,
            composed_tokens={label: plan.composed_tokens(label) for label in named},
            delta=delta,
            epsilon=epsilon,
            accountant=accountant,
            group_size=plan.group_size,
        )
        return {label: by_label[label] for label in named}
    for label in labels:
        _check_pool_size(plan, label, pool_units[label])
    return {
        label: accounting.calibrate(
            spec,
            sampling_rate=plan.sampling_rate(pool_units[label]),
            composed_tokens=plan.composed_tokens(label),
            delta=delta,
            epsilon=epsilon,
            accountant=accountant,
        )
        for label in labels
    }


def price_plan(
    plan: GenerationPlan,
    pool_units: Mapping[str | None, int],
    *,
    delta: float,
    epsilon: float | None = None,
    accountant: Accountant = "tight",
) -> tuple[Price, ...]:
    """Price every pool of the plan by itself, in order of first use.

    pool_units: units per pool label (not read where the plan has declared lower bounds). With epsilon, the mechanism's
    noise is calibrated for each pool to the smallest that keeps it at or under the request; without, the plan's own
    noise is priced.
    Raises ConfigError where a pool is smaller than M*N or the request cannot be met.
    """
    from dpicl_core import accounting

    labels = plan.pool_labels()
    specs = dict.fromkeys(labels, plan.mechanism)
    if epsilon is not None:
        specs = calibrated_mechanisms(plan, pool_units, delta=delta, epsilon=epsilon, accountant=accountant)
    if plan.label_bounds is not None:
        if plan.mechanism.reads_private_rows:
            return _price_by_declared_bounds(plan, specs, delta)
        pool_units = dict(plan.label_bounds)  # a price is exported, and the counts are private here
    for label in labels:
        _check_pool_size(plan, label, pool_units[label])
    return tuple(
        accounting.price(
            specs[label],
            label=label,
            pool_units=pool_units[label],
            units_per_token=plan.units_per_token,
            composed_tokens=plan.composed_tokens(label),
            delta=delta,
            group_size=plan.group_size,
        )
        for label in labels
    )


def _check_pool_size(plan: GenerationPlan, label: str | None, units: int) -> None:
    if units < plan.units_per_token and plan.mechanism.reads_private_rows:
        name = "the whole table" if label is None else f"label {label}"
        raise ConfigError(
            f"{name} has {units} units, but subsets * per-subset = {plan.units_per_token} are drawn for each token; "
            "lower --subsets or --per-subset, or leave the label out."
        )


def _price_by_declared_bounds(
    plan: GenerationPlan, specs: Mapping[str | None, MechanismSpec], delta: float
) -> tuple[Price, ...]:
    """Prices where a unit may change its label: only declared lower bounds are used, and the worst pair counts."""
    from dpicl_core import accounting

    bounds = dict(plan.label_bounds or ())
    named = {label: spec for label, spec in specs.items() if label is not None}
    charges = accounting.label_change_charges(
        named,
        lower_bounds=bounds,
        units_per_token=plan.units_per_token,
        composed_tokens={label: plan.composed_tokens(label) for label in named},
        group_size=plan.group_size,
    )
    return accounting.price_label_change(charges, lower_bounds=bounds, delta=delta)
