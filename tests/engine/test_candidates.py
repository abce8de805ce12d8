"""The candidate set comes from the public prompt alone, ties by id, and sampling stays within the nucleus."""

from __future__ import annotations

import numpy as np
import pytest

from dpicl_core.candidates import (
    candidate_ids,
    opening_candidates,
    public_vector,
    replace_unusable,
    select_from,
)
from dpicl_core.language_model import ToyTokenizer
from dpicl_core.randomness import SeededRandomness
from dpicl_core.values import Selection


def test_ties_go_to_the_smaller_id_and_excluded_ids_never_appear():
    logits = np.array([1.0, 5.0, 5.0, 5.0, 2.0, np.nan, -np.inf])
    assert candidate_ids(logits, 2, frozenset()).tolist() == [1, 2]
    assert candidate_ids(logits, 3, frozenset({1, 99})).tolist() == [2, 3, 4]
    assert candidate_ids(logits, 50, frozenset({0})).tolist() == [1, 2, 3, 4, 5, 6]


def test_the_public_vector_is_the_softmax_over_the_candidates():
    logits = np.log(np.array([0.1, 0.2, 0.3, 0.4]))
    assert public_vector(logits, np.array([1, 3])) == pytest.approx([1 / 3, 2 / 3])
    assert public_vector(np.full(4, np.nan), np.array([0, 1])) == pytest.approx([0.5, 0.5])


def test_an_opening_token_is_never_blank():
    tokenizer = ToyTokenizer()
    logits = np.zeros(tokenizer.vocabulary_size)
    logits[list(tokenizer.encode(" "))] = 50.0
    ids = opening_candidates(logits, 20, tokenizer.forbidden_ids | tokenizer.ending_ids, tokenizer)
    assert len(ids) == 20
    assert all(tokenizer.decode([int(i)]).strip() for i in ids)


def test_rows_without_finite_mass_become_the_public_row():
    public = np.array([0.25, 0.75])
    rows = np.array([[0.5, 0.5], [np.nan, 1.0], [0.0, 0.0], [-0.1, 1.1], [2.0, 2.0], [np.inf, 0.0]])
    repaired, count = replace_unusable(rows, public)
    assert count == 4
    assert repaired.tolist() == [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75], [0.25, 0.75], [0.5, 0.5], [0.25, 0.75]]


def test_sampling_follows_the_vector_temperature_and_nucleus():
    vector = np.array([0.1, 0.6, 0.3])
    rng = SeededRandomness(2)
    plain = np.bincount([select_from(vector, Selection(sample=True), rng=rng) for _ in range(4000)], minlength=3)
    assert plain / 4000 == pytest.approx(vector, abs=0.04)
    nucleus = {select_from(vector, Selection(sample=True, top_p=0.9), rng=rng) for _ in range(500)}
    assert nucleus == {1, 2}
    cold = np.bincount(
        [select_from(vector, Selection(sample=True, temperature=0.5), rng=rng) for _ in range(4000)], minlength=3
    )
    assert cold / 4000 == pytest.approx(vector**2 / (vector**2).sum(), abs=0.04)
    assert select_from(np.array([0.0, 1.0]), Selection(sample=True, top_p=0.01), rng=rng) == 1
