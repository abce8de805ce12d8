"""The session of a transformers model: states are kept where the model's own code handles them rightly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpicl_core.language_model.kept_session import KeptStates
from dpicl_core.language_model.protocol import common_widths, require_context, require_ids, restricted_probabilities
from dpicl_core.language_model.sessions import PublicRequest, RowRequest, SessionSize
from dpicl_core.language_model.transformers_model import (
    TransformersModel,
    as_float64,
    batch_failed,
    chosen_logits,
    without_content,
)
from dpicl_core.values import TokenBlock, TokenPrompt

if TYPE_CHECKING:
    import torch


class TransformersSession:
    """See `dpicl_core.language_model.sessions.Session`."""

    def __init__(self, model: TransformersModel, size: SessionSize, *, keeps_states: bool = True) -> None:
        self._model = model
        self._keeps_states = keeps_states
        self._size = size
        self._states: KeptStates | None = None

    def public_logits(self, requests: Sequence[PublicRequest]) -> list[NDArray[np.float64]]:
        widest = max(sum(request.prompt.widths) for request in requests)
        require_context(widest, self._model.info.max_context)
        if not self._keeps_states or any(len(request.prompt.blocks) != 2 for request in requests):
            return [self._model.public_logits(request.prompt) for request in requests]
        rows = without_content(
            lambda: as_float64(self._states_for(requests[0].prompt).public(requests)),
            batch_failed(len(requests), widest),
        )
        self._model.require_finite(rows)
        return list(rows)

    def private_probabilities(self, requests: Sequence[RowRequest]) -> list[NDArray[np.float64]]:
        for request in requests:
            require_context(sum(common_widths(request.prompts)), self._model.info.max_context)
            require_ids(request.ids, self._model.tokenizer.vocabulary_size)
        rows = sum(len(request.prompts) for request in requests)
        widest = max(sum(request.prompts[0].widths) for request in requests)
        found = without_content(lambda: self._kept_logits(requests), batch_failed(rows, widest))
        if found is None:
            return self._model.many_private_probabilities(requests)
        return [restricted_probabilities(logits) for logits in found]

    def _kept_logits(self, requests: Sequence[RowRequest]) -> list[NDArray[np.float64]] | None:
        """Logits (M, K) for each request, or None where rows are not kept."""
        first = requests[0].prompts[0]
        fresh = any(request.groups is None for request in requests)
        if fresh or not self._keeps_states or len(first.blocks) < 3:
            return None
        states = self._states_for(first)
        if not states.row_capacity:
            return None
        asked = [request.ids for request in requests for _ in request.prompts]
        chosen: list[NDArray[np.float64]] = [np.empty(0)] * len(asked)
        for rows, logits in states.private(requests):
            wanted = [asked[row] for row in rows]
            for row, numbers in zip(rows, _chosen(logits, wanted), strict=True):
                chosen[row] = numbers
        ends = np.cumsum([len(request.prompts) for request in requests])
        starts = [0, *ends[:-1]]
        return [np.stack(chosen[start:end]) for start, end in zip(starts, ends, strict=True)]

    def _states_for(self, prompt: TokenPrompt) -> KeptStates:
        instruction: TokenBlock = prompt.blocks[0]
        if self._states is None or not self._states.fits(instruction):
            self._states = KeptStates(self._model, instruction, self._size, self._model.cache_bytes)
        return self._states


def _chosen(logits: torch.Tensor, wanted: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Each row's asked ids of logits (M, V)."""
    if len({len(ids) for ids in wanted}) == 1:
        return list(as_float64(chosen_logits(logits, wanted)))
    return [row[ids] for row, ids in zip(as_float64(logits), wanted, strict=True)]
