"""Replacing one row moves each released statistic by at most the sensitivity that docs/privacy.md proves."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpicl_core.mechanisms.good_radius import capped_count_score
from dpicl_core.mechanisms.noisy_max import peak_scores
from dpicl_core.mechanisms.simplex import pairwise_distances, points_within, project_to_ball

SLACK = 1e-12


@st.composite
def neighbouring_matrices(draw):
    """Two matrices of simplex rows that differ in one row, with clustered, spread and corner points."""
    count, size = draw(st.integers(2, 9)), draw(st.integers(2, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    spread = draw(st.sampled_from([0.02, 0.3, 1.0, 20.0]))
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(size, spread), size=count)
    if draw(st.booleans()):
        rows[: count // 2] = rows[0]
    other = rows.copy()
    replaced = draw(st.integers(0, count - 1))
    other[replaced] = draw(
        st.sampled_from([np.eye(size)[draw(st.integers(0, size - 1))], generator.dirichlet(np.full(size, spread))])
    )
    return rows, other, generator


@given(neighbouring_matrices(), st.floats(0.0, 0.8), st.integers(1, 9))
@settings(max_examples=400, deadline=None)
def test_the_radius_score_moves_by_at_most_two_minus_two_over_t(pair, radius, wanted):
    rows, other, _ = pair
    t = min(wanted, len(rows))
    before = capped_count_score(pairwise_distances(rows), radius, t)
    after = capped_count_score(pairwise_distances(other), radius, t)
    assert abs(before - after) <= 2 - 2 / t + SLACK


@given(neighbouring_matrices())
@settings(max_examples=200, deadline=None)
def test_the_sum_of_rows_moves_by_at_most_the_simplex_diameter(pair):
    rows, other, _ = pair
    assert np.linalg.norm(rows.sum(axis=0) - other.sum(axis=0)) <= math.sqrt(2) + SLACK


@given(neighbouring_matrices(), st.floats(0.001, 0.7))
@settings(max_examples=300, deadline=None)
def test_the_sum_of_projected_rows_moves_by_at_most_twice_the_radius(pair, radius):
    rows, other, generator = pair
    centre = generator.dirichlet(np.ones(rows.shape[1]))
    before = project_to_ball(rows, centre, radius).sum(axis=0)
    after = project_to_ball(other, centre, radius).sum(axis=0)
    assert np.linalg.norm(before - after) <= 2 * radius + SLACK


@given(neighbouring_matrices(), st.floats(0.001, 1.0))
@settings(max_examples=200, deadline=None)
def test_the_coverage_count_moves_by_at_most_one(pair, radius):
    rows, other, generator = pair
    centre = generator.dirichlet(np.ones(rows.shape[1]))
    assert abs(points_within(rows, centre, radius) - points_within(other, centre, radius)) <= 1


@given(neighbouring_matrices())
@settings(max_examples=200, deadline=None)
def test_every_score_of_the_noisy_max_moves_by_at_most_one(pair):
    rows, other, _ = pair
    assert np.max(np.abs(peak_scores(rows) - peak_scores(other))) <= 1 + SLACK


def test_the_bounds_are_reached_so_the_properties_above_are_not_idle():
    t = 3
    clustered = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    moved = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    change = capped_count_score(pairwise_distances(clustered), 0.1, t) - capped_count_score(
        pairwise_distances(moved), 0.1, t
    )
    assert change == 3 - 5 / 3  # counts 3, 3, 3 against 2, 2, 1: exactly 2 - 2/3
    corner, opposite = np.array([[1.0, 0.0]] * 2), np.array([[1.0, 0.0], [0.0, 1.0]])
    assert np.linalg.norm(corner.sum(axis=0) - opposite.sum(axis=0)) == math.sqrt(2)
