"""Answers of a transformers model: the shared beginning is run once, and all answers of a query in one pass.

Columns of one row behind the states of the shared beginning; the last query token has a column of its own, so that it
stands at the same place in every row:

    [ query without its last token, padded | last query token | answer 1 | answer 2 | ... ]

An answer's tokens see the beginning, the query and their own answer alone, at the positions they would have behind the
query; so one pass gives what a pass for each answer would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpicl_core.language_model.protocol import require_context
from dpicl_core.language_model.scoring import Done, Ids, check_continuations, require_numbers
from dpicl_core.language_model.transformers_model import TransformersModel, without_content

if TYPE_CHECKING:
    import torch

LOGIT_BYTES = 2**28
"""Memory for the logits of one batch."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """ids, positions (R, L) of the new columns and visible (R, L, P + L), which earlier columns each of them sees.

    width: columns of the padded query. first: for each row the column of its answers' first tokens.
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    visible: NDArray[np.bool_]
    width: int
    first: tuple[tuple[int, ...], ...]


class TransformersScorer:
    """See `scoring.Scorer`. Keeps the states of the last shared beginning."""

    def __init__(self, model: TransformersModel) -> None:
        self.tokenizer = model.tokenizer
        self.name = model.info.name
        self._max_context = model.info.max_context
        self._network = model.network
        self._budget = model.token_budget
        self._pad = model.pad_id
        self._kept: tuple[Ids, list[tuple[torch.Tensor, torch.Tensor]]] | None = None
        self.shared_passes = 0

    def log_probabilities(
        self,
        shared: Ids,
        queries: Sequence[Ids],
        continuations: Sequence[Sequence[Ids]],
        *,
        closing: bool = False,
        done: Done | None = None,
    ) -> NDArray[np.float64]:
        check_continuations(queries, continuations)
        result = np.zeros((len(queries), len(continuations[0]) if queries else 0))
        extra = [sum(len(ids) - (not closing) for ids in answers) for answers in continuations]
        longest = [len(query) + max(map(len, answers)) for query, answers in zip(queries, continuations, strict=True)]
        require_context(len(shared) + max(longest, default=0), self._max_context)
        finished = 0
        for rows in self._batches(shared, [len(query) for query in queries], extra):
            chosen = [queries[row] for row in rows]
            given = [continuations[row] for row in rows]
            values = without_content(partial(self._answer_logs, shared, chosen, given, closing), _queries_failed)
            require_numbers(values)
            result[rows] = values
            finished += len(rows)
            if done is not None:
                done(finished)
        return result

    def greedy(self, shared: Ids, queries: Sequence[Ids], tokens: int, *, done: Done | None = None) -> list[Ids]:
        require_context(len(shared) + max(map(len, queries), default=0) + tokens, self._max_context)
        answers: list[Ids] = [()] * len(queries)
        finished = 0
        for rows in self._batches(shared, [len(query) + tokens for query in queries], [0] * len(queries)):
            chosen = [queries[row] for row in rows]
            found = without_content(partial(self._greedy_rows, shared, chosen, tokens), _queries_failed)
            for row, answer in zip(rows, found, strict=True):
                answers[row] = answer
            finished += len(rows)
            if done is not None:
                done(finished)
        return answers

    def _batches(self, shared: Ids, lengths: Sequence[int], extra: Sequence[int]) -> Iterator[list[int]]:
        """Rows of like length together, each batch within the budgets of tokens and of logits."""
        order = sorted(range(len(lengths)), key=lambda row: (lengths[row], extra[row]))
        batch: list[int] = []
        most = 0
        for row in order:
            most = max(most, extra[row])
            tokens = (len(batch) + 1) * (len(shared) + lengths[row] + most)
            logits = (len(batch) + 1) * (1 + most) * self.tokenizer.vocabulary_size * 4
            if batch and (tokens > self._budget or logits > LOGIT_BYTES):
                yield batch
                batch, most = [], extra[row]
            batch.append(row)
        if batch:
            yield batch

    def _answer_logs(
        self, shared: Ids, queries: Sequence[Ids], continuations: Sequence[Sequence[Ids]], closing: bool
    ) -> NDArray[np.float64]:
        import torch

        inner = [[ids if closing else ids[:-1] for ids in answers] for answers in continuations]
        batch = _lay_out(len(shared), queries, inner, self._pad)
        with torch.inference_mode():
            cache = self._cache_of(shared, len(queries))
            keep = batch.ids.shape[1] - batch.width + 1
            logits = self._forward(batch.ids, batch.positions, batch.visible, cache, keep).float()
            whole = torch.logsumexp(logits, dim=-1)
            at = [  # row, kept column whose successor is asked for, the id asked for (-1: the line ends), answer
                (row, 0 if place == 0 else start - batch.width + place, ids[place] if place < len(ids) else -1, c)
                for row, answers in enumerate(continuations)
                for c, (ids, start) in enumerate(zip(answers, batch.first[row], strict=True))
                for place in range(len(ids) + closing)
            ]
            rows, columns, wanted, answer = (torch.tensor(part, device=logits.device) for part in zip(*at, strict=True))
            values = logits[rows, columns, wanted.clamp(min=0)] - whole[rows, columns]
            if closing:
                ending = torch.tensor(sorted(self.tokenizer.ending_ids), device=logits.device)
                ends = wanted < 0
                values[ends] = (
                    torch.logsumexp(logits[rows[ends], columns[ends]][:, ending], dim=-1)
                    - whole[rows[ends], columns[ends]]
                )
            sums = np.zeros((len(queries), len(continuations[0])))
            np.add.at(sums, (rows.cpu().numpy(), answer.cpu().numpy()), values.double().cpu().numpy())
            return sums

    def _greedy_rows(self, shared: Ids, queries: Sequence[Ids], tokens: int) -> list[Ids]:
        import torch

        batch = _lay_out(len(shared), queries, [[] for _ in queries], self._pad)
        lengths = np.array([len(query) for query in queries])
        seen = batch.visible[:, -1]
        answers: list[list[int]] = [[] for _ in queries]
        ended = np.zeros(len(queries), dtype=np.bool_)
        with torch.inference_mode():
            cache = self._cache_of(shared, len(queries))
            logits = self._forward(batch.ids, batch.positions, batch.visible, cache, 1)[:, -1]
            for place in range(tokens):
                require_numbers(logits.float().amax(dim=-1).double().cpu().numpy())
                chosen = logits.argmax(dim=-1).cpu().numpy()
                for row in np.flatnonzero(~ended):
                    answers[row].append(int(chosen[row]))
                    ended[row] = answers[row][-1] in self.tokenizer.ending_ids
                if ended.all() or place == tokens - 1:
                    break
                seen = np.concatenate([seen, np.ones((len(queries), 1), dtype=np.bool_)], axis=1)
                positions = (len(shared) + lengths + place)[:, None]
                logits = self._forward(chosen[:, None], positions, seen[:, None], cache, 1)[:, -1]
        return [tuple(answer) for answer in answers]

    def _cache_of(self, shared: Ids, rows: int) -> Any:
        """A cache for so many rows that starts with the states of the shared beginning."""
        from transformers import DynamicCache

        if self._kept is None or self._kept[0] != shared:
            cache, length = DynamicCache(), len(shared)
            ids = np.array([shared], dtype=np.int64)
            self._forward(ids, np.arange(length)[None], np.tri(length, dtype=np.bool_)[None], cache, 1)
            self._kept = (shared, [(layer.keys, layer.values) for layer in cache.layers])
            self.shared_passes += 1
        return DynamicCache(
            [(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)) for keys, values in self._kept[1]]
        )

    def _forward(
        self,
        ids: NDArray[np.int64],
        positions: NDArray[np.int64],
        visible: NDArray[np.bool_],
        cache: Any,
        keep: int,
    ) -> torch.Tensor:
        """Logits (R, keep, V) of the last columns, with an explicit mask."""
        import torch

        weight = self._network.get_input_embeddings().weight
        hidden = torch.from_numpy(~visible[:, None]).to(weight.device)
        logits: torch.Tensor = self._network(
            input_ids=torch.from_numpy(ids).to(weight.device),
            attention_mask=weight.new_zeros(()).masked_fill(hidden, float("-inf")),
            position_ids=torch.from_numpy(positions).to(weight.device),
            cache=cache,
            use_cache=True,
            logits_to_keep=keep,
        ).logits
        return logits


def _lay_out(before: int, queries: Sequence[Ids], answers: Sequence[Sequence[Ids]], pad: int) -> _Batch:
    """See the module's words; before: tokens of the shared beginning, whose states are kept."""
    width = max(map(len, queries))
    length = width + max(sum(map(len, row)) for row in answers)
    ids = np.full((len(queries), length), pad, dtype=np.int64)
    positions = np.zeros_like(ids)
    visible = np.zeros((len(queries), length, before + length), dtype=np.bool_)
    visible[:, :, :before] = True
    visible[:, np.arange(length), before + np.arange(length)] = True  # a padded column's own attention stays finite
    first = []
    for row, (query, given) in enumerate(zip(queries, answers, strict=True)):
        columns = np.append(np.arange(len(query) - 1), width - 1)
        ids[row, columns] = query
        positions[row, columns] = before + np.arange(len(query))
        visible[row, columns[:, None], before + columns] = np.tri(len(query), dtype=np.bool_)
        starts, at = [], width
        for answer in given:
            own = at + np.arange(len(answer))
            ids[row, own] = answer
            positions[row, own] = before + len(query) + np.arange(len(answer))
            visible[row, own[:, None], before + columns] = True
            visible[row, own[:, None], before + own] = np.tri(len(answer), dtype=np.bool_)
            starts.append(at)
            at += len(answer)
        first.append(tuple(starts))
    return _Batch(ids, positions, visible, width, tuple(first))


def _queries_failed(kind: str) -> str:
    return (
        f"the language model could not answer a batch of queries ({kind}); free memory, use shorter queries, or choose "
        "another model."
    )
