"""What a mechanism sees for one token: the public candidates and row, and the freshly drawn private rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpicl_core.candidates import candidate_ids, opening_candidates, public_vector, replace_unusable
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource
from dpicl_core.values import Example, GenerationPlan, Pool


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
    pool: Pool,
    *,
    rng: RandomSource,
) -> TokenInputs:
    """Ask the model for S and q, draw M*N units afresh, and ask it for the M private rows over S.

    rows is empty, (0, K), for a mechanism that reads no private row: nothing is drawn then.
    """
    logits = model.public_logits(encoder.public(label, released))
    candidates = _candidates(plan, model, logits, len(released))
    public = public_vector(logits, candidates)
    if not plan.mechanism.reads_private_rows:
        return TokenInputs(candidates, public, np.empty((0, len(candidates))), 0)
    prompts = [encoder.private(examples, label, released) for examples in draw_subsets(plan, pool, rng=rng)]
    rows, unusable = replace_unusable(model.private_probabilities(prompts, candidates), public)
    return TokenInputs(candidates, public, rows, unusable)


def draw_subsets(plan: GenerationPlan, pool: Pool, *, rng: RandomSource) -> list[list[Example]]:
    """M disjoint subsets of N units each, uniformly without replacement, one uniformly chosen row of every unit."""
    drawn = [_row_of(pool.units[index], rng) for index in rng.draw(len(pool), plan.units_per_token)]
    return [drawn[start : start + plan.per_subset] for start in range(0, len(drawn), plan.per_subset)]


def _row_of(unit: tuple[Example, ...], rng: RandomSource) -> Example:
    return unit[0] if len(unit) == 1 else unit[rng.choose(len(unit))]


def _candidates(
    plan: GenerationPlan, model: LanguageModel, logits: NDArray[np.float64], position: int
) -> NDArray[np.int64]:
    """S of this token: no ending and no blank token while the demonstration is too short to end."""
    tokenizer = model.tokenizer
    size = plan.vocabulary if plan.mechanism.reduced_vocabulary else len(logits)
    if position < plan.min_tokens:
        return opening_candidates(logits, size, tokenizer.forbidden_ids | tokenizer.ending_ids, tokenizer)
    return candidate_ids(logits, size, tokenizer.forbidden_ids)
