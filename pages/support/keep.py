"""Widget values that live as long as the session: Streamlit forgets a widget's value when its screen is left."""

from __future__ import annotations

from typing import Any

import streamlit as st

_KEPT = "kept_values"


def value(key: str, default: Any = None) -> Any:
    """The value of a widget, on screen or not."""
    return st.session_state.get(key, _kept().get(key, default))


def ready(key: str, default: Any = None) -> str:
    """Call just before the widget is made, and pass the result as its key: puts the kept value in place."""
    if key not in st.session_state:
        st.session_state[key] = _kept().get(key, default)
    return key


def note(*keys: str) -> None:
    """Call after widgets were made: keeps their values."""
    for key in keys:
        if key in st.session_state:
            _kept()[key] = st.session_state[key]


def put(**values: Any) -> None:
    """Set values for widgets that are not on screen yet (or from a callback)."""
    for key, new in values.items():
        _kept()[key] = new
        st.session_state[key] = new


def drop(prefix: str) -> None:
    """Forget all values whose key begins so."""
    for store in (_kept(), st.session_state):
        for key in [key for key in store if isinstance(key, str) and key.startswith(prefix)]:
            del store[key]


def _kept() -> dict[str, Any]:
    if _KEPT not in st.session_state:
        st.session_state[_KEPT] = {}
    kept: dict[str, Any] = st.session_state[_KEPT]
    return kept
