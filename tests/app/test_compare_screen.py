"""Compare through Streamlit's own test runner, with the toy model in the child process."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpicl_core.evaluation.comparison import Released, Unprotected
from dpicl_core.events import ReleasedStep, ReleasedTrace, TokenReleased
from dpicl_core.jobs import DraftView
from dpicl_core.ledger import events_of, open_ledger, run_lines
from pages.support import state
from pages.support.behind import FIGURES_VIEW, ROWS_VIEW
from pages.support.compared import MOST_COLUMNS, RUNS_PARAMETER, ids_of
from pages.support.ended import groups_of, newest_of_each
from pages.support.side_by_side import (
    Curve,
    agreement_table,
    curve,
    noise,
    overlaid,
    radius,
    radius_table,
    released_table,
)
from tests.app.fake_models import MARKUP
from tests.support.runs import ready_run
from tests.support.tables import animal_rows
from tests.support.vetting import run_in

APP = str(Path(__file__).resolve().parent.parent.parent / "app.py")
TIMEOUT = 90
# "cat" and "dog" are no words of the model: its texts cannot hold a label by chance.
STRANGE = ("**bold** <script> cat", ":red[x] $x$ dog")


@pytest.fixture(scope="module", autouse=True)
def markup_server():
    """One registry for all screens, as in a server; every word of its model is markup of some kind."""
    patch = pytest.MonkeyPatch()
    patch.setenv(state.LOADER_VARIABLE, "tests.app.fake_models:markup")
    state.registry.clear()
    yield
    state.registry().shutdown()
    state.registry.clear()
    patch.undo()


@pytest.fixture
def app():
    return AppTest.from_file(APP, default_timeout=TIMEOUT).run()


def on(page, **parameters):
    app = AppTest.from_file(APP, default_timeout=TIMEOUT)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def words(app):
    kinds = ("text", "markdown", "caption", "title", "header", "subheader")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def own_table(app, labels=("cat", "dog")):
    """Sixty rows of two labels, and a plan of two short texts."""
    rows = [(labels[at % 2], row.text) for at, row in enumerate(animal_rows())]
    app.text_area(key="data_labels").set_value("\n".join(labels))
    content = "label,text\n" + "".join(f"{label},{text}\n" for label, text in rows)
    app.file_uploader[0].set_value(("animals.csv", content.encode(), "text/csv")).run()
    app.button(key="read_table").click().run()
    app.switch_page("pages/plan.py").run()
    for key, value in (("plan_shots", 2), ("plan_subsets", 4), ("plan_per_subset", 2), ("plan_tokens", 5)):
        app.number_input(key=key).set_value(value).run()
    app.select_slider(key="plan_epsilon").set_value(1.0).run()
    return app.switch_page("pages/compare.py").run()


def spend(app, until):
    until(lambda: not app.run().button(key="compare_spend").disabled, 120)
    app.button(key="compare_spend").click().run()
    assert not app.exception
    return app


def ended(app, until, runs):
    until(lambda: f"**{runs} of {runs}** runs are over." in words(app.run()), 120)
    return app


def shown(app):
    """Ids of the address."""
    address = app.query_params[RUNS_PARAMETER]
    return ids_of(address if isinstance(address, str) else address[0])


def events(kind):
    with open_ledger().read() as connection:
        return [event for event in events_of(connection) if event.kind == kind]


def lines():
    with open_ledger().read() as connection:
        return run_lines(connection)


def test_without_a_table_it_shows_what_it_will_show_and_takes_the_sample_there():
    app = on("compare")
    assert "**Texts side by side**" in words(app)
    assert "internal, not DP" in words(app)
    app.button(key="compare_sample").click().run()
    assert not app.exception
    assert app.session_state["studio"].dataset is not None
    assert "Each mechanism spends by itself: together epsilon" in words(app)


def test_two_mechanisms_are_paid_written_opened_and_set_beside_real_rows(app, until):
    own_table(app, STRANGE)
    assert app.checkbox(key="compare_pick_new_adadpsyn").value
    until(lambda: not app.run().button(key="compare_spend").disabled, 120)
    said = words(app)
    assert "Each mechanism spends by itself: together epsilon 2, whatever happens after you press." in said
    assert said.count("alone it would leave") == 2
    assert "Charged to the new data asset animals" in said
    assert "all or none" in said
    assert lines() == []
    spend(app, until)
    first, second = shown(app)
    ended(app, until, 2)
    assert [line.state for line in lines()] == ["finished"] * 2
    assert [state.registry().snapshot(each).plan.mechanism.name for each in (first, second)] == [
        "adadpsyn",
        "tang-gaussian",
    ]
    said = words(app)
    assert "By noise a coordinate AdaDPSyn " in said
    assert "animals: " in said
    _shown_letter_by_letter(app, first)

    assert events("internal-view") == []
    app.button(key="compare_open_internal").click().run()
    until(lambda: "Mean radius of the ball" in words(app.run()), 60)
    opened = events("internal-view")
    assert {event.run_id for event in opened} == {line.id for line in lines()}
    assert [event.details for event in opened] == [{"view": FIGURES_VIEW}] * 2
    table = next(each.value for each in app.dataframe if "whole simplex" in each.value)
    assert list(table["label"]) == [*STRANGE, "average over labels"]
    assert set(table["whole simplex"]) == {"0.707"}
    assert all(0 <= float(value) <= 1.415 for name in ("AdaDPSyn", "Tang, Gaussian") for value in table[name])
    assert "By agreement with the choice made without noise AdaDPSyn " in words(app)

    rows = [row.text for row in animal_rows()]
    assert not any(row in words(app) for row in rows)
    app.button(key="compare_reveal").click().run()
    assert len(events("internal-view")) == 4
    assert events("internal-view")[-1].details == {"view": ROWS_VIEW}
    assert sum(str(element.value) in rows for element in app.text) == 2
    app.button(key="compare_hide").click().run()
    assert not any(row in words(app) for row in rows)

    app.switch_page("pages/vet.py").run()
    assert "informed by private data, not covered by the guarantee" in words(app)
    generate = on("generate", run=first)
    assert generate.button(key="open_clusters")  # another view, opened and recorded by itself


def _shown_letter_by_letter(app, run_id):
    """Labels stand in plain texts and choices alone; texts there, or in code spans, which obey nothing."""
    values = [str(element.value) for kind in ("markdown", "caption", "subheader") for element in getattr(app, kind)]
    spans = [value for value in values if any(word in value for word in MARKUP if not word.startswith(":material"))]
    text = state.registry().snapshot(run_id).drafts[0].text
    assert any(word in text for word in MARKUP)
    assert spans
    assert all(value.startswith(("`", "**`")) for value in spans)
    assert not any(label in value for value in values for label in STRANGE)
    assert sum(str(element.value) == f"1. {STRANGE[0]}" for element in app.text) >= 1


def test_a_finished_run_is_compared_with_others_and_not_paid_again(app, until):
    own_table(app)
    app.checkbox(key="compare_pick_new_tang-gaussian").uncheck().run()
    assert "Pick two mechanisms or more." in words(app)
    assert not [button for button in app.button if button.key == "compare_spend"]
    app.checkbox(key="compare_pick_new_public-only").check().run()
    ended(spend(app, until), until, 2)
    assert "reads no private row" not in words(app)
    before = lines()
    app.checkbox(key="compare_pick_adadpsyn_public-only_anchored").check().run()
    until(lambda: not app.run().button(key="compare_spend").disabled, 120)
    assert "This mechanism will spend epsilon 1, whatever happens" in words(app)
    assert "AdaDPSyn: stands here already and is not paid again" in words(app)
    spend(app, until)
    ended(app, until, 3)
    assert len(lines()) == len(before) + 1
    assert len(shown(app)) == 3
    other = on("compare", runs=".".join(shown(app)))
    assert "**3 of 3** runs are over." in words(other)
    assert "this session has no table" in words(other)
    assert not any(row.text in words(other) for row in animal_rows())
    alone = shown(app)[0]
    assert "One run so far. Pick what to compare it with" in words(on("compare", runs=alone))
    app.button(key="compare_leave").click().run()
    assert RUNS_PARAMETER not in app.query_params
    assert "Each mechanism spends by itself" in words(app)


def test_over_the_cap_one_sentence_says_so_and_there_is_no_button(app, until):
    own_table(app)
    app.number_input(key="budget_cap").set_value(1.2).run()
    until(lambda: "One mechanism alone is over it" in words(app.run()), 120)
    app.number_input(key="budget_cap").set_value(1.5).run()
    until(lambda: "does not allow these 2 runs together" in words(app.run()), 120)
    assert "Compare fewer mechanisms" in words(app)
    assert not [button for button in app.button if button.key == "compare_spend"]
    assert lines() == []


def test_runs_that_have_ended_are_put_side_by_side_from_the_ledger_without_their_vectors():
    ledger = open_ledger()
    for mechanism in ("tang-gaussian", "anchored", "tang-gaussian"):
        run_in(ledger, mechanism=mechanism, epsilon=0.5)
    run_in(ledger, epsilon=0.5, tokens=5)
    app = on("compare")
    assert len(app.multiselect[0].options) == 3
    assert len(app.multiselect[0].value) == 2
    app.button(key="compare_show").click().run()
    assert not app.exception
    said = words(app)
    assert "**2 of 2** runs are over." in said
    assert "No run here has private vectors that this server holds" in said
    assert "Tang, Gaussian: not measured here" in said
    assert not [button for button in app.button if button.key == "compare_open_internal"]


def test_an_address_that_was_guessed_and_runs_of_another_plan_are_left_out_in_words(until):
    registry = state.registry()
    ids = []
    for tokens in (4, 5):
        ready = ready_run("public-only", tokens=tokens, min_tokens=2)
        ids.append(registry.submit(ready, token=ready.run_id))
    until(lambda: all(registry.snapshot(each).state.over for each in ids))
    assert "1 run of this address cannot be shown" in words(on("compare", runs="guessed"))
    app = on("compare", runs=".".join([*ids, "guessed"]))
    said = words(app)
    assert "1 run of this address left out" in said
    assert "1 run of this address cannot be shown" in said
    assert "**1 of 1** runs are over." in said


def test_what_was_just_paid_for_is_shown_although_the_address_is_still_the_old_one(until):
    """As when a second press cuts the first one's callback short, before it has changed the address."""
    registry = state.registry()
    ids = []
    for mechanism in ("public-only", "tang-gaussian"):
        ready = ready_run(mechanism, tokens=4, min_tokens=2)
        ids.append(registry.submit(ready, token=ready.run_id))
    until(lambda: all(registry.snapshot(each).state.over for each in ids))
    app = on("compare", runs=ids[0])
    app.session_state["compare"].shown, app.session_state["compare"].newer = tuple(ids), True
    app.session_state["compare"].started = (ids[1],)
    assert "**2 of 2** runs are over." in words(app.run())
    assert shown(app) == tuple(ids)
    assert app.session_state["studio"].own_runs == (ids[1],)


def draft(*tokens):
    made = tuple(
        TokenReleased(0, at, 5, "a", ReleasedTrace(None, tuple(ReleasedStep(r, n) for r, n in steps), "single"), False)
        for at, steps in enumerate(tokens)
    )
    return DraftView(0, "cat", "a", made, None)


def test_a_curve_is_the_mean_over_demonstrations_of_each_tokens_last_step():
    drafts = (draft(((0.7, 0.4), (0.3, 0.2)), ((0.7, 0.4),)), draft(((0.5, 0.1),)))
    assert curve("AdaDPSyn", "adadpsyn", drafts, radius).points == ((1, pytest.approx(0.4)), (2, pytest.approx(0.7)))
    assert curve("AdaDPSyn", "adadpsyn", drafts, noise).points == ((1, pytest.approx(0.15)), (2, pytest.approx(0.4)))
    assert curve("Public only", "public-only", (draft((), ()),), noise).points == ()


def test_curves_lie_over_each_other_and_differ_by_more_than_colour():
    curves = tuple(
        Curve(name, name, ((1, 0.5), (2, 0.6)))
        for name in ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "adadpsyn")
    )
    figure = overlaid(curves, 8, whole_simplex=True)
    assert len(figure.data) == 5
    assert len({(trace.marker.symbol, trace.line.dash) for trace in figure.data}) == 5
    assert tuple(figure.layout.xaxis.range) == (0.4, 8.6)
    assert tuple(figure.layout.yaxis.range) == (0.0, 0.78)
    assert overlaid(curves, 8, whole_simplex=False).layout.yaxis.range[1] == pytest.approx(0.75)


def test_tables_have_a_place_for_what_is_not_there():
    one = Unprotected("adadpsyn", (("cat", 0.1),), 0.1, 0.5, 4)
    table = radius_table(["cat", "dog", "cat"], ["AdaDPSyn", "Public only"], [one, None])
    assert table == {
        "label": ["cat", "dog", "average over labels"],
        "AdaDPSyn": ["0.100", "none", "0.100"],
        "Public only": ["none"] * 3,
        "whole simplex": ["0.707"] * 3,
    }
    assert agreement_table(["AdaDPSyn", "Public only"], [one, None])["as without noise"] == ["50%", "none"]
    shown = released_table(["Public only"], [Released("public-only", 0.0, 0.0, None, None, 7)])
    assert [cells[0] for cells in shown.values()] == ["Public only", "0", "0", "none", "none", "7"]


def test_an_address_names_each_run_once_and_no_more_than_have_room():
    assert ids_of("a.b.a..c") == ("a", "b", "c")
    assert len(ids_of(".".join("abcdefgh"))) == MOST_COLUMNS
    assert ids_of("") == ()


def test_ended_runs_are_grouped_by_asset_and_plan_and_the_newest_of_each_is_proposed():
    class Run:
        def __init__(self, asset_id, mechanism, tokens=4):
            self.asset_id, self.plan = asset_id, ready_run(mechanism, tokens=tokens, min_tokens=2).plan

    runs = [Run("a", "public-only"), Run("b", "public-only"), Run("a", "public-only", 5), Run("a", "public-only")]
    ((first, second),) = groups_of(runs)
    assert (first, second) == (runs[0], runs[3])
    assert newest_of_each((first, second)) == [first]
