"""Which run of the ledger a screen is about: the one that an address names, else the chosen one, else the newest."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.support import keep
from pages.support.text import loss
from pages.support.words import TITLES

PARAMETER = "of"
"""In the address: the run's id in the ledger. It opens released texts alone."""


def chosen_run(names: Mapping[str, str], key: str) -> str:
    """A select box over runs, newest first, by id; the chosen id. key: of the box, one for each screen."""
    seen = f"{key}_seen_address"
    asked = st.query_params.get(PARAMETER)
    if asked in names and asked != st.session_state.get(seen):
        keep.put(**{key: asked})
    st.session_state[seen] = asked
    if keep.value(key) not in names:
        keep.put(**{key: next(iter(names))})
    st.selectbox("Run", list(names), format_func=names.__getitem__, key=keep.ready(key))
    keep.note(key)
    return str(keep.value(key))


def run_name(run_id: str, created_at: str, asset: str, mechanism: str, epsilon: float, state: str) -> str:
    """A run in one line, by public facts."""
    ended = "finished" if state == "finished" else "closed early"
    return (
        f"{created_at[:16].replace('T', ' ')} UTC · {asset} · {TITLES.get(mechanism, mechanism)} · "
        f"epsilon {loss(epsilon)} · {ended} · {run_id[:6]}"
    )
