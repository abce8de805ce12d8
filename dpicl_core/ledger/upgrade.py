"""Bringing a ledger's schema up to date with Alembic: once, by one process, before anything else is done."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.engine import Connection, Engine

from dpicl_core.errors import LedgerError

MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0x6470_6963_6C
_LOCK_SECONDS = 120


def schema_is_current(engine: Engine) -> bool:
    """Whether the database holds the newest schema. Raises LedgerError for one from a newer program."""
    with engine.connect() as connection, connection.begin():
        found = _revision(connection)
    if found is not None and found not in known_revisions():
        raise LedgerError(
            f"the ledger's schema {found} is newer than this program knows ({known_revisions()[-1]}); update the "
            "program on this machine. Nothing was changed."
        )
    return found == known_revisions()[-1]


def upgrade_schema(engine: Engine, home: Path, revision: str = "head") -> None:
    """Run the migrations that are missing, in one transaction; other processes wait meanwhile."""
    if engine.dialect.name == "sqlite":
        try:
            with FileLock(home / "ledger.lock", timeout=_LOCK_SECONDS):
                _upgrade(engine, revision)
        except Timeout:
            raise LedgerError("another process has been updating the ledger for two minutes; try again.") from None
    else:
        _upgrade(engine, revision)


@cache
def known_revisions() -> tuple[str, ...]:
    """All schema versions of this program, oldest first."""
    found = sorted(path.stem[1:5] for path in (MIGRATIONS / "versions").glob("v[0-9][0-9][0-9][0-9]_*.py"))
    return tuple(found)


def _upgrade(engine: Engine, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.connect().execution_options(dpicl_write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        if _revision(connection) == known_revisions()[-1]:
            return
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _revision(connection: Connection) -> str | None:
    """The schema version that the database names, None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)
