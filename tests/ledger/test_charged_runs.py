"""Runs through the ledger: paid first, stored before shown, resumed without a second charge, from every entrance."""

from __future__ import annotations

import csv
import errno
import json
import pickle
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

import dpicl_core
from dpicl_core import charged_runs
from dpicl_core.__main__ import main
from dpicl_core.charged_runs import AssetChoice, close_partial, pay, prepare_run, resume, run, stored_record
from dpicl_core.cli import compare, generate
from dpicl_core.cli import ledger as ledger_command
from dpicl_core.errors import BudgetError, ConfigError, DataError, LedgerError
from dpicl_core.events import TokenReleased
from dpicl_core.export import document_bytes, document_for
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import asset_reports, open_ledger, run_lines, schema, standing, stored_run, verify_ledger
from dpicl_core.planning import plan_for
from dpicl_core.runs import request_for
from dpicl_core.values import PrivacyUnit
from tests.support.ledgers import long_rows, order_of, table
from tests.support.tables import ANIMALS

ROOT = Path(__file__).resolve().parents[2]


def ready(ledger, dataset=None, epsilon=1.0, **settings):
    chosen = dataset or table()
    plan = plan_for(ANIMALS, "tang-gaussian", **{"shots": 2, "tokens": 6, **settings})
    return prepare_run(chosen, plan, request_for(chosen, epsilon), ledger=ledger, actor="Ada")


def stored(ledger, run_id):
    with ledger.read() as connection:
        return stored_run(connection, run_id)


def spent(ledger):
    with ledger.read() as connection:
        return [(report.asset.name, report.epsilon_spent, report.runs) for report in asset_reports(connection)]


def test_every_token_is_stored_before_it_is_shown(ledger):
    seen = []

    def show(event):
        if isinstance(event, TokenReleased):
            (line,) = _lines(ledger)
            assert event in stored(ledger, line.id).tokens
            seen.append(event)

    record = run(ready(ledger), ToyModel(), on_event=show)
    finished = stored(ledger, record.run_id)
    assert finished.tokens == tuple(seen)
    assert finished.state == "finished"
    assert stored_record(finished) == record
    assert document_bytes(document_for(stored_record(finished))) == document_bytes(document_for(record))


def _lines(ledger):
    with ledger.read() as connection:
        return run_lines(connection)


def test_everything_is_paid_before_the_first_draw_and_nothing_comes_back(ledger):
    class Broken(ToyModel):
        def private_probabilities(self, prompts, ids):
            paid.append(spent(ledger))
            raise ValueError("the cat number 4 was late")

    paid = []
    with pytest.raises(dpicl_core.ModelError):
        run(ready(ledger), Broken())
    assert paid[0][0][1] > 0
    assert spent(ledger) == paid[0]
    (line,) = _lines(ledger)
    assert line.state == "stopped"
    assert "late" not in stored(ledger, line.id).reason


def test_a_stopped_run_resumes_from_its_tokens_with_fresh_draws_at_no_cost(ledger):
    class Stop(Exception):
        pass

    shown = []

    def stop_after_five(event):
        if isinstance(event, TokenReleased):
            shown.append(event)
            if len(shown) == 5:
                raise Stop

    with pytest.raises(Stop):
        run(ready(ledger), ToyModel(), on_event=stop_after_five)
    before = spent(ledger)
    (line,) = _lines(ledger)
    again = []
    record = resume(line.id, table(), ToyModel(), ledger=ledger, on_event=again.append)
    tokens = [event for event in again if isinstance(event, TokenReleased)]
    assert tokens[:5] == shown
    assert len(tokens) > 5
    assert [d.label for d in record.demonstrations] == ["cat", "dog"]
    assert spent(ledger) == before
    assert verify_ledger(ledger).holds
    with pytest.raises(LedgerError, match="has ended"):
        resume(line.id, table(), ToyModel(), ledger=ledger)


def test_resuming_needs_the_same_file_and_the_same_model(ledger):
    paid = pay(ready(ledger), ToyModel().info)[0]
    changed = [replace(long_rows()[0], text="another text of eight words for this cat"), *long_rows()[1:]]
    with pytest.raises(DataError, match="not the file"):
        resume(paid.run_id, table(changed), ToyModel(), ledger=ledger)
    other = ToyModel()
    other.info = replace(other.info, name="other")
    with pytest.raises(ConfigError, match="started with model toy"):
        resume(paid.run_id, table(), other, ledger=ledger)


def test_an_attempt_that_was_replaced_stores_and_shows_nothing_more(ledger):
    first = pay(ready(ledger), ToyModel().info)[0]
    shown = []

    def take_over(event):
        if isinstance(event, TokenReleased):
            shown.append(event)
            if len(shown) == 3:
                resume(first.run_id, table(), ToyModel(), ledger=ledger)

    with pytest.raises(LedgerError, match="continued or closed elsewhere"):
        run(first, ToyModel(), on_event=take_over)
    assert len(shown) == 3
    assert stored(ledger, first.run_id).tokens[:3] == tuple(shown)


def test_a_run_closed_as_partial_leaves_its_texts_and_no_budget(ledger):
    paid = pay(ready(ledger), ToyModel().info)[0]
    with pytest.raises(KeyboardInterrupt):
        run(paid, ToyModel(), on_event=lambda event: _interrupt(event))
    before = spent(ledger)
    record = close_partial(paid.run_id, "enough", ledger=ledger, actor="Ada")
    assert [d.ended_by for d in record.demonstrations] == ["stopped"]
    document = document_for(record)
    assert document.run == paid.run_id
    assert any("closed before" in line for line in document.shortfalls)
    assert spent(ledger) == before
    with pytest.raises(LedgerError):
        resume(paid.run_id, table(), ToyModel(), ledger=ledger)


def _interrupt(event):
    if isinstance(event, TokenReleased):
        raise KeyboardInterrupt


def test_a_run_without_protection_is_noted_and_its_text_stored_nowhere(ledger):
    run(ready(ledger), ToyModel())
    plan = plan_for(ANIMALS, "unprotected", shots=1)
    with pytest.raises(ConfigError, match="internal_run"):
        prepare_run(table(), plan, request_for(table(), None), ledger=ledger)
    record = charged_runs.internal_run(
        table(), plan, request_for(table(), None), ToyModel(), ledger=ledger, actor="Ada"
    )
    assert not record.private
    assert len(_lines(ledger)) == 1
    with ledger.read() as connection:
        kinds = connection.execute(sa.select(schema.events.c.kind)).scalars().all()
    assert kinds.count("internal-view") == 1


def test_persons_keep_the_label_that_was_drawn_for_them_once(ledger):
    rows = long_rows(240)
    who = [f"Person {i // 4}" for i in range(240)]
    people = table(rows, persons=who)
    settings = {"unit": PrivacyUnit.PERSON, "subsets": 4, "per_subset": 2}
    first = pay(ready(ledger, people, **settings), ToyModel().info)[0]
    second = pay(ready(ledger, people, **settings), ToyModel().info)[0]
    assert first.prepared.pools == second.prepared.pools
    assert sum(len(pool) for pool in first.prepared.pools.values()) == 60
    with ledger.read() as connection:
        stored_rows = connection.execute(sa.select(schema.persons)).mappings().all()
        (report,) = asset_reports(connection)
    assert len(stored_rows) == 60
    assert (report.rows, report.persons) == (240, 60)
    assert not any("Person" in str(value) for row in stored_rows for value in row.values())
    run(first, ToyModel())
    with pytest.raises(ConfigError, match="counts every person once"):
        ready(ledger, table(rows))
    assert verify_ledger(ledger).holds


def test_a_ready_run_travels_to_another_process(ledger):
    record = run(pickle.loads(pickle.dumps(ready(ledger))), ToyModel())  # noqa: S301
    assert stored(ledger, record.run_id).state == "finished"


def test_a_run_killed_at_fifty_random_moments_loses_and_invents_nothing_and_is_paid_once(database, home):
    ledger = open_ledger(database, home=home)
    paid = pay(ready(ledger, shots=4, tokens=90, min_tokens=90), ToyModel().info)[0]
    before = spent(ledger)
    ledger.engine.dispose()
    command = [sys.executable, "-m", "tests.support.killed_runs", database, str(home), paid.run_id, "50"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=True).stdout
    attempts = [[tuple(token) for token in json.loads(line)] for line in printed.splitlines()]
    assert len(attempts) == 50
    left = [(t.demonstration, t.position, t.token_id) for t in stored(ledger, paid.run_id).tokens]
    for shown in attempts:  # whatever anyone saw is stored, unchanged, in this order
        assert shown == left[: len(shown)]
    assert 10 < len(left) < 360
    record = resume(paid.run_id, table(), ToyModel(), ledger=ledger)
    final = [(t.demonstration, t.position, t.token_id) for t in stored(ledger, paid.run_id).tokens]
    assert final[: len(left)] == left
    assert [len(d.token_ids) for d in record.demonstrations] == [90] * 4
    assert spent(ledger) == before
    assert verify_ledger(ledger).holds
    ledger.engine.dispose()


def test_a_full_disk_stops_a_run_in_words_with_a_whole_ledger_that_goes_on_later(home):
    """A limit on file sizes is what a full disk is to SQLite: writes fail in the middle of a transaction."""
    ledger = open_ledger(home=home)
    paid = pay(ready(ledger, shots=4, tokens=60, min_tokens=60), ToyModel().info)[0]
    shown = []

    def show(event):
        if isinstance(event, TokenReleased):
            shown.append(event)
            if len(shown) == 3:
                largest = max(path.stat().st_size for path in home.iterdir())
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 16_384, limit[1]))

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(LedgerError, match=r"disk is full.*resume the run"):
            run(paid, ToyModel(), on_event=show)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert 3 <= len(shown) < 240
    again = open_ledger(home=home)
    assert stored(again, paid.run_id).tokens == tuple(shown)
    assert verify_ledger(again).holds
    record = resume(paid.run_id, table(), ToyModel(), ledger=again)
    assert [len(d.token_ids) for d in record.demonstrations] == [60] * 4


def test_a_disk_that_is_full_from_the_start_is_said_in_words(home, monkeypatch):
    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dpicl_core.ledger.identity.tempfile.mkstemp", full)
    with pytest.raises(LedgerError, match="No space left"):
        open_ledger(home=home)


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "animals.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["label", "text"])
        writer.writerows([row.label, row.text] for row in long_rows())
    return path


@pytest.fixture
def toy_commands(monkeypatch):
    """The commands with the toy model in place of the embedded one."""
    for module in (generate, compare, ledger_command):
        monkeypatch.setattr(module, "load_model", lambda *_arguments, **_options: ToyModel())


OPTIONS = ["--label", "cat", "--label", "dog", "--subsets", "4", "--per-subset", "2", "--tokens", "5", "--epsilon", "3"]


def test_a_run_from_a_notebook_and_one_from_the_command_line_count_on_one_asset(
    csv_file, tmp_path, toy_commands, capsys
):
    data = dpicl_core.declare_labels(dpicl_core.read_dataset(csv_file), ("cat", "dog"))
    plan = dpicl_core.plan_for(ANIMALS, "tang-gaussian", shots=2)
    record = dpicl_core.run(dpicl_core.prepare_run(data, plan, dpicl_core.request_for(data, epsilon=3)), ToyModel())
    assert record.run_id
    out = tmp_path / "demos.json"
    assert main(["generate", "--data", str(csv_file), *OPTIONS, "--shots", "2", "--out", str(out)]) == 0
    assert "charged to asset animals" in capsys.readouterr().err
    assert main(["ledger", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [asset["asset"]["name"] for asset in listed["assets"]] == ["animals"]
    assert {line["id"] for line in listed["runs"]} == {record.run_id, json.loads(out.read_bytes())["run"]}
    assert sorted(line["exports"] for line in listed["runs"]) == [0, 1]


def test_the_same_command_again_and_again_is_refused_at_the_cap_with_a_clear_sentence(
    csv_file, tmp_path, toy_commands, capsys
):
    command = [
        "generate",
        "--data",
        str(csv_file),
        *OPTIONS,
        "--shots",
        "2",
        "--out",
        str(tmp_path / "d.json"),
        "--quiet",
    ]
    answers = [main(command)]
    while answers[-1] == 0 and len(answers) < 20:
        answers.append(main(command))
    assert answers[0] == 0
    assert answers[-1] == 2
    words = capsys.readouterr().err
    assert "the cap of asset animals (epsilon 8 at delta 0.001) does not allow this run" in words
    assert "Nothing was spent or drawn." in words


def test_compare_pays_for_every_mechanism_at_once_or_for_none(csv_file, tmp_path, toy_commands, capsys):
    command = ["compare", "--data", str(csv_file), *OPTIONS, "--shots", "2", "--out", str(tmp_path)]
    names = "tang-gaussian,anchored,public-only,unprotected"
    assert compare_with([*command, "--cap", "5"], "tang-gaussian,anchored,adadpsyn") == 2
    assert _lines(open_ledger()) == []
    assert compare_with(command, names) == 0
    lines = _lines(open_ledger())
    assert sorted(line.mechanism for line in lines) == ["anchored", "public-only", "tang-gaussian"]
    assert all(line.exports == 1 for line in lines)
    assert "no run" not in capsys.readouterr().err


def compare_with(command, names):
    """`compare` by its own parser, whether or not the program offers it yet."""
    import argparse

    parser = argparse.ArgumentParser()
    compare.add_parser(parser.add_subparsers())
    arguments = parser.parse_args([*command, "--mechanisms", names])
    try:
        return arguments.run(arguments)
    except BudgetError:
        return 2


def test_the_commands_resume_close_and_write_again(csv_file, tmp_path, toy_commands, capsys):
    out = tmp_path / "demos.json"
    data = dpicl_core.declare_labels(dpicl_core.read_dataset(csv_file), ("cat", "dog"))
    plan = dpicl_core.plan_for(ANIMALS, "tang-gaussian", shots=2)
    ledger = open_ledger()
    request = request_for(data, 1.0)
    first, second = pay([prepare_run(data, plan, request, ledger=ledger) for _ in range(2)], ToyModel().info)
    assert main(["ledger", "resume", first.run_id, "--data", str(csv_file), "--out", str(out), "--quiet"]) == 0
    assert main(["ledger", "document", first.run_id, "--out", str(tmp_path / "again.json")]) == 0
    assert (tmp_path / "again.json").read_bytes() == out.read_bytes()
    assert main(["ledger", "close", second.run_id, "--reason", "not needed"]) == 0
    assert main(["ledger", "verify"]) == 0
    assert main(["ledger", "show", first.run_id]) == 0
    assert "resumed" not in capsys.readouterr().err
    assert main(["ledger", "show", "animals"]) == 0
    assert "if all plans had been fixed in advance: epsilon" in capsys.readouterr().out


def test_the_ledger_leaves_as_json_and_as_harmless_csv(csv_file, tmp_path, toy_commands):
    out = tmp_path / "d.json"
    choice = ["--asset", "=SUM(A1)", "--owner", "Ada", "--cap", "20"]
    assert (
        main(["generate", "--data", str(csv_file), *OPTIONS, "--shots", "1", "--out", str(out), "--quiet", *choice])
        == 0
    )
    assert main(["ledger", "export", "--out", str(tmp_path / "ledger.json")]) == 0
    content = json.loads((tmp_path / "ledger.json").read_bytes())
    assert content["assets"][0]["epsilon"] == 20
    assert content["runs"][0]["plan"]["target_labels"] == ["cat"]
    assert "hash" not in json.dumps(content)
    assert main(["ledger", "export", "--out", str(tmp_path / "runs.csv")]) == 0
    assert '"\'=SUM(A1)"' in (tmp_path / "runs.csv").read_text()


def test_an_asset_can_be_signed_before_any_file_is_charged(csv_file, tmp_path, toy_commands, capsys):
    signed = ["ledger", "create", "zoo", "--label", "cat", "--label", "dog", "--cap", "2", "--delta", "1e-4"]
    assert main(signed) == 0
    command = ["generate", "--data", str(csv_file), *OPTIONS, "--out", str(tmp_path / "d.json"), "--asset", "zoo"]
    assert main(command) == 2
    assert "the cap of asset zoo (epsilon 2 at delta 0.0001)" in capsys.readouterr().err


def test_a_choice_of_terms_is_kept(ledger):
    choice = AssetChoice(name="zoo", owner="Bo", cap=3.0, delta=1e-4, rule="sum")
    plan = order_of().plan
    proposed = prepare_run(table(), plan, request_for(table(), 1.0, delta=1e-5), ledger=ledger, asset=choice).asset
    assert (proposed.name, proposed.owner, proposed.epsilon, proposed.delta, proposed.rule) == (
        "zoo",
        "Bo",
        3.0,
        1e-4,
        "sum",
    )
    with ledger.read() as connection:
        assert standing(connection, proposed).worst_spent == 0
