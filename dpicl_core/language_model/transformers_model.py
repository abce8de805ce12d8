"""A causal language model of the transformers library behind the `LanguageModel` protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError
from dpicl_core.language_model.layout import Layout, hidden_keys, lay_out, micro_batches, shared_width
from dpicl_core.language_model.protocol import (
    ModelInfo,
    Tokenizer,
    common_widths,
    require_context,
    require_ids,
    restricted_probabilities,
)
from dpicl_core.values import TokenBlock, TokenPrompt

if TYPE_CHECKING:
    import torch

TOKEN_BUDGET = 4096
"""Tokens of one micro-batch, padding counted: bounds memory, and is a public number."""


States = tuple[tuple["torch.Tensor", "torch.Tensor"], ...]
"""Keys and values (1, heads, width, size) of each layer."""


class TransformersModel:
    """A causal model whose every forward pass has public shapes and explicit masks.

    model: in evaluation mode, on its device. token_budget: see TOKEN_BUDGET.
    The first block of a prompt (the public instruction) is run once and its keys and values kept until another first
    block comes; rows then run on the other blocks. Rows go in the given order, in micro-batches of consecutive rows.
    """

    def __init__(
        self, model: Any, tokenizer: Tokenizer, info: ModelInfo, *, token_budget: int = TOKEN_BUDGET, pad_id: int = 0
    ) -> None:
        self.tokenizer = tokenizer
        self.info = info
        self._model = model
        self._token_budget = token_budget
        self._pad_id = pad_id
        self._prefix: tuple[TokenBlock, States] | None = None

    def with_padding(self, pad_id: int) -> TransformersModel:
        """The same model with other content in padded positions; the results must be the same bits."""
        return TransformersModel(self._model, self.tokenizer, self.info, token_budget=self._token_budget, pad_id=pad_id)

    def public_logits(self, prompt: TokenPrompt) -> NDArray[np.float64]:
        require_context(sum(prompt.widths), self.info.max_context)
        logits: NDArray[np.float64] = self._run([prompt], None)[0]
        if not np.all(np.isfinite(logits)):
            raise ModelError(
                "the model's next-token logits must be finite, but are not after the public prompt; "
                "load it in float32, or choose another model."
            )
        return logits

    def private_probabilities(self, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        require_context(sum(common_widths(prompts)), self.info.max_context)
        require_ids(ids, self.tokenizer.vocabulary_size)
        return restricted_probabilities(self._run(prompts, ids))

    def _run(self, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Last-position logits (M, K) of the asked ids, or (M, V); an error of the library loses its content."""
        shared = shared_width(prompts)
        try:
            return self._last_logits(prompts, shared, ids)
        except Exception as error:
            kind = type(error).__name__
        # raised outside the handler: the library's error, whose frames hold private ids, is then not even its context
        raise ModelError(
            f"the language model could not run a batch of {len(prompts)} x {sum(prompts[0].widths)} tokens ({kind}); "
            "free memory, lower --subsets, --per-subset or --record-tokens, or use another model."
        )

    def _last_logits(
        self, prompts: Sequence[TokenPrompt], shared: int, ids: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        import torch

        with torch.inference_mode():
            states = self._prefix_states(prompts[0].blocks[0]) if shared else ()
            wanted = None if ids is None else torch.from_numpy(np.ascontiguousarray(ids))
            parts = []
            for rows in micro_batches(len(prompts), sum(prompts[0].widths), self._token_budget):
                layout = lay_out([prompt.blocks for prompt in prompts[rows]], self._pad_id)
                logits = self._forward(layout, shared, states).logits[:, -1]
                parts.append(logits if wanted is None else logits.index_select(1, wanted.to(logits.device)))
            result: NDArray[np.float64] = torch.cat(parts).float().cpu().numpy().astype(np.float64)
        return result

    def _prefix_states(self, block: TokenBlock) -> States:
        """Keys and values of a public first block; those of the last block asked for are kept."""
        known = self._prefix
        if known is None or known[0] != block:
            cache = self._forward(lay_out([(block,)], self._pad_id), 0, (), keep_states=True).cache
            known = (block, tuple((layer.keys, layer.values) for layer in cache.layers))
            self._prefix = known
        return known[1]

    def _forward(self, layout: Layout, start: int, states: States, *, keep_states: bool = False) -> Any:
        """The model's output for the columns from `start` on, given the states of the columns before."""
        import torch
        from transformers import DynamicCache

        weight = self._model.get_input_embeddings().weight
        rows = len(layout.ids)
        hidden = torch.from_numpy(hidden_keys(layout.real, start)[:, None]).to(weight.device)
        caching = bool(states) or keep_states
        return self._model(
            input_ids=torch.from_numpy(layout.ids[:, start:]).to(weight.device),
            attention_mask=weight.new_zeros(()).masked_fill(hidden, float("-inf")),
            position_ids=torch.from_numpy(layout.positions[:, start:]).to(weight.device),
            cache=DynamicCache([(k.expand(rows, -1, -1, -1), v.expand(rows, -1, -1, -1)) for k, v in states])
            if caching
            else None,
            use_cache=caching,
            logits_to_keep=1,
        )
