"""Groups fixed for a run, on pools small enough to list all partitions and draws: the price is never exceeded.

Each token adds up one number per drawn group, with Gaussian noise that has the sensitivity as its unit. The densities
below average over every secret partition, after multiplying the tokens that share it; they know no accountant.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpicl_core import accounting
from dpicl_core.sampling import sampling_rate
from dpicl_core.specs import TangGaussianSpec

GRID = np.linspace(-8.0, 11.0, 501)
CELL = GRID[1] - GRID[0]
EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 1.7, 2.5, 4.0, 5.0)
ROUNDING = 5e-6


def partitions(units, size):
    """Every way to put units 0..n-1 into floor(n/size) groups; the same partition may come up in several orders."""
    count = units // size
    for order in itertools.permutations(range(units), count * size):
        groups = [order[size * number : size * (number + 1)] for number in range(count)]
        if all(group == tuple(sorted(group)) for group in groups) and groups == sorted(groups):
            yield groups


def token_density(groups, values, drawn, sigma):
    """Density on GRID of the noisy sum over uniformly drawn groups; a group counts as much as its largest row."""
    scores = [max(values[unit] for unit in group) for group in groups]
    sums = [sum(chosen) for chosen in itertools.combinations(scores, drawn)]
    return sum(stats.norm.pdf(GRID, total, sigma) for total in sums) / len(sums)


def run_density(values_by_token, size, drawn, sigma):
    """Joint density of two tokens, (len(GRID), len(GRID)), averaged over the partition that both share."""
    first, second = values_by_token
    total, count = 0.0, 0
    for groups in partitions(len(first), size):
        total = total + np.outer(*(token_density(groups, values, drawn, sigma) for values in (first, second)))
        count += 1
    return total / count


def divergence(upper, lower, epsilon):
    return np.maximum(upper - math.exp(epsilon) * lower, 0).sum() * CELL**2


def excess(first, second, claim):
    """The largest amount by which a divergence of either direction exceeds the claim."""
    return max(
        divergence(upper, lower, epsilon) - claim.delta(epsilon)
        for epsilon in EPSILONS
        for upper, lower in ((first, second), (second, first))
    )


def claim_at(rate, sigma):
    return accounting.composed_loss(TangGaussianSpec(sigma), sampling_rate=rate, composed_tokens=2, delta=1e-6)


OTHERS = {"zero": [0.0] * 4, "one": [1.0] * 4, "mixed": [0.0, 0.3, 1.0, 0.1]}


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("sigma", [0.5, 1.5])
@pytest.mark.parametrize(("units", "size", "drawn"), [(5, 2, 1), (5, 2, 2), (4, 2, 1), (5, 1, 2), (4, 3, 1)])
def test_a_replaced_row_is_covered_over_two_tokens_of_one_partition(others, sigma, units, size, drawn):
    claim = claim_at(sampling_rate(units, drawn * size, size), sigma)
    rows = others[: units - 1]
    before, after = (run_density(([*rows, a], [*rows, b]), size, drawn, sigma) for a, b in ((1.0, 1.0), (0.0, 0.4)))
    assert excess(before, after, claim) <= ROUNDING


def test_the_rate_of_fresh_subsets_would_not_cover_a_partition_with_rows_left_over():
    before, after = (run_density(([0.0] * 4 + [row],) * 2, 2, 1, 0.5) for row in (1.0, 0.0))
    assert excess(before, after, claim_at(2 / 5, 0.5)) > 1e-3
    assert excess(before, after, claim_at(1 / 2, 0.5)) <= ROUNDING


@pytest.mark.parametrize("sigma", [0.5, 1.5])
@pytest.mark.parametrize(("units", "size", "drawn"), [(4, 2, 1), (5, 2, 2), (5, 2, 1), (4, 1, 2)])
def test_a_row_that_leaves_the_pool_is_covered_at_the_rate_of_the_larger_version(sigma, units, size, drawn):
    """One pool of a change of label: where N divides n, a whole group comes and goes with the row."""
    claim = claim_at(sampling_rate(units, drawn * size, size), sigma)
    for rows, leaving in (([0.0, 0.2, 0.0, 0.5], 1.0), ([1.0, 0.7, 1.0, 1.0], 0.0)):
        kept = rows[: units - 1]
        with_it, without = (run_density((values, values), size, drawn, sigma) for values in ([*kept, leaving], kept))
        assert excess(with_it, without, claim) <= ROUNDING


def test_every_unit_is_left_over_equally_often():
    left = [set(range(5)) - {unit for group in groups for unit in group} for groups in partitions(5, 2)]
    assert [sum(unit in rest for rest in left) for unit in range(5)] == [len(left) // 5] * 5
