"""The price of one pool."""

from __future__ import annotations

import math

import pytest

from dpicl_core import accounting
from dpicl_core.errors import ConfigError
from dpicl_core.specs import AdaDPSynSpec, PublicOnlySpec, TangNoisyMaxSpec, UnprotectedSpec
from dpicl_core.values import Price


def test_a_price_holds_both_epsilons_at_the_rate_of_the_pool():
    spec = AdaDPSynSpec(sigma0=10, sigma1=0.89, sigma2=5, iterations=1)
    price = accounting.price(
        spec, label="Number", pool_units=835, units_per_token=40, composed_tokens=15, delta=1 / 5452
    )
    assert isinstance(price, Price)
    assert price.sampling_rate == 40 / 835
    assert price.epsilon_paper == pytest.approx(7.62, abs=0.01)
    assert price.epsilon_tight == pytest.approx(4.19, abs=0.01)


def test_public_only_costs_nothing_even_where_the_pool_is_small():
    price = accounting.price(
        PublicOnlySpec(), label=None, pool_units=3, units_per_token=40, composed_tokens=15, delta=1e-5
    )
    assert (price.epsilon_tight, price.epsilon_paper, price.sampling_rate) == (0, 0, 0)


def test_unprotected_costs_everything():
    price = accounting.price(
        UnprotectedSpec(), label=None, pool_units=300, units_per_token=40, composed_tokens=15, delta=1e-5
    )
    assert price.epsilon_tight == price.epsilon_paper == math.inf


def test_a_pool_smaller_than_the_units_drawn_is_refused_with_bound_value_and_label():
    with pytest.raises(ConfigError, match="label Abbreviation has 30 units, but 40 are drawn"):
        accounting.price(
            TangNoisyMaxSpec(), label="Abbreviation", pool_units=30, units_per_token=40, composed_tokens=15, delta=1e-5
        )


def test_equal_settings_cost_the_same_every_time():
    arguments = {"label": "x", "pool_units": 500, "units_per_token": 20, "composed_tokens": 40, "delta": 1e-5}
    assert accounting.price(AdaDPSynSpec(), **arguments) == accounting.price(AdaDPSynSpec(), **arguments)
