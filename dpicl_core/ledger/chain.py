"""The append-only record of everything that happened, each entry's code made from the one before it.

An event names the rows that its transaction wrote, with a digest of each. Whoever changes, adds or removes a row
anywhere, or an event, cannot make the codes fit without the ledger's secret; `verification.py` looks for that. A note
in the home folder remembers how far the chain had come, so that an older copy put back in its place shows as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.errors import LedgerError
from dpicl_core.ledger import schema
from dpicl_core.ledger.identity import Identity, head_code, keyed_hash
from dpicl_core.ledger.store import Ledger

NOTES_FILE = "ledger.seen.json"

REMOVED = "removed"
"""Digest of a row, or of a group, that a recorded purge took out of its table."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One row, or one group of rows, that an event vouches for. key: how the row is found again in its table."""

    table: str
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: who, when, on which asset and run. details: public values, names and counts alone."""

    seq: int
    at: str
    actor: str
    kind: str
    asset_id: str | None
    run_id: str | None
    details: Mapping[str, Any]


def now() -> str:
    """UTC to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def canonical(value: Any) -> str:
    """JSON with sorted keys and no blanks: equal values give equal text on every database."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def row_digest(row: Any) -> str:
    """SHA-256 of one row's columns (a mapping)."""
    return hashlib.sha256(canonical(dict(row)).encode()).hexdigest()


def group_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of a set of rows, in whatever order they are given."""
    return hashlib.sha256("\n".join(sorted(canonical(dict(row)) for row in rows)).encode()).hexdigest()


def append(
    connection: Connection,
    ledger: Ledger,
    kind: str,
    *,
    actor: str,
    asset_id: str | None = None,
    run_id: str | None = None,
    facts: Sequence[Fact] = (),
    details: Mapping[str, Any] | None = None,
) -> int:
    """Add one event inside a writing transaction; its position from 1.

    Raises LedgerError for a head that was changed by other means.
    """
    head = _checked_head(connection, ledger)
    payload = canonical(
        {"facts": [[fact.table, fact.key, fact.digest] for fact in facts], "details": dict(details or {})}
    )
    event: dict[str, Any] = {
        "seq": int(head["events"]) + 1,
        "at": now(),
        "actor": actor,
        "kind": kind,
        "asset_id": asset_id,
        "run_id": run_id,
        "payload": payload,
    }
    code = event_code(ledger.identity, ledger.ledger_id, str(head["last_mac"]), event)
    connection.execute(schema.events.insert().values(**event, mac=code))
    connection.execute(
        schema.head.update().values(
            events=event["seq"],
            last_mac=code,
            head_mac=head_code(ledger.identity, ledger.ledger_id, int(event["seq"]), code),
        )
    )
    return int(event["seq"])


def event_code(identity: Identity, ledger_id: str, before: str, event: Any) -> str:
    """The code of an event, from the one before it and everything the event holds."""
    fields = {name: event[name] for name in ("seq", "at", "actor", "kind", "asset_id", "run_id", "payload")}
    return keyed_hash(identity.key("events"), f"{ledger_id}\n{before}\n{canonical(fields)}")


def _checked_head(connection: Connection, ledger: Ledger) -> Mapping[str, Any]:
    head = connection.execute(sa.select(schema.head)).mappings().one()
    expected = head_code(ledger.identity, str(head["ledger_id"]), int(head["events"]), str(head["last_mac"]))
    if not hmac.compare_digest(expected, str(head["head_mac"])):
        raise LedgerError("the ledger was changed by other means than this program; run `ledger verify` to see where.")
    return dict(head)


def events_of(
    connection: Connection,
    *,
    run_id: str | None = None,
    asset_id: str | None = None,
    without: Sequence[str] = (),
    kind: str | None = None,
) -> list[Event]:
    """Events in order, of one run, of one asset or of one kind where given. without: kinds to leave out."""
    query = sa.select(schema.events).order_by(schema.events.c.seq)
    if run_id is not None:
        query = query.where(schema.events.c.run_id == run_id)
    if asset_id is not None:
        query = query.where(schema.events.c.asset_id == asset_id)
    if kind is not None:
        query = query.where(schema.events.c.kind == kind)
    if without:
        query = query.where(schema.events.c.kind.not_in(list(without)))
    return [
        Event(
            row["seq"],
            row["at"],
            row["actor"],
            row["kind"],
            row["asset_id"],
            row["run_id"],
            json.loads(row["payload"])["details"],
        )
        for row in connection.execute(query).mappings()
    ]


@dataclass(frozen=True, slots=True)
class Seen:
    """How far this machine has seen a ledger's chain come."""

    events: int
    mac: str


def seen_here(ledger: Ledger) -> Seen | None:
    """This machine's note, None where there is none yet. Raises LedgerError where the note cannot be read."""
    path = ledger.identity.home / NOTES_FILE
    try:
        entry = json.loads(path.read_text(encoding="ascii")).get(ledger.ledger_id)
        return None if entry is None else Seen(int(entry["events"]), str(entry["mac"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise LedgerError(f"the note {NOTES_FILE} in DPICL_HOME is damaged; put it back from a backup.") from None


def note_seen(ledger: Ledger, *, lower: bool = False) -> None:
    """Remember how far the chain has come. lower: also where it is shorter than before (a restored backup)."""
    with ledger.read() as connection:
        head = _checked_head(connection, ledger)
    path = ledger.identity.home / NOTES_FILE
    known = seen_here(ledger)
    if known is not None and not lower and known.events >= int(head["events"]):
        return
    notes: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        notes = dict(json.loads(path.read_text(encoding="ascii")))
    notes[ledger.ledger_id] = {"events": int(head["events"]), "mac": str(head["last_mac"])}
    with contextlib.suppress(OSError):  # a full disk must not undo what the database has committed
        _replace(path, canonical(notes))


def check_not_older(connection: Connection, ledger: Ledger) -> None:
    """Refuse a ledger that lacks what this machine has seen in it: spending would come back."""
    known = seen_here(ledger)
    if known is None or known.events == 0:
        return
    query = sa.select(schema.events.c.mac).where(schema.events.c.seq == known.events)
    if connection.execute(query).scalar() != known.mac:
        raise LedgerError(
            f"the ledger lacks events that this machine has seen in it (up to number {known.events}), as if an older "
            "copy was put back; nothing more can be spent from it. Put the newest copy back, or restore a backup with "
            "`ledger restore`, which records what was lost."
        )


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(text)
    os.replace(temporary, path)
