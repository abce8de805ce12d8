"""Variants (a) and (b) in a process of their own: the library as it comes, without this engine's process settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed_cases import Measured, timed
from dpicl_core.values import TokenPrompt

Way = Literal["a", "b", "b natural"]


@dataclass(frozen=True, slots=True)
class PlainOrder:
    """One step: softmax over `ids` after each prompt."""

    way: Way
    prompts: tuple[TokenPrompt, ...]
    ids: NDArray[np.int64]


class PlainModels:
    """The child, as its parent sees it."""

    def __init__(self) -> None:
        own, theirs = get_context("spawn").Pipe()
        self._orders = own
        self._process = get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()

    def step(self, way: Way, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64]) -> Measured:
        """Seconds are taken in the child, from the ids' arrival to the probabilities."""
        self._orders.send(PlainOrder(way, tuple(prompts), ids))
        measured: Measured = self._orders.recv()
        return measured

    def close(self) -> None:
        """End the child."""
        self._orders.close()
        self._process.join(10)


def _serve(orders: Connection) -> None:
    os.environ.pop("TRANSFORMERS_SDPA_FORCE_GQA", None)
    from dpicl_core.language_model.default_model import prepare_default_model

    folder, models = prepare_default_model(), {}
    while True:
        try:
            order: PlainOrder = orders.recv()
        except EOFError:
            return
        dtype = "float32" if order.way == "a" else "bfloat16"
        if dtype not in models:
            models[dtype] = _load(str(folder), dtype)
            plain_step(models[dtype], order)  # warms up
        orders.send(timed(lambda one=order, name=dtype: plain_step(models[name], one)))  # type: ignore[misc]


def _load(folder: str, dtype: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()


def plain_step(model: Any, order: PlainOrder) -> int:
    """One batch padded on the left to the cap, or to its longest row; returns the positions given."""
    import torch

    rows = [[id_ for block in prompt.blocks for id_ in block.ids] for prompt in order.prompts]
    width = max(map(len, rows)) if order.way == "b natural" else sum(order.prompts[0].widths)
    real = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    padded = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    kept = {} if order.way == "a" else {"logits_to_keep": 1}
    with torch.inference_mode():
        logits = model(input_ids=padded, attention_mask=real, use_cache=False, **kept).logits[:, -1]
        torch.softmax(logits[:, torch.from_numpy(order.ids)].float(), dim=-1).numpy()
    return len(rows) * width
