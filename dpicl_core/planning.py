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
    mechanism: MechanismSpec | str = "adadpsyn",
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
    if epsilon is not None:
        PrivacyTarget(epsilon, delta)
    if plan.label_bounds is not None and plan.mechanism.reads_private_rows:
        return _price_by_declared_bounds(plan, delta=delta, epsilon=epsilon, accountant=accountant)
    return tuple(
        _price_pool(plan, label, pool_units[label], delta=delta, epsilon=epsilon, accountant=accountant)
        for label in plan.pool_labels()
    )


def _price_pool(
    plan: GenerationPlan,
    label: str | None,
    units: int,
    *,
    delta: float,
    epsilon: float | None,
    accountant: Accountant,
) -> Price:
    from dpicl_core import accounting

    spec, composed = plan.mechanism, plan.composed_tokens(label)
    if units < plan.units_per_token and spec.reads_private_rows:
        name = "the whole table" if label is None else f"label {label}"
        raise ConfigError(
            f"{name} has {units} units, but subsets * per-subset = {plan.units_per_token} are drawn for each token; "
            "lower --subsets or --per-subset, or leave the label out."
        )
    if epsilon is not None and spec.noise_multipliers():
        spec = accounting.calibrate(
            spec,
            sampling_rate=plan.sampling_rate(units),
            composed_tokens=composed,
            delta=delta,
            epsilon=epsilon,
            accountant=accountant,
        )
    return accounting.price(
        spec,
        label=label,
        pool_units=units,
        units_per_token=plan.units_per_token,
        composed_tokens=composed,
        delta=delta,
        group_size=plan.group_size,
    )


def _price_by_declared_bounds(
    plan: GenerationPlan, *, delta: float, epsilon: float | None, accountant: Accountant
) -> tuple[Price, ...]:
    """Prices where a unit may change its label: only declared lower bounds are used, and the worst pair counts."""
    from dpicl_core import accounting

    bounds = dict(plan.label_bounds or ())
    labels = [label for label in plan.pool_labels() if label is not None]
    composed = {label: plan.composed_tokens(label) for label in labels}
    specs: dict[str, MechanismSpec] = dict.fromkeys(labels, plan.mechanism)
    if epsilon is not None and plan.mechanism.noise_multipliers():
        specs = accounting.calibrate_label_change(
            plan.mechanism,
            lower_bounds=bounds,
            units_per_token=plan.units_per_token,
            composed_tokens=composed,
            delta=delta,
            epsilon=epsilon,
            accountant=accountant,
            group_size=plan.group_size,
        )
    charges = accounting.label_change_charges(
        specs,
        lower_bounds=bounds,
        units_per_token=plan.units_per_token,
        composed_tokens=composed,
        group_size=plan.group_size,
    )
    return accounting.price_label_change(charges, lower_bounds=bounds, delta=delta)
