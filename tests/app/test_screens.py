"""Every screen through Streamlit's own test runner, with the toy model in the child process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.support import state
from pages.support import table as table_support
from pages.support.bought import drowns
from pages.support.text import loss
from tests.support.tables import ANIMALS, animal_rows

APP = str(Path(__file__).resolve().parent.parent.parent / "app.py")
TIMEOUT = 90
ONWARD = {"to_plan": "pages/plan.py", "to_generate": "pages/generate.py", "plan_to_data": "pages/data.py"}


@pytest.fixture(scope="module", autouse=True)
def toy_server():
    """One registry for all screens, as in a server."""
    patch = pytest.MonkeyPatch()
    patch.setenv(state.LOADER_VARIABLE, "tests.app.fake_models:toy")
    state.registry.clear()
    yield state.registry()
    state.registry().shutdown()
    state.registry.clear()
    patch.undo()


@pytest.fixture
def app():
    return AppTest.from_file(APP, default_timeout=TIMEOUT).run()


def words(app):
    """All that the screen says."""
    kinds = ("text", "markdown", "caption", "title", "header", "subheader")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def press(app, key):
    """Press a button, or follow a link onward."""
    if key in ONWARD:
        return app.switch_page(ONWARD[key]).run()
    return app.button(key=key).click().run()


def with_sample(app):
    return press(app, "use_sample")


def own_table(rows=None):
    rows = animal_rows() if rows is None else rows
    return "label,text\n" + "".join(f"{row.label},{row.text}\n" for row in rows)


def upload(app, content, *, labels="cat\ndog", name="animals.csv"):
    app.text_area(key="data_labels").set_value(labels)
    app.file_uploader[0].set_value((name, content.encode(), "text/csv")).run()
    return press(app, "read_table")


def finished(app, until):
    def look():
        app.run()
        return app.get("download_button")

    until(look, 90)
    return app


def test_each_empty_screen_teaches_and_leads_back(app):
    assert "No table yet" in words(app)
    app.switch_page("pages/plan.py").run()
    assert "needs a table first" in words(app)
    press(app, "plan_to_data")
    assert app.button(key="use_sample")
    app.switch_page("pages/generate.py").run()
    assert "needs a table and a plan first" in words(app)
    assert not app.exception


def test_the_sample_is_understood_with_one_click(app):
    with_sample(app)
    said = words(app)
    assert "2,400 rows kept" in said
    assert "UTF-8" in said
    assert "unit: row" in said
    assert not app.exception


def test_a_refused_file_is_told_with_its_line_and_without_its_text(app):
    upload(app, own_table() + "cat,a marmot,too many\n")
    assert "Refused" in words(app)
    assert "line 62" in words(app)
    assert "marmot" not in words(app)


def test_the_columns_of_a_table_with_other_headings_are_chosen_from_a_list(app):
    upload(app, own_table().replace("text", "Message", 1).replace("label", "Kind", 1))
    assert "the 2 cells of the first line are not shown" in words(app)
    assert 'choose the columns under "Columns and unit", above' in words(app)
    assert app.selectbox(key="data_text_column").options == ["(found by its name)", "Kind", "Message"]
    app.selectbox(key="data_text_column").set_value("Message").run()
    app.selectbox(key="data_label_column").set_value("Kind").run()
    press(app, "read_table")
    assert "60 rows kept" in words(app)
    assert not app.exception


@pytest.mark.parametrize("units", [5, 19, 20, 200, 4000])
def test_groups_of_an_own_task_follow_its_pools_and_a_rare_label_does_not_shrink_them(units):
    task = table_support.sized(ANIMALS, (("cat", units), ("dog", 400)))
    assert (task.subsets, task.per_subset) == (20 if units in (5, 19, 4000) else 10, 1)
    assert table_support.sized(ANIMALS, (("cat", 0), ("dog", 2))) == ANIMALS


def test_undeclared_labels_are_refused_or_left_out_on_request(app):
    table = own_table() + "heron,waded\n"
    upload(app, table)
    assert "the label list lacks" in words(app)
    assert "heron" not in words(app)
    app.checkbox(key="data_leave_out").check()
    press(app, "read_table")
    assert "60 rows kept" in words(app)


def test_a_label_in_double_quotes_keeps_the_blanks_around_it(app):
    table = own_table().replace("cat,", '" cat",')
    upload(app, table)
    assert "the label list lacks" in words(app)
    app.text_area(key="data_labels").set_value('" cat"\ndog').run()
    press(app, "read_table")
    assert "60 rows kept" in words(app)


def test_the_plan_shows_a_price_at_once_and_follows_the_slider(app, until):
    press(with_sample(app), "to_plan")
    assert "**4**, by the tight accountant" in words(app)
    app.select_slider(key="plan_epsilon").set_value(1.0).run()
    assert "**1**, by the tight accountant" in words(app)
    assert "this run at most 1" in words(app)
    until(lambda: "being computed" not in words(app.run()), 90)
    assert "Tang's at the same privacy loss" in words(app)


def test_noise_that_drowns_every_vote_is_said_before_anything_is_spent(app):
    press(with_sample(app), "to_plan")
    app.radio(key="plan_mechanism").set_value("tang-gaussian").run()
    assert "noise is as large as the votes" not in words(app)
    app.select_slider(key="plan_epsilon").set_value(0.1).run()
    assert "noise is as large as the votes" in words(app)
    app.radio(key="plan_mechanism").set_value("public-only").run()
    assert "noise is as large as the votes" not in words(app)


def test_a_run_that_reads_no_row_is_confirmed_as_one_that_pays_nothing(app, until):
    press(with_sample(app), "to_plan")
    app.radio(key="plan_mechanism").set_value("public-only").run()
    press(app, "to_generate")
    until(lambda: "which pays nothing" in words(app.run()), 60)
    assert "gives nothing back" not in words(app)
    assert "Charged to" not in words(app)


@pytest.mark.parametrize(
    ("mechanism", "says"), [("tang-noisy-max", "winner of a noisy vote"), ("public-only", "No private row is read")]
)
def test_a_run_without_radius_and_noise_says_why_in_the_place_of_empty_charts(app, until, mechanism, says):
    press(with_sample(app), "to_plan")
    app.radio(key="plan_mechanism").set_value(mechanism).run()
    for key, value in (("plan_shots", 1), ("plan_tokens", 2)):
        app.number_input(key=key).set_value(value).run()
    press(app, "to_generate")
    until(lambda: not app.run().button(key="spend").disabled, 90)
    press(app, "spend")
    finished(app, until)
    assert says in words(app)
    assert not app.get("plotly_chart")


@pytest.mark.parametrize("noise", [0.05, 0.25, 0.4, 1.5])
def test_where_noise_is_said_to_drown_the_votes_a_unanimous_choice_is_often_lost(noise):
    draws = np.random.default_rng(7).normal(scale=noise, size=(2000, 100))
    draws[:, 0] += 1
    share = np.mean(np.argmax(draws, axis=1) != 0)
    assert drowns(noise, 100) == (share > 0.25)


@pytest.mark.parametrize("mechanism", ["adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "public-only"])
def test_every_mechanism_has_five_sentences_and_a_price(app, mechanism):
    press(with_sample(app), "to_plan")
    app.radio(key="plan_mechanism").set_value(mechanism).run()
    assert sum(str(element.value).startswith("- ") for element in app.markdown) == 5
    assert "Refused" not in words(app)
    assert not app.exception


def test_the_prompt_preview_follows_the_instruction(app):
    press(with_sample(app), "to_plan")
    app.text_area(key="plan_instruction").set_value("Write as a **clerk** <b>would</b>.").run()
    shown = [str(element.value) for element in app.text]
    assert sum("Write as a **clerk** <b>would</b>." in text for text in shown) == 2
    assert not any("clerk" in str(element.value) for element in app.markdown)


def test_wrong_settings_are_refused_in_one_sentence(app):
    press(with_sample(app), "to_plan")
    app.text_input(key="plan_delta").set_value("0.5").run()
    assert "delta must be at most 1/n" in words(app)
    app.text_input(key="plan_delta").set_value("").run()
    app.number_input(key="plan_subsets").set_value(900).run()
    assert "One token draws 900 units" in words(app)


def test_values_of_a_screen_come_back_after_leaving_it(app):
    press(with_sample(app), "to_plan")
    app.select_slider(key="plan_epsilon").set_value(2.0).run()
    app.number_input(key="plan_shots").set_value(2).run()
    app.switch_page("pages/data.py").run()
    assert "2 demonstrations" in words(app)
    app.switch_page("pages/plan.py").run()
    assert app.select_slider(key="plan_epsilon").value == 2.0
    assert app.number_input(key="plan_shots").value == 2


def test_a_run_is_confirmed_watched_and_exported(app, until):
    press(with_sample(app), "to_plan")
    app.number_input(key="plan_shots").set_value(2).run()
    app.number_input(key="plan_tokens").set_value(5).run()
    press(app, "to_generate")
    assert "This run will spend epsilon 4, whatever happens" in words(app)
    until(lambda: not app.run().button(key="spend").disabled, 90)
    press(app, "spend")
    run_id = app.session_state["studio"].run_id
    assert run_id in app.query_params["run"]
    finished(app, until)
    assert "Replacing one row" in words(app)
    assert "left of asset sample_messages: " in words(app)
    record = state.registry().snapshot(run_id).record
    assert record.plan.tokens == 5
    assert not app.exception


def test_a_run_is_opened_by_its_address_alone_and_shows_no_private_row(app, until):
    upload(app, own_table())
    press(app, "to_plan")
    for key, value in (("plan_shots", 1), ("plan_subsets", 2), ("plan_per_subset", 1), ("plan_tokens", 4)):
        app.number_input(key=key).set_value(value).run()
    press(app, "to_generate")
    until(lambda: not app.run().button(key="spend").disabled, 90)
    press(app, "spend")
    other = AppTest.from_file(APP, default_timeout=TIMEOUT)
    other.query_params["run"] = app.session_state["studio"].run_id
    other.switch_page("pages/generate.py").run()
    finished(other, until)
    assert "No table yet" in words(other)
    assert "was late for food" not in words(other)
    assert "animals.csv" not in words(other)


def test_an_address_that_was_guessed_shows_nothing(app):
    app.query_params["run"] = "guessed"
    app.switch_page("pages/generate.py").run()
    assert "There is no run of this address" in words(app)


def test_the_cluster_picture_is_closed_until_it_is_opened_on_purpose(app, until):
    press(with_sample(app), "to_plan")
    app.number_input(key="plan_shots").set_value(1).run()
    app.number_input(key="plan_tokens").set_value(3).run()
    press(app, "to_generate")
    until(lambda: not app.run().button(key="spend").disabled, 90)
    press(app, "spend")
    finished(app, until)
    run_id = app.session_state["studio"].run_id
    assert state.registry().snapshot(run_id).opened_views == ()
    press(app, "open_clusters")
    until(lambda: state.registry().diagnostics(run_id))
    assert "Opened and recorded on this run: cluster picture" in words(app.run())


def test_two_sessions_never_see_each_others_rows_or_labels(app):
    upload(app, own_table(), name="first.csv")
    other = AppTest.from_file(APP, default_timeout=TIMEOUT).run()
    upload(
        other, "label,text\n" + "owl,the owl hooted at noon\nwren,a wren sang\n" * 20, labels="owl\nwren", name="b.csv"
    )
    for one, foreign in ((app, ("owl", "wren", "b.csv")), (other, ("cat", "dog", "first.csv"))):
        for page in ("pages/data.py", "pages/plan.py", "pages/generate.py"):
            one.switch_page(page).run()
            shown = words(one) + str([list(table.value.itertuples()) for table in one.dataframe])
            assert not [word for word in foreign if word in shown]


def test_an_unexpected_error_is_shown_and_logged_by_its_kind_alone(app, monkeypatch, caplog):
    with_sample(app)
    secret = "the marmot under the blue staircase"

    def fail(*_):
        raise KeyError(secret)

    monkeypatch.setattr("pages.support.understood._notices", fail)
    app.run()
    assert "KeyError" in words(app)
    assert secret not in words(app)
    assert secret not in caplog.text
    assert not app.exception


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [(7.0949, "7.1"), (3.9991, "4"), (4.0, "4"), (0.10001, "0.101"), (12.3401, "12.4"), (0.9996, "1"), (0, "0")],
)
def test_a_privacy_loss_is_never_shown_smaller_than_it_is(epsilon, shown):
    assert loss(epsilon) == shown
    assert float(loss(epsilon)) >= epsilon
