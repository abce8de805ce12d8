"""A purged asset: what is private of it goes, its rows are still recognised and refused, the ledger still verifies."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from dpicl_core.__main__ import main
from dpicl_core.charged_runs import AssetChoice, pay, prepare_run, run
from dpicl_core.errors import BudgetError, ConfigError, LedgerError
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import (
    asset_named,
    asset_reports,
    events_of,
    fingerprint,
    open_ledger,
    purge_asset,
    record_decision,
    restore_backup,
    run_lines,
    schema,
    stored_run,
    verify_ledger,
    write_backup,
)
from dpicl_core.planning import plan_for
from dpicl_core.runs import request_for
from dpicl_core.values import Example, PrivacyUnit
from tests.support.ledgers import long_rows, order_of, table
from tests.support.tables import ANIMALS
from tests.support.vetting import run_in

SHORT = [Example("cat", "None."), Example("dog", "No change.")]


def with_short_rows():
    return table([*long_rows(), *SHORT])


def asset_of(ledger, name="animals"):
    with ledger.read() as connection:
        return asset_named(connection, name)


def purge(ledger, name="animals"):
    return purge_asset(ledger, asset_of(ledger, name), actor="Ada", reason="the study has ended")


def rows_of(ledger, table_):
    with ledger.read() as connection:
        return [dict(row) for row in connection.execute(sa.select(table_)).mappings()]


def spent(ledger):
    with ledger.read() as connection:
        return [(report.asset.name, report.runs, report.epsilon_spent) for report in asset_reports(connection)]


def test_the_same_rows_are_refused_for_ever_and_no_second_asset_takes_them(ledger):
    dataset = with_short_rows()
    run_in(ledger, dataset=dataset)
    before = spent(ledger)
    purge(ledger)
    plan = order_of(shots=1).plan
    for choice in (None, AssetChoice(name="another name"), AssetChoice(name="animals")):
        with pytest.raises(BudgetError, match=r"purged on|shares rows or persons with asset"):
            prepare_run(dataset, plan, request_for(dataset, 0.1), ledger=ledger, asset=choice)
    part = table(long_rows()[:5])  # a few of its rows are enough
    with pytest.raises(BudgetError, match="purged on"):
        prepare_run(part, order_of(shots=1, subsets=2, per_subset=1).plan, request_for(part, 0.1), ledger=ledger)
    assert spent(ledger) == before


def test_a_run_that_was_prepared_before_a_purge_is_not_paid_after_it(ledger):
    dataset = table()
    run_in(ledger, dataset=dataset)
    ready = prepare_run(dataset, order_of(shots=1).plan, request_for(dataset, 0.1), ledger=ledger)
    purge(ledger)
    with pytest.raises(BudgetError, match="purged on"):
        pay(ready, ToyModel().info)
    assert len(rows_of(ledger, schema.runs)) == 1


def test_labels_files_and_short_rows_go_and_one_hash_of_every_longer_row_stays(ledger):
    dataset = with_short_rows()
    run_in(ledger, dataset=dataset)
    mark = fingerprint(dataset, ledger.identity)
    facts = purge(ledger)
    assert (facts.persons_removed, facts.rows_removed, facts.rows_kept, facts.files) == (0, 2, 60, 1)
    left = rows_of(ledger, schema.rows)
    assert {row["row_hash"] for row in left} == {entry.row for entry in mark.marks if entry.weight}
    assert not {row["pair_hash"] for row in left} & {entry.pair for entry in mark.marks}
    (file,) = rows_of(ledger, schema.files)
    assert mark.file_hash not in file.values()


def test_the_secret_labels_of_persons_go(ledger):
    dataset = table(persons=[f"Person {index // 2}" for index in range(60)])
    unit, few = PrivacyUnit.PERSON, {"subsets": 2, "per_subset": 1}  # a secret draw deals persons to labels: about 15
    plan = plan_for(ANIMALS, "tang-gaussian", shots=1, tokens=2, min_tokens=1, unit=unit, **few)
    run(prepare_run(dataset, plan, request_for(dataset, 1.0), ledger=ledger), ToyModel())
    assert len(rows_of(ledger, schema.persons)) == 30
    assert purge(ledger).persons_removed == 30
    assert rows_of(ledger, schema.persons) == []
    assert verify_ledger(ledger).problems == ()


def test_nothing_of_what_was_removed_stays_in_the_files_of_sqlite(home):
    ledger = open_ledger(home=home)
    dataset = with_short_rows()
    run_in(ledger, dataset=dataset)
    mark = fingerprint(dataset, ledger.identity)
    gone = [mark.file_hash, *(entry.pair for entry in mark.marks), *(m.row for m in mark.marks if not m.weight)]
    assert any(each.encode() in content(home) for each in gone)
    purge(ledger)
    assert not [each for each in gone if each.encode() in content(home)]


def content(home):
    return b"".join(path.read_bytes() for path in home.glob("ledger.sqlite3*"))


def test_the_ledger_verifies_after_a_purge_and_finds_a_purge_that_is_undone_by_other_means(ledger):
    run_in(ledger, dataset=with_short_rows())
    before = rows_of(ledger, schema.rows)
    purge(ledger)
    assert verify_ledger(ledger).problems == ()
    with ledger.write() as connection:
        connection.execute(schema.rows.insert(), [row for row in before if not row["weight"]])
    assert any("asset_rows" in problem for problem in verify_ledger(ledger).problems)


def test_released_texts_totals_and_decisions_stay_and_the_purge_is_an_event(ledger):
    record = run_in(ledger)
    purge(ledger)
    with ledger.read() as connection:
        assert [token.text for token in stored_run(connection, record.run_id).tokens][-1]
        (report,) = asset_reports(connection)
        event = events_of(connection, asset_id=report.asset.id)[-1]
    assert report.purged_at == event.at
    assert (event.kind, event.actor, event.details["reason"]) == ("asset-purged", "Ada", "the study has ended")
    record_decision(ledger, "exported", actor="Bo", run_id=record.run_id, details={"sha256": "ab"})
    with ledger.read() as connection:
        assert run_lines(connection)[0].exports == 1


def test_other_assets_are_left_alone(ledger):
    run_in(ledger)
    other = table(long_rows(word="drink"), name="other.csv")
    run_in(ledger, dataset=other)
    before = [row for row in rows_of(ledger, schema.rows) if row["asset_id"] == asset_of(ledger, "other").id]
    purge(ledger)
    after = [row for row in rows_of(ledger, schema.rows) if row["asset_id"] == asset_of(ledger, "other").id]
    assert before == after
    run_in(ledger, dataset=other, shots=1)


def test_a_purge_is_refused_while_a_run_is_open_without_a_reason_and_a_second_time(ledger):
    run_in(ledger)
    dataset = table()
    (paid,) = pay(
        prepare_run(dataset, order_of(shots=1).plan, request_for(dataset, 1.0), ledger=ledger), ToyModel().info
    )
    with pytest.raises(LedgerError, match=f"run {paid.run_id} of asset animals has not ended"):
        purge(ledger)
    main_state = rows_of(ledger, schema.rows)
    with ledger.write() as connection:
        connection.execute(schema.runs.update().values(state="partial"))
    with pytest.raises(ConfigError, match="needs a reason"):
        purge_asset(ledger, asset_of(ledger), actor="Ada", reason=" ")
    assert rows_of(ledger, schema.rows) == main_state
    purge(ledger)
    with pytest.raises(LedgerError, match="purged already"):
        purge(ledger)


def test_a_backup_of_a_purged_ledger_still_refuses_the_rows(ledger, tmp_path):
    dataset = table()
    run_in(ledger, dataset=dataset)
    purge(ledger)
    write_backup(ledger, tmp_path / "ledger.zip")
    restore_backup(tmp_path / "ledger.zip", actor="Bo", home=tmp_path / "other")
    restored = open_ledger(home=tmp_path / "other")
    assert verify_ledger(restored).problems == ()
    with pytest.raises(BudgetError, match="purged on"):
        prepare_run(dataset, order_of(shots=1).plan, request_for(dataset, 0.1), ledger=restored)


def test_the_command_wants_the_name_twice_and_says_what_stays(capsys):
    ledger = open_ledger()
    run_in(ledger, dataset=with_short_rows())
    assert main(["ledger", "purge", "animals", "--confirm", "animal", "--reason", "done"]) == 2
    assert "must repeat the asset's name" in capsys.readouterr().err
    assert main(["ledger", "purge", "animals", "--confirm", "animals", "--reason", "done"]) == 0
    said = capsys.readouterr().out
    assert "ended for good" in said
    assert "One keyed hash stays for each of 60 longer rows" in said
    assert main(["ledger", "list"]) == 0
    assert "purged " in capsys.readouterr().out
