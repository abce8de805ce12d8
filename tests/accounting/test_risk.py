"""The sayings, against the closed forms of one Gaussian mechanism."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from dpicl_core import accounting
from dpicl_core.accounting import risk
from dpicl_core.errors import ConfigError
from dpicl_core.specs import PublicOnlySpec, TangGaussianSpec, UnprotectedSpec
from dpicl_core.values import PrivacyUnit
from tests.accounting.routes import gaussian_delta, sampled_losses


def gaussian_loss(mu, tokens=1):
    spec = TangGaussianSpec(math.sqrt(tokens) / mu)
    return accounting.composed_loss(spec, sampling_rate=1.0, composed_tokens=tokens, delta=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 2.5, 5.0])
def test_the_best_guess_is_the_normal_distribution_at_half_mu(mu):
    exact = 100 * stats.norm.cdf(mu / 2)
    assert exact - 1e-10 <= risk.best_guess_percent(gaussian_loss(mu)) <= exact + 1e-3


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 2.5, 5.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.2, 0.7])
def test_the_true_positive_rate_is_the_trade_off_curve_of_the_gaussian_mechanism(mu, rate):
    exact = stats.norm.cdf(stats.norm.ppf(rate) + mu)
    ours = risk.true_positive_rate(gaussian_loss(mu), rate)
    assert exact - 1e-12 <= ours <= exact + max(1e-4, 1e-3 * exact)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("percent", [30, 55, 75, 90, 99.9])
def test_the_belief_bound_is_the_least_quotient_of_the_closed_profile(mu, percent):
    limit = math.log(percent / (100 - percent))
    gaps = np.geomspace(1e-5, max(limit, 0) + 40, 4000)
    quotients = gaussian_delta(mu, limit - gaps) / -np.expm1(-gaps)
    ours = risk.belief_probability(gaussian_loss(mu), percent)
    assert ours == pytest.approx(min(1.0, quotients.min()), rel=2e-3, abs=1e-9)
    assert ours >= stats.norm.cdf(mu / 2 - limit / mu)


def test_the_odds_hold_for_all_but_delta():
    mu, delta = 1.0, 1e-5
    factor = risk.odds_factor(gaussian_loss(mu), delta)
    assert gaussian_delta(mu, math.log(factor)) <= delta
    assert gaussian_delta(mu, math.log(factor) - 1e-3) > delta


def test_the_numbers_hold_for_draws_of_a_sampled_and_composed_loss():
    spec, rate, tokens = TangGaussianSpec(0.8), 0.05, 30
    loss = accounting.composed_loss(spec, sampling_rate=rate, composed_tokens=tokens, delta=1e-6)
    draws = sampled_losses(1.25, rate, tokens, 100_000, np.random.default_rng(3))
    noise = 4 / math.sqrt(len(draws))
    assert np.mean(draws > math.log(9)) <= risk.belief_probability(loss, 90) + noise
    total_variation = np.mean(np.maximum(-np.expm1(-draws), 0))
    assert risk.best_guess_percent(loss) == pytest.approx(50 * (1 + total_variation), abs=50 * noise)
    # The most powerful test rejects where the loss is large; under the other hypothesis its error is reweighted.
    threshold = np.quantile(draws, 0.9)
    false_positives = np.mean(np.exp(-draws) * (draws > threshold))
    assert risk.true_positive_rate(loss, false_positives) == pytest.approx(0.1, abs=0.02)


def test_a_free_run_teaches_nothing():
    loss = accounting.composed_loss(PublicOnlySpec(), sampling_rate=0.1, composed_tokens=5, delta=1e-6)
    assert risk.best_guess_percent(loss) == 50
    assert risk.true_positive_rate(loss, 0.05) == pytest.approx(0.05, rel=1e-6)
    assert risk.belief_probability(loss, 75) == 0
    assert risk.odds_factor(loss, 1e-6) == 1


def test_edges_of_the_false_positive_rate():
    loss = gaussian_loss(1.0)
    assert risk.true_positive_rate(loss, 0.0) <= 1e-8
    assert risk.true_positive_rate(loss, 1.0) == 1


@pytest.mark.parametrize("percent", [0, 100, -5, math.nan])
def test_a_belief_out_of_bounds_is_refused(percent):
    with pytest.raises(ConfigError, match="belief"):
        risk.belief_probability(gaussian_loss(1.0), percent)


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_the_sentences_name_the_unit_and_carry_the_numbers_rounded_up(unit):
    loss, delta = gaussian_loss(1.0), 1.834e-4
    odds, guess, belief, test = risk.sayings(loss, delta=delta, unit=unit)
    for sentence in (odds, guess, belief, test):
        assert f" {unit.value}" in sentence
        assert not re.search(r"\b(record|sample|can become)\b", sentence)
    assert "The privacy loss epsilon" in odds
    assert float(re.search(r"at most ([\d.]+):", odds)[1]) >= loss.epsilon(delta)
    assert float(re.search(r"at most ([\d.]+) times", odds)[1]) >= math.exp(loss.epsilon(delta))
    assert float(re.search(r"probability ([\d.e-]+)\.$", odds)[1]) >= delta
    assert "69.2%" in guess
    assert "on average" in guess
    assert "90%" in belief
    assert "noise" in belief
    assert "1% of the time" in test
    assert float(re.search(r"at most ([\d.]+)% of the time\.$", test)[1]) >= 100 * risk.true_positive_rate(loss, 0.01)


def test_without_noise_there_is_one_sentence_and_no_number():
    loss = accounting.composed_loss(UnprotectedSpec(), sampling_rate=0.1, composed_tokens=5, delta=1e-6)
    (sentence,) = risk.sayings(loss, delta=1e-6)
    assert "no limit" in sentence


def test_the_sentences_cover_the_worst_of_several_losses():
    charges = accounting.label_change_charges(
        TangGaussianSpec(1.0),
        lower_bounds={"a": 100, "b": 200},
        units_per_token=20,
        composed_tokens={"a": 10, "b": 10},
    )
    loss = accounting.worst_loss(charges, delta=1e-5)
    single = accounting.composed_loss(TangGaussianSpec(1.0), sampling_rate=0.2, composed_tokens=10, delta=1e-5)
    assert risk.best_guess_percent(loss) > risk.best_guess_percent(single)
    assert len(risk.sayings(loss, delta=1e-5)) == 4
