"""Prompts laid out as rectangular arrays: every shape and every mask follows from public widths alone.

Blocks lie side by side, each padded on its right to its public width:

    [ instruction | example 1 . . | example 2 . . . . | target label and text so far ]

A padded position may be seen by nobody but itself (itself, so that its own attention stays finite). Real tokens
are numbered without gaps, so the model sees the same positions as without padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError
from dpicl_core.values import TokenBlock, TokenPrompt


@dataclass(frozen=True, slots=True)
class Layout:
    """ids, positions (M, L) and real (M, L), true where a token is not padding; L is the sum of the widths."""

    ids: NDArray[np.int64] = field(repr=False)
    real: NDArray[np.bool_] = field(repr=False)
    positions: NDArray[np.int64] = field(repr=False)


def lay_out(rows: Sequence[tuple[TokenBlock, ...]], pad_id: int = 0) -> Layout:
    """Arrays of M rows of blocks with common widths; padding holds `pad_id`, which no real token can see."""
    length = sum(block.width for block in rows[0])
    ids = np.full((len(rows), length), pad_id, dtype=np.int64)
    real = np.zeros(ids.shape, dtype=np.bool_)
    for row, blocks in enumerate(rows):
        start = 0
        for block in blocks:
            ids[row, start : start + len(block.ids)] = block.ids
            real[row, start : start + len(block.ids)] = True
            start += block.width
    positions = np.maximum(np.cumsum(real, axis=1) - 1, 0)
    return Layout(ids, real, positions)


def hidden_keys(real: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    """Which keys each query from column `start` on must not see, (M, L - start, L).

    A query sees the real tokens up to itself, and itself.
    """
    length = real.shape[1]
    own = np.eye(length, dtype=np.bool_)[start:]
    before = np.tri(length, dtype=np.bool_)[start:]
    hidden: NDArray[np.bool_] = ~(before & (real[:, None, :] | own))
    return hidden


def shared_width(prompts: Sequence[TokenPrompt]) -> int:
    """Width of the first block, which all prompts share where they have more than one block; else 0.

    Its states are computed once for all rows. The rule looks at no content; content that breaks the contract is a
    mistake of the calling code and raises ModelError.
    """
    first, *others = (prompt.blocks[0] for prompt in prompts)
    if len(prompts[0].blocks) == 1:
        return 0
    if any(block != first for block in others):
        raise ModelError(
            "the first block of all prompts of one call must be the same public text, but it differs; put private text "
            "into later blocks."
        )
    return first.width


def micro_batches(rows: int, width: int, token_budget: int) -> tuple[slice, ...]:
    """Consecutive slices of the rows, each of at most `token_budget` tokens (padding counted) or one row."""
    step = max(1, token_budget // max(width, 1))
    return tuple(slice(start, min(start + step, rows)) for start in range(0, rows, step))
