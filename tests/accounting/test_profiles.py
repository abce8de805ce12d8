"""The privacy profile of one token."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from dpicl_core.accounting.profiles import SampledGaussian, SampledPureMechanism
from tests.accounting.routes import gaussian_delta, sampled_delta


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.6, 1.6, 2.5, 6.0])
@pytest.mark.parametrize("rate", [1e-4, 0.02, 0.5, 1.0])
def test_the_gaussian_profile_equals_quadrature_down_to_the_far_tail(mu, rate):
    profile = SampledGaussian(mu, rate)
    reach = profile.reach(1e-40)
    for epsilon in np.linspace(0, reach, 12):
        exact = sampled_delta(mu, rate, epsilon)
        assert profile.delta(np.array([epsilon]))[0] == pytest.approx(exact, rel=1e-8, abs=1e-60)


def test_without_sampling_the_profile_is_the_analytic_gaussian_mechanism():
    for mu in (0.3, 1.0, 3.0, 12.0):
        epsilons = np.array([0.0, 0.5, 1.0, 4.0])
        expected = [gaussian_delta(mu, epsilon) for epsilon in epsilons]
        assert SampledGaussian(mu, 1.0).delta(epsilons) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("mu", [1e-3, 0.3, 2.0, 9.0, 40.0])
@pytest.mark.parametrize("rate", [1e-5, 0.3, 1.0])
def test_the_profile_falls_from_below_the_rate_to_the_tail_that_reach_promises(mu, rate):
    profile = SampledGaussian(mu, rate)
    reach = profile.reach(1e-20)
    deltas = profile.delta(np.linspace(0, reach, 4001))
    assert 0 < deltas[0] <= rate
    assert np.all(np.diff(deltas) <= 1e-16)
    assert deltas[-1] <= 1e-20 * (1 + 1e-6)


@pytest.mark.parametrize("buckets", [2, 3, 10, 50])
@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_a_sampled_pure_mechanism_has_the_losses_of_randomized_response(buckets, rate):
    # With k - 2 = (1 - rate)(e^epsilon_0 - 1), k-ary randomized response has the same three losses and probabilities.
    rate = 1.0 if buckets == 2 else rate
    epsilon0 = 1.3 if buckets == 2 else math.log1p((buckets - 2) / (1 - rate))
    noise = buckets / (1 + math.exp(epsilon0))
    step = SampledPureMechanism(epsilon0, rate).epsilon1
    response = privacy_loss_distribution.from_randomized_response(
        noise, buckets, value_discretization_interval=step / 64
    )
    for epsilon in np.array([0, 1, 7, 40, 63]) / 64 * step:
        expected = response.get_delta_for_epsilon(epsilon)
        ours = SampledPureMechanism(epsilon0, rate).delta(np.array([epsilon]))[0]
        # The library may round a loss up by one grid point.
        assert response.get_delta_for_epsilon(epsilon + step / 64) <= ours * (1 + 1e-9)
        assert ours <= expected * (1 + 1e-9)


def test_huge_pure_epsilons_do_not_overflow():
    profile = SampledPureMechanism(2000.0, 0.01)
    assert profile.epsilon1 == pytest.approx(2000 + math.log(0.01), rel=1e-12)
    assert profile.largest_probability == pytest.approx(0.01, rel=1e-12)
