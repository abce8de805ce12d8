"""Renyi divergence of the tight pair: exact where a closed form exists, an upper bound elsewhere."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from scipy import integrate, stats

from dpicl_core import accounting
from dpicl_core.accounting.profiles import SampledGaussian
from dpicl_core.errors import ConfigError
from dpicl_core.specs import AnchoredSpec, PublicOnlySpec, TangGaussianSpec, TangNoisyMaxSpec, UnprotectedSpec


@pytest.mark.parametrize("sigma", [0.1, 0.7, 5.0, 1000.0])
@pytest.mark.parametrize("order", [1.01, 2.0, 8.5, 64.0, 1024.0])
def test_without_sampling_it_is_order_over_twice_the_squared_multiplier(sigma, order):
    value = accounting.renyi_divergence(TangGaussianSpec(sigma), order, sampling_rate=1.0, composed_tokens=7)
    assert value == pytest.approx(7 * order / (2 * sigma**2), rel=1e-7)


@pytest.mark.parametrize(("rate", "sigma"), [(0.001, 0.5), (0.05, 1.0), (0.4, 3.0)])
@pytest.mark.parametrize("order", [1.5, 2.0, 5.0, 16.0])
def test_it_is_the_integral_of_the_privacy_profile(rate, sigma, order):
    # An f-divergence is the integral of f'' against the hockey-stick divergences; for x^order, mirrored below 1.
    profile = SampledGaussian(1 / sigma, rate)

    def weight(epsilon):
        log_delta = np.log(profile.delta(np.array([epsilon]))[0])
        return np.exp((order - 1) * epsilon + log_delta) + np.exp(-order * epsilon + log_delta)

    reach = profile.reach(1e-290)
    edges = np.geomspace(1e-4, reach, 24)
    area = sum(
        integrate.quad(weight, low, high, epsrel=1e-10)[0] for low, high in zip([0, *edges], edges, strict=False)
    )
    expected = math.log1p(order * (order - 1) * area) / (order - 1)
    ours = accounting.renyi_divergence(TangGaussianSpec(sigma), order, sampling_rate=rate, composed_tokens=1)
    assert ours == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("rate", "sigma"), [(0.001, 0.5), (0.05, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize("order", [2.0, 4.0])
def test_it_covers_both_directions_of_a_sampled_gaussian(rate, sigma, order):
    mu = 1 / sigma

    def moment(z, sign):
        ratio = 1 - rate + rate * np.exp(mu * z - mu * mu / 2)
        return stats.norm.pdf(z) * ratio ** (order if sign > 0 else 1 - order)

    ours = accounting.renyi_divergence(TangGaussianSpec(sigma), order, sampling_rate=rate, composed_tokens=1)
    for sign in (1, -1):
        value = integrate.quad(moment, -12, 12 + 2 * order * mu, args=(sign,), limit=400)[0]
        assert math.log(value) / (order - 1) <= ours


def test_it_is_under_the_bound_of_the_papers_accountant_at_every_whole_order():
    orders = [2, 3, 5, 10, 32, 64]
    accountant = rdp.RdpAccountant(orders, dp_accounting.NeighboringRelation.REPLACE_ONE)
    event = dp_accounting.SampledWithoutReplacementDpEvent(835, 40, dp_accounting.GaussianDpEvent(0.8))
    bounds = accountant.compose(event, 15).rdp
    for order, bound in zip(orders, bounds, strict=True):
        ours = accounting.renyi_divergence(TangGaussianSpec(0.8), order, sampling_rate=40 / 835, composed_tokens=15)
        assert 0 < ours <= bound * (1 + 1e-8)


def test_converted_to_epsilon_it_lies_between_the_two_accountants():
    kwargs = {"sampling_rate": 0.03, "composed_tokens": 30}
    for spec in (AnchoredSpec(0.9), TangNoisyMaxSpec(2.0)):
        orders = [*np.arange(1.25, 12, 0.25), *range(12, 64, 2)]
        divergences = [accounting.renyi_divergence(spec, float(order), **kwargs) for order in orders]
        epsilon = rdp.compute_epsilon(orders, divergences, 1e-5)[0]
        assert accounting.epsilon_tight(spec, delta=1e-5, **kwargs) < epsilon
        assert epsilon < accounting.epsilon_paper(spec, delta=1e-5, **kwargs) * 1.01


def test_tokens_add():
    one = accounting.renyi_divergence(TangGaussianSpec(1.0), 8.0, sampling_rate=0.1, composed_tokens=1)
    many = accounting.renyi_divergence(TangGaussianSpec(1.0), 8.0, sampling_rate=0.1, composed_tokens=60)
    assert many == pytest.approx(60 * one, rel=1e-12)


def test_public_only_costs_nothing_and_unprotected_everything():
    assert accounting.renyi_divergence(PublicOnlySpec(), 8.0, sampling_rate=0.1, composed_tokens=5) == 0
    assert accounting.renyi_divergence(UnprotectedSpec(), 8.0, sampling_rate=0.1, composed_tokens=5) == math.inf


@pytest.mark.parametrize("order", [1.0, 0.5, math.inf, math.nan])
def test_an_order_at_or_under_one_is_refused(order):
    with pytest.raises(ConfigError, match="order"):
        accounting.renyi_divergence(TangGaussianSpec(1.0), order, sampling_rate=0.1, composed_tokens=5)
