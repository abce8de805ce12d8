"""The tight accountant against closed forms, dp-accounting's own mechanisms, a plain FFT and Monte Carlo."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from dpicl_core import accounting
from dpicl_core.accounting.losses import COARSE, Resolution
from dpicl_core.errors import ConfigError
from dpicl_core.specs import (
    AdaDPSynSpec,
    AnchoredSpec,
    PublicOnlySpec,
    TangGaussianSpec,
    TangNoisyMaxSpec,
    UnprotectedSpec,
)
from tests.accounting.routes import (
    TABLE_ROWS,
    fft_epsilon_bracket,
    gaussian_delta,
    gaussian_epsilon,
    sampled_epsilon,
    sampled_losses,
)


def table_row(name):
    sigma0, sigma1, sigma2, iterations, drawn, pool, tokens, inverse = TABLE_ROWS[name]
    spec = AdaDPSynSpec(sigma0=sigma0, sigma1=sigma1, sigma2=sigma2, iterations=iterations)
    return spec, {"sampling_rate": drawn / pool, "composed_tokens": tokens, "delta": 1 / inverse}


@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0, 10.0])
@pytest.mark.parametrize("rate", [2e-4, 0.01, 0.3])
def test_one_token_costs_what_the_closed_form_says(sigma, rate):
    delta = rate / 1000
    ours = accounting.epsilon_tight(TangGaussianSpec(sigma), sampling_rate=rate, composed_tokens=1, delta=delta)
    exact = sampled_epsilon(1 / sigma, rate, delta)
    assert exact <= ours <= exact + 1e-3


@pytest.mark.parametrize("sigma", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("tokens", [1, 15, 60])
def test_without_sampling_the_cost_is_that_of_the_analytic_gaussian_mechanism(sigma, tokens):
    for delta in (1e-3, 1e-6):
        ours = accounting.epsilon_tight(TangGaussianSpec(sigma), sampling_rate=1.0, composed_tokens=tokens, delta=delta)
        exact = gaussian_epsilon(math.sqrt(tokens) / sigma, delta)
        library = dp_accounting.get_epsilon_gaussian(sigma / math.sqrt(tokens), delta)
        assert exact == pytest.approx(library, abs=1e-6)
        assert exact - 1e-9 <= ours <= exact + 1e-3


def test_a_rate_just_under_one_composes_to_the_analytic_gaussian_mechanism():
    ours = accounting.epsilon_tight(TangGaussianSpec(8.0), sampling_rate=1 - 1e-9, composed_tokens=40, delta=1e-5)
    assert ours == pytest.approx(gaussian_epsilon(math.sqrt(40) / 8, 1e-5), rel=3e-4)


@pytest.mark.parametrize(
    ("rate", "sigma"), [(0.01, 0.5), (0.01, 1.0), (0.01, 3.0), (0.001, 0.6), (1e-4, 0.5), (1e-4, 2.0)]
)
def test_one_token_is_within_a_percent_of_poisson_sampling_and_never_below_it_composed(rate, sigma):
    # Comparable relation: one row added or removed, its contribution as large as a replacement's sensitivity. The
    # remove direction then has the very profile of C_gamma for epsilon >= 0, and both directions lie under C_gamma.
    for tokens in (1, 15, 60):
        delta = rate / 300
        ours = accounting.epsilon_tight(
            TangGaussianSpec(sigma), sampling_rate=rate, composed_tokens=tokens, delta=delta
        )
        poisson = privacy_loss_distribution.from_gaussian_mechanism(
            sigma,
            sampling_prob=rate,
            value_discretization_interval=ours / 300 / math.sqrt(tokens),
            log_mass_truncation_bound=-35,
        )
        theirs = poisson.self_compose(tokens).get_epsilon_for_delta(delta)
        assert ours >= theirs * (1 - 2e-4)
        if tokens == 1:
            assert ours == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize(("name", "step"), [("agnews", 1e-4), ("trec", 2e-4), ("mit-g", 1e-5), ("mit-d", 1e-5)])
def test_an_independent_fft_composition_agrees_to_a_percent(name, step):
    spec, plan = table_row(name)
    below, above = fft_epsilon_bracket(1 / spec.sigma_eff, *plan.values(), step)
    ours = accounting.epsilon_tight(spec, **plan)
    assert below <= ours <= above
    assert above <= 1.01 * below
    assert ours <= 1.005 * (below + above) / 2


def test_monte_carlo_finds_the_same_delta_for_mit_d():
    spec, plan = table_row("mit-d")
    losses = sampled_losses(1 / spec.sigma_eff, plan["sampling_rate"], 80, 200_000, np.random.default_rng(5))
    epsilon = accounting.epsilon_tight(spec, **plan)
    excess = np.maximum(-np.expm1(epsilon - losses), 0)
    assert excess.mean() == pytest.approx(plan["delta"], abs=4 * excess.std() / math.sqrt(len(losses)))


def test_mit_d_costs_0_427_by_the_symmetric_pair_and_not_0_376_by_one_side_alone():
    spec, plan = table_row("mit-d")
    one_sided = privacy_loss_distribution.from_gaussian_mechanism(
        spec.sigma_eff, sampling_prob=plan["sampling_rate"], value_discretization_interval=2e-4
    )
    assert one_sided.self_compose(80).get_epsilon_for_delta(plan["delta"]) == pytest.approx(0.376, abs=1e-3)
    assert accounting.epsilon_tight(spec, **plan) == pytest.approx(0.427, abs=1e-3)


def test_noisy_max_composes_like_randomized_response():
    # epsilon_0 and rate chosen so that 12-ary randomized response has the same three losses.
    rate, tokens, delta = 0.05, 20, 1e-5
    epsilon0 = math.log1p(10 / (1 - rate))
    spec = TangNoisyMaxSpec(epsilon0)
    epsilon1 = math.log1p(rate * math.expm1(epsilon0))
    response = privacy_loss_distribution.from_randomized_response(
        12 / (1 + math.exp(epsilon0)), 12, value_discretization_interval=epsilon1 / 1000
    )
    ours = accounting.epsilon_tight(spec, sampling_rate=rate, composed_tokens=tokens, delta=delta)
    # The library rounds each loss up to its grid.
    theirs = response.self_compose(tokens).get_epsilon_for_delta(delta)
    assert theirs * 0.99 <= ours <= theirs


def test_noisy_max_tokens_are_a_multinomial_walk():
    rate, tokens, epsilon0, delta = 0.2, 6, 1.5, 1e-3
    step = math.log1p(rate * math.expm1(epsilon0))
    up, down = math.exp(step) / (1 + math.exp(epsilon0)), 1 / (1 + math.exp(epsilon0))
    walk = np.array([1.0])
    for _ in range(tokens):
        walk = np.convolve(walk, [down, 1 - up - down, up])
    losses = np.arange(-tokens, tokens + 1) * step
    loss = accounting.composed_loss(TangNoisyMaxSpec(epsilon0), sampling_rate=rate, composed_tokens=tokens, delta=delta)
    for epsilon in (-0.7, -0.1, 0.0, 0.3, 1.0, 1.7):
        exact = walk @ np.maximum(-np.expm1(epsilon - losses), 0)
        assert loss.delta(epsilon) == pytest.approx(exact, abs=2e-9)
        assert loss.delta(epsilon) >= exact - 1e-15


@pytest.mark.parametrize("tokens", [1, 30])
def test_delta_is_an_upper_bound_at_negative_epsilons_too(tokens):
    loss = accounting.composed_loss(TangGaussianSpec(3.0), sampling_rate=1.0, composed_tokens=tokens, delta=1e-6)
    mu = math.sqrt(tokens) / 3
    for epsilon in np.linspace(-6, 6, 25):
        exact = gaussian_delta(mu, epsilon)
        assert exact - 1e-12 <= loss.delta(epsilon) <= exact + 2e-5


def test_the_profile_is_symmetric():
    loss = accounting.composed_loss(TangGaussianSpec(0.7), sampling_rate=0.05, composed_tokens=20, delta=1e-6)
    for epsilon in (0.1, 0.5, 2.0):
        mirrored = -math.expm1(-epsilon) + math.exp(-epsilon) * loss.delta(epsilon)
        assert loss.delta(-epsilon) == pytest.approx(mirrored, abs=1e-9)


plans = st.tuples(st.floats(0.25, 12.0), st.floats(1e-4, 1.0), st.integers(1, 200), st.sampled_from([1e-3, 1e-5, 1e-8]))


@given(plans)
@settings(max_examples=20, deadline=None)
def test_less_noise_more_tokens_a_higher_rate_or_a_smaller_delta_never_cost_less(plan):
    sigma, rate, tokens, delta = plan
    spec = TangGaussianSpec(sigma)

    def cost(spec=spec, rate=rate, tokens=tokens, delta=delta):
        return accounting.epsilon_tight(spec, sampling_rate=rate, composed_tokens=tokens, delta=delta)

    base = cost()
    assert cost(spec=spec.rescaled(0.9)) >= base
    assert cost(rate=min(1.0, rate * 1.2)) >= base * (1 - 2e-4)
    assert cost(tokens=tokens * 2) >= base
    assert cost(delta=delta / 2) >= base


@given(plans)
@settings(max_examples=15, deadline=None)
def test_a_coarser_grid_never_reports_less(plan):
    sigma, rate, tokens, delta = plan
    kwargs = {"sampling_rate": rate, "composed_tokens": tokens, "delta": delta}
    fine = accounting.composed_loss(TangGaussianSpec(sigma), **kwargs)
    for resolution in (COARSE, Resolution(share=0.7, points=300, largest_step=0.3)):
        rough = accounting.composed_loss(TangGaussianSpec(sigma), resolution=resolution, **kwargs)
        assert rough.epsilon(delta) >= fine.epsilon(delta) * (1 - 1e-4)


def test_tiny_losses_are_not_rounded_up_to_the_grid():
    rate, tokens, delta = 0.5, 100, 1e-5
    ours = accounting.epsilon_tight(TangGaussianSpec(4000.0), sampling_rate=rate, composed_tokens=tokens, delta=delta)
    below, above = fft_epsilon_bracket(1 / 4000, rate, tokens, delta, 1e-8, room=24)
    assert below <= ours <= above <= 1.01 * below


def test_runs_without_sampling_add_up_like_gaussians_on_one_shared_grid():
    charges = [accounting.Charge(TangGaussianSpec(sigma), 1.0, tokens) for sigma, tokens in ((8.0, 10), (5.0, 3))]
    ours = accounting.compose_charges(charges, delta=1e-6).epsilon(1e-6)
    assert ours == pytest.approx(gaussian_epsilon(math.sqrt(10 / 64 + 3 / 25), 1e-6), rel=3e-4)


def test_two_runs_of_one_plan_cost_what_one_run_of_twice_the_tokens_does():
    charge = accounting.Charge(AnchoredSpec(1.0), 0.03, 25)
    together = accounting.compose_charges([charge, charge], delta=1e-5).epsilon(1e-5)
    double = accounting.epsilon_tight(charge.spec, sampling_rate=0.03, composed_tokens=50, delta=1e-5)
    assert together == pytest.approx(double, rel=1e-4)


def test_unlike_runs_share_a_grid_and_cost_at_least_the_dearer_one():
    gaussian = accounting.Charge(TangGaussianSpec(0.8), 0.02, 40)
    noisy_max = accounting.Charge(TangNoisyMaxSpec(2.0), 0.05, 15)
    free = accounting.Charge(PublicOnlySpec(), 0.0, 15)
    parts = [accounting.compose_charges([charge], delta=1e-5).epsilon(1e-5) for charge in (gaussian, noisy_max)]
    together = accounting.compose_charges([gaussian, noisy_max, free], delta=1e-5).epsilon(1e-5)
    assert max(parts) < together < sum(parts)


def test_losses_on_different_grids_are_not_composed():
    first = accounting.composed_loss(TangGaussianSpec(1.0), sampling_rate=0.1, composed_tokens=5, delta=1e-5)
    second = accounting.composed_loss(TangGaussianSpec(2.0), sampling_rate=0.1, composed_tokens=5, delta=1e-5)
    with pytest.raises(ConfigError, match="different grids"):
        first.compose(second)
    shared = accounting.composed_loss(
        TangGaussianSpec(2.0), sampling_rate=0.1, composed_tokens=5, delta=1e-5, step=first.step
    )
    assert first.compose(shared).epsilon(1e-5) > first.epsilon(1e-5)


def test_public_only_costs_nothing_and_unprotected_everything():
    for function in (accounting.epsilon_tight, accounting.epsilon_paper):
        assert function(PublicOnlySpec(), sampling_rate=0.1, composed_tokens=9, delta=1e-5) == 0
        assert function(UnprotectedSpec(), sampling_rate=0.1, composed_tokens=9, delta=1e-5) == math.inf
    loss = accounting.composed_loss(UnprotectedSpec(), sampling_rate=0.1, composed_tokens=9, delta=1e-5)
    assert loss.delta(50.0) == 1
    assert loss.epsilon(0.5) == math.inf
    assert accounting.composed_loss(PublicOnlySpec(), sampling_rate=0.1, composed_tokens=9, delta=1e-5).delta(0.0) == 0


@pytest.mark.parametrize("sigma", [1e-4, 1e-2, 1e7])
def test_extreme_noise_gives_a_bound_and_no_warning(sigma):
    with np.errstate(all="raise", under="ignore"):
        ours = accounting.epsilon_tight(TangGaussianSpec(sigma), sampling_rate=0.1, composed_tokens=20, delta=1e-5)
    assert ours > 100 if sigma < 1 else 0 <= ours < 1e-4


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan, math.inf, 1e-13])
def test_a_delta_that_cannot_be_served_is_refused(delta):
    with pytest.raises(ConfigError, match="delta"):
        accounting.epsilon_tight(TangGaussianSpec(1.0), sampling_rate=0.1, composed_tokens=20, delta=delta)


@pytest.mark.parametrize(("rate", "tokens"), [(0.0, 5), (1.01, 5), (math.nan, 5), (0.1, 0), (0.1, -3)])
def test_a_rate_or_token_count_out_of_bounds_is_refused(rate, tokens):
    with pytest.raises(ConfigError):
        accounting.epsilon_tight(TangGaussianSpec(1.0), sampling_rate=rate, composed_tokens=tokens, delta=1e-5)
