"""In-context accuracy of one set of demonstrations: which share of held-out rows a model labels right with it.

Fixed labels: the label whose whole string is likeliest. Contextual calibration (Zhao et al. 2021): label probabilities
divided by their mean on inputs without content. Open labels: the greedy answer up to the end of the line, compared with
the row's label.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpicl_core.data import flatten_text
from dpicl_core.errors import DataError
from dpicl_core.evaluation.in_context import (
    QUERY_TOKENS,
    AnswerSpace,
    Demonstrations,
    answer_space,
    query_ids,
    shared_ids,
)
from dpicl_core.language_model.scoring import Scorer
from dpicl_core.specs import require
from dpicl_core.texts import demonstration_text
from dpicl_core.values import Example, Task

CONTENT_FREE = ("N/A", "", "[MASK]")
"""Zhao et al. 2021: what a model says of these is its bias towards some labels."""

ANSWER_TOKENS = 20
Matrix = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class AccuracyOptions:
    """calibrate: also report calibrated accuracy (fixed labels). fold: open answers are compared without case and
    punctuation. answer_tokens: length of an open answer at most; query_tokens: of a query's text."""

    calibrate: bool = True
    fold: bool = False
    answer_tokens: int = ANSWER_TOKENS
    query_tokens: int = QUERY_TOKENS

    def __post_init__(self) -> None:
        for name in ("answer_tokens", "query_tokens"):
            value = getattr(self, name)
            require(value >= 1, f"{name} must be at least 1, but is {value}; leave it out for the default.")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of right answers within [0, 1]; calibrated is None where it was not asked for or labels are open."""

    raw: float
    calibrated: float | None
    queries: int


def accuracy_of(
    task: Task,
    demonstrations: Demonstrations,
    queries: Sequence[Example],
    scorer: Scorer,
    options: AccuracyOptions | None = None,
    *,
    progress: Progress | None = None,
) -> Accuracy:
    """Ask the model for the label of every query. Raises DataError without queries or for an undeclared label."""
    chosen = options or AccuracyOptions()
    if not queries:
        raise DataError("there is no row to evaluate on; give a table with at least one usable row.")

    def told(count: int) -> None:
        if progress is not None:
            progress("asking for labels", count / len(queries))

    shared = shared_ids(task, scorer.tokenizer, demonstrations)
    asked = [query_ids(task, scorer.tokenizer, query.text, chosen.query_tokens) for query in queries]
    if task.open_labels:
        answers = scorer.greedy(shared, asked, chosen.answer_tokens, done=told)
        texts = [demonstration_text(answer, scorer.tokenizer) for answer in answers]
        right = [matches(text, query.label, fold=chosen.fold) for text, query in zip(texts, queries, strict=True)]
        return Accuracy(float(np.mean(right)), None, len(queries))
    wanted = _label_numbers(task, queries)
    space = answer_space(task, scorer.tokenizer)
    logs = scorer.log_probabilities(shared, asked, [space.ids] * len(asked), closing=space.closing, done=told)
    shares = label_shares(logs)
    raw = float(np.mean(np.argmax(shares, axis=1) == wanted))
    if not chosen.calibrate:
        return Accuracy(raw, None, len(queries))
    bias = content_free_shares(task, demonstrations, scorer, space)
    return Accuracy(raw, float(np.mean(np.argmax(calibrated(shares, bias), axis=1) == wanted)), len(queries))


def label_shares(log_probabilities: Matrix) -> Matrix:
    """Each row's label probabilities (Q, L) made to add to 1, from their logarithms; equal where all are 0."""
    highest = log_probabilities.max(axis=1, keepdims=True)
    shifted = np.exp(np.where(np.isfinite(highest), log_probabilities - np.where(np.isfinite(highest), highest, 0), 0))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), dtype=np.float64)


def content_free_shares(task: Task, demonstrations: Demonstrations, scorer: Scorer, space: AnswerSpace) -> Matrix:
    """Mean label shares (L,) over CONTENT_FREE."""
    shared = shared_ids(task, scorer.tokenizer, demonstrations)
    asked = [query_ids(task, scorer.tokenizer, text) for text in CONTENT_FREE]
    logs = scorer.log_probabilities(shared, asked, [space.ids] * len(asked), closing=space.closing)
    return np.asarray(label_shares(logs).mean(axis=0), dtype=np.float64)


def calibrated(shares: Matrix, bias: Matrix) -> Matrix:
    """Shares (Q, L) divided by bias (L,), each row made to add to 1 again."""
    weighed = shares / np.maximum(bias, np.finfo(np.float64).tiny)
    return np.asarray(weighed / weighed.sum(axis=1, keepdims=True), dtype=np.float64)


def matches(answer: str, label: str, *, fold: bool) -> bool:
    """Whether an open answer is the label, blanks around it aside; folded: without case and punctuation."""
    if fold:
        return folded(answer) == folded(label)
    return flatten_text(answer) == flatten_text(label)


def folded(text: str) -> str:
    """Compatibility forms and case folded, punctuation dropped, single blanks."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if unicodedata.category(c)[0] in "PSZC" else c for c in normal)
    return " ".join(kept.split())


def _label_numbers(task: Task, queries: Sequence[Example]) -> NDArray[np.int64]:
    numbers = {label: number for number, label in enumerate(task.labels)}
    unknown = sum(query.label not in numbers for query in queries)
    if unknown:
        raise DataError(
            f"{unknown} of {len(queries)} rows to evaluate on carry a label that the task does not declare; declare "
            "it, or leave those rows out."
        )
    return np.array([numbers[query.label] for query in queries], dtype=np.int64)
