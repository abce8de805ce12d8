"""One frozen object per browser session, and the things of the server that all sessions share."""

from __future__ import annotations

import os
import secrets
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from dpicl_core.data import Dataset, Notice, Profile
from dpicl_core.jobs import BackgroundDesk, JobRegistry, QuoteBook
from dpicl_core.jobs.registry import DEFAULT_LOADER
from dpicl_core.ledger import Ledger, home_folder, open_ledger
from dpicl_core.values import PrivacyUnit, Task
from pages.support.guard import withhold_messages_in_logs

LOADER_VARIABLE = "DPICL_MODEL_LOADER"
"""For tests: `module:function` that loads the model in the child process."""

ASKED = "asked_"
"""Beginning of the names under which a session keeps answers of the background, which hold private rows."""

_KEY = "studio"


@dataclass(frozen=True, slots=True)
class Studio:
    """What this session works on. Private rows are in `dataset` alone, in memory, and go when the session goes.

    unit_counts: units by label, or {None: all} with open labels. table_id: another one for each table that was read.
    confirm_token: one per confirmation, so that two clicks start one run. own_runs: runs that this session started.
    uploads: tables read so far; a new upload field for each lets go of the bytes of the last.
    """

    dataset: Dataset | None = field(default=None, repr=False)
    task: Task | None = None
    unit: PrivacyUnit = PrivacyUnit.ROW
    profile: Profile | None = field(default=None, repr=False)
    warnings: tuple[Notice, ...] = field(default=(), repr=False)
    unit_counts: tuple[tuple[str | None, int], ...] = field(default=(), repr=False)
    table_id: str = ""
    lengths_id: str | None = None
    run_id: str | None = None
    confirm_token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    own_runs: tuple[str, ...] = ()
    uploads: int = 0

    @property
    def units(self) -> int:
        """Units of the whole table."""
        return sum(count for _, count in self.unit_counts)


@dataclass(frozen=True, slots=True)
class AskedTask:
    """A task of the child process that this session asked for, under a name of ASKED. about: what it is about."""

    about: Hashable
    task_id: str


def studio() -> Studio:
    """This session's state."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Studio()
    state: Studio = st.session_state[_KEY]
    return state


def change(**changes: Any) -> Studio:
    """Replace parts of this session's state; with the table goes whatever was answered about it."""
    if "dataset" in changes:
        for key in [key for key in st.session_state if str(key).startswith(ASKED)]:
            gone = st.session_state.pop(key)
            if isinstance(gone, AskedTask):
                registry().forget_task(gone.task_id)
    st.session_state[_KEY] = replace(studio(), **changes)
    return studio()


@st.cache_resource(show_spinner=False)
def registry() -> JobRegistry:
    """The server's one registry of runs; it outlives pages, tabs and sessions."""
    withhold_messages_in_logs()
    return JobRegistry(os.environ.get(LOADER_VARIABLE, DEFAULT_LOADER))


@st.cache_resource(show_spinner=False)
def quotes() -> QuoteBook:
    """The server's prices by plan: public numbers alone."""
    return QuoteBook()


@st.cache_resource(show_spinner=False)
def background() -> BackgroundDesk:
    """The server's threads for questions that take a while."""
    return BackgroundDesk()


def ledger() -> Ledger:
    """The ledger of this installation. Raises LedgerError, in words, where it cannot be opened."""
    return _ledger(str(home_folder()), os.environ.get("DPICL_DATABASE_URL"))


@st.cache_resource(show_spinner=False)
def _ledger(home: str, url: str | None) -> Ledger:
    return open_ledger(url, home=Path(home))
