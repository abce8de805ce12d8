"""Secret noise has the scale that was asked for, and comes from OpenDP on the value itself."""

from __future__ import annotations

import math

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from dpicl_core.randomness import (
    GRANULARITY_LOG2,
    SecretRandomness,
    SeededRandomness,
    granular_sensitivity,
    noise_scale,
)


def test_vector_noise_is_gaussian_with_the_requested_scale():
    source = SecretRandomness()
    noise = np.concatenate([source.gaussian_vector(np.zeros(100), 0.7) for _ in range(60)])
    # 6,000 draws: a fault of 10% in the scale would be ten standard errors away.
    assert noise.std() == pytest.approx(0.7, rel=0.05)
    assert stats.kstest(noise / 0.7, "norm").pvalue > 1e-6


def test_noise_values_lie_on_the_exact_grid():
    noisy = SecretRandomness().gaussian_vector(np.full(50, 0.123456789), 1.0)
    scaled = noisy * 2.0**-GRANULARITY_LOG2
    assert np.array_equal(scaled, np.round(scaled))


def test_noise_is_never_the_same_twice():
    source = SecretRandomness()
    values = [value for _ in range(5) for value in source.gaussian_vector(np.zeros(20), 1.0)]
    values += [source.gaussian(0.0, 1.0) for _ in range(20)]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize(("multiplier", "radius", "size"), [(0.5, 0.7071, 100), (1.1, 0.01, 100), (3.0, 0.0025, 2000)])
def test_the_inflated_scale_covers_opendps_rounding_by_opendps_own_account(multiplier, radius, size):
    dp.enable_features("contrib")
    measurement = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size),
        dp.l2_distance(T=float),
        scale=noise_scale(multiplier, 2 * radius, size),
        k=GRANULARITY_LOG2,
    )
    zcdp_of_the_claim = 1 / (2 * multiplier**2)
    assert measurement.map(2 * radius) <= zcdp_of_the_claim


def test_rounding_to_the_grid_widens_a_distance_by_at_most_the_allowance():
    generator = np.random.default_rng(0)
    grid = 2.0**GRANULARITY_LOG2
    for _ in range(200):
        first, second = generator.normal(size=(2, 64)) * 1e-9
        rounded = np.round(first / grid) * grid - np.round(second / grid) * grid
        assert np.linalg.norm(rounded) <= granular_sensitivity(float(np.linalg.norm(first - second)), 64) + 1e-18


def test_draws_are_uniform_without_replacement():
    source = SecretRandomness()
    counts = np.zeros(12)
    for _ in range(3000):
        drawn = source.draw(12, 4)
        assert len(set(drawn)) == 4
        counts[list(drawn)] += 1
    assert stats.chisquare(counts).pvalue > 1e-6
    first = np.bincount([source.draw(5, 5)[0] for _ in range(2000)], minlength=5)
    assert stats.chisquare(first).pvalue > 1e-6


def test_the_noisy_max_follows_the_exponential_law():
    source = SecretRandomness()
    epsilon, gap = 2.0, 1.0
    wins = sum(source.noisy_max(np.array([gap, 0.0]), epsilon) == 0 for _ in range(4000))
    # Two Exponential(2/epsilon) noises: P(second wins) = exp(-gap * epsilon / 2) / 2.
    expected = 1 - math.exp(-gap * epsilon / 2) / 2
    assert wins / 4000 == pytest.approx(expected, abs=0.035)


def test_only_the_secret_source_is_private_and_the_seeded_twin_repeats_itself():
    assert SecretRandomness().private
    assert not SeededRandomness(1).private
    assert SeededRandomness(4).draw(100, 5) == SeededRandomness(4).draw(100, 5)
    assert SeededRandomness(4).gaussian(0.0, 1.0) == SeededRandomness(4).gaussian(0.0, 1.0)
