"""A causal language model of the transformers library behind the `LanguageModel` protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import DPICLError, ModelError
from dpicl_core.language_model.kept_rows import PassInputs
from dpicl_core.language_model.layout import Layout, hidden_keys, lay_out, micro_batches, shared_width
from dpicl_core.language_model.protocol import (
    ModelInfo,
    Tokenizer,
    common_widths,
    require_context,
    require_ids,
    restricted_probabilities,
)
from dpicl_core.language_model.sessions import DEFAULT_CACHE_BYTES, RowRequest, Session, SessionSize
from dpicl_core.values import TokenBlock, TokenPrompt

if TYPE_CHECKING:
    import torch

    from dpicl_core.language_model.state_store import LayerStates

TOKEN_BUDGET = 4096
"""Tokens of one micro-batch, padding counted: bounds memory, and is a public number."""


Result = TypeVar("Result")

States = tuple[tuple["torch.Tensor", "torch.Tensor"], ...]
"""Keys and values (1, heads, width, size) of each layer."""


class TransformersModel:
    """A causal model whose every forward pass has public shapes and explicit masks.

    model: in evaluation mode, on its device. token_budget: see TOKEN_BUDGET. cache_bytes: most memory for the states of
    rows that a session keeps.
    The first block of a prompt (the public instruction) is run once and its keys and values kept until another first
    block comes; rows then run on the other blocks. Rows go in the given order, in micro-batches of consecutive rows.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Tokenizer,
        info: ModelInfo,
        *,
        token_budget: int = TOKEN_BUDGET,
        pad_id: int = 0,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        self.tokenizer = tokenizer
        self.info = info
        self._model = model
        self.token_budget = token_budget
        self.pad_id = pad_id
        self.cache_bytes = cache_bytes
        self._prefix: tuple[TokenBlock, States] | None = None
        self._keeps_states: bool | None = None

    @property
    def network(self) -> Any:
        """The library's module, for the other classes of this package that run it; nobody else has to."""
        return self._model

    def with_padding(self, pad_id: int) -> TransformersModel:
        """The same model with other content in padded positions; the results must be the same bits."""
        other = TransformersModel(
            self._model,
            self.tokenizer,
            self.info,
            token_budget=self.token_budget,
            pad_id=pad_id,
            cache_bytes=self.cache_bytes,
        )
        other._prefix = self._prefix  # a first block is never padded
        return other

    def public_logits(self, prompt: TokenPrompt) -> NDArray[np.float64]:
        require_context(sum(prompt.widths), self.info.max_context)
        logits: NDArray[np.float64] = self._run([prompt], [None])[0]
        self.require_finite(logits)
        return logits

    @staticmethod
    def require_finite(logits: NDArray[np.float64]) -> None:
        """Raise ModelError unless the public logits are finite."""
        if not np.all(np.isfinite(logits)):
            raise ModelError(
                "the model's next-token logits must be finite, but are not after the public prompt; "
                "load it in float32, or choose another model."
            )

    def private_probabilities(self, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        require_context(sum(common_widths(prompts)), self.info.max_context)
        require_ids(ids, self.tokenizer.vocabulary_size)
        return restricted_probabilities(self._run(prompts, [ids] * len(prompts)))

    def many_private_probabilities(self, requests: Sequence[RowRequest]) -> list[NDArray[np.float64]]:
        """Probabilities (M, K) for each request, all rows side by side; nothing but the instruction is kept."""
        width = max(sum(common_widths(request.prompts)) for request in requests)
        require_context(width, self.info.max_context)
        prompts = [_widened(prompt, width) for request in requests for prompt in request.prompts]
        for request in requests:
            require_ids(request.ids, self.tokenizer.vocabulary_size)
        if len({len(request.ids) for request in requests}) > 1:
            return [self.private_probabilities(request.prompts, request.ids) for request in requests]
        rows = restricted_probabilities(self._run(prompts, [r.ids for r in requests for _ in r.prompts]))
        ends = np.cumsum([len(request.prompts) for request in requests])
        return list(np.split(rows, ends[:-1]))

    def session(self, size: SessionSize) -> Session:
        """A session that keeps the states of public prompts, and of rows where groups are fixed."""
        from dpicl_core.language_model.self_check import keeps_states
        from dpicl_core.language_model.transformers_session import TransformersSession

        if self._keeps_states is None:
            self._keeps_states = keeps_states(self)
        return TransformersSession(self, size, keeps_states=self._keeps_states)

    def _run(self, prompts: Sequence[TokenPrompt], asked: Sequence[NDArray[np.int64] | None]) -> NDArray[np.float64]:
        """Last-position logits (M, K) of the asked ids, or (M, V); an error of the library loses its content."""
        shared = shared_width(prompts)
        failed = batch_failed(len(prompts), sum(prompts[0].widths))
        return without_content(lambda: self._last_logits(prompts, shared, asked), failed)

    def _last_logits(
        self, prompts: Sequence[TokenPrompt], shared: int, asked: Sequence[NDArray[np.int64] | None]
    ) -> NDArray[np.float64]:
        """asked: for each prompt the ids that are wanted (as many for all), or None for all ids."""
        import torch

        with torch.inference_mode():
            states = self._prefix_states(prompts[0].blocks[0]) if shared else ()
            parts = []
            for rows in micro_batches(len(prompts), sum(prompts[0].widths), self.token_budget):
                layout = lay_out([prompt.blocks for prompt in prompts[rows]], self.pad_id)
                parts.append(chosen_logits(self._forward(layout, shared, states).logits[:, -1], asked[rows]))
            return as_float64(torch.cat(parts))

    def _prefix_states(self, block: TokenBlock) -> States:
        """Keys and values of a public first block; those of the last block asked for are kept."""
        known = self._prefix
        if known is None or known[0] != block:
            cache = self._forward(lay_out([(block,)], self.pad_id), 0, (), keep_states=True).cache
            known = (block, tuple((layer.keys, layer.values) for layer in cache.layers))
            self._prefix = known
        return known[1]

    def _forward(self, layout: Layout, start: int, states: States, *, keep_states: bool = False) -> Any:
        """The model's output for the columns from `start` on, given the states of the columns before."""
        from transformers import DynamicCache

        rows = len(layout.ids)
        cache = None
        if states or keep_states:
            cache = DynamicCache([(k.expand(rows, -1, -1, -1), v.expand(rows, -1, -1, -1)) for k, v in states])
        hidden = hidden_keys(layout.real, start)
        return self._call(layout.ids[:, start:], layout.positions[:, start:], hidden, cache)

    def _call(self, ids: NDArray[np.int64], positions: NDArray[np.int64], hidden: NDArray[np.bool_], cache: Any) -> Any:
        """The library's forward pass with an explicit mask; logits of the last column alone."""
        import torch

        weight = self._model.get_input_embeddings().weight
        unseen = torch.from_numpy(hidden[:, None]).to(weight.device)
        return self._model(
            input_ids=torch.from_numpy(ids).to(weight.device),
            attention_mask=weight.new_zeros(()).masked_fill(unseen, float("-inf")),
            position_ids=torch.from_numpy(positions).to(weight.device),
            cache=cache,
            use_cache=cache is not None,
            logits_to_keep=1,
        )

    def new_layers(self, block: TokenBlock, capacity: int) -> list[LayerStates]:
        """Empty stores of `capacity` positions for every layer; block: any public block, for the shapes."""
        import torch

        from dpicl_core.language_model.state_store import LayerStates

        with torch.inference_mode():
            return [LayerStates(capacity, keys, values) for keys, values in self._shapes(block)]

    def token_bytes(self, block: TokenBlock) -> int:
        """Bytes that keys and values of one position take over all layers; block: any public block."""
        from dpicl_core.language_model.state_store import token_bytes

        return token_bytes(self._shapes(block))

    def _shapes(self, block: TokenBlock) -> States:
        import torch

        with torch.inference_mode():
            return self._prefix_states(block if block.width else TokenBlock((self.pad_id,), 1))

    def run_pass(self, inputs: PassInputs, layers: list[LayerStates]) -> torch.Tensor:
        """Compute new states into the stores; returns the logits (M, V) of each row's last query."""
        import torch

        from dpicl_core.language_model.state_store import view_of

        cache = view_of(layers, inputs.write, inputs.read)
        with torch.inference_mode():
            last: torch.Tensor = self._call(inputs.ids, inputs.positions, inputs.hidden, cache).logits[:, -1]
        return last


def chosen_logits(logits: torch.Tensor, asked: Sequence[NDArray[np.int64] | None]) -> torch.Tensor:
    """Of logits (M, V) those of each row's asked ids (M, K), or all of them; K is the same for all rows."""
    import torch

    wanted = [ids for ids in asked if ids is not None]
    return logits.gather(1, torch.from_numpy(np.stack(wanted)).to(logits.device)) if wanted else logits


def as_float64(logits: torch.Tensor) -> NDArray[np.float64]:
    """The numbers on this side of the device."""
    result: NDArray[np.float64] = logits.float().cpu().numpy().astype(np.float64)
    return result


def without_content(work: Callable[[], Result], told: Callable[[str], str]) -> Result:
    """Do the work; an error of the library loses its content, and `told` makes the sentence from its kind alone."""
    try:
        return work()
    except DPICLError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # raised outside the handler: the library's error, whose frames hold private ids, is then not even its context
    raise ModelError(told(kind))


def batch_failed(rows: int, tokens: int) -> Callable[[str], str]:
    """What is told of an error in a batch of so many rows and tokens, which are public."""
    return lambda kind: (
        f"the language model could not run a batch of {rows} x {tokens} tokens ({kind}); "
        "free memory, lower --subsets, --per-subset or --record-tokens, or use another model."
    )


def _widened(prompt: TokenPrompt, width: int) -> TokenPrompt:
    """The prompt with an empty block before its last, so that all of it is `width` wide."""
    *before, last = prompt.blocks
    return TokenPrompt((*before, TokenBlock((), width - sum(prompt.widths)), last))
