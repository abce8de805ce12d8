"""What one pool's units pay for a run, by both accountants."""

from __future__ import annotations

from dpicl_core import sampling
from dpicl_core.accounting import losses, paper
from dpicl_core.specs import MechanismSpec, require
from dpicl_core.values import Price, require_delta


def sampling_rate(
    spec: MechanismSpec, *, label: str | None, pool_units: int, units_per_token: int, group_size: int | None = None
) -> float:
    """M*N divided by the units of the pool, or M by its groups; 0 where the mechanism draws none.

    Units are rows, or persons: with a person column, persons are sampled, and only this rate changes.
    group_size: N where a secret partition into groups is fixed for the run, None for fresh subsets.
    Raises ConfigError where the pool has fewer units than a token draws.
    """
    if not spec.reads_private_rows:
        return 0.0
    name = "the whole table" if label is None else f"label {label}"
    require(
        1 <= units_per_token <= pool_units,
        f"{name} has {pool_units} units, but {units_per_token} are drawn for each token; lower --subsets or "
        "--per-subset, or leave the label out.",
    )
    return sampling.sampling_rate(pool_units, units_per_token, group_size)


def price(
    spec: MechanismSpec,
    *,
    label: str | None,
    pool_units: int,
    units_per_token: int,
    composed_tokens: int,
    delta: float,
    group_size: int | None = None,
) -> Price:
    """Price of a run for the units of one pool: PublicOnlySpec costs 0, UnprotectedSpec infinity.

    label: the pool's, None for the whole table. units_per_token: M*N. composed_tokens: as in
    GenerationPlan.composed_tokens. group_size: as in sampling_rate.
    Raises ConfigError for a pool smaller than M*N or a delta out of bounds.
    """
    require_delta(delta)
    rate = sampling_rate(
        spec, label=label, pool_units=pool_units, units_per_token=units_per_token, group_size=group_size
    )
    return Price(
        label=label,
        mechanism=spec,
        pool_units=pool_units,
        sampling_rate=rate,
        composed_tokens=composed_tokens,
        delta=delta,
        epsilon_tight=losses.epsilon_tight(spec, sampling_rate=rate, composed_tokens=composed_tokens, delta=delta),
        epsilon_paper=paper.epsilon_paper(spec, sampling_rate=rate, composed_tokens=composed_tokens, delta=delta),
    )
