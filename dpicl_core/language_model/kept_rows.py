"""The arrays of one forward pass over rows whose earlier states are kept: ids, positions, masks and addresses.

Columns of a row, left to right, all at public widths:

    [ instruction | examples, padded to the record cap | target label and text so far | unused ]

A row that is behind by fewer tokens than the longest of its batch repeats its own first missing token in front; the
states of the repetitions are discarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpicl_core.language_model.layout import hidden_keys, lay_out
from dpicl_core.language_model.row_states import DISCARD, EMPTY, Addresses
from dpicl_core.values import TokenBlock


@dataclass(frozen=True, slots=True)
class PassInputs:
    """ids, positions, write (M, q), read (M, L) and hidden (M, q, L): true where a query must not see a column."""

    ids: NDArray[np.int64] = field(repr=False)
    positions: NDArray[np.int64] = field(repr=False)
    hidden: NDArray[np.bool_] = field(repr=False)
    write: Addresses = field(repr=False)
    read: Addresses = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeptRow:
    """One row that is to be brought up to date.

    real: (E,), true where its examples' columns are not padding; examples: their addresses (E,). text: ids of target
    label and text so far; kept: addresses of all of them, the last `missing` to be computed (at least one).
    """

    real: NDArray[np.bool_] = field(repr=False)
    examples: Addresses = field(repr=False)
    text: tuple[int, ...]
    kept: Addresses = field(repr=False)
    missing: int


def real_columns(blocks: Sequence[TokenBlock]) -> NDArray[np.bool_]:
    """True where a column of blocks laid side by side is not padding."""
    parts = [np.arange(block.width) < len(block.ids) for block in blocks]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)


def example_inputs(
    instruction: TokenBlock,
    instruction_at: Addresses,
    examples: Sequence[tuple[TokenBlock, ...]],
    examples_at: Sequence[Addresses],
    pad_id: int,
) -> PassInputs:
    """The pass that computes the examples of M rows, given the instruction's states."""
    layout, start = lay_out([(instruction, *blocks) for blocks in examples], pad_id), instruction.width
    write = np.stack(examples_at)
    read = np.concatenate([np.tile(instruction_at, (len(examples), 1)), write], axis=1)
    hidden = hidden_keys(layout.real, start)
    return PassInputs(layout.ids[:, start:], layout.positions[:, start:], hidden, write, read)


def text_inputs(instruction_at: Addresses, rows: Sequence[KeptRow]) -> PassInputs:
    """The pass that brings the texts of M rows up to date; its last query is each row's last token."""
    queries, longest = max(row.missing for row in rows), max(len(row.text) for row in rows)
    lengths = np.array([len(row.text) for row in rows])
    first = lengths - [row.missing for row in rows]
    at = np.maximum(lengths[:, None] - queries + np.arange(queries), first[:, None])  # (M, q) index into the text
    text, kept = (np.full((len(rows), longest), EMPTY) for _ in range(2))
    for number, row in enumerate(rows):
        text[number, : len(row.text)] = row.text
        kept[number, : len(row.text)] = row.kept
    repeated = lengths[:, None] - queries + np.arange(queries) < first[:, None]
    write = np.where(repeated, DISCARD, np.take_along_axis(kept, at, axis=1))
    real = np.stack([row.real for row in rows])
    front = np.tile(instruction_at, (len(rows), 1))
    read = np.concatenate([front, np.stack([row.examples for row in rows]), kept], axis=1)
    before = len(instruction_at) + real.sum(axis=1)
    unseen = np.concatenate([np.zeros(front.shape, dtype=np.bool_), ~real], axis=1)
    later = np.arange(longest) > at[:, :, None]
    hidden = np.concatenate([np.repeat(unseen[:, None], queries, axis=1), later], axis=2)
    return PassInputs(np.take_along_axis(text, at, axis=1), before[:, None] + at, hidden, write, read)
