"""The whole ledger in one file and back, between SQLite and PostgreSQL alike. THE FILE HOLDS THE SECRET."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from dpicl_core.errors import LedgerError
from dpicl_core.files import check_writable
from dpicl_core.ledger import chain, schema
from dpicl_core.ledger.identity import SECRET_BYTES, SECRET_FILE, home_folder, write_secret
from dpicl_core.ledger.store import Ledger, open_ledger
from dpicl_core.ledger.upgrade import known_revisions

FORMAT = "dpicl-ledger-backup"
_BATCH = 1000
_LARGEST_BYTES = 4 * 1024**3


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """What a backup holds. lost_events: how many this machine had seen beyond it, when it was put back."""

    ledger_id: str
    events: int
    lost_events: int = 0


def write_backup(ledger: Ledger, path: Path) -> BackupFacts:
    """One consistent copy of every table and the secret, readable by its owner alone (0600), flushed to the disk.

    Raises ExportError or LedgerError where it cannot be written; an older file of that name then stays.
    """
    check_writable(path)
    parts: dict[str, bytes] = {}
    with ledger.read() as connection:
        for table in schema.TABLES:
            rows = connection.execute(sa.select(table)).mappings()
            parts[f"{table.name}.jsonl"] = "".join(chain.canonical(dict(row)) + "\n" for row in rows).encode()
        events = int(connection.execute(sa.select(schema.head.c.events)).scalar_one())
    manifest = {
        "format": FORMAT,
        "schema": known_revisions()[-1],
        "ledger": ledger.ledger_id,
        "events": events,
        "made_at": chain.now(),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()},
        "warning": f"{SECRET_FILE} is the ledger's secret: whoever has it and a guess of a row can test the guess.",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=2))
        archive.writestr(SECRET_FILE, ledger.identity.secret.hex() + "\n")
        for name, content in parts.items():
            archive.writestr(name, content)
    _write_private(path, buffer.getvalue())
    return BackupFacts(ledger.ledger_id, events)


def restore_backup(
    path: Path, *, actor: str, url: str | None = None, home: Path | None = None, accept_loss: str | None = None
) -> BackupFacts:
    """Put a backup into an empty ledger, and its secret into a home folder that has none or the same.

    accept_loss: a reason, recorded under the actor's name, where this machine has seen events that the backup lacks:
    what was spent since is then unknown to the ledger.
    Raises LedgerError where the file is damaged, the ledger is not empty, or events would be lost without a reason.
    """
    manifest, secret, tables = _read(path)
    folder = home_folder() if home is None else home
    _place_secret(folder, secret)
    ledger = open_ledger(url, home=folder)
    restored = Ledger(ledger.engine, ledger.identity, str(manifest["ledger"]))
    seen = chain.seen_here(restored)
    lost = 0 if seen is None else max(seen.events - int(manifest["events"]), 0)
    if lost and accept_loss is None:
        raise LedgerError(
            f"this backup lacks {lost} events that this machine has seen, so what was spent since it was made would be "
            "forgotten. Restore a newer one; or give --accept-loss with the reason, which is recorded."
        )
    with restored.write() as connection:
        if connection.execute(sa.select(schema.head.c.events)).scalar_one() != 0:
            raise LedgerError(
                "the ledger in place is not empty, and a backup never overwrites one. Move its file aside, or point "
                "DPICL_DATABASE_URL or DPICL_HOME at an empty place."
            )
        connection.execute(schema.head.delete())
        for table in schema.TABLES:
            rows = tables[f"{table.name}.jsonl"]
            for start in range(0, len(rows), _BATCH):
                connection.execute(table.insert(), rows[start : start + _BATCH])
        details = {"backup_made_at": manifest["made_at"], "lost_events": lost, "reason": accept_loss}
        chain.append(connection, restored, "restored", actor=actor, details=details)
    chain.note_seen(restored, lower=True)
    return BackupFacts(restored.ledger_id, int(manifest["events"]), lost)


def _read(path: Path) -> tuple[dict[str, Any], bytes, dict[str, list[dict[str, Any]]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST_BYTES:
                raise ValueError
            manifest = dict(json.loads(archive.read("manifest.json")))
            secret = bytes.fromhex(archive.read(SECRET_FILE).decode("ascii").strip())
            contents = {name: archive.read(name) for name in manifest["sha256"]}
        whole = all(hashlib.sha256(contents[name]).hexdigest() == manifest["sha256"][name] for name in contents)
        tables = {name: [json.loads(line) for line in content.splitlines()] for name, content in contents.items()}
        expected = {f"{table.name}.jsonl" for table in schema.TABLES}
        if not whole or manifest["format"] != FORMAT or len(secret) != SECRET_BYTES or set(tables) != expected:
            raise ValueError
        _check_schema(manifest)
    except OSError as error:
        raise LedgerError(
            f"the backup {path.name} could not be read ({error.strerror or type(error).__name__}); check its path."
        ) from None
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise LedgerError(f"{path.name} is no whole backup of a ledger; take another copy.") from None
    return manifest, secret, tables


def _check_schema(manifest: Mapping[str, Any]) -> None:
    if manifest["schema"] != known_revisions()[-1]:
        raise LedgerError(
            f"the backup has schema {manifest['schema']}, this program {known_revisions()[-1]}; restore it with the "
            "version that made it, then update."
        )


def _place_secret(folder: Path, secret: bytes) -> None:
    path = folder / SECRET_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_secret(path, secret)
        found = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise LedgerError(f"the secret could not be put into DPICL_HOME ({type(error).__name__}).") from None
    if found != secret:
        raise LedgerError(
            f"DPICL_HOME holds another secret than the backup; move its {SECRET_FILE} aside (keep it: ledgers made "
            "with it need it), or set DPICL_HOME to another folder."
        )


def _write_private(path: Path, content: bytes) -> None:
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise LedgerError(
            f"the backup could not be written ({error.strerror or type(error).__name__}); choose another folder."
        ) from None
