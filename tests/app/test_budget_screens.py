"""The budget on the screens: whose it is, what is left, what it refuses, and runs that were interrupted."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from dpicl_core.charged_runs import AssetChoice, pay, prepare_run
from dpicl_core.data import declare_labels, read_dataset
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import AssetTerms, asset_reports, create_asset, events_of, open_ledger, run_lines, stored_run
from dpicl_core.planning import plan_for
from dpicl_core.rounding import percent_left
from dpicl_core.runs import request_for
from dpicl_core.values import PrivacyUnit
from tests.app.test_screens import APP, TIMEOUT, app, finished, own_table, press, toy_server, upload, words
from tests.support.tables import ANIMALS, animal_rows

__all__ = ["app", "toy_server"]

SMALL = (("plan_shots", 2), ("plan_subsets", 4), ("plan_per_subset", 2), ("plan_tokens", 6))


def to_confirmation(app, until, *, epsilon=None, content=None, name="animals.csv"):
    """Read a table, plan a small run, and wait until the confirmation has its answer."""
    upload(app, own_table() if content is None else content, name=name)
    press(app, "to_plan")
    for key, value in SMALL:
        app.number_input(key=key).set_value(value)
    if epsilon is not None:
        app.select_slider(key="plan_epsilon").set_value(epsilon)
    app.run()
    press(app, "to_generate")
    return answered(app, until)


def answered(app, until):
    """Until the confirmation is a button that can be pressed, or a refusal."""

    def look():
        said = words(app.run())
        return "is being asked" not in said and ("Refused" in said or not app.button(key="spend").disabled)

    until(look, 90)
    return app


def session():
    return AppTest.from_file(APP, default_timeout=TIMEOUT).run()


def in_the_ledger(what):
    with open_ledger().read() as connection:
        return what(connection)


def lines():
    return in_the_ledger(run_lines)


def the_dataset(name="animals.csv"):
    return declare_labels(read_dataset(own_table().encode(), name=name), ("cat", "dog"))


def spent_before(epsilon, *, cap=None):
    """A run that somebody else paid for, on the same rows."""
    data = the_dataset()
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2)
    choice = None if cap is None else AssetChoice(cap=cap)
    return pay(prepare_run(data, plan, request_for(data, epsilon), asset=choice), ToyModel().info)[0]


def test_the_confirmation_names_the_new_asset_its_cap_and_what_would_be_left(app, until):
    to_confirmation(app, until)
    said = words(app)
    assert "nothing spent from this table yet" in said
    assert "Charged to the new data asset animals of" in said
    assert "cap epsilon 8 at delta 0.001 over all runs, Renyi filter" in said
    assert "Spent so far: 0% of the cap. After this run: " in said
    assert in_the_ledger(asset_reports) == []
    assert not app.exception


def test_the_terms_of_a_new_asset_are_signed_on_the_screen_and_stand_for_every_later_session(app, until):
    to_confirmation(app, until, epsilon=1.0)
    app.text_input(key="budget_name").set_value("Clinic <b>notes</b>").run()
    app.text_input(key="budget_owner").set_value("Ada").run()
    app.number_input(key="budget_cap").set_value(20.0).run()
    app.radio(key="budget_rule").set_value("sum").run()
    answered(app, until)
    assert "Charged to the new data asset Clinic <b>notes</b> of Ada: cap epsilon 20" in words(app)
    assert "plain sum" in words(app)
    assert in_the_ledger(asset_reports) == []
    press(app, "spend")
    finished(app, until)
    [report] = in_the_ledger(asset_reports)
    signed = report.asset
    assert (signed.name, signed.owner, signed.epsilon, signed.rule) == ("Clinic <b>notes</b>", "Ada", 20.0, "sum")
    assert report.epsilon_spent == pytest.approx(1.0, rel=0.02)
    other = to_confirmation(session(), until, epsilon=1.0, name="again.csv")
    said = words(other)
    assert "left of asset Clinic <b>notes</b>: 90%" in said
    assert "By its rows this table belongs to data asset Clinic <b>notes</b>, which Ada answers for." in said
    assert "Charged to data asset Clinic <b>notes</b> of Ada" in said
    assert "Spent so far: 10% of the cap. After this run: 80% left." in said  # of delta, ten of which add up
    assert not [field for field in other.text_input if field.key == "budget_name"]
    assert not other.exception


def test_a_table_that_the_ledger_does_not_know_is_added_to_an_asset_by_its_name(app, until):
    spent_before(1.0)
    birds = "label,text\n" + "".join(f"cat,an owl of number {i} sang in the park\ndog,a wren {i}\n" for i in range(30))
    to_confirmation(app, until, content=birds, name="birds.csv", epsilon=1.0)
    app.selectbox(key="budget_charge_to").set_value("animals").run()
    answered(app, until)
    assert "Charged to data asset animals" in words(app)


def test_over_the_cap_one_sentence_says_what_is_left_and_a_click_takes_a_smaller_plan(app, until):
    spent_before(3.0, cap=4)
    to_confirmation(app, until, epsilon=4.0)
    said = words(app)
    assert "Refused" in said
    assert "the cap of asset animals (epsilon 4 at delta 0.001) does not allow this run" in said
    assert "Nothing was spent or drawn. These would fit: " in said
    assert "--" not in said
    assert not [button for button in app.button if button.key == "spend"]
    offered = [button for button in app.button if str(button.key).startswith("smaller_")]
    assert offered
    for number in range(len(offered)):
        taken = to_confirmation(session(), until, epsilon=4.0)
        press(taken, f"smaller_{number}")
        answered(taken, until)
        assert "Refused" not in words(taken), offered[number].label
        assert not taken.button(key="spend").disabled


def test_a_table_that_meets_two_assets_needs_a_named_person_and_a_reason(app, until):
    spent_before(0.5)
    rows = [row.text for row in animal_rows(240)[120:]]
    content = "label,text\n" + "".join(f"{('cat', 'dog')[i % 2]},{text}\n" for i, text in enumerate(rows))
    other = declare_labels(read_dataset(content.encode(), name="others.csv"), ("cat", "dog"))
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2)
    pay(prepare_run(other, plan, request_for(other, 0.5)), ToyModel().info)
    both = own_table() + "".join(f"{('cat', 'dog')[i % 2]},{text}\n" for i, text in enumerate(rows))
    to_confirmation(app, until, content=both, epsilon=0.5)
    assert "shares rows or persons with 2 assets" in words(app)
    assert "decide on Generate" in words(app)
    app.selectbox(key="budget_charge_to").set_value("animals").run()
    app.text_input(key="budget_decider").set_value("Dr. Bo").run()
    assert "All three are needed" in words(app)
    app.text_input(key="budget_reason").set_value("a header that stands in both").run()
    answered(app, until)
    assert "By exception, recorded for good: Dr. Bo: a header that stands in both" in words(app)
    press(app, "spend")
    finished(app, until)
    [event] = [event for event in in_the_ledger(events_of) if event.kind == "match-overridden"]
    assert event.details == {"reason": "Dr. Bo: a header that stands in both"}


def test_persons_are_counted_by_the_stored_assignment_and_the_run_uses_it(app, until):
    rows = animal_rows(240)
    content = "label,text,who\n" + "".join(f"{row.label},{row.text},p{i // 4}\n" for i, row in enumerate(rows))
    data = declare_labels(read_dataset(content.encode(), name="a.csv", person_column="who"), ("cat", "dog"))
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, unit=PrivacyUnit.PERSON)
    pay(prepare_run(data, plan, request_for(data, 0.5)), ToyModel().info)
    app.text_input(key="data_person_column").set_value("who").run()
    to_confirmation(app, until, content=content, epsilon=0.5)
    counts = dict(app.session_state["studio"].unit_counts)
    press(app, "spend")
    finished(app, until)
    runs = [in_the_ledger(lambda connection, line=line: stored_run(connection, line.id)) for line in lines()]
    used = [{price.label: price.pool_units for price in run.prices} for run in runs]
    assert used[0] == used[1] == counts
    assert sum(counts.values()) == 60


def test_a_run_that_was_interrupted_is_offered_with_its_tokens_and_goes_on(app, until):
    paid = spent_before(1.0)
    upload(app, own_table(), name="renamed.csv")
    press(app, "to_generate")
    answered(app, until)
    assert "A run of this table was interrupted at token 0 of 12." in words(app)
    press(app, f"go_on_{paid.run_id}")
    finished(app, until)
    assert in_the_ledger(lambda connection: stored_run(connection, paid.run_id)).state == "finished"
    [report] = in_the_ledger(asset_reports)
    assert report.runs == 1
    assert f"In the ledger: run {paid.run_id}" in words(app)


def test_an_interrupted_run_is_closed_for_good_and_another_version_of_the_table_cannot_go_on(app, until):
    paid = spent_before(1.0)
    upload(app, own_table([*animal_rows(), *animal_rows(62)[60:]]))
    press(app, "to_generate")
    answered(app, until)
    assert "It was made of another version of this table." in words(app)
    assert app.button(key=f"go_on_{paid.run_id}").disabled
    press(app, f"close_{paid.run_id}")
    assert "Closed as partial" in words(app)
    closed = in_the_ledger(lambda connection: stored_run(connection, paid.run_id))
    assert (closed.state, closed.tokens) == ("partial", ())
    press(app, "another_run")
    answered(app, until)
    assert "was interrupted" not in words(app)


def test_a_ledger_that_cannot_be_read_stops_the_confirmation_in_words(app, until, monkeypatch):
    upload(app, own_table())
    monkeypatch.setenv("DPICL_DATABASE_URL", "mysql://somewhere/else")
    press(app, "to_generate")
    answered(app, until)
    assert "the ledger lives in a SQLite file or in PostgreSQL" in words(app)
    assert "the ledger cannot be read, so no run can start" in words(app)
    assert not app.exception


def test_plan_says_what_a_run_would_leave_and_what_the_cap_refuses_with_what_would_fit(app, until):
    upload(app, own_table(), name="animals.csv")
    press(app, "to_plan")
    for key, value in SMALL:
        app.number_input(key=key).set_value(value)
    app.select_slider(key="plan_epsilon").set_value(1.0).run()
    until(lambda: "this run would leave" in words(app.run()), 90)
    assert "of asset animals" in words(app)
    app.select_slider(key="plan_epsilon").set_value(10.0).run()
    until(lambda: "does not allow this run" in words(app.run()), 90)
    press(app, "smaller_0")
    until(lambda: "this run would leave" in words(app.run()), 90)
    assert "Refused" not in words(app)
    app.radio(key="plan_mechanism").set_value("public-only").run()
    until(lambda: "no row is read, so nothing is spent" in words(app.run()), 90)
    assert lines() == []


def test_what_would_be_left_follows_what_others_have_spent_meanwhile(app, until):
    spent_before(1.0, cap=20.0)
    to_confirmation(app, until, epsilon=1.0)
    answered(app, until)
    before = words(app)
    spent_before(4.0)
    app.run()
    answered(app, until)
    after = words(app)
    told = [said[said.index("Spent so far") :][:80] for said in (before, after)]
    assert told[0] != told[1]
    assert in_the_ledger(asset_reports)[0].share_left < 1
    assert f"left of asset animals: {percent_left(in_the_ledger(asset_reports)[0].share_left)}" in after


def test_a_press_is_not_lost_where_somebody_else_has_paid_since_the_button_was_drawn(app, until):
    spent_before(1.0, cap=20.0)
    to_confirmation(app, until, epsilon=1.0)
    answered(app, until)
    spent_before(1.0)
    press(app, "spend")
    finished(app, until)
    assert len(lines()) == 3


def test_an_asset_signed_for_another_unit_is_refused_in_words(app, until):
    terms = AssetTerms("animals", "Ada", PrivacyUnit.PERSON, ("cat", "dog"), 8.0, 1e-3, "sum", None, "who")
    ledger = open_ledger()
    with ledger.write() as connection:
        create_asset(connection, ledger, terms, actor="Ada")
    to_confirmation(app, until)
    app.selectbox(key="budget_charge_to").set_value("animals").run()
    answered(app, until)
    assert "counts every person once" in words(app)
