"""Five repairs of how Streamlit 1.67 treats a poll (`st.fragment(run_every=...)`) that meets a press of a person.

A poll carries the page and address that the browser showed when its timer fired. In 1.67 such a poll can
- be merged into a waiting run of another page or address and overrule it, so that a press of a link is lost;
- be run after the other page, and then tell the browser that the old page is on;
- carry the values that widgets had before a callback of the run that is on set them anew, and set them back;
- arrive just when a run has ended but not all that it drew has been passed on; the rest is then thrown away, and the
  screen stays old or empty.
And a press on something inside a polled part is dropped where the whole screen was drawn anew without that part before
it arrived; or it is run and nothing is drawn.
So here a poll gives way to a waiting run of the whole page, and brings no values of widgets: a change that a person
makes comes in a message of its own, and what waits keeps its values. A poll of a page that is no longer asked for is
dropped (the next one, a moment later, comes from the right page); and a run of a fragment waits until the run before it
has been heard to its end. A press inside a part that is gone, or may be when what is on has ended, draws the whole
screen. No message of a person is ever dropped. Another version of Streamlit may have mended this, or
changed the places that are wrapped, so it is left alone; a test says when the pin is no longer the version repaired.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

REPAIRED_VERSION = "1.67."
"""Versions whose source was read for this."""

WAIT_SECONDS = 0.02
_ASKED_PAGE = "_dpicl_asked_page"
_MARK = "_dpicl_repaired"


def repair() -> bool:
    """Put the repairs in place, once a process; False where this is another version of Streamlit."""
    if not streamlit.__version__.startswith(REPAIRED_VERSION):
        return False
    for owner, name, wrap in (
        (AppSession, "request_rerun", sorting_polls_and_presses),
        (AppSession, "_create_scriptrunner", hearing_the_last_run_out),
        (ScriptRequests, "_request_rerun_locked", giving_way_to_whole_pages),
    ):
        original = getattr(owner, name)
        if not hasattr(original, _MARK):
            wrapped = wrap(original)
            setattr(wrapped, _MARK, True)
            setattr(owner, name, wrapped)
    return True


def giving_way_to_whole_pages(original: Callable[..., bool]) -> Callable[..., bool]:
    """A poll that finds a run of a whole page waiting has nothing to add: that run draws its fragment too.

    Otherwise it runs with the values that the server has, or with those of the fragments that wait already.
    """

    @functools.wraps(original)
    def request(requests: Any, new_data: RerunData) -> bool:
        if not new_data.is_auto_rerun:
            return original(requests, new_data)
        waiting = requests._rerun_data if requests._state is ScriptRequestType.RERUN else None
        if waiting is not None and not waiting.fragment_id_queue:
            return True
        values = WidgetStates() if waiting is None else waiting.widget_states
        return original(requests, replace(new_data, widget_states=values))

    return request


def sorting_polls_and_presses(original: Callable[..., None]) -> Callable[..., None]:
    """A poll of a page that the browser is leaving would draw that page again; a press must not get lost with a part of
    the screen that goes."""

    @functools.wraps(original)
    def request_rerun(session: Any, client_state: Any) -> None:
        if client_state is None:
            original(session, None)
            return
        if client_state.is_auto_rerun:
            if client_state.page_script_hash not in ("", _page_of(session)):
                return
        elif not _is_safe_in_its_part(session, client_state.fragment_id):
            whole = type(client_state)()
            whole.CopyFrom(client_state)
            whole.fragment_id = ""
            client_state = whole
            setattr(session, _ASKED_PAGE, client_state.page_script_hash)
        original(session, client_state)

    return request_rerun


def _is_safe_in_its_part(session: Any, fragment_id: str) -> bool:
    """Whether a press can be run inside its fragment: it is there, and nothing is on that may take it away."""
    return bool(fragment_id) and session._scriptrunner is None and session.has_fragment(fragment_id)


def _page_of(session: Any) -> str:
    """The page asked for last while a run is on, and afterwards the page that came of it."""
    drawn = str(session._client_state.page_script_hash)
    return drawn if session._scriptrunner is None else str(getattr(session, _ASKED_PAGE, "") or drawn)


def hearing_the_last_run_out(original: Callable[..., None]) -> Callable[..., None]:
    """A new runner makes the session deaf to the old one; where that has ended but was not heard out, wait for it."""

    @functools.wraps(original)
    def create(session: Any, data: RerunData) -> None:
        if session._scriptrunner is None:
            original(session, data)
        else:
            session._event_loop.call_later(WAIT_SECONDS, again, session, data)

    def again(session: Any, data: RerunData) -> None:
        if session._state is AppSessionState.SHUTDOWN_REQUESTED:
            return
        if data.fragment_id and not session.has_fragment(data.fragment_id):
            if data.is_auto_rerun:
                return
            data = replace(data, fragment_id=None)
        if session._scriptrunner is None or not session._scriptrunner.request_rerun(data):
            create(session, data)

    return create
