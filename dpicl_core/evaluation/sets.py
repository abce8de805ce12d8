"""The sets of demonstrations that are compared: what a document holds, and the ends of the scale beside it.

One set is one seed of its kind: what one run released, or one draw of real rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dpicl_core.charged_runs.internal_view import InternalView
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import ConfigError
from dpicl_core.events import ReleasedEvent, TokenReleased
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.planning import mechanism_named
from dpicl_core.runs import PrivacyRequest
from dpicl_core.values import GenerationPlan, Task, default_delta

ZERO_SHOT, PUBLIC_ONLY, REAL_ROWS, NOISE_FREE = "0-shot", "public-only", "real-rows", "noise-free"
REFERENCE_SETS = (ZERO_SHOT, PUBLIC_ONLY, REAL_ROWS, NOISE_FREE)
NEEDS_PRIVATE_TABLE = (REAL_ROWS, NOISE_FREE)

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class DemonstrationSet:
    """kind: sets of one kind are seeds of one another. demonstrations: (text, label), in prompt order.

    internal: whether real rows, or text without protection, stand in it.
    """

    kind: str
    demonstrations: tuple[tuple[str, str], ...] = field(repr=False)
    internal: bool


def task_of(document: DemonstrationsDocument) -> Task:
    """The task as the document states it, with the sizes of its plan."""
    facts, plan = document.task.model_dump(), document.plan
    return Task(
        **{
            **facts,
            "labels": tuple(facts["labels"]),
            "subsets": plan.subsets,
            "per_subset": plan.per_subset,
            "tokens": plan.tokens,
            "record_tokens": plan.record_tokens,
            "min_tokens": plan.min_tokens,
        }
    )


def set_of(document: DemonstrationsDocument) -> DemonstrationSet:
    """What a document holds; its kind names mechanism, epsilon and how tokens were selected."""
    pairs = tuple((d.text, d.label) for d in document.demonstrations if d.text)
    guarantee = document.guarantee
    asked = guarantee.epsilon_requested
    epsilon = asked if asked is not None else max(getattr(guarantee.epsilon, guarantee.accountant), 0.0)
    sampled = ", sampled" if document.mechanism.selection == "sample" else ""
    private = any(pool.sampling_rate > 0 for pool in document.pools)
    terms = f" epsilon {epsilon:g} ({guarantee.accountant})" if private else ""
    return DemonstrationSet(f"{document.mechanism.name}{terms}{sampled}", pairs, internal=False)


def common_task(documents: Sequence[DemonstrationsDocument]) -> Task:
    """The task that all documents share. Raises ConfigError where they differ."""
    if any(document.task != documents[0].task for document in documents):
        raise ConfigError("the demonstrations files belong to different tasks; evaluate each task by itself.")
    return task_of(documents[0])


def reference_sets(
    kind: str,
    plan: GenerationPlan,
    seeds: int,
    view: InternalView,
    model: LanguageModel,
    *,
    progress: Progress | None = None,
) -> tuple[DemonstrationSet, ...]:
    """Sets of one of REFERENCE_SETS, one a seed; where nothing is drawn, one set stands for all seeds.

    plan: target labels, sizes and selection. view: of the private table; `0-shot` and `public-only` read no row of it.
    """
    if kind == ZERO_SHOT:
        return (DemonstrationSet(kind, (), internal=False),)
    if kind not in REFERENCE_SETS:
        raise ConfigError(f"set {kind} is unknown; choose among {', '.join(REFERENCE_SETS)}.")
    if kind == PUBLIC_ONLY and not plan.selection.sample:
        seeds = 1  # the same text each time
    found = []
    for seed in range(seeds):

        def told(share: float, seed: int = seed) -> None:
            if progress is not None:
                progress(f"making {kind}", (seed + share) / seeds)

        told(0.0)
        if kind == REAL_ROWS:
            pairs = tuple((row.text, row.label) for row in view.random_rows(plan))
        else:
            pairs = generated(kind, plan, view, model, told)
        found.append(DemonstrationSet(kind, pairs, internal=kind in NEEDS_PRIVATE_TABLE))
    return tuple(found)


def generated(
    kind: str, plan: GenerationPlan, view: InternalView, model: LanguageModel, told: Callable[[float], None]
) -> tuple[tuple[str, str], ...]:
    """Texts of one unpaid run: the noise-free algorithm (fresh draws each time), or the public prompt alone.

    told: the share of its tokens that are made, at every token.
    """
    chosen, request = unpaid_plan(kind, plan), PrivacyRequest(None, default_delta(len(view.dataset)))
    record = view.run(chosen, request, model, on_event=by_token(chosen, told))
    return tuple((made.text, made.label) for made in record.demonstrations if made.text)


def unpaid_plan(kind: str, plan: GenerationPlan) -> GenerationPlan:
    """The plan of a set that is generated here: with the noise-free algorithm, or from the public prompt alone."""
    spec = mechanism_named("public-only" if kind == PUBLIC_ONLY else "unprotected")
    return replace(plan, mechanism=spec, label_bounds=None)


def by_token(plan: GenerationPlan, told: Callable[[float], None]) -> Callable[[ReleasedEvent], None]:
    """A listener of a run that tells the share of T_max tokens that every demonstration has."""

    def listen(event: ReleasedEvent) -> None:
        if isinstance(event, TokenReleased):
            told((event.position + 1) / plan.tokens)

    return listen
