"""The audit's statistics prove no more than the truth, and most of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.audit_bounds import (
    CONFIDENCE,
    Event,
    GaussianClaim,
    LossClaim,
    Statistic,
    examine,
    largest_probability,
    least_probability,
    strongest_event,
)


@pytest.mark.parametrize(("hits", "runs"), [(0, 50), (1, 50), (37, 100), (100, 100)])
def test_probabilities_are_bounded_as_by_the_exact_binomial_interval(hits, runs):
    interval = stats.binomtest(hits, runs).proportion_ci(CONFIDENCE, method="exact")
    assert least_probability(np.array([hits]), runs)[0] == pytest.approx(interval.low, abs=1e-12)
    assert largest_probability(np.array([hits]), runs)[0] == pytest.approx(interval.high, abs=1e-12)


def test_an_event_of_two_normals_is_worth_their_distance():
    likely, unlikely = stats.norm.cdf(0.4), stats.norm.cdf(0.4 - 1.7)
    assert GaussianClaim(1.0).bound(np.array([likely]), np.array([unlikely]))[0] == pytest.approx(1.7)


def test_an_event_is_worth_its_log_ratio_after_delta_was_taken_off():
    claim = LossClaim(1.0, 0.1)
    assert claim.bound(np.array([0.1 + 0.3 * np.e]), np.array([0.3]))[0] == pytest.approx(1.0)
    assert claim.bound(np.array([0.05]), np.array([0.3]))[0] == -np.inf


def test_two_normals_are_found_to_be_nearly_as_far_apart_as_they_are_and_never_further():
    mu, runs = 1.0, 10_000
    bounds = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        left, right = generator.standard_normal(runs), mu + generator.standard_normal(runs)
        bounds.append(examine(Statistic("normal", left, right, (GaussianClaim(mu),))).lower_bound)
    assert max(bounds) < mu
    assert min(bounds) > 0.75 * mu


def test_equal_worlds_prove_nothing():
    generator = np.random.default_rng(3)
    left, right = generator.standard_normal(4000), generator.standard_normal(4000)
    assert examine(Statistic("same", left, right, (GaussianClaim(0.5),))).lower_bound < 0.1
    constant = np.zeros(400)
    finding = examine(Statistic("constant", constant, constant, (LossClaim(0.0),)))
    assert finding.lower_bound == 0
    assert not finding.exceeds
    assert finding.share == 0


def test_the_event_is_chosen_on_the_first_half_and_tested_on_the_second_alone():
    """A gap in the first half only leads to an event, which the second half does not confirm."""
    runs = 2000
    noise = np.random.default_rng(4).standard_normal((2, runs))
    left, right = noise[0], noise[1]
    left[: runs // 2] += 5
    finding = examine(Statistic("fading", left, right, (GaussianClaim(1.0),)))
    assert (finding.event.likelier == "left") == finding.event.above
    assert finding.lower_bound < 0.2


def test_infinite_values_are_events_like_any_other():
    left = np.where(np.arange(1000) % 4 == 0, np.inf, 0.0)
    _, event = strongest_event(left, np.zeros(1000), (LossClaim(1.0),))
    assert event == Event(np.inf, above=True, likelier="left")
    assert event.hits(left) == 250


def test_of_several_claims_the_one_that_is_broken_is_reported():
    """(1, 0.3) holds for these worlds and (3, 0.001) does not."""
    left = (np.arange(4000) % 4 == 0).astype(float)
    finding = examine(Statistic("quarter", left, np.zeros(4000), (LossClaim(1.0, 0.3), LossClaim(3.0, 0.001))))
    assert finding.exceeds
    assert finding.claimed == 3.0
