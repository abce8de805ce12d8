"""What every test gets: a ledger of its own, so that no test spends from another one's, or from the user's."""

from __future__ import annotations

import os

import pytest

from dpicl_core.language_model.loading import rest_while_waiting

rest_while_waiting()  # before any test module imports torch


@pytest.fixture(scope="session", autouse=True)
def home_of_the_session(tmp_path_factory):
    """For fixtures that are shared by several tests; no ledger of the person who runs the tests is ever touched."""
    before = {name: os.environ.get(name) for name in ("DPICL_HOME", "DPICL_DATABASE_URL")}
    os.environ.pop("DPICL_DATABASE_URL", None)
    os.environ["DPICL_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


@pytest.fixture(autouse=True)
def own_home(home_of_the_session, tmp_path_factory, monkeypatch):
    """A fresh home folder, hence a fresh ledger, for each test."""
    monkeypatch.setenv("DPICL_HOME", str(tmp_path_factory.mktemp("home")))
