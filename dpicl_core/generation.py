"""The token loop: one generator of released events. Every private value lives and dies inside one step.

Demonstrations advance together, in one call of the model where it offers a session; each makes its own draw afresh at
each of its tokens, since a shared draw would break the amplification by sampling that the price relies on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dpicl_core.candidates import select_from
from dpicl_core.errors import ConfigError, DPICLError, ModelError
from dpicl_core.events import (
    DemonstrationFinished,
    EndReason,
    ReleasedEvent,
    RunFinished,
    RunStarted,
    StewardDiagnostics,
    TokenReleased,
)
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.language_model.sessions import open_session
from dpicl_core.mechanisms import TokenOutcome, release_token
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource
from dpicl_core.subsets import Subset, Subsets, subsets_of
from dpicl_core.texts import demonstration_text
from dpicl_core.token_inputs import Asked, StepInputs, TokenInputs, session_size, token_inputs
from dpicl_core.values import GenerationPlan, Pool, Price

Observer = Callable[[StewardDiagnostics], None]
Commit = Callable[[TokenReleased], None]


@dataclass(slots=True)
class _Draft:
    """One demonstration in the making: released tokens only."""

    index: int
    label: str
    token_ids: list[int] = field(default_factory=list)
    ended_by: EndReason | None = None


def generate(
    plan: GenerationPlan,
    prices: Sequence[Price],
    pools: Mapping[str | None, Pool],
    model: LanguageModel,
    *,
    rng: RandomSource,
    commit: Commit | None = None,
    observe: Observer | None = None,
    released: Sequence[TokenReleased] = (),
) -> Iterator[ReleasedEvent]:
    """Run a priced plan and yield its released events.

    prices and pools: one per plan.pool_labels(). commit: called with each token before it is yielded; if it raises,
    the token was never released. observe: receives internal diagnostics, which are not DP. released: tokens that an
    interrupted run committed, in their order; they are yielded again, and only the rest is drawn.
    Raises ConfigError where price, plan or released tokens disagree, ModelError where the model cannot take prompts
    this long.
    """
    price_of = {price.label: price for price in prices}
    _check_prices(plan, price_of, pools)
    encoder = PromptEncoder(plan.task, model.tokenizer, plan.record_tokens)
    step = _TokenStep(plan, encoder, model, pools, price_of, rng)
    drafts = [_Draft(index, label) for index, label in enumerate(plan.target_labels)]
    yield RunStarted(plan.target_labels, tuple(prices), rng.private)
    finished: dict[int, DemonstrationFinished] = {}
    for token in released:
        draft = _draft_of(token, drafts)
        _append(draft, token, plan.tokens)
        yield token
        if draft.ended_by is not None:
            finished[draft.index] = _finish(draft, draft.ended_by, model)
            yield finished[draft.index]
    for _ in range(plan.tokens):
        active = [draft for draft in drafts if draft.ended_by is None]
        inputs = step.inputs(active)
        for draft in active:
            token, seen = step.release(draft, price_of[_pool_label(plan, draft)], inputs)
            if commit is not None:
                commit(token)
            if observe is not None:
                observe(seen)
            _append(draft, token, plan.tokens)
            yield token
            if draft.ended_by is not None:
                finished[draft.index] = _finish(draft, draft.ended_by, model)
                yield finished[draft.index]
    yield RunFinished(tuple(finished[draft.index] for draft in drafts))


class _TokenStep:
    """Everything that happens between two commits."""

    def __init__(
        self,
        plan: GenerationPlan,
        encoder: PromptEncoder,
        model: LanguageModel,
        pools: Mapping[str | None, Pool],
        price_of: Mapping[str | None, Price],
        rng: RandomSource,
    ) -> None:
        self._plan = plan
        self._encoder = encoder
        self._model = model
        self._rng = rng
        reads = plan.mechanism.reads_private_rows
        # Fixed groups are put together here, once for all demonstrations of a pool, and anew when a run is resumed.
        self._subsets: dict[str | None, Subsets] = {
            label: subsets_of(plan, pools[label], rng=rng) for label in plan.pool_labels() if reads
        }
        size = session_size(plan, encoder, {label: price.pool_units for label, price in price_of.items()})
        session = open_session(model, size)
        self._together = None if session is None else StepInputs(plan, encoder, model, session)

    def inputs(self, drafts: Sequence[_Draft]) -> Iterator[TokenInputs]:
        """What the mechanism sees of each draft's next token: all from one call, or one by one as they are taken."""
        asked = [self._asked(draft) for draft in drafts]
        if self._together is not None:
            found = self._together.of(asked, rng=self._rng)
            while found:  # a row is forgotten as soon as it is used
                yield found.pop(0)
            return
        for each in asked:
            yield token_inputs(
                self._plan, self._encoder, self._model, each.label, each.released, each.subsets, rng=self._rng
            )

    def _asked(self, draft: _Draft) -> Asked:
        pool = _pool_label(self._plan, draft)
        return Asked(draft.index, draft.label, tuple(draft.token_ids), pool, self._subsets.get(pool, _NO_SUBSETS))

    def release(
        self, draft: _Draft, price: Price, inputs: Iterator[TokenInputs]
    ) -> tuple[TokenReleased, StewardDiagnostics]:
        """One release, whole; a failure inside is reported by its kind alone, since its message may hold a row."""
        try:
            return self._release(draft, price, next(inputs))
        except DPICLError:
            raise
        except MemoryError:
            raise ModelError(
                "memory ran out inside a token step; lower --subsets, --per-subset or --record-tokens. "
                "The run has stopped and what it reserved stays spent."
            ) from None
        except Exception as error:
            raise ModelError(
                f"a token step failed with {type(error).__name__}; its message is withheld because it may hold private "
                "text. The run has stopped and what it reserved stays spent."
            ) from None

    def _release(self, draft: _Draft, price: Price, seen: TokenInputs) -> tuple[TokenReleased, StewardDiagnostics]:
        """Add noise, and return the whole release at once, with what the steward may look at once it is committed."""
        plan, tokenizer = self._plan, self._model.tokenizer
        outcome = release_token(price.mechanism, seen.rows, seen.public, rng=self._rng)
        choice = outcome.choice
        if plan.selection.sample and outcome.vector is not None:
            choice = select_from(outcome.vector, plan.selection, rng=self._rng)
        position = len(draft.token_ids)
        token_id = int(seen.candidates[choice])
        token = TokenReleased(
            demonstration=draft.index,
            position=position,
            token_id=token_id,
            text=demonstration_text([*draft.token_ids, token_id], tokenizer),
            trace=outcome.trace,
            ends=token_id in tokenizer.ending_ids,
        )
        return token, _diagnostics(draft.index, position, seen, outcome)


class _NoSubsets:
    """Stands for the draws of a mechanism that reads no private row."""

    def draw(self, *, rng: RandomSource) -> list[Subset]:
        raise ConfigError("this mechanism reads no private row, so none may be drawn for it.")


_NO_SUBSETS = _NoSubsets()


def _pool_label(plan: GenerationPlan, draft: _Draft) -> str | None:
    return None if plan.task.open_labels else draft.label


def _diagnostics(demonstration: int, position: int, seen: TokenInputs, outcome: TokenOutcome) -> StewardDiagnostics:
    return StewardDiagnostics(
        demonstration, position, seen.rows, seen.public, seen.candidates, outcome.means, seen.unusable_rows
    )


def _draft_of(token: TokenReleased, drafts: Sequence[_Draft]) -> _Draft:
    """The demonstration that a token released earlier continues."""
    known = 0 <= token.demonstration < len(drafts)
    draft = drafts[token.demonstration] if known else None
    if draft is None or draft.ended_by is not None or token.position != len(draft.token_ids):
        raise ConfigError("the tokens released so far do not belong to this plan; resume the run that made them.")
    return draft


def _append(draft: _Draft, token: TokenReleased, limit: int) -> None:
    draft.token_ids.append(token.token_id)
    if token.ends:
        draft.ended_by = "ending-token"
    elif len(draft.token_ids) >= limit:
        draft.ended_by = "token-limit"


def _finish(draft: _Draft, ended_by: EndReason, model: LanguageModel) -> DemonstrationFinished:
    text = demonstration_text(draft.token_ids, model.tokenizer)
    return DemonstrationFinished(draft.index, draft.label, text, tuple(draft.token_ids), ended_by)


def _check_prices(plan: GenerationPlan, price_of: Mapping[str | None, Price], pools: Mapping[str | None, Pool]) -> None:
    """Refuse to run what was not priced: rate, tokens and mechanism kind of every pool must match."""
    for label in plan.pool_labels():
        name = "all rows" if label is None else f"label {label}"
        if label not in price_of or label not in pools:
            raise ConfigError(f"{name} has no price or no rows in this run; price every label before generating.")
        price, pool = price_of[label], pools[label]
        if price.mechanism.reads_private_rows and len(pool) < plan.units_per_token:
            raise ConfigError(
                f"{name} has {len(pool)} units, but one token draws {plan.units_per_token}; "
                "lower --subsets or --per-subset."
            )
        if (
            type(price.mechanism) is not type(plan.mechanism)
            or price.composed_tokens != plan.composed_tokens(label)
            or (price.mechanism.reads_private_rows and not _rate_covers(plan, price, pool))
        ):
            raise ConfigError(f"the price of {name} was made for another plan; price this plan before generating.")


def _rate_covers(plan: GenerationPlan, price: Price, pool: Pool) -> bool:
    """Whether the rate that was paid for is that of the plan's own way to draw, in a pool at most as large as this."""
    paid = plan.sampling_rate(price.pool_units)
    return price.pool_units <= len(pool) and math.isclose(price.sampling_rate, paid, rel_tol=1e-12)
