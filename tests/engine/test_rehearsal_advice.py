"""The rule that recommends a mechanism and an epsilon, on answers small enough to check by hand."""

from __future__ import annotations

import pytest

from dpicl_core.rehearsal import (
    Forecast,
    Interval,
    Rehearsal,
    plan_is_worse,
    recommend,
    schedule_sentence,
    sentences,
)
from dpicl_core.rehearsal.advice import in_words

WIDTH = 0.05


def around(mean, width=WIDTH):
    return Interval(mean, max(0.0, mean - width), min(1.0, mean + width))


def rehearsal(shares, *, public=0.5, steps=96, at=1.0, own=(0.30, 0.15), proposed=(0.30, 0.15), new=0.8, width=WIDTH):
    """shares: by mechanism, at epsilon 1, 2 and 4."""
    forecasts = tuple(
        Forecast(name, epsilon, 1.0, around(mean, width), around(mean), None)
        for name, means in shares.items()
        for epsilon, mean in zip((1.0, 2.0, 4.0), means, strict=True)
    )
    schedule = tuple(Forecast("anchored", epsilon, 1.0, around(new), around(new), None) for epsilon in (1.0, 2.0, 4.0))
    return Rehearsal(steps, 8, at, forecasts, own, proposed, schedule, around(public))


def test_the_smallest_epsilon_that_keeps_nine_of_ten_is_taken_with_the_mechanism_that_keeps_most():
    advice = recommend(rehearsal({"tang-gaussian": (0.5, 0.91, 0.99), "anchored": (0.8, 0.93, 0.95)}))
    assert (advice.mechanism, advice.epsilon, advice.reached) == ("anchored", 2.0, True)
    assert advice.unchanged.mean == 0.93


def test_nine_of_ten_exactly_is_enough_and_a_little_less_is_not():
    assert recommend(rehearsal({"anchored": (0.9, 0.9, 0.9)})).epsilon == 1.0
    assert recommend(rehearsal({"anchored": (0.899, 0.9, 0.9)})).epsilon == 2.0


def test_where_none_reaches_it_the_plans_own_epsilon_is_looked_at_and_no_epsilon_is_recommended():
    found = rehearsal({"tang-gaussian": (0.1, 0.2, 0.3), "anchored": (0.3, 0.5, 0.7)}, at=2.0)
    advice = recommend(found)
    assert (advice.mechanism, advice.epsilon, advice.reached) == ("anchored", 2.0, False)
    said = sentences(found, advice)
    assert said[0].startswith("Up to epsilon 4 no mechanism left 9 of 10 tokens unchanged. At epsilon 2, 5 of 10")


def test_intervals_that_touch_are_named_and_intervals_apart_are_a_clear_lead():
    near = rehearsal({"adadpsyn": (0.2, 0.3, 0.4), "tang-gaussian": (0.85, 0.9, 0.9), "anchored": (0.95, 1.0, 1.0)})
    advice = recommend(near)
    assert advice.tied == ("tang-gaussian",)  # 0.80 to 0.90 against 0.90 to 1.00
    assert sentences(near, advice, titled=str.upper)[1] == (
        "The interval of TANG-GAUSSIAN overlaps with it, so no mechanism is clearly better here."
    )
    apart = rehearsal({"tang-gaussian": (0.84, 0.9, 0.9), "anchored": (0.95, 1.0, 1.0)})
    assert recommend(apart).tied == ()
    assert "do not overlap" in sentences(apart, recommend(apart))[1]


def test_of_equals_the_one_named_first_is_taken_and_all_rivals_are_listed():
    found = rehearsal({"a": (0.95,) * 3, "b": (0.95,) * 3, "c": (0.93,) * 3})
    advice = recommend(found)
    assert (advice.mechanism, advice.tied) == ("a", ("b", "c"))
    assert sentences(found, advice)[1].startswith("The intervals of b and c overlap")


def test_one_mechanism_alone_has_no_rivals_to_speak_of():
    found = rehearsal({"anchored": (0.9, 0.9, 0.9)})
    assert recommend(found).alone
    assert len(sentences(found, recommend(found))) == 3


@pytest.mark.parametrize(("public", "needed"), [(0.9, False), (0.899, True)])
def test_private_data_may_not_be_needed_where_the_public_prompt_keeps_nine_of_ten(public, needed):
    found = rehearsal({"anchored": (0.95, 0.95, 0.95)}, public=public)
    advice = recommend(found)
    assert advice.public_may_do is not needed
    assert ("private data may not be needed" in sentences(found, advice)[-2]) is not needed


def test_a_public_prompt_that_keeps_as_many_as_the_mechanism_is_said_below_the_threshold_too():
    found = rehearsal({"anchored": (0.6, 0.7, 0.8)}, public=0.6)
    said = sentences(found, recommend(found))[-2]
    assert "no fewer than anchored at epsilon 1" in said
    assert "may not be needed" not in said
    assert "flatters" in said


def test_a_plan_that_keeps_clearly_less_than_no_data_or_than_another_mechanism_is_told():
    found = rehearsal({"adadpsyn": (0.3, 0.6, 0.75), "anchored": (0.7, 0.9, 0.95)}, public=0.8)
    assert plan_is_worse(found, "adadpsyn", 1.0, titled=str.upper).startswith(
        "this plan does worse than no data at all: ADADPSYN leaves 3 of 10 tokens unchanged at epsilon 1, while"
    )
    assert plan_is_worse(found, "anchored", 1.0) == ""  # 0.65 to 0.75 against the public prompt's 0.75 to 0.85
    assert plan_is_worse(found, "adadpsyn", 4.0) == (
        "adadpsyn leaves 7 of 10 tokens unchanged at epsilon 4; "
        "anchored leaves 19 of 20 tokens at the same privacy loss."
    )
    assert plan_is_worse(found, "anchored", 4.0) == ""
    assert plan_is_worse(found, "public-only", 1.0) == plan_is_worse(found, "adadpsyn", 3.0) == ""  # not rehearsed


def test_few_tokens_are_called_few_and_what_was_tried_is_never_called_the_rows():
    many, few = (rehearsal({"anchored": (0.9,) * 3}, steps=steps) for steps in (30, 29))
    assert "which is few" in sentences(few, recommend(few))[-1]
    assert "which is few" not in sentences(many, recommend(many))[-1]
    assert "rows that the model wrote itself" in sentences(many, recommend(many))[-1]


def test_the_recommendation_reads_as_a_sentence_with_its_interval():
    found = rehearsal({"anchored": (0.85, 0.91, 0.95)})
    assert sentences(found, recommend(found), titled=str.title)[0] == (
        "At epsilon 2, 9 of 10 tokens would be the same without any noise, with Anchored (86% to 96%)."
    )


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "nearly all tokens"),
        (0.99, "nearly all tokens"),
        (0.989, "19 of 20 tokens"),
        (0.949, "9 of 10 tokens"),
        (0.9, "9 of 10 tokens"),
        (0.899, "8 of 10 tokens"),
        (0.1, "1 of 10 tokens"),
        (0.09, "fewer than 1 of 10 tokens"),
    ],
)
def test_shares_are_rounded_down_in_words(share, words):
    assert in_words(share) == words


def test_a_schedule_is_set_against_the_plans_own_and_a_tie_is_called_one():
    shares = {"anchored": (0.7, 0.8, 0.9)}
    assert "No other schedule did better" in schedule_sentence(rehearsal(shares))
    better = schedule_sentence(rehearsal(shares, proposed=(0.2, 0.1), new=0.9))
    assert better == (
        "At epsilon 1, Anchored with the radii 0.2, 0.1 left 9 of 10 tokens unchanged (85% to 95%); with the plan's "
        "radii, 7 of 10 tokens (65% to 75%)."
    )
    assert "not clearly better" in schedule_sentence(rehearsal(shares, proposed=(0.2, 0.1), new=0.75))
    alone = schedule_sentence(rehearsal({"tang-gaussian": (0.7, 0.8, 0.9)}, own=None, proposed=(0.3,)))
    assert alone == "At epsilon 1, Anchored with the radii 0.3 left 8 of 10 tokens unchanged (75% to 85%)."
