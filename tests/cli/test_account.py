"""`account` prices a plan from public numbers alone, in strict JSON."""

from __future__ import annotations

import json

import pytest

from dpicl_core.__main__ import main
from dpicl_core.accounting import epsilon_paper, epsilon_tight
from dpicl_core.specs import AdaDPSynSpec

PLAN = ["account", "--pool", "835", "--subsets", "20", "--per-subset", "2", "--tokens", "15", "--delta", "1.834e-4"]


def report(capsys, *options):
    assert main([*PLAN, *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_noise_by_hand_is_priced_by_both_accountants(capsys):
    noise = ("--sigma0", "10", "--sigma1", "0.89", "--sigma2", "5", "--iterations", "1")
    found = report(capsys, "--mechanism", "adadpsyn", *noise, "--grouping", "fresh")
    assert set(found) == {"sigma_eff", "noise_multipliers", "sampling_rate", "composed_tokens", "delta", "epsilon"}
    spec = AdaDPSynSpec(sigma0=10, sigma1=0.89, sigma2=5)
    assert found["sigma_eff"] == pytest.approx((6 / 100 + 2 / 0.89**2 + 1 / 25) ** -0.5)
    assert found["noise_multipliers"] == {"sigma0": 10, "sigma1": 0.89, "sigma2": 5}
    settings = {"sampling_rate": 40 / 835, "composed_tokens": 15, "delta": 1.834e-4}
    assert found["epsilon"]["tight"] == pytest.approx(epsilon_tight(spec, **settings))
    assert found["epsilon"]["paper"] == pytest.approx(epsilon_paper(spec, **settings))
    assert 0.88 * 8 <= found["epsilon"]["paper"] <= 8


@pytest.mark.parametrize("accountant", ["tight", "paper"])
@pytest.mark.parametrize("mechanism", ["adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored"])
def test_a_request_is_met_from_below(mechanism, accountant, capsys):
    found = report(capsys, "--mechanism", mechanism, "--epsilon", "4", "--accountant", accountant)
    assert 0.99 * 4 <= found["epsilon"][accountant] <= 4
    assert found["epsilon"]["tight"] <= found["epsilon"]["paper"]
    assert (found["sigma_eff"] is None) == (mechanism == "tang-noisy-max")


def test_delta_follows_its_rule_from_the_rows_of_the_whole_table(capsys):
    base = ["account", *PLAN[1:-2], "--epsilon", "4", "--json"]
    assert main(base) == 0
    assert json.loads(capsys.readouterr().out)["delta"] == 1e-4
    assert main([*base, "--rows", "5452"]) == 0
    assert json.loads(capsys.readouterr().out)["delta"] == 1e-5


def test_every_use_of_a_pool_is_charged(capsys):
    assert report(capsys, "--uses", "4", "--epsilon", "4")["composed_tokens"] == 60


def test_a_delta_above_one_over_n_can_be_accepted_by_name(capsys):
    assert main([*PLAN[:-1], "0.01", "--accept-delta", "--epsilon", "4", "--json"]) == 0
