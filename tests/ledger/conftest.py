"""Each test that asks for `ledger` runs on SQLite, and on PostgreSQL where DPICL_TEST_DATABASE_URL names a server."""

from __future__ import annotations

import os
import secrets

import pytest
import sqlalchemy as sa

from dpicl_core.ledger import open_ledger

SERVER = os.environ.get("DPICL_TEST_DATABASE_URL")
DATABASES = ["sqlite", *(["postgresql"] if SERVER else [])]

collect_ignore = [] if SERVER else ["test_postgresql.py"]


def pytest_generate_tests(metafunc):
    if "database" in metafunc.fixturenames:
        server_alone = metafunc.module.__name__.endswith("test_postgresql")
        metafunc.parametrize("database", DATABASES[1:] if server_alone else DATABASES, indirect=True)


@pytest.fixture
def database(request, tmp_path):
    """Address of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
        return
    server = sa.engine.make_url(SERVER).set(drivername="postgresql+psycopg")
    name = f"dpicl_test_{secrets.token_hex(6)}"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield server.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    admin.dispose()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def ledger(database, home):
    opened = open_ledger(database, home=home)
    yield opened
    opened.engine.dispose()
