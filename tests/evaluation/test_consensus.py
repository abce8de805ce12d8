"""The smallest ball around a vector, on vectors whose distances are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import covering_radius, measure_consensus, open_view
from dpicl_core.evaluation.consensus import TokenConsensus, consensus_of
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import plan_for
from dpicl_core.runs import PrivacyRequest
from tests.support.ledgers import table
from tests.support.tables import ANIMALS, animal_rows


def test_the_radius_reaches_the_eighth_of_ten_from_the_best_centre():
    # at 0, 1, ..., 9 on a line: eight of ten fit within 4 of the points at 4 and 5, since 0..8 and 1..9 lie there
    line = np.arange(10.0)[:, None]
    assert covering_radius(line) == 4.0
    assert covering_radius(line, 1.0) == 5.0
    assert covering_radius(line, 0.1) == 0.0  # the point itself


def test_outliers_beyond_a_fifth_do_not_count_and_equal_vectors_need_no_radius():
    vectors = np.zeros((10, 3))
    vectors[:, 0] = 1.0
    vectors[0], vectors[1] = (0, 1, 0), (0, 0, 1)
    assert covering_radius(vectors) == 0.0
    assert covering_radius(vectors, 0.9) == pytest.approx(math.sqrt(2))


def test_at_least_four_fifths_are_held_where_they_are_no_whole_number():
    assert covering_radius(np.array([[0.0], [0.0], [3.0]]), 0.8) == 3.0  # 2.4 of 3 means all 3


def test_a_share_out_of_bounds_is_refused():
    with pytest.raises(ConfigError, match="at most 1"):
        covering_radius(np.zeros((2, 2)), 1.5)


def test_averages_go_over_tokens_of_a_label_and_then_over_labels():
    tokens = [TokenConsensus(0, 0, 0.1, 10), TokenConsensus(0, 1, 0.3, 10), TokenConsensus(1, 0, 0.5, 10)]
    found = consensus_of(tokens, ("cat", "dog"), {"cat": 1.0, "dog": 2.0})
    assert [(label.label, label.tokens) for label in found.labels] == [("cat", 2), ("dog", 1)]
    assert [label.radius for label in found.labels] == pytest.approx([0.2, 0.5])
    # 2 R sigma / M: 2 * 0.2 * 1 / 10 and 2 * 0.5 * 2 / 10, against sqrt(2) sigma / M
    assert [label.noise_allowed for label in found.labels] == pytest.approx([0.04, 0.2])
    assert [label.noise_whole for label in found.labels] == pytest.approx([0.1 * math.sqrt(2), 0.2 * math.sqrt(2)])
    assert (found.average.radius, found.average.tokens) == pytest.approx((0.35, 3))
    assert found.average.noise_allowed == pytest.approx(0.12)


def test_a_run_is_followed_token_by_token_and_priced_noise_is_reported():
    view = open_view(table(animal_rows()), "test, not DP")
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, tokens=4, min_tokens=4)
    found = measure_consensus(view, plan, PrivacyRequest(3.0, 1e-3), ToyModel())
    assert [(token.demonstration, token.position) for token in found.tokens] == [
        (d, p) for p in range(4) for d in range(2)
    ]
    assert all(0 <= token.radius <= math.sqrt(2) and token.vectors == plan.subsets for token in found.tokens)
    assert all(
        label.noise_allowed / label.noise_whole == pytest.approx(label.radius * math.sqrt(2)) for label in found.labels
    )
    with pytest.raises(ConfigError, match="reads no private row"):
        measure_consensus(view, plan_for(ANIMALS, "public-only"), PrivacyRequest(None, 1e-3), ToyModel())
