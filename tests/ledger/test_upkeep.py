"""Migrations from this version's schema, backups between databases, reports, and how long they take."""

from __future__ import annotations

import json
import stat
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from dpicl_core.accounting import compose_charges
from dpicl_core.charged_runs import pay, prepare_run, run
from dpicl_core.errors import LedgerError
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import (
    asset_named,
    asset_reports,
    everything,
    open_ledger,
    restore_backup,
    run_lines,
    schema,
    standing,
    total_if_fixed_in_advance,
    verify_ledger,
    what_if,
    write_backup,
)
from dpicl_core.ledger.costs import Paid, cost_parts, price_charges
from dpicl_core.ledger.reports import merged
from dpicl_core.ledger.store import make_engine
from dpicl_core.ledger.upgrade import known_revisions, schema_is_current, upgrade_schema
from dpicl_core.runs import request_for
from tests.support.ledgers import cap_for, order_of, registered, table, terms

HERE = Path(__file__).parent
MODEL = ToyModel().info


def spend(ledger, epsilon=1.0):
    dataset = table()
    plan = order_of(shots=2, tokens=3, min_tokens=1).plan
    return run(prepare_run(dataset, plan, request_for(dataset, epsilon), ledger=ledger, actor="Ada"), ToyModel())


def test_the_migrations_make_exactly_the_schema_that_the_program_uses(ledger):
    with ledger.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []
    assert schema_is_current(ledger.engine)


@pytest.mark.parametrize("version", ["0001"])
def test_a_ledger_written_by_an_older_version_opens_verifies_and_can_be_spent_from(version, tmp_path):
    """tests/ledger/ledger_0001.sql is a ledger as that version wrote it; one such file is kept for every version."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret.key").write_text((HERE / f"ledger_{version}.key").read_text())
    import sqlite3

    raw = sqlite3.connect(home / "ledger.sqlite3")
    raw.executescript((HERE / f"ledger_{version}.sql").read_text())
    raw.close()
    ledger = open_ledger(home=home)
    assert schema_is_current(ledger.engine)
    assert verify_ledger(ledger).problems == ()
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
        before = report.epsilon_spent
        assert (report.asset.name, report.runs, before > 0) == ("animals", 1, True)
    spend(ledger)
    with ledger.read() as connection:
        (report,) = asset_reports(connection)
    assert report.runs == 2
    assert report.epsilon_spent > before


def test_many_that_open_a_new_ledger_at_once_agree_on_one(database, home):
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: open_ledger(database, home=home), range(8)))
    assert len({ledger.ledger_id for ledger in opened}) == 1
    assert len({ledger.identity.secret for ledger in opened}) == 1
    assert verify_ledger(opened[0]).holds
    for ledger in opened:
        ledger.engine.dispose()


def test_upgrading_twice_or_by_two_processes_changes_nothing(ledger, home):
    upgrade_schema(ledger.engine, home)
    assert known_revisions() == ("0001",)
    assert verify_ledger(ledger).holds


def test_a_backup_holds_everything_and_the_secret_and_says_so(ledger, tmp_path):
    spend(ledger)
    path = tmp_path / "ledger.zip"
    write_backup(ledger, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with zipfile.ZipFile(path) as archive:
        assert bytes.fromhex(archive.read("secret.key").decode().strip()) == ledger.identity.secret
        assert "secret" in json.loads(archive.read("manifest.json"))["warning"]
    other = tmp_path / "other"
    restore_backup(path, actor="Bo", home=other)
    restored = open_ledger(home=other)
    assert verify_ledger(restored).problems == ()
    with ledger.read() as before, restored.read() as after:
        assert asset_reports(before) == asset_reports(after)
        assert run_lines(before) == run_lines(after)
    spend(restored)


def test_a_backup_of_sqlite_goes_into_the_other_database(database, tmp_path):
    source = open_ledger(home=tmp_path / "source")
    spend(source)
    write_backup(source, tmp_path / "ledger.zip")
    restore_backup(tmp_path / "ledger.zip", actor="Bo", url=database, home=tmp_path / "target")
    target = open_ledger(database, home=tmp_path / "target")
    assert verify_ledger(target).problems == ()
    spend(target)
    target.engine.dispose()


def test_a_backup_never_overwrites_a_ledger_and_loses_spending_only_with_a_reason(tmp_path):
    home = tmp_path / "home"
    ledger = open_ledger(home=home)
    spend(ledger)
    write_backup(ledger, tmp_path / "old.zip")
    spend(ledger)
    with pytest.raises(LedgerError, match="lacks"):
        restore_backup(tmp_path / "old.zip", actor="Bo", home=home)
    with pytest.raises(LedgerError, match="not empty"):
        restore_backup(tmp_path / "old.zip", actor="Bo", home=home, accept_loss="the disk broke")
    ledger.engine.dispose()
    for path in home.glob("ledger.sqlite3*"):
        path.unlink()
    facts = restore_backup(tmp_path / "old.zip", actor="Bo", home=home, accept_loss="the disk broke")
    assert facts.lost_events > 0
    restored = open_ledger(home=home)
    assert verify_ledger(restored).problems == ()
    assert everything(restored)["events"][-1]["details"]["reason"] == "the disk broke"
    spend(restored)


def test_a_damaged_backup_is_refused(ledger, tmp_path):
    path = tmp_path / "ledger.zip"
    write_backup(ledger, path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(LedgerError, match="no whole backup"):
        restore_backup(path, actor="Bo", home=tmp_path / "other")


def test_the_total_if_fixed_in_advance_is_the_composition_and_below_what_the_filter_counts(ledger):
    order = order_of(shots=1)
    asset = registered(ledger, terms(), table())
    dataset = table()
    for _ in range(3):
        pay(prepare_run(dataset, order.plan, request_for(dataset, 1.0), ledger=ledger), MODEL)
    with ledger.read() as connection:
        total = total_if_fixed_in_advance(connection, asset)
        counted = standing(connection, asset).epsilon_spent
    charges = price_charges(order.prices) * 3
    assert total == pytest.approx(compose_charges(charges, delta=asset.delta).epsilon(asset.delta), rel=1e-6)
    assert total < counted


def test_what_if_says_what_a_plan_would_leave(ledger):
    order = order_of()
    asset = registered(ledger, terms(epsilon=cap_for(4, order)), table())
    parts = [Paid(part.label, part.cost, part.delta) for part in cost_parts(asset, order.plan, order.prices)]
    with ledger.read() as connection:
        before = standing(connection, asset)
    assert what_if(before, parts) == pytest.approx(0.75)
    assert what_if(before, parts * 5) < 0


def test_ten_thousand_runs_are_listed_in_two_seconds_and_fifty_composed_in_three(home):
    ledger = open_ledger(home=home)
    spend(ledger)
    _copy_run(ledger, 10_000)
    began = time.perf_counter()
    with ledger.read() as connection:
        lines = run_lines(connection)
        (report,) = asset_reports(connection)
    listing = time.perf_counter() - began
    assert len(lines) == report.runs == 10_001
    charges = [
        replace(charge, sampling_rate=charge.sampling_rate * (1 - index / 100))
        for index in range(50)
        for charge in price_charges(order_of().prices)[:1]
    ]
    began = time.perf_counter()
    compose_charges(merged(charges), delta=1e-3).epsilon(1e-3)
    composing = time.perf_counter() - began
    print(f"listing 10,001 runs {listing:.2f} s, composing 50 {composing:.2f} s")  # noqa: T201
    # five times the figures of the note, so that a busy machine does not fail the suite
    assert listing < 10
    assert composing < 15


def _copy_run(ledger, count):
    with ledger.write() as connection:
        row = dict(connection.execute(sa.select(schema.runs)).mappings().one())
        parts = [dict(part) for part in connection.execute(sa.select(schema.charges)).mappings()]
        names = [f"{index:032x}" for index in range(count)]
        connection.execute(schema.runs.insert(), [{**row, "id": name} for name in names])
        connection.execute(schema.charges.insert(), [{**part, "run_id": name} for name in names for part in parts])


def test_an_asset_is_found_by_name_and_by_id(ledger):
    asset = registered(ledger, terms())
    with ledger.read() as connection:
        assert asset_named(connection, "animals") == asset_named(connection, asset.id) == asset
        assert asset_named(connection, "nothing") is None


def test_the_engine_of_an_unreachable_server_is_reported_in_words(tmp_path):
    with pytest.raises(LedgerError, match="check that it runs"):
        open_ledger("postgresql://nobody@127.0.0.1:1/none", home=tmp_path)
    with pytest.raises(LedgerError, match="SQLite file or in PostgreSQL"):
        open_ledger("mysql://somewhere/else", home=tmp_path)
    assert make_engine(sa.engine.make_url("sqlite://")).dialect.name == "sqlite"
