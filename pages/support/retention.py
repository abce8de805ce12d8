"""How long a session keeps private rows in memory without a click; then they are let go of."""

from __future__ import annotations

import gc
import time

import streamlit as st

from pages.support import keep
from pages.support.guard import guarded
from pages.support.state import change, registry, studio

CHOICES_MINUTES = (5, 15, 60, 240, 1440)
DEFAULT_MINUTES = 240
LOOK_SECONDS = 30.0

_LAST_USE = "retention_last_use"
_FORGOTTEN = "retention_forgotten"


def minutes() -> int:
    """The retention time of this session."""
    return int(keep.value("retention_minutes", DEFAULT_MINUTES))


def watch() -> None:
    """Call on every screen: notes that the session is in use, and looks from time to time whether it still is."""
    st.session_state[_LAST_USE] = time.monotonic()
    if studio().dataset is None and st.session_state.get(_FORGOTTEN, False):
        st.caption(f"The table was let go of after {minutes()} minutes without a click; read it again on Data.")
    if studio().dataset is not None:
        st.session_state[_FORGOTTEN] = False
        st.fragment(_look, run_every=LOOK_SECONDS)()


def forget_table() -> None:
    """Let go of the table, of everything computed from it, and of opened vectors of this session's ended runs."""
    state = studio()
    for run_id in state.own_runs:
        snapshot = registry().snapshot(run_id)
        if snapshot is not None and snapshot.state.over:
            registry().close(run_id)
    change(dataset=None, task=None, profile=None, warnings=(), unit_counts=(), table_id="", lengths_id=None)
    for typed in ("play_", "remote_"):  # a query, and the key of an address
        keep.drop(typed)
    change(uploads=state.uploads + 1)  # another upload field: Streamlit keeps the bytes of the old one otherwise
    gc.collect()  # rows that hang in a circle of references leave now, not some time later


def is_over(last_use_seconds: float, now_seconds: float, kept_minutes: float) -> bool:
    """Whether the retention time has passed since the last use."""
    return now_seconds - last_use_seconds > 60 * kept_minutes


@guarded
def _look() -> None:
    now = time.monotonic()
    if studio().dataset is not None and is_over(float(st.session_state.get(_LAST_USE, now)), now, minutes()):
        forget_table()
        st.session_state[_FORGOTTEN] = True
        st.rerun()
