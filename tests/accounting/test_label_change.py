"""Pricing and calibration where a unit may change its label."""

from __future__ import annotations

import itertools

import pytest

from dpicl_core import accounting
from dpicl_core.errors import ConfigError
from dpicl_core.specs import AdaDPSynSpec, PublicOnlySpec, TangGaussianSpec, TangNoisyMaxSpec

BOUNDS = {"Number": 800, "Person": 1000, "Abbreviation": 86}
TOKENS = {"Number": 15, "Person": 30, "Abbreviation": 15}
DELTA = 1e-5


def charges_of(spec, tokens=TOKENS):
    return accounting.label_change_charges(spec, lower_bounds=BOUNDS, units_per_token=40, composed_tokens=tokens)


def test_two_equal_pools_cost_what_one_pool_of_twice_the_tokens_does():
    tokens = {"Number": 15, "Person": 15}
    charges = accounting.label_change_charges(
        TangGaussianSpec(1.0), lower_bounds=dict.fromkeys(tokens, 500), units_per_token=40, composed_tokens=tokens
    )
    double = {"sampling_rate": 40 / 500, "composed_tokens": 30, "delta": DELTA}
    tight = accounting.worst_pair(charges, delta=DELTA).epsilon
    by_paper = accounting.worst_pair(charges, delta=DELTA, accountant="paper").epsilon
    assert tight == pytest.approx(accounting.epsilon_tight(TangGaussianSpec(1.0), **double), rel=1e-4)
    assert by_paper == pytest.approx(accounting.epsilon_paper(TangGaussianSpec(1.0), **double), rel=1e-9)


def test_the_worst_pair_is_the_dearest_of_all_pairs():
    charges = charges_of(TangGaussianSpec(1.2))
    pairs = {
        pair: accounting.compose_charges([charges[label] for label in pair], delta=DELTA).epsilon(DELTA)
        for pair in itertools.combinations(charges, 2)
    }
    worst = accounting.worst_pair(charges, delta=DELTA)
    assert worst.labels == max(pairs, key=lambda pair: pairs[pair])
    assert worst.epsilon == pytest.approx(max(pairs.values()), rel=1e-3)
    assert accounting.worst_loss(charges, delta=DELTA).epsilon(DELTA) == pytest.approx(worst.epsilon, rel=1e-12)


def test_the_switch_costs_more_than_pools_with_public_sizes():
    spec = TangGaussianSpec(1.2)
    fixed = accounting.price(spec, label="Number", pool_units=800, units_per_token=40, composed_tokens=15, delta=DELTA)
    prices = {
        price.label: price
        for price in accounting.price_label_change(charges_of(spec), lower_bounds=BOUNDS, delta=DELTA)
    }
    assert prices["Number"].epsilon_tight > fixed.epsilon_tight
    assert prices["Number"].epsilon_paper > fixed.epsilon_paper
    assert prices["Number"].pool_units == 800
    worst = accounting.worst_pair(charges_of(spec), delta=DELTA)
    assert max(price.epsilon_tight for price in prices.values()) == worst.epsilon


def test_a_single_target_label_pays_for_its_own_pool_only():
    charges = charges_of(TangGaussianSpec(1.2), {"Number": 15})
    alone = accounting.epsilon_tight(TangGaussianSpec(1.2), sampling_rate=40 / 800, composed_tokens=15, delta=DELTA)
    worst = accounting.worst_pair(charges, delta=DELTA)
    assert worst.labels == ("Number",)
    assert worst.epsilon == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("template", [AdaDPSynSpec(), TangNoisyMaxSpec()])
def test_calibration_brings_the_worst_pair_just_under_the_request(template):
    arguments = {"lower_bounds": BOUNDS, "units_per_token": 40, "composed_tokens": TOKENS}
    specs = accounting.calibrate_label_change(template, delta=DELTA, epsilon=4.0, **arguments)
    charges = accounting.label_change_charges(specs, **arguments)
    assert 0.999 * 4 <= accounting.worst_pair(charges, delta=DELTA).epsilon <= 4
    assert set(specs) == set(TOKENS)
    if isinstance(template, AdaDPSynSpec):
        assert specs["Abbreviation"].sigma_eff > 2 * specs["Number"].sigma_eff


def test_public_only_stays_free():
    charges = charges_of(PublicOnlySpec())
    assert accounting.worst_pair(charges, delta=DELTA).epsilon == 0


def test_a_bound_below_the_units_drawn_or_missing_is_refused_by_label():
    with pytest.raises(ConfigError, match="label Abbreviation has 86 units, but 100"):
        accounting.label_change_charges(
            TangGaussianSpec(1.0), lower_bounds=BOUNDS, units_per_token=100, composed_tokens=TOKENS
        )
    with pytest.raises(ConfigError, match="label Location needs a declared lower bound"):
        accounting.label_change_charges(
            TangGaussianSpec(1.0), lower_bounds=BOUNDS, units_per_token=40, composed_tokens={"Location": 15}
        )
