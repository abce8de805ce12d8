"""What evaluation asks of a language model: probabilities of whole answers, and greedy answers, after a shared prompt.

Nothing here takes part in a private run: results are internal, so rows may be put together by length. The promises of
`protocol` (public shapes, rows that no other row can move) bind generation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpicl_core.errors import ModelError
from dpicl_core.language_model.protocol import LanguageModel, Tokenizer
from dpicl_core.values import TokenBlock, TokenPrompt

Ids = tuple[int, ...]
Done = Callable[[int], None]
"""Told how many queries are finished so far."""


class Scorer(Protocol):
    """A model that answers queries which share the beginning of their prompt."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def name(self) -> str:
        """Name of the model, for reports."""

    def log_probabilities(
        self,
        shared: Ids,
        queries: Sequence[Ids],
        continuations: Sequence[Sequence[Ids]],
        *,
        closing: bool = False,
        done: Done | None = None,
    ) -> NDArray[np.float64]:
        """Natural logarithm of the probability of each continuation after shared + query, (Q, C).

        shared and every query and continuation hold at least one id. continuations: C for each query. A continuation's
        value is the sum over its tokens, each given all before it. closing: also that the line ends behind it, by any
        of the tokenizer's `ending_ids`, so that no continuation is favoured for being the beginning of another.
        Raises ModelError where a prompt is too long, or the model's numbers are not finite.
        """

    def greedy(self, shared: Ids, queries: Sequence[Ids], tokens: int, *, done: Done | None = None) -> list[Ids]:
        """The likeliest next ids after shared + query, one by one, at most `tokens`; the first ending id is the last.

        Ties go to the smaller id. Errors as above.
        """


def scorer_for(model: LanguageModel) -> Scorer:
    """The fast way where the model has one, else one question of the Protocol for each token."""
    if model.info.source == "toy":
        return StepwiseScorer(model)
    from dpicl_core.language_model.transformers_model import TransformersModel
    from dpicl_core.language_model.transformers_scoring import TransformersScorer

    return TransformersScorer(model) if isinstance(model, TransformersModel) else StepwiseScorer(model)


class StepwiseScorer:
    """Any `LanguageModel`, asked token by token over the whole vocabulary: slow, and what the fast way must equal.

    prompts_at_once: prompts in one call of the model.
    """

    def __init__(self, model: LanguageModel, *, prompts_at_once: int = 64) -> None:
        self.tokenizer = model.tokenizer
        self.name = model.info.name
        self._model = model
        self._step = prompts_at_once
        self._everything = np.arange(model.tokenizer.vocabulary_size, dtype=np.int64)
        self._ending = np.array(sorted(model.tokenizer.ending_ids), dtype=np.int64)

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
        for index, (query, answers) in enumerate(zip(queries, continuations, strict=True)):
            asked = [
                (number, (*query, *answer[:length]), answer[length] if length < len(answer) else None)
                for number, answer in enumerate(answers)
                for length in range(len(answer) + closing)
            ]
            rows = self._log_next(shared, [text for _, text, _ in asked])
            for (number, _, wanted), row in zip(asked, rows, strict=True):
                result[index, number] += np.logaddexp.reduce(row[self._ending]) if wanted is None else row[wanted]
            if done is not None:
                done(index + 1)
        return result

    def greedy(self, shared: Ids, queries: Sequence[Ids], tokens: int, *, done: Done | None = None) -> list[Ids]:
        answers: list[Ids] = []
        for query in queries:
            answer: Ids = ()
            while len(answer) < tokens and not (answer and answer[-1] in self.tokenizer.ending_ids):
                answer = (*answer, int(np.argmax(self._log_next(shared, [(*query, *answer)])[0])))
            answers.append(answer)
            if done is not None:
                done(len(answers))
        return answers

    def _log_next(self, shared: Ids, texts: Sequence[Ids]) -> NDArray[np.float64]:
        """Log-probabilities (n, V) of the next token after shared + text."""
        parts = []
        for start in range(0, len(texts), self._step):
            chunk = texts[start : start + self._step]
            width = max(map(len, chunk)) - 1
            beginning = TokenBlock(shared, len(shared))
            prompts = [
                TokenPrompt((beginning, TokenBlock(text[:-1], width), TokenBlock(text[-1:], 1))) for text in chunk
            ]
            parts.append(self._model.private_probabilities(prompts, self._everything))
        rows = np.concatenate(parts)
        require_numbers(rows)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(rows), dtype=np.float64)


def check_continuations(queries: Sequence[Ids], continuations: Sequence[Sequence[Ids]]) -> None:
    """Raise ModelError unless every query has as many continuations as the others, all with at least one id."""
    if len(queries) != len(continuations) or len({len(answers) for answers in continuations}) > 1:
        raise ModelError("every query needs the same number of answers to score; pass one list of answers a query.")
    if any(not ids for answers in continuations for ids in answers) or any(not query for query in queries):
        raise ModelError("an empty text cannot be scored; leave blank labels and blank queries out.")


def require_numbers(values: NDArray[np.float64]) -> None:
    """Raise ModelError where the model's numbers are not finite."""
    if np.isnan(values).any():
        raise ModelError(
            "the model's probabilities must be finite, but are not for some query; load it in float32, or choose "
            "another model."
        )
