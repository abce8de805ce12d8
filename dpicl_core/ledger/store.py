"""Opening the ledger and its transactions: one writer at a time, every commit on the disk before it counts.

SQLite (WAL, foreign keys, full synchronisation, BEGIN IMMEDIATE) by default; PostgreSQL by `DPICL_DATABASE_URL`, where
each writing transaction first locks the single row of `ledger_head`, so that writers queue up there as well.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import QueuePool

from dpicl_core.errors import LedgerError
from dpicl_core.ledger import schema
from dpicl_core.ledger.identity import DATABASE_FILE, SECRET_FILE, Identity, head_code, home_folder, load_identity
from dpicl_core.ledger.upgrade import schema_is_current, upgrade_schema

BUSY_SECONDS = 60
"""How long a writer waits for the others before it gives up."""

_WRITE = "dpicl_write"
_NO_EVENTS = "0" * 64


@dataclass(frozen=True, slots=True)
class Ledger:
    """An open ledger: at most a few idle connections, which a forked process never inherits."""

    engine: Engine = field(repr=False)
    identity: Identity
    ledger_id: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the ledger anew, by address and home folder; it never inherits a connection."""
        return _reopened, (self.engine.url.render_as_string(hide_password=False), self.identity.home)

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write, alone on the ledger; commits at the end, or leaves no trace.

        Raises LedgerError, in words a person can act on, where the database refuses (disk full, no connection).
        """
        options = {_WRITE: True}
        with _translated(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            if not self.is_sqlite:
                connection.execute(sa.select(schema.head.c.id).with_for_update())
            yield connection

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the ledger."""
        options: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with _translated(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection


def open_ledger(url: str | None = None, *, home: Path | None = None) -> Ledger:
    """Open the ledger, bringing its schema up to date; on first use, make it and its secret.

    url: a SQLAlchemy address; default `DPICL_DATABASE_URL`, else SQLite in the home folder. home: default `DPICL_HOME`,
    else the platform's folder for user data.
    Raises LedgerError where it cannot be reached, was written by a newer version, or belongs to another secret.
    """
    folder = home_folder() if home is None else home
    address = database_address(url, folder)
    local = Path(address.database or "") if address.get_backend_name() == "sqlite" else None
    known = local is not None and local.exists() and local.stat().st_size > 0
    identity = load_identity(folder, may_create=not known)
    if local is not None:
        _make_private(local)
    engine = make_engine(address)
    with _translated():
        if not schema_is_current(engine):
            upgrade_schema(engine, folder)
    return Ledger(engine, identity, _claim(engine, identity))


def _reopened(url: str, home: Path) -> Ledger:
    return open_ledger(url, home=home)


def database_address(url: str | None, home: Path) -> URL:
    """Where the ledger lives. Raises LedgerError for an address that is neither SQLite nor PostgreSQL."""
    text = url or os.environ.get("DPICL_DATABASE_URL")
    if not text:
        return URL.create("sqlite", database=str(home / DATABASE_FILE))
    try:
        address = make_url(text)
    except exc.ArgumentError:
        raise LedgerError(
            "DPICL_DATABASE_URL is not a database address; give one such as postgresql://user@host/dpicl."
        ) from None
    if address.get_backend_name() == "postgresql":
        return address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite" and address.database:
        return address
    raise LedgerError("the ledger lives in a SQLite file or in PostgreSQL; correct DPICL_DATABASE_URL.")


def make_engine(address: URL) -> Engine:
    """An engine whose transactions begin as this module promises."""
    sqlite = address.get_backend_name() == "sqlite"
    # full durability even where a server's default was relaxed
    server = {"connect_timeout": 10, "options": "-c synchronous_commit=on -c timezone=UTC"}
    engine = sa.create_engine(
        address,
        poolclass=QueuePool,
        pool_size=2,
        pool_pre_ping=not sqlite,
        connect_args={"timeout": BUSY_SECONDS} if sqlite else server,
        hide_parameters=True,
    )
    _forget_after_fork(engine)
    if not sqlite:
        return engine

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # Python's driver must not begin or commit by itself
        cursor = connection.cursor()
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            cursor.execute(f"PRAGMA {setting}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # a transaction that reads first and writes later could not be upgraded; it takes the lock at once
        writes = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _forget_after_fork(engine: Engine) -> None:
    """A connection that two processes share would mix their transactions: the child starts without any."""
    if hasattr(os, "register_at_fork"):
        kept = weakref.ref(engine)

        def forget() -> None:
            if (inherited := kept()) is not None:
                inherited.dispose(close=False)

        os.register_at_fork(after_in_child=forget)


def _claim(engine: Engine, identity: Identity) -> str:
    """The ledger's id; the first machine writes it, others must hold the same secret."""
    query = sa.select(schema.head.c.ledger_id, schema.head.c.secret_check)
    options = {_WRITE: True}
    with _translated():
        with engine.connect() as connection, connection.begin():
            found = connection.execute(query).first()
        if found is None:
            with engine.connect().execution_options(**options) as connection, connection.begin():
                if engine.dialect.name == "postgresql":
                    connection.exec_driver_sql("LOCK TABLE ledger_head IN EXCLUSIVE MODE")
                if connection.execute(query).first() is None:
                    connection.execute(schema.head.insert().values(**new_head(identity, secrets.token_hex(16))))
                found = connection.execute(query).one()
    if found.secret_check != identity.check_value(found.ledger_id):
        raise LedgerError(
            f"this machine's secret is not the one that the ledger was made with; copy {SECRET_FILE} from DPICL_HOME "
            "of a machine that uses the ledger, or use another database. Machines share a ledger only with one secret."
        )
    return str(found.ledger_id)


def new_head(identity: Identity, ledger_id: str) -> dict[str, Any]:
    """The head of a ledger without events."""
    return {
        "id": 1,
        "ledger_id": ledger_id,
        "secret_check": identity.check_value(ledger_id),
        "events": 0,
        "last_mac": _NO_EVENTS,
        "head_mac": head_code(identity, ledger_id, 0, _NO_EVENTS),
    }


def _make_private(path: Path) -> None:
    """Make the database file before SQLite does, readable by its owner alone; SQLite's side files copy its rights."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise LedgerError(
            f"the ledger file {path.name} could not be opened ({error.strerror or type(error).__name__}); check "
            "DPICL_HOME's rights and space."
        ) from None


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Database failures as one sentence. Parameters and statements never reach a message."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError) as error:
        raise LedgerError(_sentence(error)) from None


def _sentence(error: exc.SQLAlchemyError) -> str:
    original = getattr(error, "orig", None)
    words = str(original).lower() if original is not None else ""
    if (
        "full" in words
        or "disk i/o" in words
        or "no space" in words
        or "53100" in str(getattr(original, "sqlstate", ""))
    ):
        return (
            "the ledger's disk is full, so nothing more was stored and nothing that is not stored was shown; what was "
            "reserved stays spent. Free space, then resume the run: it goes on from its stored tokens."
        )
    if "locked" in words or "busy" in words:
        return f"the ledger was busy for {BUSY_SECONDS} seconds; try again when other runs have moved on."
    if isinstance(error, exc.IntegrityError):
        return "the ledger refused a record that contradicts what it holds; run `ledger verify`."
    if "readonly" in words or "read-only" in words:
        return "the ledger may only be read here; check the rights of its file."
    if "malformed" in words or "not a database" in words:
        return "the ledger's file is damaged; restore the last backup with `ledger restore`."
    return (
        f"the ledger's database refused ({type(original or error).__name__}); check that it runs and that "
        "DPICL_DATABASE_URL is right. Nothing that was not stored was shown."
    )
