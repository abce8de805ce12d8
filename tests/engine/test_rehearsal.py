"""Rehearsals read no private row and count what the noise changes."""

from __future__ import annotations

import numpy as np
import pytest

from dpicl_core.language_model import ToyModel
from dpicl_core.planning import mechanism_named, plan_for
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.pseudo_records import pseudo_pool
from dpicl_core.randomness import SeededRandomness
from dpicl_core.rehearsal import Step, forecast, interval, measured_schedule, rehearse
from dpicl_core.specs import TangGaussianSpec
from tests.support.tables import ANIMALS


def test_pseudo_records_come_from_the_public_prompt_alone():
    prompts = []
    model = ToyModel(observer=lambda kind, asked: prompts.extend(asked))
    encoder = PromptEncoder(ANIMALS, model.tokenizer, 24)
    pool = pseudo_pool(encoder, model, "cat", 12, 10, rng=SeededRandomness(1))
    assert len(pool) == 12
    assert len({unit[0].text for unit in pool.units}) > 6
    assert all(unit[0].label == "cat" and unit[0].text for unit in pool.units)
    assert {len(prompt.blocks) for prompt in prompts} == {2}


def test_without_noise_nothing_changes_and_with_much_noise_most_does():
    rows = np.tile([0.1, 0.6, 0.3], (8, 1))
    steps = [Step("cat", rows, rows[0])] * 10
    quiet = forecast(steps, {None: TangGaussianSpec(sigma=1e-6)}, 1.0, rng=SeededRandomness(1))
    loud = forecast(steps, {None: TangGaussianSpec(sigma=1e3)}, 1.0, rng=SeededRandomness(1))
    assert quiet.unchanged.mean == 1.0
    assert quiet.relative_probability.mean == 1.0
    assert quiet.total_variation.mean == pytest.approx(0, abs=1e-4)
    assert loud.unchanged.mean == pytest.approx(1 / 3, abs=0.12)
    assert loud.relative_probability.mean == pytest.approx((1 / 6 + 1 + 1 / 2) / 3, abs=0.12)
    assert loud.total_variation.mean > 0.3


def test_the_interval_is_students_and_stays_within_zero_and_one():
    found = interval([0.2, 0.4, 0.6])
    assert found.mean == pytest.approx(0.4)
    assert found.low == 0.0
    assert found.high == pytest.approx(0.4 + 4.302653 * 0.2 / 3**0.5, abs=1e-6)
    assert interval([0.3]).high == 1.0


def test_the_measured_schedule_is_the_two_radii_that_hold_four_fifths_of_the_rows():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert measured_schedule([Step("cat", rows, np.array([0.8, 0.2]))]) == (0.28, 0.02)


def test_a_rehearsal_reports_every_mechanism_and_epsilon_and_less_noise_changes_less():
    specs = [mechanism_named(name) for name in ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored")]
    plan = plan_for(ANIMALS, shots=2, tokens=5, vocabulary=20)
    result = rehearse(plan, specs, [0.5, 20.0], {"cat": 400, "dog": 400}, ToyModel(), delta=1e-4)
    assert [(f.mechanism, f.epsilon) for f in result.forecasts] == [(s.name, e) for s in specs for e in (0.5, 20.0)]
    by = {(f.mechanism, f.epsilon): f for f in result.forecasts}
    for name in ("tang-gaussian", "anchored"):
        assert by[name, 20.0].unchanged.mean >= by[name, 0.5].unchanged.mean
    assert by["tang-noisy-max", 0.5].total_variation is None
    assert by["tang-noisy-max", 0.5].sigma_eff is None
    assert len(result.proposed_schedule) >= 1
