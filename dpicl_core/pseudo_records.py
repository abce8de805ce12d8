"""Pseudo-records: rows that the language model writes from the instruction alone. Public, so they cost nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.candidates import select_from
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource
from dpicl_core.texts import demonstration_text
from dpicl_core.values import Example, Pool, Selection

WRITING = Selection(sample=True, temperature=1.0, top_p=0.95)
"""Lively enough that two pseudo-records differ, without the long tail of unlikely tokens."""


def pseudo_pool(
    encoder: PromptEncoder, model: LanguageModel, label: str, count: int, tokens: int, *, rng: RandomSource
) -> Pool:
    """`count` rows of one label, each at most `tokens` tokens, sampled side by side from the public prompt."""
    tokenizer = model.tokenizer
    allowed = np.array(sorted(set(range(tokenizer.vocabulary_size)) - tokenizer.forbidden_ids), dtype=np.int64)
    ending = np.isin(allowed, list(tokenizer.ending_ids))
    drafts: list[list[int]] = [[] for _ in range(count)]
    done = [False] * count
    for position in range(tokens):
        rows = model.private_probabilities([encoder.public(label, draft) for draft in drafts], allowed)
        for index, row in enumerate(np.nan_to_num(rows, nan=1.0 / len(allowed))):
            token = int(allowed[select_from(_without(row, ending) if position == 0 else row, WRITING, rng=rng)])
            # A finished draft goes on with the rest so that all prompts keep one length; its text stops there.
            done[index] = done[index] or token in tokenizer.ending_ids
            drafts[index].append(token)
        if all(done):
            break
    texts = (demonstration_text(draft, tokenizer) or label for draft in drafts)
    return Pool(label, tuple((Example(label, text),) for text in texts))


def _without(row: NDArray[np.float64], left_out: NDArray[np.bool_]) -> NDArray[np.float64]:
    kept = np.where(left_out, 0.0, row)
    return kept if kept.max() > 0 else row
