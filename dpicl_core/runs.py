"""A whole run: plan, pools, price, generation, record.

Nothing here is paid for: command line, notebook and app make their runs with `charged_runs`, which wraps this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dpicl_core.data import Dataset, assign_persons, check_pool, pool_for
from dpicl_core.errors import DataError, ModelError
from dpicl_core.events import DemonstrationFinished, ReleasedEvent, RunFinished, TokenReleased
from dpicl_core.generation import Commit, Observer, generate
from dpicl_core.language_model.protocol import LanguageModel, ModelInfo
from dpicl_core.planning import Accountant, price_plan
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource, SecretRandomness
from dpicl_core.values import GenerationPlan, Pool, Price, PrivacyUnit, delta_by_rule


@dataclass(frozen=True, slots=True)
class PrivacyRequest:
    """What the steward asks for: epsilon (None: the plan's own noise is used), delta, and which accountant decides."""

    epsilon: float | None
    delta: float
    accountant: Accountant = "tight"


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A plan tied to private pools and priced; nothing has been drawn yet."""

    plan: GenerationPlan
    request: PrivacyRequest
    prices: tuple[Price, ...]
    pools: Mapping[str | None, Pool] = field(repr=False)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a finished run leaves: public settings and released text alone. run_id: in the ledger that paid for it."""

    plan: GenerationPlan
    request: PrivacyRequest
    prices: tuple[Price, ...]
    demonstrations: tuple[DemonstrationFinished, ...]
    model: ModelInfo
    private: bool
    finished_at: datetime
    run_id: str | None = None


def request_for(
    dataset: Dataset,
    epsilon: float | None,
    *,
    delta: float | None = None,
    accept_delta: bool = False,
    accountant: Accountant = "tight",
) -> PrivacyRequest:
    """The request with delta by the rule of default_delta, or checked against 1/n where it is given."""
    units = len(dataset.examples) if dataset.persons is None else len(set(dataset.persons))
    return PrivacyRequest(epsilon, delta_by_rule(units, delta, accepted=accept_delta), accountant)


def prepare_run(
    dataset: Dataset, plan: GenerationPlan, request: PrivacyRequest, *, assignment: Mapping[str, str] | None = None
) -> PreparedRun:
    """Build the pools of a plan and price them. Raises DataError where a pool is smaller than M*N.

    assignment: person to label, where the unit is the person; drawn secretly for this run where it is left out.
    """
    pools = pools_for(dataset, plan, assignment=assignment)
    prices = price_plan(
        plan,
        {label: len(pool) for label, pool in pools.items()},
        delta=request.delta,
        epsilon=request.epsilon,
        accountant=request.accountant,
    )
    return PreparedRun(plan, request, prices, pools)


def pools_for(
    dataset: Dataset, plan: GenerationPlan, *, assignment: Mapping[str, str] | None = None
) -> dict[str | None, Pool]:
    """The pools that a plan draws from; assignment and errors as in prepare_run."""
    if plan.unit is PrivacyUnit.PERSON and assignment is None and not plan.task.open_labels:
        secret = SecretRandomness()
        assignment = assign_persons(dataset, lambda labels: labels[secret.choose(len(labels))])
    pools = {label: pool_for(dataset, label, plan.unit, assignment) for label in plan.pool_labels()}
    if plan.mechanism.reads_private_rows:
        if plan.label_bounds is None:
            for pool in pools.values():
                check_pool(pool, plan.subsets, plan.per_subset, unit=plan.unit)
        else:  # the price refuses bounds that are too small; the counts themselves are private and are not told
            _check_declared_bounds(plan, pools)
    return pools


def _check_declared_bounds(plan: GenerationPlan, pools: Mapping[str | None, Pool]) -> None:
    """Tell the steward, before anything is drawn, of a declared lower bound that the table does not reach."""
    for label, bound in plan.label_bounds or ():
        if label in pools and len(pools[label]) < bound:
            raise DataError(
                f"label {label} has fewer units than its declared lower bound of {bound}, so the price would be wrong; "
                "declare a bound that every version of the table reaches."
            )


def check_context(plan: GenerationPlan, model: LanguageModel) -> None:
    """Refuse, before anything is drawn, prompts that are longer than the model takes; a public comparison."""
    encoder = PromptEncoder(plan.task, model.tokenizer, plan.record_tokens)
    longest = max(encoder.tokens_at_most(label, plan.per_subset, plan.tokens) for label in plan.target_labels)
    if longest > model.info.max_context:
        raise ModelError(
            f"the longest prompt of this plan is {longest} tokens, but {model.info.name} takes "
            f"{model.info.max_context}; lower --per-subset or --record-tokens."
        )


def run(
    prepared: PreparedRun,
    model: LanguageModel,
    *,
    rng: RandomSource | None = None,
    on_event: Callable[[ReleasedEvent], None] | None = None,
    observe: Observer | None = None,
    commit: Commit | None = None,
    released: Sequence[TokenReleased] = (),
) -> RunRecord:
    """Generate all demonstrations of a prepared run.

    rng: secret randomness unless a test passes its seeded twin, whose record is marked not private.
    on_event: told every released event. observe: told internal diagnostics, which are not DP. commit, released: as in
    generation.generate.
    """
    source = SecretRandomness() if rng is None else rng
    check_context(prepared.plan, model)
    demonstrations: tuple[DemonstrationFinished, ...] = ()
    for event in generate(
        prepared.plan,
        prepared.prices,
        prepared.pools,
        model,
        rng=source,
        observe=observe,
        commit=commit,
        released=released,
    ):
        if on_event is not None:
            on_event(event)
        if isinstance(event, RunFinished):
            demonstrations = event.demonstrations
    return RunRecord(
        plan=prepared.plan,
        request=prepared.request,
        prices=prepared.prices,
        demonstrations=demonstrations,
        model=model.info,
        private=source.private and prepared.plan.mechanism.exportable,
        finished_at=datetime.now(UTC),
    )
