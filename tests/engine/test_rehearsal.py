"""Rehearsals read no private row, count what the noise changes, and say how sure that is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dpicl_core.accounting import epsilon_tight
from dpicl_core.errors import ConfigError
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import mechanism_named, plan_for
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.pseudo_records import SIDE_BY_SIDE, pseudo_pool
from dpicl_core.randomness import SeededRandomness
from dpicl_core.rehearsal import (
    RehearsalRequest,
    Step,
    forecast,
    interval,
    judge,
    measured_schedule,
    noise_draws,
    noise_for,
    rehearse,
    rehearsed_tokens,
)
from dpicl_core.specs import AnchoredSpec, TangGaussianSpec
from tests.support.tables import ANIMALS

NAMES = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored")


def request_of(epsilons=(0.5, 20.0), names=NAMES, units=(("cat", 400), ("dog", 400)), **settings):
    plan = plan_for(ANIMALS, **{"shots": 2, "tokens": 5, "vocabulary": 20, "mechanism": "tang-gaussian", **settings})
    specs = tuple(map(mechanism_named, names))
    return RehearsalRequest(plan, specs, epsilons, units, 1e-4, epsilons[0])


@pytest.fixture(scope="module")
def rehearsed():
    told = []
    found, steps = rehearse(request_of(), ToyModel(), progress=lambda stage, share: told.append((stage, share)))
    return found, steps, told


def test_pseudo_records_come_from_the_public_prompt_alone_and_tell_their_progress():
    prompts, told = [], []
    model = ToyModel(observer=lambda kind, asked: prompts.extend((kind, prompt) for prompt in asked))
    encoder = PromptEncoder(ANIMALS, model.tokenizer, 24)
    many = SIDE_BY_SIDE + 6
    pool = pseudo_pool(encoder, model, "cat", many, 10, rng=SeededRandomness(1), tell=told.append)
    assert len(pool) == many
    assert len({unit[0].text for unit in pool.units}) > 20
    assert all(unit[0].label == "cat" and unit[0].text for unit in pool.units)
    assert {(kind, len(prompt.blocks)) for kind, prompt in prompts} == {("public", 2)}
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)


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


@pytest.mark.parametrize("many", [1, 3, 15, 96])
def test_tokens_that_all_agree_are_no_certainty_but_clopper_and_pearsons_bound(many):
    low = stats.beta.ppf(0.025, many, 1)
    assert interval([1.0] * many).low == pytest.approx(low)
    assert interval([1.0] * many).high == 1.0
    assert interval([0.0] * many).high == pytest.approx(1 - low)


def test_draws_on_a_token_are_few_where_tokens_are_many_or_the_radius_search_is_slow():
    assert [noise_draws(steps, 10) for steps in (10, 96, 1000)] == [20, 8, 4]
    assert [noise_draws(10, subsets) for subsets in (50, 100, 1000)] == [20, 5, 4]


def test_the_measured_schedule_is_the_two_radii_that_hold_four_fifths_of_the_rows():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert measured_schedule([Step("cat", rows, np.array([0.8, 0.2]))]) == (0.28, 0.02)


def test_the_noise_of_every_mechanism_costs_what_was_asked_in_every_pool():
    request = request_of((2.0,), units=(("cat", 400), ("dog", 60)), shots=3)
    noise, plan = noise_for(request), request.plan
    for spec in request.mechanisms:
        for label, units in request.pool_units:
            terms = {"sampling_rate": plan.sampling_rate(units), "composed_tokens": plan.composed_tokens(label)}
            cost = epsilon_tight(noise.specs(spec, 2.0)[label], **terms, delta=1e-4)
            assert 0.998 * 2.0 <= cost <= 2.0 * (1 + 1e-6)


def test_a_schedule_that_was_not_asked_for_needs_no_other_calibration():
    noise = noise_for(request_of((2.0,), names=("tang-noisy-max",)))
    own = noise.specs(TangGaussianSpec(), 2.0)["cat"]
    other = noise.specs(AnchoredSpec(schedule=(0.4, 0.2, 0.1)), 2.0)["cat"]
    assert other.sigma_eff == pytest.approx(own.sigma_eff)
    assert other.sigma1 == pytest.approx(own.sigma_eff * 3**0.5)


def test_a_rehearsal_reports_every_mechanism_and_epsilon_and_less_noise_changes_less(rehearsed):
    found, steps, _ = rehearsed
    assert [(f.mechanism, f.epsilon) for f in found.forecasts] == [(name, e) for name in NAMES for e in (0.5, 20.0)]
    by = {(f.mechanism, f.epsilon): f for f in found.forecasts}
    for name in ("tang-gaussian", "anchored"):
        assert by[name, 20.0].unchanged.mean >= by[name, 0.5].unchanged.mean
    assert by["tang-noisy-max", 0.5].total_variation is None
    assert by["tang-noisy-max", 0.5].sigma_eff is None
    assert [f.epsilon for f in found.proposed] == [0.5, 20.0]
    assert (found.steps, found.at) == (len(steps), 0.5)


def test_the_rehearsed_tokens_follow_the_choice_without_noise(rehearsed):
    _, steps, _ = rehearsed
    first = [step for step in steps if step.label == "cat"]
    assert [step.position for step in first] == list(range(len(first)))
    assert all(later.text.startswith(earlier.text) for earlier, later in pairwise(first))
    assert {step.rows.shape for step in steps} == {(ANIMALS.subsets, 20)}


def test_progress_never_falls_ends_at_one_and_is_told_after_every_token_and_draw(rehearsed):
    found, _, told = rehearsed
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["working out the noise", "writing pseudo-records", "rehearsing tokens", "trying the noise"]
    assert sum(stage == "trying the noise" for stage, _ in told) >= found.steps * len(found.forecasts)


def test_what_progress_raises_ends_the_rehearsal_in_any_stage():
    class Stopped(Exception):
        pass

    def until(stage):
        def tell(now, share):
            if now == stage:
                raise Stopped

        return tell

    for stage in ("working out the noise", "writing pseudo-records", "rehearsing tokens", "trying the noise"):
        with pytest.raises(Stopped):
            rehearse(request_of((1.0,), names=("tang-gaussian",)), ToyModel(), progress=until(stage))


def test_the_plans_own_schedule_is_proposed_unless_another_one_does_better():
    rows = np.tile([0.05, 0.9, 0.05], (8, 1))  # so clear a winner that no schedule can do better
    steps = [Step("cat", rows, rows[0]), Step("dog", rows, rows[0])] * 5
    request = replace(
        request_of((20.0,), names=("anchored",)), mechanisms=(AnchoredSpec(schedule=(0.2, 0.05)),), delta=1e-2
    )
    found = judge(noise_for(request), steps, rng=SeededRandomness(3))
    assert found.forecasts[0].unchanged.mean == 1.0
    assert found.proposed_schedule == found.own_schedule == (0.2, 0.05)
    assert not found.proposes_another
    assert found.public_unchanged.mean == 1.0


def test_long_plans_are_rehearsed_on_their_first_tokens():
    plan = plan_for(ANIMALS, shots=2, tokens=100)
    assert rehearsed_tokens(plan) == 80
    assert rehearsed_tokens(replace(plan, tokens=15)) == 15
    assert rehearsed_tokens(replace(plan, target_labels=("cat",) * 40)) == 100


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"names": ()}, "at least one"),
        ({"names": ("anchored", "public-only")}, "mechanisms with noise"),
        ({"names": ("anchored", "anchored")}, "each mechanism once"),
        ({"epsilons": (2.0, 1.0)}, "must rise"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_words(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        request_of(**settings)


def test_a_pool_that_is_too_small_is_refused_before_the_model_works():
    asked = []
    model = ToyModel(observer=lambda kind, prompts: asked.append(kind))
    with pytest.raises(ConfigError, match="has 5 units"):
        rehearse(request_of(units=(("cat", 400), ("dog", 5))), model)
    assert asked == []
