"""The tokens that are rehearsed: pseudo-records in place of rows, followed by the choice that is made without noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpicl_core.events import StewardDiagnostics, TokenReleased
from dpicl_core.generation import generate
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.pseudo_records import pseudo_pool
from dpicl_core.randomness import RandomSource
from dpicl_core.sampling import Grouping
from dpicl_core.specs import UnprotectedSpec
from dpicl_core.values import GenerationPlan, Pool, Price, Selection

Vector = NDArray[np.float64]

POOL_FACTOR = 2
"""Pseudo-records per label, in multiples of M*N, so that draws differ between tokens."""

STEPS_AT_MOST = 160
"""Tokens rehearsed over all labels, roughly: more of them say little more and take as long as a run."""

LEAST_STEPS_A_LABEL = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One rehearsed token: rows (M, K) and public row (K,) of public rows, under a public label.

    position: of the token in its text, from 0. text: the text so far, this token included, as it is without noise.
    """

    label: str
    rows: NDArray[np.float64] = field(repr=False)
    public: Vector = field(repr=False)
    position: int = 0
    text: str = ""

    @property
    def noise_free(self) -> Vector:
        return np.asarray(self.rows.mean(axis=0), dtype=np.float64)


def rehearsed_tokens(plan: GenerationPlan) -> int:
    """Tokens rehearsed for each label at most: T_max, or the first of them where a plan is long."""
    labels = len(dict.fromkeys(plan.target_labels))
    return min(plan.tokens, max(LEAST_STEPS_A_LABEL, STEPS_AT_MOST // labels))


def rehearsed_steps(
    plan: GenerationPlan,
    model: LanguageModel,
    *,
    rng: RandomSource,
    writing: Callable[[float], None],
    following: Callable[[float], None],
) -> tuple[Step, ...]:
    """Write pseudo-records for every distinct target label, then follow the noise-free choice on them.

    writing, following: told the share of either that is done.
    """
    return followed_steps(plan, _pseudo_pools(plan, model, rng, writing), model, rng=rng, following=following)


def followed_steps(
    plan: GenerationPlan,
    pools: dict[str | None, Pool],
    model: LanguageModel,
    *,
    rng: RandomSource,
    following: Callable[[float], None],
) -> tuple[Step, ...]:
    """Follow the noise-free choice on public rows: pseudo-records, or a public table in a benchmark.

    It is the token loop of a run, without noise; groups are fixed, since that saves most of the work and leaves the law
    of one token's draw as it is.
    """
    labels = tuple(dict.fromkeys(plan.target_labels))
    tokens = rehearsed_tokens(plan)
    shortened = replace(
        plan,
        mechanism=UnprotectedSpec(),
        target_labels=labels,
        tokens=tokens,
        min_tokens=min(plan.min_tokens, tokens),
        selection=Selection(),
        label_bounds=None,
        grouping=Grouping.FIXED,
    )
    prices = [_no_price(shortened, label, pool) for label, pool in pools.items()]
    seen: list[StewardDiagnostics] = []
    steps: dict[tuple[int, int], Step] = {}
    for event in generate(shortened, prices, pools, model, rng=rng, observe=seen.append):
        if isinstance(event, TokenReleased):
            found = seen.pop()
            label = labels[event.demonstration]
            steps[event.demonstration, event.position] = Step(
                label, found.probabilities, found.public, event.position, event.text
            )
            following(min(1.0, len(steps) / (len(labels) * tokens)))
    return tuple(steps[key] for key in sorted(steps))


def _pseudo_pools(
    plan: GenerationPlan, model: LanguageModel, rng: RandomSource, tell: Callable[[float], None]
) -> dict[str | None, Pool]:
    """One pool for each label, or one of all labels' pseudo-records where labels are open."""
    encoder = PromptEncoder(plan.task, model.tokenizer, plan.record_tokens)
    labels = tuple(dict.fromkeys(plan.target_labels))
    length = min(plan.record_tokens, max(plan.tokens, 8))
    count = POOL_FACTOR * plan.units_per_token
    share = -(-count // len(labels)) if plan.task.open_labels else count
    pools: dict[str | None, Pool] = {}
    for number, label in enumerate(labels):

        def heard(done: float, before: int = number) -> None:
            tell((before + done) / len(labels))

        pools[label] = pseudo_pool(encoder, model, label, share, length, rng=rng, tell=heard)
    if not plan.task.open_labels:
        return pools
    return {None: Pool(None, tuple(unit for pool in pools.values() for unit in pool.units))}


def _no_price(plan: GenerationPlan, label: str | None, pool: Pool) -> Price:
    """What the token loop asks for: nothing is paid, since the rows are public."""
    return Price(
        label=label,
        mechanism=plan.mechanism,
        pool_units=len(pool),
        sampling_rate=plan.sampling_rate(len(pool)),
        composed_tokens=plan.composed_tokens(label),
        delta=0.0,
        epsilon_tight=0.0,
        epsilon_paper=0.0,
    )
