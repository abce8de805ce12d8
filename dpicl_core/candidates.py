"""Public choices around one token: the candidate set S, the public vector q, and how a vector becomes a token."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpicl_core.language_model.protocol import Tokenizer
from dpicl_core.randomness import RandomSource
from dpicl_core.values import Selection

Vector = NDArray[np.float64]


def candidate_ids(logits: Vector, size: int, excluded: frozenset[int]) -> NDArray[np.int64]:
    """S: the `size` likeliest ids of the public logits (V,) that are not excluded, in ascending order.

    Ties go to the smaller id. Logits that are not finite rank last. A function of public things only.
    """
    ranked = np.where(np.isfinite(logits), logits, -np.inf)
    allowed = np.ones(len(ranked), dtype=bool)
    allowed[[id_ for id_ in excluded if id_ < len(ranked)]] = False
    ids = np.nonzero(allowed)[0]
    order = np.argsort(-ranked[ids], kind="stable")
    return np.sort(ids[order[:size]]).astype(np.int64)


def opening_candidates(logits: Vector, size: int, excluded: frozenset[int], tokenizer: Tokenizer) -> NDArray[np.int64]:
    """S for the first tokens of a demonstration: as candidate_ids, and no id whose text is blank."""
    while True:
        ids = candidate_ids(logits, size, excluded)
        blank = frozenset(int(id_) for id_ in ids if not tokenizer.decode([int(id_)]).strip())
        if not blank:
            return ids
        excluded = excluded | blank


def replace_unusable(probabilities: NDArray[np.float64], public: Vector) -> tuple[NDArray[np.float64], int]:
    """Private rows (M, K) with every row that is not a distribution replaced by the public row; and how many were.

    Stopping or reporting instead would reveal that row; the count is for the steward's diagnostics alone.
    """
    valid = np.all(np.isfinite(probabilities) & (probabilities >= 0), axis=1, keepdims=True)
    masses = np.where(valid, probabilities, 0.0).sum(axis=1, keepdims=True)
    usable = masses > 0
    repaired = np.where(usable, np.where(usable, probabilities, 0.0) / np.where(usable, masses, 1.0), public)
    return np.asarray(repaired, dtype=np.float64), int(np.count_nonzero(~usable))


def public_vector(logits: Vector, ids: NDArray[np.int64]) -> Vector:
    """q (K,): softmax of the public logits over S; logits that are not finite get no mass, uniform if none is."""
    chosen = logits[ids]
    finite = np.isfinite(chosen)
    if not finite.any():
        return np.full(len(ids), 1.0 / len(ids))
    shifted = np.exp(np.where(finite, chosen - chosen[finite].max(), -np.inf))
    return np.asarray(shifted / shifted.sum(), dtype=np.float64)


def select_from(vector: Vector, selection: Selection, *, rng: RandomSource) -> int:
    """Sample an index from an already released vector (K,): temperature first, then nucleus (top_p).

    Post-processing of a DP release: it costs nothing.
    """
    weights = np.power(vector / vector.max(), 1.0 / selection.temperature)
    weights = weights / weights.sum()
    order = np.argsort(-weights, kind="stable")
    reached = np.cumsum(weights[order])
    kept = order[: int(np.searchsorted(reached, selection.top_p - 1e-12)) + 1]
    mass = np.cumsum(weights[kept])
    return int(kept[min(int(np.searchsorted(mass, rng.uniform() * mass[-1], side="right")), len(kept) - 1)])
