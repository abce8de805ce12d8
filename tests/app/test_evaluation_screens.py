"""Evaluate through Streamlit's own test runner, with the toy model in the child process."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpicl_core.evaluation import spread
from dpicl_core.evaluation.results import AccuracyResult, SetLine
from dpicl_core.ledger import events_of, open_ledger
from pages.support import retention, state
from pages.support.evaluation_figures import accuracy_figure, name_of
from tests.evaluation.test_playground import listening
from tests.support.ledgers import long_rows, table
from tests.support.vetting import run_in

APP = str(Path(__file__).resolve().parent.parent.parent / "app.py")
TIMEOUT = 90
INFORMED = "selection: informed by private data, not covered by the guarantee"
MEASURES = ("accuracy", "membership", "leakage", "consensus")
VIEWS = {
    "accuracy": "in-context accuracy, not DP",
    "membership": "membership inference, not DP",
    "leakage": "words shared with private rows, not DP",
    "consensus": "consensus of private next-token vectors, not DP",
    "canaries": "canaries planted in unpaid runs, not DP",
}
KEY = "sk-very-secret-key"


@pytest.fixture(scope="module", autouse=True)
def toy_server():
    patch = pytest.MonkeyPatch()
    patch.setenv(state.LOADER_VARIABLE, "tests.app.fake_models:toy")
    state.registry.clear()
    yield
    state.registry().shutdown()
    state.registry.clear()
    patch.undo()


@pytest.fixture
def ledger():
    return open_ledger()


def words(app):
    kinds = ("text", "markdown", "caption", "title", "header", "subheader")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def as_csv(rows):
    return ("kind,text\n" + "".join(f"{row.label},{row.text}\n" for row in rows)).encode()


def with_table(rows=None):
    """A session that has read the animals, as a person does."""
    app = AppTest.from_file(APP, default_timeout=TIMEOUT).run()
    app.text_area(key="data_labels").set_value("cat\ndog")
    app.text_input(key="data_label_column").set_value("kind")
    app.file_uploader[0].set_value(("animals.csv", as_csv(long_rows() if rows is None else rows), "text/csv")).run()
    app.button(key="read_table").click().run()
    return app


def on_evaluate(app, until, **parameters):
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page("pages/evaluate.py").run()
    until(lambda: "The ledger is being asked which" not in words(app.run()), 60)
    assert not app.exception
    return app


def small(app):
    """Numbers that the toy model has done with at once."""
    app.number_input(key="evaluate_rows").set_value(6)
    app.number_input(key="evaluate_seeds").set_value(2)
    app.number_input(key="evaluate_trials").set_value(2)
    app.number_input(key="evaluate_trial_rows").set_value(4)
    app.number_input(key="evaluate_real").set_value(3)
    app.number_input(key="evaluate_canary_runs").set_value(1)
    return app.run()


def measured(app, name, until):
    app.button(key=f"begin_{name}").click().run()
    stop = f"evaluate_{name}_stop"
    until(lambda: not [each for each in app.run().button if each.key == stop], 90)
    assert not app.exception
    return app


def give_held_out(app, rows):
    app.file_uploader[0].set_value(("others.csv", as_csv(rows), "text/csv")).run()
    app.button(key="held_out_read").click().run()


def views(ledger):
    with ledger.read() as connection:
        found = [event for event in events_of(connection) if event.kind == "internal-view"]
    return [(event.details["view"], event.run_id) for event in found]


def columns(app):
    return {name for each in app.dataframe for name in each.value.columns}


def test_the_empty_screen_teaches_and_a_table_without_a_run_leads_to_generate(until):
    app = AppTest.from_file(APP, default_timeout=TIMEOUT)
    app.switch_page("pages/evaluate.py").run()
    assert "It needs a run that has finished" in words(app)
    app = on_evaluate(with_table(), until)
    assert "It needs a run that has finished" in words(app)
    assert "begin_accuracy" not in [button.key for button in app.button]


def test_the_four_measures_of_a_run_are_recorded_shown_and_said_on_vet(ledger, until):
    record = run_in(ledger, shots=2, tokens=4)
    app = small(on_evaluate(with_table(), until, of=record.run_id))
    assert f'the signed file says "{INFORMED}"' in words(app)
    assert app.button(key="begin_membership").disabled
    assert "It needs held-out rows" in words(app)
    assert views(ledger) == []
    give_held_out(app, [*long_rows(40, "milk"), *long_rows()[:2]])
    assert "others.csv: 42 rows" in words(app)
    assert views(ledger) == []  # reading is not measuring
    for name in MEASURES:
        measured(app, name, until)
    assert {view for view, run in views(ledger) if run == record.run_id} == {VIEWS[name] for name in MEASURES}
    assert {"set", "in the prompt", "text", "label"} <= columns(app)
    said = words(app)
    assert "6 rows asked, the same for every set: held-out rows. Model: toy." in said
    assert "2 held-out rows left out, since the text stands in the private table too." in said
    assert "Compared with 60 rows" in said
    assert "Along one unpaid run of Tang, Gaussian at epsilon 1" in said
    # four on the run, and three on the asset for the held-out file, which shares two rows with it
    assert "the ledger records that something internal was opened (7 times" in said
    assert len(app.get("plotly_chart")) == 3
    areas = next(each.value for each in app.dataframe if "AUC" in each.value.columns)
    assert list(areas["in the prompt"]) == ["Tang, Gaussian, epsilon 1 (tight)", "A real row in the prompt"]
    assert 0.5 < float(areas["ceiling"][0]) < 1
    rows = {row.text for row in long_rows()}
    released = {demonstration.text for demonstration in record.demonstrations}
    assert not any(row in said for row in rows - released)
    app.switch_page("pages/vet.py").run()
    assert INFORMED in words(app)
    assert f"UTC: {VIEWS['membership']}" in words(app)
    task_ids = [app.session_state[f"asked_evaluate_{name}"].task_id for name in MEASURES]
    app.switch_page("pages/data.py").run()
    app.button(key="use_sample").click().run()  # another table: what was found of the last one is forgotten
    assert [state.registry().answer(task_id) for task_id in task_ids] == [None] * 4
    assert "asked_held_out" not in app.session_state


def test_without_held_out_rows_accuracy_asks_rows_of_the_table_and_says_so(ledger, until):
    record = run_in(ledger, shots=1, tokens=3)
    app = small(on_evaluate(with_table(), until, of=record.run_id))
    app.multiselect(key="evaluate_references").set_value(["0-shot"]).run()
    measured(app, "accuracy", until)
    assert "rows of the table itself, set apart" in words(app)
    measured(app, "canaries", until)
    assert "Texts were counted and forgotten" in words(app)
    assert [view for view, run in views(ledger) if run == record.run_id] == [VIEWS["accuracy"], VIEWS["canaries"]]


def test_runs_of_another_table_are_not_offered_and_runs_of_this_one_stand_beside(ledger, until):
    other = long_rows(60, "quite other food for the night")
    run_in(ledger, shots=1, tokens=3, dataset=table(other, name="others.csv"))
    first, second = run_in(ledger, shots=1, tokens=3), run_in(ledger, shots=1, tokens=4)
    app = on_evaluate(with_table(), until, of=first.run_id)
    assert app.selectbox(key="evaluate_run").value == first.run_id
    assert {option[-6:] for option in app.selectbox(key="evaluate_run").options} == {
        first.run_id[:6],
        second.run_id[:6],
    }
    beside = app.multiselect(key=f"evaluate_beside_{first.run_id}")
    assert beside.value == []  # of another session
    beside.set_value([second.run_id]).run()
    measured(app, "leakage", until)
    assert {run for _, run in views(ledger)} == {first.run_id, second.run_id}


def test_without_a_table_only_the_playground_works(ledger):
    record = run_in(ledger, shots=1, tokens=3)
    app = AppTest.from_file(APP, default_timeout=TIMEOUT)
    app.query_params["of"] = record.run_id
    app.switch_page("pages/evaluate.py").run()
    assert "only the playground works" in words(app)
    assert [each.key for each in app.button if each.key and each.key.startswith("begin_")] == []
    assert app.multiselect[0].options == ["1. Tang, Gaussian, epsilon 1 (tight)", "No demonstration (0-shot)"]


def test_the_playground_answers_side_by_side_and_real_rows_are_recorded(ledger, until):
    record = run_in(ledger, shots=1, tokens=3)
    app = on_evaluate(with_table(), until, of=record.run_id)
    sets = f"play_sets_{record.run_id}"
    app.text_area(key="play_query").set_value("**the dog** <b>number</b> was early").run()
    app.button(key="play_ask").click().run()
    until(lambda: "shares_1" in [each.key for each in app.run().dataframe] or len(app.dataframe) == 2, 60)
    assert set(app.dataframe[0].value["label"]) == {"cat", "dog"}
    assert app.dataframe[0].value["probability"].sum() == pytest.approx(1)
    assert views(ledger) == []
    app.multiselect(key=sets).set_value(["0-shot", "real-rows"]).run()
    app.button(key="play_ask").click().run()
    until(lambda: "Random real rows" in words(app.run()), 60)
    assert "internal, not DP" in str(app.markdown[-1].value)
    assert views(ledger) == [("answers with real rows in the prompt, not DP", record.run_id)]
    app.text_area(key="play_query").set_value(" ").run()
    app.button(key="play_ask").click().run()
    until(lambda: "The query is blank" in words(app.run()), 60)


def test_an_address_gets_released_texts_and_the_query_alone_and_never_real_rows(ledger, until, monkeypatch):
    record = run_in(ledger, shots=2, tokens=4)
    app = on_evaluate(with_table(), until, of=record.run_id)
    sets = f"play_sets_{record.run_id}"
    app.multiselect(key=sets).set_value(["1", "real-rows"]).run()
    app.selectbox(key="play_who").set_value("remote").run()
    assert app.multiselect(key=sets).value == ["1"]
    assert "One real row a label (internal, recorded)" not in app.multiselect(key=sets).options
    app.button(key="play_ask").click().run()
    assert "address must begin with http" in words(app)
    with listening() as (address, reached):
        app.text_input(key="remote_address").set_value(address)
        app.text_input(key="remote_model").set_value("small")
        app.text_input(key="remote_key").set_value(KEY)
        app.text_area(key="play_query").set_value("Does it bark?").run()
        preview = [element.value for element in app.text if str(element.value).startswith('{"model"')]
        app.button(key="play_ask").click().run()
        until(lambda: "Cat." in words(app.run()), 60)
    ((_, headers, body),) = reached
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert [body.decode()] == preview
    assert not any(row.text in body.decode() for row in long_rows())
    assert all(demonstration.text in body.decode() for demonstration in record.demonstrations)
    assert KEY not in words(app)
    app.button(key="play_ask").click().run()  # nobody listens any more
    until(lambda: "could not be reached" in words(app.run()), 60)
    assert views(ledger) == []
    app.switch_page("pages/verify.py").run()
    assert KEY in str(app.session_state["kept_values"])
    with monkeypatch.context() as passed:  # the table is let go of, and the key with it
        passed.setattr(retention, "is_over", lambda last, now, kept: True)
        app.run()
    assert KEY not in str(app.session_state["kept_values"])


def test_a_set_is_called_by_fixed_words_and_guessing_is_a_line_in_the_figure():
    assert name_of("adadpsyn epsilon 4 (tight), sampled") == "AdaDPSyn, epsilon 4 (tight), sampled"
    assert name_of("public-only") == "Public only"
    lines = (SetLine("0-shot", spread([0.5]), None, False), SetLine("real-rows", spread([0.4, 0.8]), None, True))
    figure = accuracy_figure(AccuracyResult(lines, "toy", 10, False, True), 4)
    assert figure.layout.shapes[0].x0 == 0.25
    assert list(figure.data[0].x) == [0.5, pytest.approx(0.6)]
    assert figure.data[0].error_x.array[0] == 0
    assert figure.data[0].error_x.array[1] == pytest.approx(0.4)  # cut at 1
