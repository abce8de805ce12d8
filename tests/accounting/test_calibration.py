"""Calibration lands just under the request, on the private side, whatever the mechanism."""

from __future__ import annotations

import math

import pytest

from dpicl_core import accounting
from dpicl_core.accounting.calibration import settle
from dpicl_core.errors import ConfigError
from dpicl_core.specs import (
    AdaDPSynSpec,
    AnchoredSpec,
    PublicOnlySpec,
    TangGaussianSpec,
    TangNoisyMaxSpec,
    UnprotectedSpec,
)

COST = {"tight": accounting.epsilon_tight, "paper": accounting.epsilon_paper}
PLANS = [
    # pool, M*N, tokens, delta, epsilon
    (60, 40, 15, 1e-3, 0.5),
    (835, 40, 15, 1e-5, 4.0),
    (2953, 40, 80, 1e-5, 1.0),
    (120_000, 20, 100, 1e-7, 8.0),
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("template", [AdaDPSynSpec(), TangNoisyMaxSpec(), AnchoredSpec()])
def test_tight_noise_lands_in_the_last_thousandth_under_the_request(plan, template):
    pool, drawn, tokens, delta, epsilon = plan
    kwargs = {"sampling_rate": drawn / pool, "composed_tokens": tokens, "delta": delta}
    spec = accounting.calibrate(template, epsilon=epsilon, accountant="tight", **kwargs)
    assert 0.999 * epsilon <= accounting.epsilon_tight(spec, **kwargs) <= epsilon


@pytest.mark.parametrize(
    ("plan", "template"),
    [(PLANS[0], TangGaussianSpec()), (PLANS[3], TangGaussianSpec()), (PLANS[1], TangNoisyMaxSpec())],
)
def test_paper_noise_lands_in_the_last_thousandth_under_the_request(plan, template):
    pool, drawn, tokens, delta, epsilon = plan
    kwargs = {"sampling_rate": drawn / pool, "composed_tokens": tokens, "delta": delta}
    spec = accounting.calibrate(template, epsilon=epsilon, accountant="paper", **kwargs)
    assert 0.999 * epsilon <= accounting.epsilon_paper(spec, **kwargs) <= epsilon


def test_a_hundredth_less_noise_costs_more_than_the_request():
    kwargs = {"sampling_rate": 0.02, "composed_tokens": 40, "delta": 1e-5}
    spec = accounting.calibrate(TangGaussianSpec(), epsilon=2.0, **kwargs)
    assert accounting.epsilon_tight(spec.rescaled(0.99), **kwargs) > 2.0


def test_tight_needs_a_seventh_to_a_third_less_noise_than_paper():
    for pool, drawn, tokens, delta, epsilon in (PLANS[1], PLANS[2]):
        kwargs = {"sampling_rate": drawn / pool, "composed_tokens": tokens, "delta": delta, "epsilon": epsilon}
        tight = accounting.calibrate(TangGaussianSpec(), accountant="tight", **kwargs)
        by_paper = accounting.calibrate(TangGaussianSpec(), accountant="paper", **kwargs)
        assert 0.6 < tight.sigma / by_paper.sigma < 0.9


def test_the_proportions_of_the_template_are_kept_and_its_scale_is_not():
    template = AdaDPSynSpec(sigma0=12, sigma1=0.9, sigma2=6)
    kwargs = {"sampling_rate": 0.05, "composed_tokens": 15, "delta": 1e-5, "epsilon": 3.0}
    spec = accounting.calibrate(template, **kwargs)
    assert spec.sigma0 / spec.sigma1 == pytest.approx(12 / 0.9, rel=1e-9)
    assert spec.sigma2 / spec.sigma1 == pytest.approx(6 / 0.9, rel=1e-9)
    assert accounting.calibrate(template.rescaled(1000), **kwargs).sigma1 == pytest.approx(spec.sigma1, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 60.0])
def test_requests_far_from_the_usual_ones_are_met_too(epsilon):
    kwargs = {"sampling_rate": 0.3, "composed_tokens": 3, "delta": 1e-6}
    for template in (TangGaussianSpec(), TangNoisyMaxSpec()):
        spec = accounting.calibrate(template, epsilon=epsilon, **kwargs)
        assert 0.999 * epsilon <= accounting.epsilon_tight(spec, **kwargs) <= epsilon


@pytest.mark.parametrize("template", [PublicOnlySpec(), UnprotectedSpec()])
def test_a_mechanism_without_noise_cannot_be_calibrated(template):
    with pytest.raises(ConfigError, match="no noise to calibrate"):
        accounting.calibrate(template, sampling_rate=0.1, composed_tokens=5, delta=1e-5, epsilon=1.0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(ConfigError, match="epsilon must be"):
        accounting.calibrate(TangGaussianSpec(), sampling_rate=0.1, composed_tokens=5, delta=1e-5, epsilon=epsilon)


def test_a_delta_that_already_covers_every_draw_needs_no_noise_and_says_so():
    with pytest.raises(ConfigError, match="almost no noise already stays under epsilon 1"):
        accounting.calibrate(TangGaussianSpec(), sampling_rate=0.001, composed_tokens=5, delta=0.01, epsilon=1.0)


def test_an_unknown_accountant_is_refused():
    with pytest.raises(ConfigError, match="tight or paper"):
        accounting.calibrate(
            TangGaussianSpec(), sampling_rate=0.1, composed_tokens=5, delta=1e-5, epsilon=1.0, accountant="moments"
        )


@pytest.mark.parametrize("power", [0.3, 1.0, 6.0, 40.0])
@pytest.mark.parametrize("start", [-2.0, 0.0, 3.0])
def test_the_search_settles_on_steep_and_on_flat_functions(power, start):
    calls = []

    def epsilon_at(log_noise):
        calls.append(log_noise)
        return math.exp(-power * (log_noise - 0.1)) + 0.1

    found = settle(epsilon_at, start, 2.0)
    assert 0.999 * 2 <= epsilon_at(found) <= 2
    assert len(calls) < 40


def test_where_epsilon_jumps_over_the_request_the_search_stays_on_the_private_side():
    found = settle(lambda log_noise: 3.0 if log_noise < 1 else 0.5, 0.0, 2.0)
    assert 1 <= found <= 1 + 1e-5


def test_an_epsilon_that_never_falls_under_the_request_is_reported():
    with pytest.raises(ConfigError, match="no noise was found"):
        settle(lambda log_noise: 3.0, 0.0, 2.0)
