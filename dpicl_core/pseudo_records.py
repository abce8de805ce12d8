"""Pseudo-records: rows that the language model writes from the instruction alone. Public, so they cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpicl_core.candidates import select_from
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.language_model.sessions import PublicRequest, SessionSize, open_session
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource
from dpicl_core.texts import demonstration_text
from dpicl_core.values import Example, Pool, Selection, TokenPrompt

WRITING = Selection(sample=True, temperature=1.0, top_p=0.95)
"""Lively enough that two pseudo-records differ, without the long tail of unlikely tokens."""

LIKELIEST = 512
"""Tokens that are drawn from at most: sorting a whole vocabulary for each token would take longer than the model."""

SIDE_BY_SIDE = 64
"""Pseudo-records written in one pass at most, so that progress is told, and a stop heard, every second or so."""

Logits = NDArray[np.float64]


def pseudo_pool(
    encoder: PromptEncoder,
    model: LanguageModel,
    label: str,
    count: int,
    tokens: int,
    *,
    rng: RandomSource,
    tell: Callable[[float], None] | None = None,
) -> Pool:
    """`count` rows of one label, each at most `tokens` tokens, sampled side by side from the public prompt.

    tell: told the share that is done, after every token.
    """
    texts: list[str] = []
    while len(texts) < count:
        part = min(SIDE_BY_SIDE, count - len(texts))

        def heard(done: float, before: int = len(texts), part: int = part) -> None:
            if tell is not None:
                tell((before + done * part) / count)

        texts += _written(encoder, model, label, part, tokens, rng, heard)
    return Pool(label, tuple((Example(label, text),) for text in texts))


def _written(
    encoder: PromptEncoder,
    model: LanguageModel,
    label: str,
    count: int,
    tokens: int,
    rng: RandomSource,
    tell: Callable[[float], None],
) -> list[str]:
    tokenizer = model.tokenizer
    banned = np.array(sorted(tokenizer.forbidden_ids), dtype=np.int64)
    ending = np.array(sorted(tokenizer.ending_ids), dtype=np.int64)
    asked = _public_asker(model, count * (encoder.text_width(label) + tokens))
    drafts: list[list[int]] = [[] for _ in range(count)]
    done = [False] * count
    for position in range(tokens):
        left_out = np.concatenate([banned, ending]) if position == 0 else banned
        for index, logits in enumerate(asked([encoder.public(label, draft) for draft in drafts])):
            token = _drawn(logits, left_out, rng)
            # A finished draft goes on with the rest so that all prompts keep one length; its text stops there.
            done[index] = done[index] or token in tokenizer.ending_ids
            drafts[index].append(token)
        tell((position + 1) / tokens)
        if all(done):
            break
    return [demonstration_text(draft, tokenizer) or label for draft in drafts]


def _public_asker(model: LanguageModel, positions: int) -> Callable[[Sequence[TokenPrompt]], Sequence[Logits]]:
    """Next-token logits (V,) of public prompts that only grow; states are kept where the model can keep them."""
    session = open_session(model, SessionSize(positions))
    if session is None:
        return lambda prompts: [model.public_logits(prompt) for prompt in prompts]
    return lambda prompts: session.public_logits([PublicRequest(at, prompt) for at, prompt in enumerate(prompts)])


def _drawn(logits: Logits, left_out: NDArray[np.int64], rng: RandomSource) -> int:
    """One token of the likeliest; of all of them, should nothing else be allowed."""
    allowed = np.ones(len(logits), dtype=np.bool_)
    allowed[left_out[left_out < len(logits)]] = False
    ids = np.nonzero(allowed & np.isfinite(logits))[0]
    ids = ids if len(ids) else np.arange(len(logits))
    values = logits[ids]
    if len(ids) > LIKELIEST:
        kept = np.argpartition(-values, LIKELIEST)[:LIKELIEST]
        ids, values = ids[kept], values[kept]
    weights = np.exp(values - values.max())
    return int(ids[select_from(weights / weights.sum(), WRITING, rng=rng)])
