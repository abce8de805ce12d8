"""Signing in the ledger: every decision under its name, internal views found wherever they were opened, prices of
another try, and the command line."""

from __future__ import annotations

import hashlib
import json

import pytest

from dpicl_core.__main__ import main
from dpicl_core.accounting import epsilon_tight
from dpicl_core.charged_runs import AssetChoice, prepare_run, reveal_random_rows, run
from dpicl_core.errors import ConfigError, ExportError, LedgerError
from dpicl_core.export import document_bytes
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import (
    asset_reports,
    events_of,
    open_ledger,
    record_decision,
    run_lines,
    schema,
    verify_ledger,
)
from dpicl_core.rounding import rounded_up
from dpicl_core.runs import request_for
from dpicl_core.sign_off import another_try, record_export, sign, sign_offs, vettable_run
from dpicl_core.verification import verify
from dpicl_core.vetting import Approve, Reject
from tests.support.ledgers import long_rows, table
from tests.support.vetting import DECISIONS, WHY, run_in

INFORMED = "informed by private data, not covered by the guarantee"


@pytest.fixture
def ledger():
    return open_ledger()


def events(ledger, run_id):
    with ledger.read() as connection:
        return events_of(connection, run_id=run_id, without=("token",))


def signed(ledger, run_id, decisions=DECISIONS):
    return sign(ledger, run_id, decisions, reviewer="Grace Hopper", justification=WHY, account="grace")


def test_every_decision_is_recorded_under_the_reviewers_name_with_hashes_alone(ledger):
    record = run_in(ledger)
    document = signed(ledger, record.run_id)
    recorded = [event for event in events(ledger, record.run_id) if event.actor == "Grace Hopper"]
    assert [event.kind for event in recorded] == ["approved", "rejected", "edited", "justified"]
    assert all(event.details["account"] == "grace" for event in recorded)
    texts = [demonstration.text for demonstration in record.demonstrations]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in (*texts, "A cat slept on the sill.")]
    assert [event.details.get("released_sha256") for event in recorded[:3]] == hashes[:3]
    assert recorded[2].details["edited_sha256"] == hashes[3]
    assert recorded[1].details["reason"] == "it says nothing"
    assert recorded[3].details["justification"] == WHY
    assert recorded[3].details["sha256"] == document.sha256
    assert "slept" not in json.dumps([event.details for event in recorded])
    assert verify(document).problems == ()
    assert verify_ledger(ledger).problems == ()


def test_a_signature_that_is_refused_records_nothing(ledger):
    record = run_in(ledger)
    before = events(ledger, record.run_id)
    with pytest.raises(ExportError, match="reason why demonstration 1"):
        signed(ledger, record.run_id, (Reject(""), Approve(), Approve()))
    assert events(ledger, record.run_id) == before


def test_the_signed_file_states_the_budget_as_the_ledger_has_it(ledger):
    record = run_in(ledger)
    run_in(ledger, shots=1)
    document = signed(ledger, record.run_id)
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
    budget = document.vetting.budget
    assert (budget.asset, budget.epsilon, budget.delta) == ("animals", report.asset.epsilon, report.asset.delta)
    assert (budget.epsilon_spent, budget.share_left) == (report.epsilon_spent, report.share_left)


def view(ledger, **where):
    record_decision(ledger, "internal-view", actor="Ada", details={"view": "cluster picture"}, **where)


def test_an_internal_view_before_approval_is_found_in_the_ledger_and_one_after_it_is_not(ledger):
    record = run_in(ledger)
    assert signed(ledger, record.run_id).vetting.selection != INFORMED
    view(ledger, run_id=record.run_id)
    again = signed(ledger, record.run_id)
    assert again.vetting.selection == INFORMED
    assert [(part.view, part.at[:4]) for part in again.vetting.internal_views] == [
        ("cluster picture", events(ledger, record.run_id)[-1].at[:4])
    ]
    with ledger.read() as connection:
        assert [event.details["selection"] == INFORMED for event in sign_offs(connection, record.run_id)] == [
            False,
            True,
        ]


def test_views_of_another_run_and_of_the_table_itself_inform_a_choice_and_views_of_another_asset_do_not(ledger):
    record, other = run_in(ledger), run_in(ledger, shots=1)
    foreign = run_in(ledger, dataset=table(long_rows(word="drink"), name="other.csv"))
    view(ledger, run_id=foreign.run_id)
    assert vettable_run(ledger, record.run_id).views == ()
    view(ledger, run_id=other.run_id)
    reveal_random_rows(table(), record.plan, ledger=ledger, actor="Ada")
    assert [part.view for part in vettable_run(ledger, record.run_id).views] == [
        "cluster picture, of another run of the same asset",
        "random real rows, not DP",
    ]


def test_a_view_of_a_table_that_no_asset_knew_counts_until_the_assets_last_new_file(ledger):
    unknown = table()
    record_plan = run_in(ledger, dataset=table(long_rows(word="drink"), name="other.csv")).plan
    reveal_random_rows(unknown, record_plan, ledger=ledger, actor="Ada")
    record = run_in(ledger, dataset=unknown)
    (found,) = vettable_run(ledger, record.run_id).views
    assert found.view == "random real rows, not DP, of a table that was not in the ledger yet"
    reveal_random_rows(table(long_rows(word="hay")), record_plan, ledger=ledger, actor="Ada")
    assert vettable_run(ledger, record.run_id).views == (found,)


def test_a_view_recorded_on_another_asset_counts_where_a_person_decided_against_the_match(ledger):
    footer = long_rows(word="drink")[:1]
    run_in(ledger, dataset=table([*long_rows(word="hay"), *footer], name="other.csv"))
    run_in(ledger, dataset=table(long_rows(word="rice"), name="mine.csv"))
    file = table([*long_rows(word="water"), *footer], name="file.csv")
    plan = run_in(ledger, dataset=table(long_rows(word="bread"), name="third.csv")).plan
    reveal_random_rows(
        file, plan, ledger=ledger, actor="Ada"
    )  # recorded on `other`, to which the footer binds the file
    choice = AssetChoice(name="mine", override_reason="the footer is no person's text")
    ready = prepare_run(file, plan, request_for(file, 1.0), ledger=ledger, asset=choice, actor="Ada")
    (found,) = vettable_run(ledger, run(ready, ToyModel()).run_id).views
    assert found.view == "random real rows, not DP, of another asset that shares rows with this one"


def test_the_price_of_another_try_is_that_of_one_demonstration_with_the_same_noise(ledger):
    record = run_in(ledger, shots=3)  # two of cats, one of dogs
    vettable = vettable_run(ledger, record.run_id)
    cat, dog = (another_try(ledger, vettable.stored, label) for label in ("cat", "dog"))
    prices = {price.label: price for price in record.prices}
    for found, label in ((cat, "cat"), (dog, "dog")):
        price = prices[label]
        assert found.epsilon == epsilon_tight(
            price.mechanism, sampling_rate=price.sampling_rate, composed_tokens=6, delta=price.delta
        )
        assert found.fits
        assert f"epsilon {rounded_up(found.epsilon)} " in found.words()
    assert cat.epsilon < prices["cat"].epsilon_tight
    before = {label: share_left(ledger, label) for label in ("cat", "dog")}
    assert cat.share_left == pytest.approx(min(before.values()))
    spent_on_dog = 1 - before["dog"]  # by exactly one such demonstration
    assert dog.share_after == pytest.approx(min(before["cat"], before["dog"] - spent_on_dog))


def share_left(ledger, label):
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
    return report.share_left_by_label[label]


def test_another_try_of_a_public_run_costs_nothing_and_one_over_the_cap_says_so(ledger):
    public = vettable_run(ledger, run_in(ledger, mechanism="public-only").run_id)
    assert "spends nothing" in another_try(ledger, public.stored, "cat").words()
    big = run_in(ledger, epsilon=5.5, dataset=table(long_rows(word="drink"), name="other.csv"), shots=2)
    found = another_try(ledger, vettable_run(ledger, big.run_id).stored, "cat")
    assert not found.fits
    assert "over the cap" in found.words()


def test_a_run_that_goes_on_or_does_not_exist_cannot_be_vetted(ledger):
    record = run_in(ledger)
    with ledger.write() as connection:
        connection.execute(schema.runs.update().values(state="stopped"))
    with pytest.raises(LedgerError, match="resume it or close it"):
        vettable_run(ledger, record.run_id)
    with pytest.raises(ConfigError, match="no run nothing"):
        vettable_run(ledger, "nothing")


def test_an_export_is_recorded_with_its_hash_and_only_for_a_signature_that_the_ledger_knows(ledger):
    record = run_in(ledger)
    document = signed(ledger, record.run_id)
    content = document_bytes(document)
    record_export(ledger, document, "json", content)
    last = events(ledger, record.run_id)[-1]
    assert (last.kind, last.actor) == ("exported", "Grace Hopper")
    assert last.details["sha256"] == hashlib.sha256(content).hexdigest()
    with ledger.read() as connection:
        assert run_lines(connection)[0].exports == 1
    with pytest.raises(ExportError, match="not a signed one"):
        record_export(ledger, vettable_run(ledger, record.run_id).document, "json", b"")
    with pytest.raises(ExportError, match="changed after it was signed"):
        record_export(ledger, document.model_copy(update={"created": "x"}), "json", b"")


def test_a_run_is_looked_at_signed_and_certified_from_the_command_line(ledger, tmp_path, capsys):
    record = run_in(ledger)
    assert main(["vet", record.run_id]) == 0
    shown = capsys.readouterr().out
    assert all(f"{number}. " in shown for number in (1, 2, 3))
    assert "Another try with the same noise spends epsilon" in shown
    out = tmp_path / "signed.json"
    signature = ["--reviewer", "Grace Hopper", "--justification", WHY, "--out", str(out)]
    decided = ["--reject", "2=it says nothing", "--edit", "3=A cat slept on the sill.", "--approve", "all"]
    assert main(["vet", record.run_id, *decided, *signature]) == 0
    assert "1 approved, 1 edited, 1 rejected" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    verified = capsys.readouterr().out
    for name, sign_of in (("certificate", "<!DOCTYPE html>"), ("certificate-text", "Privacy certificate")):
        assert main(["export", str(out), "--format", name]) == 0
        certificate = capsys.readouterr().out
        assert certificate.startswith(sign_of)
        assert json.loads(out.read_bytes())["sha256"] in certificate
    numbers = next(line for line in verified.splitlines() if line.startswith("Recomputed"))
    assert numbers in " ".join(certificate.split())
    for name, part in (("prompt", "A cat slept on the sill."), ("jsonl", '"content": "A cat slept on the sill."')):
        assert main(["export", str(out), "--format", name]) == 0
        assert part in capsys.readouterr().out
    assert main(["vet", str(out)]) == 0  # a signed file leads to its run
    assert [event.kind for event in events(ledger, record.run_id)][-1] == "exported"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--approve", "1"], "--reviewer is needed"),
        (["--approve", "4"], "number from 1 to 3"),
        (["--approve", "1", "--reject", "1=no", "--approve", "all"], "demonstration 1 has two decisions"),
        (["--approve", "1", "--approve", "2"], "demonstration 3 has no decision"),
        (["--reject", "1"], "must look like N=REASON"),
        (["--reject", "1=", "--approve", "all"], "reason why demonstration 1 is rejected is missing"),
    ],
)
def test_wrong_decisions_end_in_one_sentence_and_nothing_is_written(ledger, tmp_path, capsys, options, sentence):
    record = run_in(ledger)
    out = tmp_path / "signed.json"
    signature = ["--reviewer", "G", "--justification", WHY, "--out", str(out)]
    if "needed" in sentence:
        signature = []
    assert main(["vet", record.run_id, *options, *signature]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not out.exists()
    assert [event.kind for event in events(ledger, record.run_id)] == ["reserved", "started", "finished"]


def test_a_file_whose_texts_are_not_those_of_its_run_is_refused(ledger, tmp_path, capsys):
    record = run_in(ledger)
    document = vettable_run(ledger, record.run_id).document
    changed = document.model_copy(
        update={"demonstrations": [d.model_copy(update={"text": "x"}) for d in document.demonstrations]}
    )
    path = tmp_path / "demos.json"
    path.write_bytes(document_bytes(changed))
    assert main(["vet", str(path)]) == 2
    assert "does not hold the texts that its run released" in capsys.readouterr().err
    path.write_bytes(document_bytes(document))
    assert main(["vet", str(path)]) == 0
