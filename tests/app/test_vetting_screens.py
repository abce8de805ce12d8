"""Vet and export, Ledger and Verify through Streamlit's own test runner, on runs that stand in the ledger already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpicl_core.documents import canonical_hash
from dpicl_core.export import document_bytes
from dpicl_core.ledger import asset_reports, events_of, open_ledger, record_decision, verify_ledger
from dpicl_core.rounding import percent_left
from dpicl_core.sign_off import sign, vettable_run
from dpicl_core.verification import verify
from pages.support import retention, signed, state
from tests.support.ledgers import table
from tests.support.vetting import DECISIONS, WHY, run_in

APP = str(Path(__file__).resolve().parent.parent.parent / "app.py")
TIMEOUT = 90
INFORMED = "informed by private data, not covered by the guarantee"


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


def events(ledger, run_id):
    with ledger.read() as connection:
        return events_of(connection, run_id=run_id, without=("token",))


def choose(app, record, *choices):
    for number, choice in enumerate(choices, start=1):
        app.radio(key=f"vet_{record.run_id}_{number}_choice").set_value(choice)
    return app.run()


def fill(app, record, **fields):
    for name, value in fields.items():
        key = f"vet_{record.run_id}_{name}" if name[0] in "123456789w" else f"vet_{name}"
        (app.text_area if name.endswith(("text", "why")) else app.text_input)(key=key).set_value(value)
    return app.run()


def test_each_screen_teaches_while_there_is_nothing_to_show():
    assert "There is no such run in the ledger yet" in words(on("vet"))
    assert "Nothing is in it yet" in words(on("ledger"))
    assert "A verdict in words appears here" in words(on("verify"))


def test_a_run_of_the_ledger_is_vetted_signed_and_verifies(ledger):
    record = run_in(ledger)
    texts = [demonstration.text for demonstration in record.demonstrations]
    app = on("vet")
    shown = [element.value for element in app.text]
    assert all(text in shown for text in texts)
    assert "Before you can sign: text 1 has no decision" in words(app)
    app.button(key="vet_sign").click().run()
    assert "nothing is signed yet: text 1 has no decision; text 2" in words(app)
    assert "vet_signed" not in app.session_state
    assert "text 1 has no decision; text 2 has no decision; text 3 has no decision" in words(app)
    choose(app, record, "Approve", "Reject", "Edit")
    assert "Another try with the same noise spends epsilon" in words(app)
    assert "text 2 is rejected without a reason" in words(app)
    assert "Nothing is changed yet." in words(app)
    assert "the edit of text 3 changes nothing" in words(app)
    fill(app, record, **{"2_reason": "it says nothing", "3_text": "A cat slept on the sill."})
    assert 'Look at this: it names its own label "cat": A ⟦cat⟧ slept on the sill.' in words(app)
    fill(app, record, reviewer="Grace **Hopper** <b>", why=WHY)
    app.button(key="vet_sign").click().run()
    assert not app.exception
    document, decisions = app.session_state["vet_signed"][record.run_id]
    assert [type(decision).__name__ for decision in decisions] == ["Approve", "Reject", "Edit"]
    assert verify(document).problems == ()
    assert [shown.text for shown in document.demonstrations] == [texts[0], "A cat slept on the sill."]
    kinds = [event.kind for event in events(ledger, record.run_id) if event.actor == "Grace **Hopper** <b>"]
    assert kinds == ["approved", "rejected", "edited", "justified"]
    assert {button.label for button in app.get("download_button")} == {label for _, label, _, _ in signed.FILES}
    assert "Signed before: 1 time" in words(app)
    assert app.button(key="vet_sign").label == "Sign again"
    assert any("Grace **Hopper** <b>" in str(element.value) for element in app.text)
    assert not any("Hopper" in str(element.value) for element in app.markdown)
    choose(app, record, "Approve", "Approve", "Edit")
    assert "sign again to have the change in the file" in words(app)
    app.switch_page("pages/verify.py").run()
    app.switch_page("pages/vet.py").run()
    assert app.radio(key=f"vet_{record.run_id}_1_choice").value == "Approve"
    assert app.text_area(key=f"vet_{record.run_id}_3_text").value == "A cat slept on the sill."


def test_every_download_is_recorded_before_its_bytes_are_made(ledger):
    record = run_in(ledger)
    document = sign(ledger, record.run_id, DECISIONS, reviewer="Grace Hopper", justification=WHY)
    verdict = verify(document)
    for name, *_ in signed.FILES:
        content = signed._recorded(name, verdict, ledger)()
        last = events(ledger, record.run_id)[-1]
        assert (last.kind, last.details["format"]) == ("exported", name)
        assert content == signed.content_of(name, verdict)
    assert content.decode().startswith("Privacy certificate")


def test_what_was_opened_before_is_said_before_the_signature_and_in_the_file(ledger):
    record = run_in(ledger, shots=1)
    record_decision(ledger, "internal-view", actor="Ada", run_id=record.run_id, details={"view": "cluster picture"})
    app = on("vet", of=record.run_id)
    assert f"selection: {INFORMED}" in words(app)
    assert "UTC: cluster picture" in words(app)
    choose(app, record, "Approve")
    fill(app, record, reviewer="Grace Hopper", why=WHY)
    app.button(key="vet_sign").click().run()
    document, _ = app.session_state["vet_signed"][record.run_id]
    assert document.vetting.selection == INFORMED


def test_the_address_names_the_run_and_the_choice_stays_with_the_person(ledger):
    first, second = run_in(ledger, shots=1), run_in(ledger, shots=2)
    app = on("vet", of=first.run_id)
    assert app.selectbox(key="vet_run").value == first.run_id
    app.selectbox(key="vet_run").set_value(second.run_id).run()
    assert app.selectbox(key="vet_run").value == second.run_id
    assert len(app.radio) == 2
    assert on("vet", of="guessed").selectbox(key="vet_run").value == second.run_id


def test_the_ledger_shows_assets_as_bars_runs_and_what_one_more_would_leave(ledger):
    record = run_in(ledger)
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
    app = on("ledger")
    said = words(app)
    assert "animals" in said
    assert "1 run;" in said
    assert [bar.proto.value for bar in app.get("progress")] == [int(100 * report.share_left)]
    runs = next(table_.value for table_ in app.dataframe if "mechanism" in table_.value)
    assert runs.iloc[0].to_dict() | {"when (UTC)": ""} == {
        "when (UTC)": "",
        "who": "Ada",
        "asset": "animals",
        "mechanism": "Tang, Gaussian",
        "epsilon": f"{max(price.epsilon_tight for price in record.prices):.3g}",
        "state": "finished",
        "exports": 0,
        "internal views": 0,
    }
    app.selectbox(key="ledger_run").set_value(record.run_id).run()
    again = 2 * report.share_left - 1
    assert f"One more run that costs the same would leave {percent_left(again)}." in words(app)
    assert "reserved" in words(app)
    app.button(key=f"total_{report.asset.id}").click().run()
    assert "if every plan had been fixed before the first run" in words(app)


def test_the_plan_of_this_session_shows_what_it_would_leave(ledger, until):
    run_in(ledger)
    app = AppTest.from_file(APP, default_timeout=TIMEOUT).run()
    app.button(key="use_sample").click().run()
    app.switch_page("pages/ledger.py").run()
    until(lambda: "would be left of sample_messages (a new data asset); now it is 100%" in words(app.run()), 90)


def test_a_purge_wants_the_name_and_a_reason_and_says_what_stays(ledger):
    run_in(ledger)
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
    app = on("ledger")
    key = f"purge_{report.asset.id}"
    assert app.button(key=f"{key}_go").disabled
    app.text_input(key=f"{key}_name").set_value("animal").run()
    app.text_input(key=f"{key}_reason").set_value("the study has ended").run()
    assert app.button(key=f"{key}_go").disabled
    app.text_input(key=f"{key}_name").set_value("animals").run()
    app.button(key=f"{key}_go").click().run()
    assert not app.exception
    assert "One keyed hash stays for each of 60 longer rows" in words(app)
    assert "no run is ever charged to it again" in words(app)
    with ledger.read() as connection:
        assert asset_reports(connection)[0].purged_at is not None
    assert verify_ledger(ledger).problems == ()


def test_a_table_that_nobody_uses_for_its_retention_time_is_let_go_of(monkeypatch):
    app = AppTest.from_file(APP, default_timeout=TIMEOUT).run()
    app.button(key="use_sample").click().run()
    app.switch_page("pages/ledger.py").run()
    app.selectbox(key="retention_minutes").set_value(5).run()
    assert app.session_state["studio"].dataset is not None
    assert not retention.is_over(1000.0, 1299.0, 5)
    assert retention.is_over(1000.0, 1301.0, 5)
    with monkeypatch.context() as passed:
        passed.setattr(retention, "is_over", lambda last, now, kept: kept == 5)
        app.run()
    app.run()
    assert app.session_state["studio"].dataset is None
    assert app.session_state["studio"].profile is None
    assert "No table yet" in words(app)
    assert "let go of after 5 minutes without a click" in words(app)
    assert f"{state.ASKED}where" not in app.session_state


def dropped(content, name="demonstrations.json"):
    app = on("verify")
    app.file_uploader[0].set_value((name, content, "application/json")).run()
    assert not app.exception
    return words(app)


def test_verify_tells_a_file_that_holds_from_one_that_does_not(ledger):
    record = run_in(ledger)
    plain = vettable_run(ledger, record.run_id).document
    said = dropped(document_bytes(plain))
    assert "The file holds what it says" in said
    assert "Nobody has signed it" in said
    document = sign(ledger, record.run_id, DECISIONS, reviewer="Grace Hopper", justification=WHY)
    said = dropped(document_bytes(document))
    assert "Signed by Grace Hopper" in said
    assert f"SHA-256 of its contents: {document.sha256}" in said
    content = json.loads(document_bytes(document))
    content["guarantee"]["epsilon"]["tight"] = 0.01
    content["sha256"] = canonical_hash(content)
    said = dropped(json.dumps(content).encode())
    assert "The file does not hold what it says" in said
    assert "The guarantee states epsilon 0.01" in said
    assert "strict JSON" in dropped(b"{")


def test_no_private_row_stands_on_any_of_the_screens(ledger):
    run_in(ledger)
    rows = [example.text for example in table().examples]
    for page in ("vet", "ledger", "verify"):
        shown = words(on(page))
        assert not any(row in shown for row in rows)
