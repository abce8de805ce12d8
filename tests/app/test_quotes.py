"""Prices beside the slider: quick numbers at once, slow ones later, and the same as a run is charged."""

from __future__ import annotations

import time

import pytest

from dpicl_core.jobs import QuoteBook, QuoteRequest
from dpicl_core.jobs.quotes import quick_quote, slow_quote
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.tasks import task_named

TREC_ROWS = (
    ("Number", 896), ("Location", 835), ("Person", 1223), ("Description", 1162), ("Entity", 1250), ("Abbreviation", 86),
)  # fmt: skip


def request(mechanism="tang-gaussian", epsilon=4.0, units=TREC_ROWS, **settings):
    return QuoteRequest(plan_for(task_named("trec"), mechanism, **settings), units, 1e-5, epsilon)


def completed(book, asked, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (found := book.quote(asked)).complete:
            return found
        time.sleep(0.05)
    raise AssertionError("the slow numbers never came")


@pytest.mark.parametrize("mechanism", ["adadpsyn", "tang-noisy-max", "anchored"])
def test_a_quote_is_what_the_run_is_charged(mechanism):
    asked = request(mechanism, shots=1)
    found = completed(QuoteBook(), asked)
    [price] = price_plan(asked.plan, dict(asked.pool_units), delta=1e-5, epsilon=4.0)
    assert found.epsilon_tight == price.epsilon_tight
    assert found.epsilon_paper == pytest.approx(price.epsilon_paper)
    assert len(found.sayings) == 4


def test_tight_numbers_come_before_the_papers():
    first = QuoteBook().quote(request(epsilon=2.7, shots=2))
    assert 2.69 < first.epsilon_tight <= 2.7
    assert first.epsilon_paper is None
    assert first.sayings is None


def test_a_rare_label_is_named_and_costs_more_noise():
    found = quick_quote(request(shots=2, targets=("Number", "Abbreviation")), {})
    by_label = {label.label: label for label in found.labels}
    assert by_label["Abbreviation"].sampling_rate == pytest.approx(40 / 86)
    assert by_label["Abbreviation"].noise > 2 * by_label["Number"].noise
    assert not by_label["Person"].target


def test_a_pool_smaller_than_one_draw_is_a_problem_in_one_sentence():
    found = quick_quote(request(units=(("Number", 12), *TREC_ROWS[1:]), shots=1), {})
    assert "40" in found.problem
    assert "Number" in found.problem
    assert found.epsilon_tight is None


def test_the_public_mechanism_costs_nothing():
    found = QuoteBook().quote(request("public-only"))
    assert (found.epsilon_tight, found.epsilon_paper, found.complete) == (0.0, 0.0, True)


def test_the_surest_guess_over_labels_is_the_one_that_is_told():
    asked = request(shots=2, targets=("Number", "Abbreviation"))
    specs = {}
    quick = quick_quote(asked, specs)
    assert f"{quick.best_guess_percent:.0f}" in " ".join(slow_quote(asked, quick, specs).sayings)
