"""A tiny deterministic language model in numpy, for tests and demonstrations of the other layers.

It is a real implementation of the Protocol: rows are independent, ids round-trip, control text stays plain. It
prefers words that its prompt holds and continues words by a fixed hashed bigram table. Its text means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpicl_core.language_model.protocol import (
    ModelInfo,
    common_widths,
    require_context,
    require_ids,
    restricted_probabilities,
)
from dpicl_core.values import TokenPrompt

CONTROL_TOKENS = ("<|end|>", "<|begin|>", "<|pad|>")
END_ID, BEGIN_ID, PAD_ID = range(3)
FIRST_BYTE_ID = len(CONTROL_TOKENS)
FIRST_WORD_ID = FIRST_BYTE_ID + 256
_WORD_LIST = """
the a an of to in and is was for on with at by from it that this what who where when how which why are be has have had
not no new old good bad first last year day city man woman world people country company team game film movie song book
name number place person animal food water house school market price money war peace law doctor patient pain clinic
order delivery refund service late early great small large many much
"""
WORDS = tuple(" " + word for word in _WORD_LIST.split())

Asked = Literal["public", "private"]
Observer = Callable[[Asked, Sequence[TokenPrompt]], None]


class ToyTokenizer:
    """UTF-8 bytes and a hundred words with a leading space; the longest match wins."""

    def __init__(self, *, with_prefix: bool = True) -> None:
        self._words = {word.encode(): FIRST_WORD_ID + index for index, word in enumerate(WORDS)}
        self._longest = max(map(len, self._words))
        self._texts = [b"" for _ in CONTROL_TOKENS] + [bytes([byte]) for byte in range(256)] + list(self._words)
        self.prefix_ids: tuple[int, ...] = (BEGIN_ID,) if with_prefix else ()
        self.vocabulary_size = len(self._texts)
        self.ending_ids = frozenset({END_ID} | {FIRST_BYTE_ID + byte for byte in b"\n\r\v\f\x1c\x1d\x1e"})
        plain_bytes = {FIRST_BYTE_ID + byte for byte in [*range(0x20, 0x7F), ord("\t")]}
        all_bytes = set(range(FIRST_BYTE_ID, FIRST_WORD_ID))
        self.forbidden_ids = frozenset({BEGIN_ID, PAD_ID} | (all_bytes - plain_bytes - self.ending_ids))

    def encode(self, text: str) -> tuple[int, ...]:
        data, ids, start = text.encode(), [], 0
        while start < len(data):
            length = next((n for n in range(self._longest, 1, -1) if data[start : start + n] in self._words), 1)
            piece = data[start : start + length]
            ids.append(self._words.get(piece, FIRST_BYTE_ID + piece[0]))
            start += len(piece)
        return tuple(ids)

    def decode(self, ids: Iterable[int]) -> str:
        return b"".join(self._texts[id_] for id_ in ids).decode(errors="replace")


class ToyModel:
    """A language model of 0 weights over `ToyTokenizer`.

    observer: told before each call whether it is "public" or "private", and the prompts; tests count rows with it.
    fails_on: rows for which it is true come back as NaN, as a real model's overflow would.
    """

    def __init__(
        self,
        *,
        with_prefix: bool = True,
        max_context: int = 2048,
        observer: Observer | None = None,
        fails_on: Callable[[TokenPrompt], bool] | None = None,
    ) -> None:
        self.tokenizer = ToyTokenizer(with_prefix=with_prefix)
        self.info = ModelInfo("toy", "toy", (), "float64", "cpu", 0, max_context)
        self._observer = observer
        self._fails_on = fails_on
        self._bigrams = _bigram_table(self.tokenizer.vocabulary_size)

    def public_logits(self, prompt: TokenPrompt) -> NDArray[np.float64]:
        require_context(sum(prompt.widths), self.info.max_context)
        if self._observer:
            self._observer("public", (prompt,))
        return self._logits(prompt)

    def private_probabilities(self, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        require_context(sum(common_widths(prompts)), self.info.max_context)
        require_ids(ids, self.tokenizer.vocabulary_size)
        if self._observer:
            self._observer("private", prompts)
        logits = np.stack([self._logits(prompt)[ids] for prompt in prompts])
        if self._fails_on:
            logits[[self._fails_on(prompt) for prompt in prompts]] = np.nan
        return restricted_probabilities(logits)

    def _logits(self, prompt: TokenPrompt) -> NDArray[np.float64]:
        flat = [id_ for block in prompt.blocks for id_ in block.ids]
        counts = np.bincount(flat, minlength=self.tokenizer.vocabulary_size)
        logits: NDArray[np.float64] = self._bigrams[flat[-1]] + 1.5 * np.minimum(counts, 1)
        logits[flat[-4:]] -= 4.0  # without it the likeliest text is one word for ever
        return logits


def _bigram_table(size: int) -> NDArray[np.float64]:
    """Fixed scores (V, V) within -2 to 2 from an integer hash, with words favoured over single bytes."""
    pairs = np.arange(size * size, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of splitmix64
        pairs = (pairs ^ (pairs >> np.uint64(shift))) * np.uint64(factor)
    table = (pairs ^ (pairs >> np.uint64(31))).astype(np.float64).reshape(size, size) / 2.0**62 - 2.0
    table[:, FIRST_WORD_ID:] += 2.0
    return table
