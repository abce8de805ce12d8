"""Every neighbouring relation on data sets small enough to list all samples: no claim is exceeded.

One number per row and token, drawn rows summed, Gaussian noise with the sensitivity as its unit; or a two-candidate
noisy max. The divergences below enumerate the samples and know nothing of the accountants.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpicl_core import accounting
from dpicl_core.specs import TangGaussianSpec, TangNoisyMaxSpec

GRID = np.linspace(-9.0, 13.0, 1101)
CELL = GRID[1] - GRID[0]
EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 1.7)
ROUNDING = 2e-6
"""Error of the Riemann sums."""


def sum_density(values, drawn, sigma):
    """Density on GRID of the noisy sum over a uniformly drawn subset of `values`."""
    subsets = list(itertools.combinations(values, drawn))
    return sum(stats.norm.pdf(GRID, sum(subset), sigma) for subset in subsets) / len(subsets)


def person_density(persons, drawn, sigma):
    """The same where persons are drawn, each giving one of her values, drawn anew."""
    total, count = np.zeros_like(GRID), 0
    for subset in itertools.combinations(persons, drawn):
        choices = list(itertools.product(*subset))
        total += sum(stats.norm.pdf(GRID, sum(choice), sigma) for choice in choices) / len(choices)
        count += 1
    return total / count


def divergence(upper, lower, epsilon):
    """Hockey-stick divergence of two product densities, each given as its two factors on GRID."""
    gap = np.outer(*upper) - math.exp(epsilon) * np.outer(*lower)
    return np.maximum(gap, 0).sum() * CELL**2


def assert_covered(first, second, claim):
    for epsilon in EPSILONS:
        for upper, lower in ((first, second), (second, first)):
            assert divergence(upper, lower, epsilon) <= claim.delta(epsilon) + ROUNDING


def label_change_loss(spec, bounds, drawn, tokens):
    charges = accounting.label_change_charges(
        spec, lower_bounds=bounds, units_per_token=drawn, composed_tokens=dict.fromkeys(bounds, tokens)
    )
    return accounting.worst_loss(charges, delta=1e-6)


random_pools = np.random.default_rng(11)
OTHER_ROWS = {
    "all zero": ([0.0] * 3, [0.0] * 3),
    "all one": ([1.0] * 3, [1.0] * 3),
    "mixed": ([0.0, 0.3, 1.0], [0.8, 0.0, 0.1, 0.5]),
    "random": (list(random_pools.random(4)), list(random_pools.random(3))),
}


@pytest.mark.parametrize("rows", OTHER_ROWS.values(), ids=OTHER_ROWS)
@pytest.mark.parametrize("sigma", [0.6, 1.5])
@pytest.mark.parametrize(("drawn", "moving"), [(2, (1.0, 1.0)), (2, (1.0, 0.0)), (3, (0.0, 1.0)), (2, (0.4, 0.9))])
def test_a_unit_that_changes_its_label_is_covered_by_both_pools_at_their_lower_bounds(rows, sigma, drawn, moving):
    left, right = rows
    leaves, arrives = moving
    before = (sum_density([*left, leaves], drawn, sigma), sum_density(right, drawn, sigma))
    after = (sum_density(left, drawn, sigma), sum_density([*right, arrives], drawn, sigma))
    bounds = {"left": len(left), "right": len(right)}
    assert_covered(before, after, label_change_loss(TangGaussianSpec(sigma), bounds, drawn, 1))


@pytest.mark.parametrize("sigma", [0.6, 1.5])
def test_a_data_set_one_unit_short_of_its_bounds_is_still_covered(sigma):
    before = (sum_density([0.0] * 3 + [1.0], 2, sigma), sum_density([0.0] * 3, 2, sigma))
    after = (sum_density([0.0] * 3, 2, sigma), sum_density([0.0] * 3 + [1.0], 2, sigma))
    assert_covered(before, after, label_change_loss(TangGaussianSpec(sigma), {"left": 4, "right": 4}, 2, 1))


def test_one_pool_alone_would_not_cover_a_change_of_label():
    before = (sum_density([0.0] * 4 + [1.0], 2, 1.0), sum_density([0.0] * 4, 2, 1.0))
    after = (sum_density([0.0] * 4, 2, 1.0), sum_density([0.0] * 4 + [1.0], 2, 1.0))
    one_pool = accounting.composed_loss(TangGaussianSpec(1.0), sampling_rate=2 / 4, composed_tokens=1, delta=1e-6)
    assert any(divergence(before, after, epsilon) > one_pool.delta(epsilon) + 1e-3 for epsilon in EPSILONS)


@pytest.mark.parametrize("values", [[0.0] * 3, [1.0] * 3, [0.0, 0.5, 1.0]])
@pytest.mark.parametrize(("out", "into"), [((1, 0), (0, 1)), ((1, 1), (0, 0)), ((0.2, 0.9), (0.9, 0.1))])
@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_a_replaced_row_is_covered_over_two_tokens_that_read_different_things(values, out, into, sigma):
    first, second = (tuple(sum_density([*values, row[token]], 2, sigma) for token in range(2)) for row in (out, into))
    rate = 2 / (len(values) + 1)
    claim = accounting.composed_loss(TangGaussianSpec(sigma), sampling_rate=rate, composed_tokens=2, delta=1e-6)
    assert_covered(first, second, claim)


@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_a_replaced_person_with_several_rows_is_covered_at_the_rate_of_persons(sigma):
    others = [(0.0, 0.4), (1.0,), (0.2, 0.2, 0.9)]
    first = tuple(person_density([*others, person], 2, sigma) for person in ((1.0, 1.0, 1.0), (0.7, 0.9)))
    second = tuple(person_density([*others, person], 2, sigma) for person in ((0.0,), (0.0, 0.3)))
    claim = accounting.composed_loss(TangGaussianSpec(sigma), sampling_rate=2 / 4, composed_tokens=2, delta=1e-6)
    assert_covered(first, second, claim)


def noisy_max_outcomes(rows, drawn, epsilon0, tokens):
    """Probabilities of all sequences of `tokens` winners among two candidates; each row's larger score is 1."""
    wins = []
    for subset in itertools.combinations(rows, drawn):
        lead = sum(row[0] - row[1] for row in subset)
        # The difference of two exponential variables of scale 2/epsilon0 is a Laplace variable of that scale.
        wins.append(stats.laplace.cdf(lead, scale=2 / epsilon0))
    probability = float(np.mean(wins))
    return [
        math.prod(probability if first else 1 - probability for first in sequence)
        for sequence in itertools.product((True, False), repeat=tokens)
    ]


def discrete_divergence(upper, lower, epsilon):
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in zip(upper, lower, strict=True))


@pytest.mark.parametrize("epsilon0", [0.5, 2.0])
@pytest.mark.parametrize("tokens", [1, 3])
def test_noisy_max_is_covered_when_a_row_is_replaced_and_when_it_changes_its_label(epsilon0, tokens):
    spec = TangNoisyMaxSpec(epsilon0)
    left, right = [(1.0, 0.0), (0.5, 1.0), (1.0, 1.0)], [(1.0, 0.2)] * 3
    leaves, arrives = (1.0, 0.0), (0.0, 1.0)
    replaced = accounting.composed_loss(spec, sampling_rate=2 / 4, composed_tokens=tokens, delta=1e-6)
    one, other = (noisy_max_outcomes([*left, row], 2, epsilon0, tokens) for row in (leaves, arrives))
    moved = label_change_loss(spec, {"left": 3, "right": 3}, 2, tokens)
    before = np.outer(one, noisy_max_outcomes(right, 2, epsilon0, tokens)).ravel()
    after = np.outer(
        noisy_max_outcomes(left, 2, epsilon0, tokens), noisy_max_outcomes([*right, arrives], 2, epsilon0, tokens)
    ).ravel()
    for epsilon in EPSILONS:
        for upper, lower in ((one, other), (other, one)):
            assert discrete_divergence(upper, lower, epsilon) <= replaced.delta(epsilon) + 1e-12
        for upper, lower in ((before, after), (after, before)):
            assert discrete_divergence(upper, lower, epsilon) <= moved.delta(epsilon) + 1e-12
