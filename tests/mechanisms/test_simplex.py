"""The two ways back to the simplex, checked against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpicl_core.mechanisms.simplex import clip_and_rescale, euclidean_projection, pairwise_distances, project_to_ball

vectors = st.lists(st.floats(-5, 5, allow_nan=False), min_size=1, max_size=12).map(np.array)


@given(vectors)
@settings(max_examples=300, deadline=None)
def test_the_euclidean_projection_satisfies_the_optimality_conditions(vector):
    projected = euclidean_projection(vector)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-9)
    shift = vector - projected
    support = projected > 1e-12
    level = shift[support].mean()
    assert shift[support] == pytest.approx(np.full(support.sum(), level), abs=1e-7)
    assert np.all(shift[~support] <= level + 1e-7)


def test_the_euclidean_projection_equals_a_general_solver():
    generator = np.random.default_rng(3)
    for _ in range(5):
        vector = generator.normal(0.2, 0.5, size=5)
        solved = minimize(
            lambda point, vector=vector: np.sum((point - vector) ** 2),
            np.full(5, 0.2),
            bounds=[(0, None)] * 5,
            constraints={"type": "eq", "fun": lambda point: point.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert euclidean_projection(vector) == pytest.approx(solved.x, abs=1e-6)


@given(vectors)
@settings(max_examples=200, deadline=None)
def test_clip_and_rescale_lands_on_the_simplex_and_is_uniform_where_nothing_is_positive(vector):
    clipped = clip_and_rescale(vector)
    assert clipped.min() >= 0
    assert clipped.sum() == pytest.approx(1)
    if vector.max() <= 0:
        assert clipped == pytest.approx(np.full(len(vector), 1 / len(vector)))


def test_points_inside_the_ball_stay_and_points_outside_land_on_its_surface():
    centre = np.array([0.5, 0.5])
    rows = np.array([[0.5, 0.5], [0.6, 0.4], [1.0, 0.0]])
    moved = project_to_ball(rows, centre, 0.2)
    assert moved[:2] == pytest.approx(rows[:2])
    assert np.linalg.norm(moved[2] - centre) == pytest.approx(0.2)


def test_distances_equal_their_definition_and_no_bit_of_one_depends_on_a_third_row():
    generator = np.random.default_rng(4)
    rows = generator.dirichlet(np.full(50, 0.2), 30)
    distances = pairwise_distances(rows)
    expected = [[np.sqrt(np.sum((a - b) ** 2)) for b in rows] for a in rows]
    assert distances == pytest.approx(np.array(expected), abs=1e-14)
    assert not distances.diagonal().any()
    changed = pairwise_distances(np.vstack([rows[:7], generator.dirichlet(np.ones(50)), rows[8:]]))
    others = np.arange(30) != 7
    assert np.array_equal(distances[np.ix_(others, others)], changed[np.ix_(others, others)])
