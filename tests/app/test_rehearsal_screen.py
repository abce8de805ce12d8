"""The rehearsal on Plan: free, stopped when a person says so, never shown as another plan's, taken over by a button."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpicl_core.jobs import RehearsalTask, TaskState
from dpicl_core.jobs.tasks import packed_task
from dpicl_core.ledger import home_folder, open_ledger, run_lines
from dpicl_core.planning import mechanism_named, plan_for
from dpicl_core.rehearsal import Forecast, Interval, Rehearsal, RehearsalRequest
from pages.support import state
from pages.support.choices import EPSILONS
from pages.support.rehearsal_figures import PROPOSED, agreement_figure, agreement_table, agreement_words
from pages.support.rehearsed import own_epsilon_words
from pages.support.rehearsing import EPSILONS as REHEARSED
from pages.support.rehearsing import other_plan
from pages.support.words import COLOURS, TITLES
from tests.support.tables import ANIMALS

APP = str(Path(__file__).resolve().parent.parent.parent / "app.py")
NAMES = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored")


@pytest.fixture(scope="module", autouse=True)
def toy_server():
    """One registry for all screens, as in a server."""
    patch = pytest.MonkeyPatch()
    patch.setenv(state.LOADER_VARIABLE, "tests.app.fake_models:toy")
    state.registry.clear()
    yield
    state.registry().shutdown()
    state.registry.clear()
    patch.undo()


def words(app):
    """All that the screen says."""
    kinds = ("text", "markdown", "caption", "title", "subheader")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def on_plan(until):
    """The sample's plan, made short; its price is there."""
    app = AppTest.from_file(APP, default_timeout=90).run()
    app.button(key="use_sample").click().run()
    app.switch_page("pages/plan.py").run()
    app.number_input(key="plan_shots").set_value(2).run()
    app.number_input(key="plan_tokens").set_value(6).run()
    until(lambda: "being computed" not in words(app.run()), 90)
    return app


def rehearse(app, until):
    app.button(key="rehearse_free").click().run()
    until(lambda: not app.run().button(key="rehearse_free").disabled, 120)
    return app


def a_task():
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, tokens=6, vocabulary=20)
    specs = tuple(map(mechanism_named, NAMES))
    return RehearsalTask(RehearsalRequest(plan, specs, (1.0, 4.0), (("cat", 400), ("dog", 400)), 1e-4, 4.0))


def test_a_rehearsal_answers_with_forecasts_and_a_picture_of_every_token_through_every_mechanism(registry_of, until):
    registry = registry_of("toy")
    task_id = registry.ask(a_task(), token="a")
    done = until(lambda: (seen := registry.answer(task_id)) and seen.over and seen)
    assert done.state is TaskState.DONE, done.reason
    found, tokens = done.result.found, done.result.tokens
    assert len(tokens) == found.steps
    assert [name for name, _ in tokens[0].views] == list(NAMES)
    by_name = dict(tokens[0].views)
    assert by_name["anchored"].points.shape == (ANIMALS.subsets, 2)
    assert by_name["anchored"].radius == 0.15
    assert len(by_name["anchored"].means) == 2
    assert len(by_name["tang-noisy-max"].means) == 0
    assert tokens[0].text


def test_a_rehearsal_stops_within_two_seconds_while_the_model_is_at_work(registry_of, until):
    registry = registry_of("slow")
    task_id = registry.ask(a_task(), token="a")
    seen = until(lambda: (seen := registry.answer(task_id)) and seen.stage == "writing pseudo-records" and seen)
    assert 0 < seen.fraction < 1
    pressed = time.monotonic()
    registry.stop_task(task_id)
    stopped = until(lambda: (seen := registry.answer(task_id)) and seen.over and seen)
    assert time.monotonic() - pressed < 2
    assert stopped.state is TaskState.STOPPED
    assert stopped.result is None


def test_a_plan_is_rehearsed_taken_over_and_told_from_another_and_nothing_is_spent(until):
    app = on_plan(until)
    assert "Spends nothing, reads no row" in words(app)
    rehearse(app, until)
    said = words(app)
    assert "tokens would be the same without any noise, with " in said
    assert "rows that the model wrote itself" in said
    assert "pseudo-records, no private row was read" in said
    assert "Proposed schedule for Anchored" in said
    assert not app.exception
    with open_ledger(home=home_folder()).read() as connection:
        assert run_lines(connection) == []

    sent = packed_task(RehearsalTask(app.session_state["asked_rehearsal"].about.request))
    rows = app.session_state["studio"].dataset.examples
    assert not [row for row in rows if row.text.encode() in sent]

    task_id = app.session_state["asked_rehearsal"].task_id
    found = state.registry().answer(task_id).result.found
    app.button(key="rehearsal_take").click().run()
    taken = (app.radio(key="plan_mechanism").value, app.select_slider(key="plan_epsilon").value)
    assert app.button(key="rehearsal_take").disabled
    assert taken[0] in NAMES
    assert f"**{taken[1]:g}**, by the tight accountant" in words(app)
    assert "belongs to another plan" not in words(app)

    app.button(key="rehearsal_use_schedule").click().run()
    assert app.radio(key="plan_mechanism").value == "anchored"
    radii = tuple(float(part) for part in app.text_input(key="plan_schedule").value.split(","))
    assert radii == found.proposed_schedule
    assert app.button(key="rehearsal_use_schedule").disabled
    assert "belongs to another plan" not in words(app)

    app.number_input(key="plan_subsets").set_value(8).run()
    assert "belongs to another plan: since then M changed" in words(app)
    assert app.button(key="rehearsal_use_schedule").disabled
    assert app.button(key="rehearse_free").label == "Rehearse again, free"
    rehearse(app, until)
    assert "belongs to another plan" not in words(app)
    assert app.session_state["asked_rehearsal"].task_id != task_id
    assert state.registry().answer(task_id) is None


def test_a_plan_without_a_price_cannot_be_rehearsed(until):
    app = on_plan(until)
    app.number_input(key="plan_subsets").set_value(900).run()
    assert app.button(key="rehearse_free").disabled
    assert not app.exception


def test_every_rehearsed_epsilon_is_a_stop_of_the_slider():
    assert set(REHEARSED) <= set(EPSILONS)
    assert list(EPSILONS) == sorted(set(EPSILONS))


def test_what_changed_is_listed_in_words():
    assert "since then M, N and delta changed" in other_plan(("M", "N", "delta"))
    assert "since then T_max changed" in other_plan(("T_max",))


def test_an_epsilon_that_was_not_rehearsed_is_not_called_bold(found):
    assert own_epsilon_words(found, 4.0) == "The epsilon of the plan is bold."
    assert own_epsilon_words(found, 3.2).startswith("The plan's epsilon, 3.2, was not rehearsed itself")
    assert "<b>" not in str(agreement_figure(found, 3.2).layout.xaxis.ticktext)


def shares(*means):
    return [Interval(mean, mean - 0.05, mean + 0.05) for mean in means]


@pytest.fixture
def found():
    forecasts = tuple(
        Forecast(name, epsilon, 1.0, share, share, None)
        for name, (low, high) in {"tang-noisy-max": (0.5, 0.9), "anchored": (0.6, 0.8)}.items()
        for epsilon, share in zip((1.0, 4.0), shares(low, high), strict=True)
    )
    proposed = tuple(
        Forecast("anchored", e, 1.0, s, s, None) for e, s in zip((1.0, 4.0), shares(0.7, 0.85), strict=True)
    )
    return Rehearsal(96, 8, 4.0, forecasts, (0.30, 0.15), (0.2, 0.1), proposed, Interval(0.75, 0.6, 0.9))


def test_the_chart_has_a_line_with_intervals_for_each_mechanism_and_a_band_for_the_public_prompt(found):
    figure = agreement_figure(found, 4.0)
    lines = {trace.name: trace for trace in figure.data if trace.name}
    assert list(lines) == ["Public only", "Tang, noisy max", "Anchored", PROPOSED]
    assert list(lines["Anchored"].y) == [0.6, 0.8]
    assert list(lines["Anchored"].error_y.array) == pytest.approx([0.05, 0.05])
    assert list(lines[PROPOSED].y) == [0.7, 0.85]
    assert set(lines["Public only"].y) == {0.75}
    band = next(trace for trace in figure.data if not trace.name)
    assert (min(band.y), max(band.y)) == (0.6, 0.9)
    looks = [(trace.line.color, trace.line.dash, trace.marker.symbol) for trace in lines.values()]
    assert len({dash for _, dash, _ in looks}) == len({symbol for _, _, symbol in looks}) == len(looks)
    assert {trace.line.color for trace in lines.values()} <= set(COLOURS.values())
    assert list(figure.layout.xaxis.ticktext) == ["1", "<b>epsilon 4</b>"]


def test_no_line_is_drawn_twice_where_the_plans_own_schedule_is_the_proposed_one(found):
    figure = agreement_figure(replace(found, proposed_schedule=(0.30, 0.15)), 4.0)
    assert PROPOSED not in [trace.name for trace in figure.data]


def test_the_chart_is_there_in_words_and_as_a_table_too(found):
    assert "Anchored 60% at epsilon 1 to 80% at epsilon 4" in agreement_words(found)
    assert "Public only 75% without any row" in agreement_words(found)
    table = agreement_table(found)
    assert table["mechanism"] == [TITLES["tang-noisy-max"], TITLES["anchored"], PROPOSED, "Public only"]
    assert table["epsilon 4"] == ["90% (85% to 95%)", "80% (75% to 85%)", "85% (80% to 90%)", "75% (60% to 90%)"]
