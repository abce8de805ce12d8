"""The chain finds every change, the ledger holds no private text, its files are private, older copies are refused."""

from __future__ import annotations

import json
import stat

import pytest
import sqlalchemy as sa

from dpicl_core.charged_runs import prepare_run, run
from dpicl_core.errors import LedgerError
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import events_of, open_ledger, record_decision, run_lines, schema, verify_ledger
from dpicl_core.ledger.upgrade import known_revisions
from dpicl_core.runs import request_for
from tests.support.ledgers import order_of, table

PERSONS = [f"Person {i // 2}" for i in range(60)]


@pytest.fixture
def used(ledger):
    """A ledger with one finished run of two texts of six tokens, an export and an opened view."""
    dataset, plan = table(), order_of(min_tokens=6).plan
    record = run(prepare_run(dataset, plan, request_for(dataset, 1.0), ledger=ledger, actor="Ada"), ToyModel())
    record_decision(ledger, "exported", actor="Bo", run_id=record.run_id, details={"sha256": "ab"})
    record_decision(ledger, "internal-view", actor="Bo", run_id=record.run_id, details={"view": "clusters"})
    return ledger


def meddle(ledger, *statements):
    """Change the database by other means, guards switched off as an attacker would."""
    with ledger.engine.connect() as connection, connection.begin():
        if ledger.is_sqlite:
            connection.exec_driver_sql("DROP TRIGGER IF EXISTS events_no_update")
            connection.exec_driver_sql("DROP TRIGGER IF EXISTS events_no_delete")
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
            connection.exec_driver_sql("BEGIN")
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
        for statement in statements:
            connection.exec_driver_sql(statement)
    ledger.engine.dispose()


def test_an_untouched_ledger_verifies(used):
    verdict = verify_ledger(used)
    assert verdict.problems == ()
    assert verdict.events > 15
    assert verdict.rows > 15


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE run_charges SET divergence = 0", "run_charges: row"),
        ("UPDATE runs SET actor = 'nobody'", "runs: row"),
        ("UPDATE assets SET epsilon = 100", "assets: row"),
        ("UPDATE tokens SET text = 'x' WHERE position = 2", "tokens: row"),
        ("DELETE FROM tokens WHERE position = 3", "is missing"),
        ("DELETE FROM run_charges", "run_charges: row"),
        ("DELETE FROM asset_rows WHERE pair_hash = (SELECT min(pair_hash) FROM asset_rows)", "asset_rows: row"),
        ("UPDATE asset_files SET rows = 5", "asset_files: row"),
        ("UPDATE events SET actor = 'nobody' WHERE seq = 3", "event 3"),
        ("DELETE FROM events WHERE seq = 4", "events 4 to 4 are missing"),
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "the chain ends at event"),
        ("UPDATE ledger_head SET events = events - 1", "the head of the chain was changed"),
        (
            "INSERT INTO run_charges (run_id, part, sampling_rate, composed_tokens, mechanism, epsilon, delta) "
            "SELECT id, 9, 0.5, 1, '{}', 0, 0 FROM runs",
            "run_charges: row",
        ),
    ],
)
def test_a_changed_added_or_removed_row_is_found(used, statement, words):
    meddle(used, statement)
    assert any(words in problem for problem in verify_ledger(used).problems)


def test_the_database_itself_refuses_to_change_or_remove_events(used):
    for statement in ("UPDATE events SET actor = 'x'", "DELETE FROM events"):
        with pytest.raises(LedgerError), used.write() as connection:
            connection.exec_driver_sql(statement)
    assert verify_ledger(used).holds


def test_a_chain_cut_short_with_a_fitting_head_is_found_and_nothing_more_can_be_spent(used):
    with used.read() as connection:
        head = dict(connection.execute(sa.select(schema.head)).mappings().one())
    dataset = table()
    ready = prepare_run(dataset, order_of().plan, request_for(dataset, 1.0), ledger=used)
    later = run(ready, ToyModel())
    meddle(
        used,
        f"DELETE FROM tokens WHERE run_id = '{later.run_id}'",
        f"DELETE FROM run_charges WHERE run_id = '{later.run_id}'",
        f"DELETE FROM runs WHERE id = '{later.run_id}'",
        f"DELETE FROM events WHERE seq > {head['events']}",
        f"UPDATE ledger_head SET events = {head['events']}, last_mac = '{head['last_mac']}', "
        f"head_mac = '{head['head_mac']}'",
    )
    assert any("older copy" in problem for problem in verify_ledger(used).problems)
    with pytest.raises(LedgerError, match="older copy"):
        run(prepare_run(dataset, order_of().plan, request_for(dataset, 1.0), ledger=used), ToyModel())


def test_every_run_and_decision_records_who_when_and_what(used):
    with used.read() as connection:
        (line,) = run_lines(connection)
        happened = events_of(connection, run_id=line.id, without=("token",))
    assert (line.actor, line.state, line.exports, line.internal_views) == ("Ada", "finished", 1, 1)
    assert [(event.actor, event.kind) for event in happened] == [
        ("Ada", "reserved"),
        ("Ada", "started"),
        ("Ada", "finished"),
        ("Bo", "exported"),
        ("Bo", "internal-view"),
    ]
    assert all(event.at.endswith("+00:00") for event in happened)


def test_the_database_holds_no_private_text_no_person_and_no_plain_hash(used):
    with used.read() as connection:
        content = json.dumps(
            [[str(value) for value in row] for each in schema.TABLES for row in connection.execute(sa.select(each))]
        ).lower()
    rows = [example.text.lower() for example in table().examples]
    assert not any(row in content for row in rows)
    import hashlib

    assert not any(hashlib.sha256(row.encode()).hexdigest()[:32] in content for row in rows)


def test_the_files_are_the_owners_alone(home):
    open_ledger(home=home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for name in ("secret.key", "ledger.sqlite3"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600


def test_a_machine_with_another_secret_is_refused(ledger, database, tmp_path):
    with pytest.raises(LedgerError, match=r"(only with one secret|secret\.key in DPICL_HOME\) is missing)"):
        open_ledger(database, home=tmp_path / "another machine")


def test_a_machine_with_the_same_secret_shares_the_ledger(used, database, home, tmp_path):
    other = tmp_path / "second machine"
    other.mkdir()
    (other / "secret.key").write_bytes((home / "secret.key").read_bytes())
    shared = open_ledger(database, home=other)
    assert shared.ledger_id == used.ledger_id
    assert verify_ledger(shared).holds
    shared.engine.dispose()


def test_a_lost_secret_is_not_replaced_by_a_new_one(home):
    open_ledger(home=home)
    (home / "secret.key").unlink()
    with pytest.raises(LedgerError, match="secret"):
        open_ledger(home=home)


def test_sqlite_commits_are_on_the_disk_and_keys_are_checked(home):
    ledger = open_ledger(home=home)
    with ledger.read() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert found == ["wal", 2, 1]


def test_a_ledger_from_a_newer_program_is_left_alone(ledger, database, home):
    with ledger.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(LedgerError, match=f"9999 is newer than this program knows \\({known_revisions()[-1]}\\)"):
        open_ledger(database, home=home)
