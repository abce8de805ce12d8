"""The papers' accountant is dp-accounting's, and the tight one never costs more."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpicl_core import accounting
from dpicl_core.accounting import paper
from dpicl_core.accounting.charges import Charge
from dpicl_core.errors import ConfigError
from dpicl_core.specs import AdaDPSynSpec, TangGaussianSpec, TangNoisyMaxSpec


def test_it_equals_dp_accounting_with_every_query_of_a_token_listed():
    spec = AdaDPSynSpec(sigma0=10, sigma1=0.89, sigma2=5, iterations=1)
    # The library takes a whole-number multiplier of a nested event for that of the whole event: give floats.
    queries = [
        dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(multiplier), count)
        for multiplier, count in ((10.0, 6), (0.89, 2), (5.0, 1))
    ]
    event = dp_accounting.SampledWithoutReplacementDpEvent(835, 40, dp_accounting.ComposedDpEvent(queries))
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    expected = accountant.compose(event, 15).get_epsilon(1 / 5452)
    ours = accounting.epsilon_paper(spec, sampling_rate=40 / 835, composed_tokens=15, delta=1 / 5452)
    assert ours == pytest.approx(expected, rel=1e-9)


def test_without_sampling_it_is_the_renyi_bound_of_the_gaussian_mechanism():
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    expected = accountant.compose(dp_accounting.GaussianDpEvent(9.0), 40).get_epsilon(1e-5)
    ours = accounting.epsilon_paper(TangGaussianSpec(9.0), sampling_rate=1.0, composed_tokens=40, delta=1e-5)
    assert ours == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("tokens", [1, 15, 80])
def test_noisy_max_without_sampling_is_binary_randomized_response(tokens):
    epsilon0 = 0.8
    event = dp_accounting.RandomizedResponseDpEvent(noise_parameter=2 / (1 + math.exp(epsilon0)), num_buckets=2)
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    expected = accountant.compose(event, tokens).get_epsilon(1e-5)
    ours = accounting.epsilon_paper(TangNoisyMaxSpec(epsilon0), sampling_rate=1.0, composed_tokens=tokens, delta=1e-5)
    assert ours == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("delta", [1e-7, 1e-3])
@pytest.mark.parametrize("tokens", [1, 20, 3000])
@pytest.mark.parametrize(
    ("spec", "rate"),
    [
        *((TangGaussianSpec(sigma), rate) for sigma in (0.4, 1.2, 5.0, 20.0) for rate in (0.0005, 0.011, 0.2)),
        (TangNoisyMaxSpec(0.0142), 0.0004),
        (TangNoisyMaxSpec(1.0), 0.05),
    ],
)
def test_the_least_over_all_orders_is_found_without_trying_them_all(spec, rate, tokens, delta):
    charge = Charge(spec, rate, tokens)
    found = paper.epsilon_of_charges([charge], delta=delta)
    assert found == paper.epsilon_of_charges([charge], delta=delta, orders=paper.DEFAULT_ORDERS)


@given(st.floats(0.01, 30.0), st.floats(1e-4, 1.0), st.sampled_from([1.1, 2.0, 7.0, 63.0]))
@settings(max_examples=60, deadline=None)
def test_noisy_max_moments_are_the_sum_over_its_three_losses(epsilon0, rate, order):
    epsilon1 = math.log(1 - rate + rate * math.exp(epsilon0))
    up, down = math.exp(epsilon1) / (1 + math.exp(epsilon0)), 1 / (1 + math.exp(epsilon0))
    logs = (order - 1) * np.array([epsilon1, 0.0, -epsilon1])
    moment = np.log(np.array([up, 1 - up - down, down]) @ np.exp(logs - logs.max())) + logs.max()
    divergence = paper._token_divergences(Charge(TangNoisyMaxSpec(epsilon0), rate, 1), (order,))[0]
    assert divergence * (order - 1) == pytest.approx(moment, rel=1e-6, abs=1e-12)


@given(
    st.one_of(st.floats(0.35, 6.0).map(TangGaussianSpec), st.floats(0.05, 4.0).map(TangNoisyMaxSpec)),
    st.floats(1e-3, 0.4),
    st.integers(1, 100),
    st.sampled_from([1e-3, 1e-6]),
)
@settings(max_examples=12, deadline=None)
def test_the_tight_accountant_never_costs_more(spec, rate, tokens, delta):
    kwargs = {"sampling_rate": rate, "composed_tokens": tokens, "delta": delta}
    assert accounting.epsilon_tight(spec, **kwargs) <= accounting.epsilon_paper(spec, **kwargs) * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("sigma", [1e-3, 1e12])
def test_extreme_noise_gives_a_finite_bound(sigma):
    ours = accounting.epsilon_paper(TangGaussianSpec(sigma), sampling_rate=0.1, composed_tokens=5, delta=1e-5)
    assert math.isfinite(ours)
    assert ours > 1e4 if sigma < 1 else ours < 0.02


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match="sampling rate"):
        accounting.epsilon_paper(TangGaussianSpec(1.0), sampling_rate=2.0, composed_tokens=5, delta=1e-5)
    with pytest.raises(ConfigError, match="delta"):
        accounting.epsilon_paper(TangGaussianSpec(1.0), sampling_rate=0.2, composed_tokens=5, delta=0.0)
