"""Numbers of mechanisms side by side, and the sentence that says who does not beat whom."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpicl_core.evaluation.comparison import (
    Released,
    Unprotected,
    released_numbers,
    shape_of,
    unprotected_numbers,
    verdict,
)
from dpicl_core.events import ReleasedStep, ReleasedTrace, StewardDiagnostics, TokenReleased
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.values import Selection
from tests.support.tables import ANIMALS


def plan(mechanism="adadpsyn", **settings):
    return plan_for(ANIMALS, mechanism, shots=2, **settings)


def token(demonstration, position, token_id, *steps):
    trace = ReleasedTrace(None, tuple(ReleasedStep(radius, noise) for radius, noise in steps), "single")
    return TokenReleased(demonstration, position, token_id, "a", trace, False)


def seen(demonstration, position, rows):
    rows = np.asarray(rows, dtype=np.float64)
    return StewardDiagnostics(demonstration, position, rows, rows[0], np.array([7, 8, 9]), ())


CLOSE = [[1.0, 0.0, 0.0]] * 4 + [[0.0, 1.0, 0.0]]
"""Four of five vectors are equal: 80% of them need no radius, and the mean is largest at the first candidate, 7."""
WIDE = [[1.0, 0.0, 0.0]] * 2 + [[0.0, 0.0, 1.0]] * 3
"""Three and two: four of five need the distance of two corners; the mean is largest at the third, 9."""


def test_noise_and_radius_are_means_over_tokens_of_the_last_step():
    tokens = [token(0, 0, 5, (0.7, 0.4), (0.3, 0.1)), token(0, 1, 5, (0.7, 0.4)), token(1, 0, 5, (0.5, 0.1))]
    prices = price_plan(plan("tang-gaussian"), {"cat": 30, "dog": 30}, delta=1e-3, epsilon=2.0)
    found = released_numbers(plan("tang-gaussian"), prices, tokens)
    assert found.noise == pytest.approx((0.1 + 0.4 + 0.1) / 3)
    assert found.radius == pytest.approx((0.3 + 0.7 + 0.5) / 3)
    assert (found.mechanism, found.tokens) == ("tang-gaussian", 3)
    assert found.epsilon_tight == max(price.epsilon_tight for price in prices) == pytest.approx(2.0, rel=1e-3)
    assert found.epsilon_paper == max(price.epsilon_paper for price in prices)


def test_a_run_without_a_token_and_a_mechanism_without_noise_have_no_figure():
    assert released_numbers(plan("public-only"), (), [token(0, 0, 5)]) == Released("public-only", 0, 0, None, None, 1)
    assert released_numbers(plan(), (), []).noise is None
    assert unprotected_numbers(plan(), [], []) is None


def test_radii_go_over_tokens_of_a_label_and_then_over_labels_and_agreement_over_all_tokens():
    tokens = [token(0, 0, 7), token(0, 1, 7), token(1, 0, 9)]
    found = unprotected_numbers(plan(), tokens, [seen(0, 0, CLOSE), seen(0, 1, WIDE), seen(1, 0, WIDE)])
    assert dict(found.radii) == pytest.approx({"cat": math.sqrt(2) / 2, "dog": math.sqrt(2)})
    assert found.average == pytest.approx(0.75 * math.sqrt(2))
    assert found.agreement == pytest.approx(2 / 3)  # 7 as without noise, then 7 for 9, then 9
    assert found.tokens == 3


def test_vectors_of_tokens_that_were_never_released_do_not_count_and_public_only_has_none():
    found = unprotected_numbers(plan(), [token(0, 0, 7)], [seen(0, 0, CLOSE), seen(1, 0, WIDE)])
    assert (found.radii, found.agreement, found.tokens) == ((("cat", 0.0),), 1.0, 1)
    assert unprotected_numbers(plan("public-only"), [token(0, 0, 7)], [seen(0, 0, CLOSE)]) is None


def test_plans_that_differ_in_mechanism_and_selection_alone_have_one_shape():
    one = plan("tang-gaussian", selection=Selection(sample=True))
    assert shape_of(one) == shape_of(plan("public-only")) == shape_of(plan("tang-noisy-max"))
    for other in (replace(one, tokens=5), replace(one, subsets=3), replace(one, target_labels=("dog", "cat"))):
        assert shape_of(other) != shape_of(one)


def released(mechanism, noise, epsilon=4.0):
    return Released(mechanism, epsilon, epsilon, noise, 0.5, 10)


def unprotected(mechanism, agreement):
    return Unprotected(mechanism, (("cat", 0.1),), 0.1, agreement, 10)


def test_where_adadpsyn_does_not_beat_tang_a_sentence_says_so():
    (said,) = verdict([released("adadpsyn", 0.12), released("tang-gaussian", 0.1)])
    assert said == "By noise a coordinate AdaDPSyn does not beat Tang, Gaussian here: 0.12 against 0.1."
    (tie,) = verdict([released("adadpsyn", 0.1004), released("tang-gaussian", 0.10041)])
    assert "does not beat" in tie
    (win,) = verdict([released("tang-gaussian", 0.1), released("adadpsyn", 0.05)])
    assert (
        win == "By noise a coordinate AdaDPSyn beats Tang, Gaussian here: 0.05 against 0.1; one run each proves little."
    )


def test_every_measure_that_both_have_gets_its_sentence():
    said = verdict(
        [released("adadpsyn", 0.1), released("tang-noisy-max", None)],
        {"adadpsyn": 3.0, "tang-noisy-max": 2.0, "anchored": 1.0},
        [unprotected("adadpsyn", 0.5), unprotected("tang-noisy-max", 0.5), unprotected("tang-gaussian", 0.25)],
    )
    assert said == (
        "By agreement with the choice made without noise AdaDPSyn beats Tang, Gaussian here: 50% against 25%; one run "
        "each proves little.",
        "By seconds AdaDPSyn does not beat Tang, noisy max here: 3 against 2.",
        "By agreement with the choice made without noise AdaDPSyn does not beat Tang, noisy max here: 50% against 50%.",
    )


def test_runs_that_spent_different_epsilons_are_said_to_be_no_fair_comparison():
    (said,) = verdict([released("adadpsyn", 0.05, epsilon=8.0), released("tang-gaussian", 0.1)])
    assert said.endswith("The two runs spent different epsilons, so this is no fair comparison.")


def test_without_both_nothing_is_claimed():
    assert verdict([released("adadpsyn", 0.1), released("anchored", 0.01)], {"adadpsyn": 1.0}) == ()
