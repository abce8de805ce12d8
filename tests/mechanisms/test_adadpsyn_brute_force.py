"""AdaDPSyn and GoodRadius against a second implementation: plain lists and loops, written from the restated paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpicl_core.mechanisms import release_token
from dpicl_core.mechanisms.good_radius import good_radius
from dpicl_core.specs import AdaDPSynSpec
from tests.support.sources import ReplayedRandomness


def slow_distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def slow_score(points, radius, t):
    capped = sorted((min(sum(slow_distance(p, other) <= radius for other in points), t) for p in points), reverse=True)
    return sum(capped[:t]) / t


def slow_good_radius(points, t, sigma0, theta, noise):
    low, high = 0.0, math.sqrt(2) / 2
    while high - low > theta:
        middle = (low + high) / 2
        first = slow_score(points, middle, t) + 2 * sigma0 * next(noise)
        second = slow_score(points, middle / 2, t) + 2 * sigma0 * next(noise)
        if first >= t or second >= t:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def slow_clip(vector):
    positive = [max(entry, 0.0) for entry in vector]
    total = sum(positive)
    return [entry / total for entry in positive] if total > 0 else [1 / len(vector)] * len(vector)


def slow_adadpsyn(points, spec, noise):
    count, size = len(points), len(points[0])
    t = max(1, math.floor(spec.target_fraction * count + 1e-9))
    r = slow_good_radius(points, t, spec.sigma0, spec.radius_tolerance, noise)
    big_r = math.sqrt(2) / 2

    def mean_of(rows):
        return slow_clip(
            [(sum(row[j] for row in rows) + 2 * big_r * spec.sigma1 * next(noise)) / count for j in range(size)]
        )

    centre = mean_of(points)
    radii, reason = [big_r], "iterations"
    for _ in range(spec.iterations):
        rad = r + 2 * spec.margin * big_r * spec.sigma1 * math.sqrt(size) / count
        if big_r < rad:
            reason = "radius"
            break
        inside = sum(slow_distance(p, centre) <= rad for p in points)
        if inside + spec.sigma2 * next(noise) < spec.coverage * count:
            reason = "coverage"
            break
        big_r = rad
        moved = []
        for p in points:
            factor = max(1.0, slow_distance(p, centre) / big_r)
            moved.append([c + (x - c) / factor for x, c in zip(p, centre, strict=True)])
        centre = mean_of(moved)
        radii.append(big_r)
    return r, radii, reason, centre


def cloud(generator, count, size, spread):
    return generator.dirichlet(np.full(size, spread), size=count)


@pytest.mark.parametrize("seed", range(40))
def test_adadpsyn_equals_the_slow_version_under_the_same_noise(seed):
    generator = np.random.default_rng(seed)
    count, size = int(generator.integers(2, 16)), int(generator.integers(2, 12))
    points = cloud(generator, count, size, [0.1, 1.0, 30.0][seed % 3])
    spec = AdaDPSynSpec(
        sigma0=float(generator.uniform(0.01, 3)),
        sigma1=float(generator.uniform(0.005, 0.4)),
        sigma2=float(generator.uniform(0.01, 2)),
        iterations=1 + seed % 3,
        margin=float(generator.uniform(0, 0.3)),
    )
    normals = generator.normal(size=10_000).tolist()
    source = ReplayedRandomness(normals)
    outcome = release_token(spec, points, np.full(size, 1 / size), rng=source)
    r, radii, reason, centre = slow_adadpsyn(points.tolist(), spec, iter(normals))
    assert outcome.trace.good_radius == pytest.approx(r, abs=1e-12)
    assert [step.radius for step in outcome.trace.steps] == pytest.approx(radii, rel=1e-8)
    assert outcome.trace.stopped_by == reason
    assert outcome.vector == pytest.approx(centre, abs=1e-7)
    assert outcome.choice == int(np.argmax(outcome.vector))


def test_all_three_ways_to_stop_are_reached_by_the_comparison_above():
    reasons = set()
    for seed in range(40):
        generator = np.random.default_rng(seed)
        points = cloud(generator, 10, 6, [0.1, 1.0, 30.0][seed % 3])
        spec = AdaDPSynSpec(sigma0=1.0, sigma1=0.05 + 0.9 * (seed % 2), sigma2=0.3, iterations=2)
        outcome = release_token(spec, points, points[0], rng=ReplayedRandomness(generator.normal(size=10_000).tolist()))
        reasons.add(outcome.trace.stopped_by)
    assert reasons == {"radius", "coverage", "iterations"}


def test_good_radius_draws_six_noises_at_theta_a_tenth_whatever_the_points_are():
    spec = AdaDPSynSpec()
    for spread in (0.05, 1.0, 50.0):
        source = ReplayedRandomness([0.0] * 100)
        points = cloud(np.random.default_rng(0), 10, 5, spread)
        good_radius(points, 8, spec.sigma0, spec.radius_comparisons, rng=source)
        assert len(source.scales) == 6


def test_without_noise_good_radius_finds_the_cluster():
    tight = np.array([[0.5, 0.5, 0.0]] * 8 + [[0.0, 0.0, 1.0]] * 2)
    found = good_radius(tight, 8, 1e-9, 12, rng=ReplayedRandomness([0.0] * 100))
    assert found < 0.02


@pytest.mark.parametrize("theta", [0.5, 0.2, 0.1, 0.05, 0.01])
def test_the_number_of_comparisons_is_the_papers_formula(theta):
    assert AdaDPSynSpec(radius_tolerance=theta).radius_comparisons == 2 * math.ceil(
        math.log2(math.sqrt(2) / (2 * theta))
    )


def test_noise_goes_on_the_sum_with_the_scales_that_were_priced():
    points = np.full((10, 4), 0.25)
    spec = AdaDPSynSpec(sigma0=2.0, sigma1=0.01, sigma2=3.0, iterations=1, margin=0.2)
    source = ReplayedRandomness([0.0] * 200)
    outcome = release_token(spec, points, points[0], rng=source)
    radii = [step.radius for step in outcome.trace.steps]
    expected = [4.0] * 6 + [math.sqrt(2) * 0.01, 3.0, 2 * radii[1] * 0.01]
    assert source.scales == pytest.approx(expected, rel=1e-7)
    assert [scale >= wanted for scale, wanted in zip(source.scales, expected, strict=True)] == [True] * 9
