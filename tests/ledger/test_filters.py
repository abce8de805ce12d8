"""The Renyi filter holds against every adaptive adversary on small mechanisms, found by exhaustive search."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from dpicl_core.accounting import Charge, compose_charges
from dpicl_core.errors import ConfigError
from dpicl_core.ledger.filters import (
    best_order,
    charge_divergence,
    epsilon_of_divergence,
    fits,
    renyi_budget,
)
from dpicl_core.specs import PublicOnlySpec, TangGaussianSpec, TangNoisyMaxSpec, UnprotectedSpec

DELTA = 0.05  # large, so that few outcomes of few tokens can reach it
CHOICES = ((2.0, 0.5), (1.0, 1.0), (0.6, 0.9), (3.0, 0.2))
MENU = tuple(Charge(TangNoisyMaxSpec(epsilon0=epsilon0), rate, 1) for epsilon0, rate in CHOICES)


def losses(charge):
    """The three losses of one token and their probabilities, straight from the randomised response behind them."""
    loss = math.log1p(charge.sampling_rate * math.expm1(charge.spec.epsilon0))
    high = math.exp(loss) / (1 + math.exp(charge.spec.epsilon0))
    low = 1 / (1 + math.exp(charge.spec.epsilon0))
    return ((loss, high), (0.0, 1 - high - low), (-loss, low))


def divergence_by_hand(charge, order):
    moment = sum(p * math.exp((order - 1) * loss) for loss, p in losses(charge) if p > 0)
    return math.log(moment) / (order - 1)


def strongest_adversary(budget, order, epsilon):
    """delta that the best adaptive choice of charges reaches, all of them kept under the budget by the filter.

    value(l, spent) is the best achievable expectation under the second data set of (e^loss - e^epsilon)_+ from a
    point where the loss so far is l; the adversary sees every outcome before choosing again, or stops.
    """
    costs = [charge_divergence(charge, order) for charge in MENU]

    @cache
    def value(counts, spent):
        loss = sum(count * losses(charge)[0][0] for count, charge in zip(counts, MENU, strict=True))
        best = max(math.exp(loss) - math.exp(epsilon), 0.0)
        for index, charge in enumerate(MENU):
            after = tuple(used + (place == index) for place, used in enumerate(spent))
            paid = [cost for cost, used in zip(costs, after, strict=True) for _ in range(used)]
            if not fits(paid, budget):
                continue
            total = 0.0
            for step, (outcome_loss, probability) in zip((1, 0, -1), losses(charge), strict=True):
                moved = tuple(count + step * (place == index) for place, count in enumerate(counts))
                total += probability * math.exp(-outcome_loss) * value(moved, after)
            best = max(best, total)
        return best

    start = (0,) * len(MENU)
    return value(start, start)


@pytest.mark.parametrize(("epsilon", "order"), [(2.0, 3.0), (3.0, 4.0), (4.0, 2.5)])
def test_no_adaptive_adversary_exceeds_the_cap_that_the_filter_enforces(epsilon, order):
    budget = renyi_budget(order=order, epsilon=epsilon, delta=DELTA)
    reached = strongest_adversary(budget, order, epsilon)
    assert 0 < reached <= DELTA


def test_the_adversary_is_strong_enough_to_break_a_filter_that_allows_twice_as_much():
    budget = renyi_budget(order=3.0, epsilon=2.0, delta=DELTA)
    assert strongest_adversary(2 * budget, 3.0, 2.0) > DELTA


@pytest.mark.parametrize("order", [1.5, 3.0, 12.0])
def test_a_charges_divergence_is_that_of_its_outcomes_and_adds_over_tokens(order):
    for charge in MENU:
        exact = divergence_by_hand(charge, order)
        assert exact <= charge_divergence(charge, order) <= exact * (1 + 1e-6)
    many = Charge(MENU[0].spec, MENU[0].sampling_rate, 7)
    assert charge_divergence(many, order) == pytest.approx(7 * divergence_by_hand(MENU[0], order), rel=1e-6)


@pytest.mark.parametrize("order", [1.3, 4.0, 32.0])
def test_the_conversion_is_an_upper_bound_of_the_exact_delta_of_a_gaussian(order):
    for mu in (0.2, 1.0, 2.0):
        divergence = order * mu * mu / 2
        epsilon = epsilon_of_divergence(divergence, order=order, delta=1e-5)
        exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        assert exact <= 1e-5


def test_budget_and_conversion_are_inverse_and_the_budget_lands_on_the_safe_side():
    for order in (1.1, 2.0, 8.0, 100.0):
        budget = renyi_budget(order=order, epsilon=20.0, delta=1e-6)
        if budget > 0:
            assert 20.0 * (1 - 1e-9) <= epsilon_of_divergence(budget, order=order, delta=1e-6) <= 20.0


def test_the_chosen_order_fits_at_least_as_many_runs_as_any_other():
    reference = [Charge(TangGaussianSpec(sigma=1.1), 0.1, 40)]
    chosen = best_order(8.0, 1e-5, reference)

    def runs(order):
        return renyi_budget(order=order, epsilon=8.0, delta=1e-5) / charge_divergence(reference[0], order)

    assert all(runs(chosen) >= 0.999 * runs(order) for order in np.geomspace(1.1, 64, 40))


def test_the_order_for_a_gaussian_mechanism_is_the_one_of_the_closed_form():
    chosen = best_order(4.0, 1e-5)
    orders = np.geomspace(1.05, 512, 20_000)
    rates = [renyi_budget(order=order, epsilon=4.0, delta=1e-5) / order for order in orders]
    assert max(rates) == pytest.approx(renyi_budget(order=chosen, epsilon=4.0, delta=1e-5) / chosen, rel=1e-3)


def test_a_cap_that_no_order_can_keep_is_refused_with_the_way_out():
    with pytest.raises(ConfigError, match="rule `sum`"):
        best_order(0.01, 1e-9)


def test_free_charges_cost_nothing_and_noise_free_ones_never_fit():
    assert charge_divergence(Charge(PublicOnlySpec(), 0.0, 5), 3.0) == 0
    assert not fits([charge_divergence(Charge(UnprotectedSpec(), 0.5, 5), 3.0)], 1e9)


def test_the_filter_allows_fewer_runs_than_plans_fixed_in_advance():
    charge = Charge(TangGaussianSpec(sigma=1.1), 0.1, 40)
    order = best_order(8.0, 1e-5, [charge])
    runs = int(renyi_budget(order=order, epsilon=8.0, delta=1e-5) / charge_divergence(charge, order))
    assert runs >= 1
    together = compose_charges([charge] * runs, delta=1e-5).epsilon(1e-5)
    assert together <= 8.0
