"""The published parameter rows under both accountants."""

from __future__ import annotations

import csv

import pytest

from dpicl_core import accounting
from dpicl_core.specs import AdaDPSynSpec


def read_rows(shared):
    with (shared / "reference" / "privacy_tables.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def priced(row):
    spec = AdaDPSynSpec(
        sigma0=float(row["sigma_0"]),
        sigma1=float(row["sigma_1"]),
        sigma2=float(row["sigma_2"]),
        iterations=int(row["t_hat"]),
    )
    return accounting.price(
        spec,
        label=row["task"],
        pool_units=int(row["n_pool"]),
        units_per_token=int(row["mn"]),
        composed_tokens=int(row["t_composed"]),
        delta=1 / float(row["delta_inverse"]),
    )


def test_the_paper_accountant_returns_the_published_epsilon_or_up_to_twelve_percent_less(shared):
    rows = read_rows(shared)
    assert len(rows) >= 8
    for row in rows:
        assert 0.88 <= priced(row).epsilon_paper / float(row["epsilon_nominal"]) <= 1.00, row


def test_the_tight_accountant_costs_at_most_the_paper_accountant_on_every_row(shared):
    for row in read_rows(shared):
        price = priced(row)
        assert price.epsilon_tight <= price.epsilon_paper


def test_parameters_published_for_epsilon_eight_really_cost_between_four_point_one_and_four_point_eight(shared):
    costs = [priced(row).epsilon_tight for row in read_rows(shared) if float(row["epsilon_nominal"]) == 8]
    assert min(costs) == pytest.approx(4.2, abs=0.1)
    assert max(costs) == pytest.approx(4.7, abs=0.1)
