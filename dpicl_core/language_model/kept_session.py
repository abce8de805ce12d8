"""A session that keeps states: of the instruction, of the public prompts, and of the examples of fixed groups.

What a row gives must depend on that row alone, to the last bit: not even on *which* other groups were drawn, since the
proof of amplification by sampling exchanges one drawn group for another. So the text so far of private rows, a few
tokens, is computed anew at every token in passes of public shape, and only the examples, which are most of a prompt,
are kept. They are computed in passes of one fixed shape, filled up with repetitions; `self_check.keeps_states` sees to
it that a row's place and companions in such a pass move no bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpicl_core.language_model.kept_rows import KeptRow, PassInputs, example_inputs, real_columns, text_inputs
from dpicl_core.language_model.row_states import DISCARD, RESERVED, Addresses, StateBook
from dpicl_core.language_model.sessions import PublicRequest, RowRequest, SessionSize
from dpicl_core.values import TokenBlock, TokenPrompt

if TYPE_CHECKING:
    from dpicl_core.language_model.state_store import LayerStates

Logits = Any
"""(M, V) on the model's device, in its floating-point type."""

WIDEST_READ = 1 << 17
"""Columns that all rows of one pass may read together: bounds the memory of one layer's keys and values."""

EXAMPLE_PASS_TOKENS = (256, 2048)
"""Positions of a pass that computes examples, at least and at most (or one row): it pays for itself, and is filled."""

LEAST_SAVED_SHARE = 0.3
"""Rows are kept where that saves more: below it, passes of their own, filled up, and copies cost what is saved."""

INSTRUCTION, TEXTS = "instruction", "texts of rows"


def worthwhile_capacity(size: SessionSize, affordable_tokens: int) -> int:
    """Positions for the examples of groups, or 0 where keeping them does not pay: little memory, or few come back.

    Of what could be kept, as large a share comes back from the memory as the memory holds. Public numbers alone.
    """
    rows = min(affordable_tokens, size.rows_tokens)
    if not size.rows_tokens or rows < size.step_tokens:
        return 0
    return rows if size.saved_share * rows / size.rows_tokens >= LEAST_SAVED_SHARE else 0


def example_pass_rows(size: SessionSize, width: int) -> int:
    """Rows of every pass that computes examples of this width in tokens: a quarter of what an average step misses."""
    least, most = (max(1, tokens // width) for tokens in EXAMPLE_PASS_TOKENS)
    return min(max(round(size.missing_rows / 4), least), most)


class PassRunner(Protocol):
    """What a session needs of a model."""

    token_budget: int
    pad_id: int

    def new_layers(self, block: TokenBlock, capacity: int) -> list[LayerStates]:
        """Empty stores of every layer."""

    def token_bytes(self, block: TokenBlock) -> int:
        """Bytes that the states of one position take."""

    def run_pass(self, inputs: PassInputs, layers: list[LayerStates]) -> Logits:
        """Compute new states into the stores; the logits of each row's last query."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One private prompt of a step. group: the name of its examples."""

    group: Hashable
    prompt: TokenPrompt

    @property
    def examples(self) -> tuple[TokenBlock, ...]:
        return self.prompt.blocks[1:-1]

    @property
    def text(self) -> tuple[int, ...]:
        return self.prompt.blocks[-1].ids

    @property
    def name(self) -> Hashable:
        return ("examples", self.group)


class KeptStates:
    """States by name, and the passes that compute what is missing. row_capacity is 0 where rows are not kept."""

    def __init__(self, runner: PassRunner, instruction: TokenBlock, size: SessionSize, cache_bytes: int) -> None:
        self._runner = runner
        self._instruction = instruction
        self._size = size
        self.row_capacity = worthwhile_capacity(size, cache_bytes // max(1, runner.token_bytes(instruction)))
        texts = size.text_tokens if self.row_capacity else 0
        capacity = RESERVED + instruction.width + size.public_tokens + texts + self.row_capacity
        self._layers = runner.new_layers(instruction, capacity)
        self._book = StateBook(capacity)
        self._public: set[Hashable] = {INSTRUCTION, TEXTS}
        at = self._book.extend(INSTRUCTION, instruction.width, keep=())
        self._book.extend(TEXTS, texts, keep=())
        if instruction.width:
            runner.run_pass(example_inputs(_NOTHING, at[:0], [(instruction,)], [at], runner.pad_id), self._layers)

    def fits(self, instruction: TokenBlock) -> bool:
        """Whether the kept states are those of this instruction."""
        return instruction == self._instruction

    def public(self, requests: Sequence[PublicRequest]) -> Logits:
        """Last-position logits of public prompts, in order; each is computed from where it was left."""
        rows = []
        for request in requests:
            text, name = request.prompt.blocks[-1].ids, ("public", request.demonstration)
            self._public.add(name)
            known = len(self._book.find(name))
            kept = self._book.extend(name, max(0, len(text) - known), keep=self._public)
            rows.append(KeptRow(_NO_COLUMNS, kept[:0], text, kept[: len(text)], max(1, len(text) - known)))
        return self._runner.run_pass(text_inputs(self._book.find(INSTRUCTION), rows), self._layers)

    def private(self, requests: Sequence[RowRequest]) -> Iterator[tuple[range, Logits]]:
        """Row numbers (over all requests, in order) and their last-position logits, part by part."""
        rows = [
            _Row(group, prompt)
            for request in requests
            for group, prompt in zip(request.groups or (), request.prompts, strict=True)
        ]
        longest = max(len(row.text) for row in rows)
        step = max(1, min(self._runner.token_budget // longest, WIDEST_READ // max(sum(r.prompt.widths) for r in rows)))
        room = max(1, self.row_capacity // _width(rows[0].examples))
        for start in range(0, len(rows), min(step, room)):
            numbers = range(start, min(start + min(step, room), len(rows)))
            part = [rows[number] for number in numbers]
            self._compute_examples(part)
            yield numbers, self._runner.run_pass(self._texts(part, longest), self._layers)

    def _compute_examples(self, rows: Sequence[_Row]) -> None:
        """Bring the examples that are not kept into the store, in passes of one shape whatever their number."""
        keep = self._public.union(row.name for row in rows)
        missing = list({row.name: row for row in rows if row.name not in self._book}.values())
        at, width = self._book.find(INSTRUCTION), _width(rows[0].examples)
        step = example_pass_rows(self._size, width)
        for start in range(0, len(missing), step):
            part = missing[start : start + step]
            addresses = [self._book.extend(row.name, width, keep=keep) for row in part]
            inputs = example_inputs(
                self._instruction, at, [row.examples for row in part], addresses, self._runner.pad_id
            )
            self._runner.run_pass(_filled_up(inputs, step), self._layers)

    def _texts(self, rows: Sequence[_Row], longest: int) -> PassInputs:
        """The pass over target label and text so far of all rows, its states thrown away with the next one."""
        room = self._book.find(TEXTS)
        kept = []
        for number, row in enumerate(rows):
            addresses = room[number * longest : number * longest + len(row.text)]
            kept.append(
                KeptRow(real_columns(row.examples), self._book.find(row.name), row.text, addresses, len(row.text))
            )
        return text_inputs(self._book.find(INSTRUCTION), kept)


def _filled_up(inputs: PassInputs, rows: int) -> PassInputs:
    """The pass with its first row repeated until there are `rows` of them; the repetitions' states are discarded.

    What a repetition reads of itself was written by the row that it repeats, in the same pass.
    """
    added = rows - len(inputs.ids)

    def filled(part: Any) -> Any:
        return np.concatenate([part, np.repeat(part[:1], added, axis=0)])

    write: Addresses = np.concatenate([inputs.write, np.full((added, inputs.write.shape[1]), DISCARD)])
    return PassInputs(filled(inputs.ids), filled(inputs.positions), filled(inputs.hidden), write, filled(inputs.read))


def _width(blocks: Sequence[TokenBlock]) -> int:
    return sum(block.width for block in blocks)


_NOTHING = TokenBlock((), 0)
_NO_COLUMNS = np.empty(0, dtype=np.bool_)
