"""What a mechanism sees for one token: the public candidates and row, and the drawn private rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpicl_core.candidates import candidate_ids, opening_candidates, public_vector, replace_unusable
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.language_model.sessions import PublicRequest, RowRequest, Session, SessionSize
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource
from dpicl_core.sampling import draws_and_population
from dpicl_core.subsets import Subset, Subsets
from dpicl_core.values import GenerationPlan, TokenBlock


@dataclass(frozen=True, slots=True)
class TokenInputs:
    """candidates (K,) ids and public (K,) are public; rows (M, K) and unusable_rows are private."""

    candidates: NDArray[np.int64]
    public: NDArray[np.float64]
    rows: NDArray[np.float64] = field(repr=False)
    unusable_rows: int = field(repr=False)


def token_inputs(
    plan: GenerationPlan,
    encoder: PromptEncoder,
    model: LanguageModel,
    label: str,
    released: Sequence[int],
    subsets: Subsets,
    *,
    rng: RandomSource,
) -> TokenInputs:
    """Ask the model for S and q, draw M subsets, and ask it for the M private rows over S.

    rows is empty, (0, K), for a mechanism that reads no private row: nothing is drawn then.
    """
    logits = model.public_logits(encoder.public(label, released))
    candidates = _candidates(plan, model, logits, len(released))
    public = public_vector(logits, candidates)
    if not plan.mechanism.reads_private_rows:
        return TokenInputs(candidates, public, np.empty((0, len(candidates))), 0)
    prompts = [encoder.private(subset.examples, label, released) for subset in subsets.draw(rng=rng)]
    rows, unusable = replace_unusable(model.private_probabilities(prompts, candidates), public)
    return TokenInputs(candidates, public, rows, unusable)


@dataclass(frozen=True, slots=True)
class Asked:
    """One demonstration that wants its next token. pool: the label of the pool that `subsets` draws from."""

    demonstration: int
    label: str
    released: tuple[int, ...]
    pool: str | None
    subsets: Subsets = field(repr=False)


class StepInputs:
    """token_inputs of several demonstrations in one call of the model, each with draws of its own."""

    def __init__(self, plan: GenerationPlan, encoder: PromptEncoder, model: LanguageModel, session: Session) -> None:
        self._plan = plan
        self._encoder = encoder
        self._model = model
        self._session = session
        self._encoded: dict[Hashable, tuple[TokenBlock, ...]] = {}

    def of(self, asked: Sequence[Asked], *, rng: RandomSource) -> list[TokenInputs]:
        """One TokenInputs for each demonstration, in order."""
        publics = [self._encoder.public(each.label, each.released) for each in asked]
        requests = [PublicRequest(each.demonstration, prompt) for each, prompt in zip(asked, publics, strict=True)]
        logits = self._session.public_logits(requests)
        candidates = [
            _candidates(self._plan, self._model, row, len(each.released))
            for each, row in zip(asked, logits, strict=True)
        ]
        vectors = [public_vector(row, ids) for row, ids in zip(logits, candidates, strict=True)]
        if not self._plan.mechanism.reads_private_rows:
            return [TokenInputs(i, q, np.empty((0, len(i))), 0) for i, q in zip(candidates, vectors, strict=True)]
        rows = [self._row_request(each, ids, rng) for each, ids in zip(asked, candidates, strict=True)]
        found = []
        probabilities = self._session.private_probabilities(rows)
        for ids, public, private in zip(candidates, vectors, probabilities, strict=True):
            repaired, unusable = replace_unusable(private, public)
            found.append(TokenInputs(ids, public, repaired, unusable))
        return found

    def _row_request(self, asked: Asked, ids: NDArray[np.int64], rng: RandomSource) -> RowRequest:
        drawn = asked.subsets.draw(rng=rng)
        prompts = self._encoder.with_examples(
            [self._blocks(asked.pool, subset) for subset in drawn], asked.label, asked.released
        )
        names = [None if subset.group is None else (asked.pool, subset.group) for subset in drawn]
        return RowRequest(asked.demonstration, prompts, ids, None if None in names else tuple(names))

    def _blocks(self, pool: str | None, subset: Subset) -> tuple[TokenBlock, ...]:
        """The examples as blocks; those of a fixed group are encoded once."""
        if subset.group is None:
            return tuple(map(self._encoder.example, subset.examples))
        name = (pool, subset.group)
        if name not in self._encoded:
            self._encoded[name] = tuple(map(self._encoder.example, subset.examples))
        return self._encoded[name]


def session_size(plan: GenerationPlan, encoder: PromptEncoder, pool_units: Mapping[str | None, int]) -> SessionSize:
    """How many token positions a run's states take at most; pool_units: the units that were priced, public numbers."""
    texts = [encoder.text_width(label) + plan.tokens for label in plan.target_labels]
    if plan.group_size is None or not plan.mechanism.reads_private_rows:
        return SessionSize(sum(texts))
    examples = plan.per_subset * encoder.example_width
    groups = {
        label: draws_and_population(pool_units[label], plan.units_per_token, plan.group_size)[1]
        for label in plan.pool_labels()
    }
    saved, missing = _savings(plan, encoder, groups)
    return SessionSize(
        public_tokens=sum(texts),
        rows_tokens=sum(groups.values()) * examples,
        step_tokens=plan.subsets * examples,
        text_tokens=len(texts) * plan.subsets * max(texts),
        saved_share=saved,
        missing_rows=missing,
    )


def _savings(plan: GenerationPlan, encoder: PromptEncoder, groups: Mapping[str | None, int]) -> tuple[float, float]:
    """saved_share (instruction left out) and missing_rows of SessionSize.

    A group's examples are computed once, if any of its pool's demonstrations draws it; texts at every token.
    """
    examples, drawn, once = plan.per_subset * encoder.example_width, 0.0, 0.0
    for pool, count in groups.items():
        labels = [label for label in plan.target_labels if pool in (None, label)]
        never = (1 - plan.subsets / count) ** (plan.tokens * len(labels))
        once += examples * count * (1 - never)
        drawn += examples * plan.subsets * plan.tokens * len(labels)
    lengths = [encoder.text_width(label) + (plan.tokens - 1) / 2 for label in plan.target_labels]
    saved = (drawn - once) / (drawn + plan.subsets * plan.tokens * sum(lengths))
    return saved, once / examples / plan.tokens


def _candidates(
    plan: GenerationPlan, model: LanguageModel, logits: NDArray[np.float64], position: int
) -> NDArray[np.int64]:
    """S of this token: no ending and no blank token while the demonstration is too short to end."""
    tokenizer = model.tokenizer
    size = plan.vocabulary if plan.mechanism.reduced_vocabulary else len(logits)
    if position < plan.min_tokens:
        return opening_candidates(logits, size, tokenizer.forbidden_ids | tokenizer.ending_ids, tokenizer)
    return candidate_ids(logits, size, tokenizer.forbidden_ids)
