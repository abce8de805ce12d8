"""Ending an asset for good and removing what the ledger holds of its rows and persons.

What goes: the secret labels of its persons and their hashes, the link between rows and labels, the hash of every file's
rows in order, and the hashes of short rows, which are the easiest to guess. What stays: one keyed hash of every longer
row and of the bytes of every file, so that the same table is recognised and refused. Without them the table could be
registered anew with a fresh cap, and no total would be true any more. Spending, plans and released texts stay as well:
they are public or released.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from dpicl_core.errors import BudgetError, LedgerError
from dpicl_core.ledger import chain, schema
from dpicl_core.ledger.assets import Asset
from dpicl_core.ledger.fingerprints import ROW_WEIGHTS, Weight
from dpicl_core.ledger.store import Ledger
from dpicl_core.specs import require

EVENT = "asset-purged"
_STAY = (*ROW_WEIGHTS, Weight.THE_FILE)


@dataclass(frozen=True, slots=True)
class PurgeFacts:
    """What was removed, and what stays so that the table is recognised. Counts."""

    persons_removed: int
    rows_removed: int
    rows_kept: int
    files: int

    def words(self) -> str:
        """For the person who asked."""
        return (
            f"removed: the secret labels of {self.persons_removed} persons, the hashes of {self.rows_removed} short "
            f"rows, every row's link to its label and the hashes of the rows of {self.files} files in order. One keyed "
            f"hash stays for each of {self.rows_kept} longer rows and for each file as a whole, so that the same table "
            "is recognised and refused."
        )


def purge_asset(ledger: Ledger, asset: Asset, *, actor: str, reason: str) -> PurgeFacts:
    """End the asset and remove what is private of it, in one transaction; no run is ever charged to it again.

    Raises ConfigError without a reason, LedgerError where a run is open or the asset was purged before.
    """
    require(bool(reason.strip()), "a purge needs a reason, which is recorded; write it down.")
    with ledger.write() as connection:
        if ledger.is_sqlite:
            connection.exec_driver_sql("PRAGMA secure_delete=ON")  # freed pages are overwritten, not only unlinked
        _check_may_end(connection, asset)
        person_facts, persons = _remove_persons(connection, asset)
        row_facts, removed, kept = _thin_rows(connection, asset)
        file_facts = _forget_files(connection, asset)
        facts = PurgeFacts(persons, removed, kept, len(file_facts))
        details = {
            "reason": " ".join(reason.split()),
            "persons_removed": persons,
            "rows_removed": removed,
            "rows_kept": kept,
            "files": len(file_facts),
        }
        chain.append(
            connection,
            ledger,
            EVENT,
            actor=actor,
            asset_id=asset.id,
            facts=[*person_facts, *row_facts, *file_facts],
            details=details,
        )
    chain.note_seen(ledger)
    _overwrite_journal(ledger)
    return facts


def purged_when(connection: Connection, asset: Asset) -> tuple[str, str] | None:
    """When the asset was purged (UTC) and by whom; None for one that is in use."""
    event = schema.events.c
    # events of an asset as a whole name no run, which is what is indexed
    query = sa.select(event.at, event.actor).where(
        event.run_id.is_(None), event.kind == EVENT, event.asset_id == asset.id
    )
    found = connection.execute(query).first()
    return None if found is None else (str(found.at), str(found.actor))


def check_not_purged(connection: Connection, asset: Asset) -> None:
    """Raise BudgetError where the asset has been ended; the ledger then knows its rows only to refuse them."""
    found = purged_when(connection, asset)
    if found is not None:
        raise BudgetError(
            f"asset {asset.name} was purged on {found[0][:10]} by {found[1]}, so no run is ever charged to it again, "
            "and its rows have no other budget. Work with the texts that were released, or with other rows."
        )


def _check_may_end(connection: Connection, asset: Asset) -> None:
    found = purged_when(connection, asset)
    if found is not None:
        raise LedgerError(f"asset {asset.name} was purged already, on {found[0][:10]} by {found[1]}.")
    run = schema.runs.c
    query = sa.select(run.id).where(run.asset_id == asset.id, run.state.in_(("reserved", "running", "stopped")))
    unfinished = connection.execute(query).scalars().first()
    if unfinished is not None:
        raise LedgerError(
            f"run {unfinished} of asset {asset.name} has not ended; let it end, or close it with `ledger close`, then "
            "purge. A purged asset's runs cannot be resumed."
        )


def _remove_persons(connection: Connection, asset: Asset) -> tuple[list[chain.Fact], int]:
    this = schema.persons.c.asset_id == asset.id
    batches = connection.execute(sa.select(schema.persons.c.batch).where(this).distinct()).scalars().all()
    count = connection.execute(schema.persons.delete().where(this)).rowcount
    return [chain.Fact("asset_persons", str(batch), chain.REMOVED) for batch in batches], int(count)


def _thin_rows(connection: Connection, asset: Asset) -> tuple[list[chain.Fact], int, int]:
    """One hash for each longer row, without its label; the facts, how many hashes went, how many stay."""
    this = schema.rows.c.asset_id == asset.id
    before = [dict(row) for row in connection.execute(sa.select(schema.rows).where(this)).mappings()]
    kept: dict[str, dict[str, Any]] = {}
    for row in before:
        if row["weight"] in _STAY:
            kept.setdefault(row["row_hash"], {**row, "pair_hash": row["row_hash"]})
    connection.execute(schema.rows.delete().where(this))
    if kept:
        connection.execute(schema.rows.insert(), list(kept.values()))
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in kept.values():
        groups[row["file_id"]].append(row)
    facts = [
        chain.Fact("asset_rows", file_id, chain.group_digest(groups[file_id]) if file_id in groups else chain.REMOVED)
        for file_id in dict.fromkeys(str(row["file_id"]) for row in before)
    ]
    short = {row["row_hash"] for row in before if row["weight"] == int(Weight.NOTHING)}
    return facts, len(short), sum(row["weight"] in ROW_WEIGHTS for row in kept.values())


def _forget_files(connection: Connection, asset: Asset) -> list[chain.Fact]:
    """No file of the asset is recognised as a whole any more."""
    facts = []
    for row in connection.execute(sa.select(schema.files).where(schema.files.c.asset_id == asset.id)).mappings().all():
        changed = {**dict(row), "file_hash": f"purged {row['id']}"}
        connection.execute(
            schema.files.update().where(schema.files.c.id == row["id"]).values(file_hash=changed["file_hash"])
        )
        facts.append(chain.Fact("asset_files", str(row["id"]), chain.row_digest(changed)))
    return facts


def _overwrite_journal(ledger: Ledger) -> None:
    """SQLite's journal still holds the removed rows until it is written back; a reader elsewhere may delay that."""
    if not ledger.is_sqlite:
        return
    with contextlib.suppress(SQLAlchemyError), ledger.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")  # a journal is not written back inside a transaction
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
