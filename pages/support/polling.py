"""Drawing again while something is being worked out, and only then.

A timer that goes on for ever is more than waste: a poll of the old screen that meets a click on a link to another one
can reach the server in the wrong order, and the browser is then left on the old screen, or on an empty one.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.support.guard import guarded


def polled(draw: Callable[[], None], *, pending: Callable[[], bool], seconds: float) -> None:
    """Draw a part of the screen, again and again while `pending`; then once more with the whole screen, and no more."""
    if not pending():
        draw()
        return

    @guarded
    def again() -> None:
        if not pending():
            st.rerun()
        draw()

    st.fragment(again, run_every=seconds)()
