"""A poll that meets a person's press: the pinned Streamlit loses the press, the repaired one does not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
import streamlit
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from pages.support.streamlit_polls import (
    REPAIRED_VERSION,
    giving_way_to_whole_pages,
    hearing_the_last_run_out,
    repair,
    sorting_polls_and_presses,
)

PRESS = RerunData(query_string="run=7", page_script_hash="generate")
POLL = RerunData(query_string="", page_script_hash="plan", fragment_id="price", is_auto_rerun=True)


def plain(function):
    """What the library has, where the repairs are in place already."""
    return getattr(function, "__wrapped__", function)


def waiting_after(request, *asked):
    requests = ScriptRequests()
    for data in asked:
        request(requests, data)
    return requests.on_scriptrunner_ready().rerun_data


def test_the_pinned_streamlit_is_the_one_repaired_and_repairing_twice_changes_nothing():
    assert streamlit.__version__.startswith(REPAIRED_VERSION)
    assert repair()
    once = AppSession.request_rerun, AppSession._create_scriptrunner, ScriptRequests._request_rerun_locked
    assert repair()
    assert once == (AppSession.request_rerun, AppSession._create_scriptrunner, ScriptRequests._request_rerun_locked)


def test_another_version_is_left_alone(monkeypatch):
    monkeypatch.setattr(streamlit, "__version__", "1.99.0")
    assert not repair()


def test_without_the_repair_a_poll_takes_a_waiting_press_to_its_own_page():
    lost = waiting_after(plain(ScriptRequests._request_rerun_locked), PRESS, POLL)
    assert (lost.page_script_hash, lost.query_string) == ("plan", "")


def test_with_it_the_press_goes_where_it_was_meant_to_and_polls_that_come_alone_go_on():
    request = giving_way_to_whole_pages(plain(ScriptRequests._request_rerun_locked))
    kept = waiting_after(request, PRESS, POLL)
    assert (kept.page_script_hash, kept.query_string, kept.fragment_id_queue) == ("generate", "run=7", [])
    assert waiting_after(request, POLL).fragment_id_queue == ["price"]


def values(**numbers):
    return WidgetStates(widgets=[WidgetState(id=name, int_value=value) for name, value in numbers.items()])


def test_without_the_repair_a_poll_brings_back_what_a_widget_showed_before_a_callback_set_it():
    stale = replace(POLL, widget_states=values(epsilon=1))
    kept = waiting_after(plain(ScriptRequests._request_rerun_locked), stale).widget_states
    assert [(each.id, each.int_value) for each in kept.widgets] == [("epsilon", 1)]


def test_with_it_a_poll_brings_no_values_and_takes_none_from_a_fragment_that_waits():
    request = giving_way_to_whole_pages(plain(ScriptRequests._request_rerun_locked))
    stale = replace(POLL, widget_states=values(epsilon=1))
    assert list(waiting_after(request, stale).widget_states.widgets) == []
    moved = RerunData(page_script_hash="plan", fragment_id="picture", widget_states=values(token=7))
    both = waiting_after(request, moved, stale)
    assert both.fragment_id_queue == ["picture", "price"]
    assert [(each.id, each.int_value) for each in both.widget_states.widgets] == [("token", 7)]
    assert waiting_after(request, POLL, PRESS).page_script_hash == "generate"
    pressed = RerunData(page_script_hash="generate", fragment_id="stop")
    assert waiting_after(request, pressed, POLL).fragment_id_queue == ["stop", "price"]


def session_on(page, *, busy):
    return SimpleNamespace(_client_state=ClientState(page_script_hash=page), _scriptrunner=object() if busy else None)


@pytest.mark.parametrize("busy", [True, False])
def test_a_poll_of_a_page_that_was_left_is_dropped_and_one_of_the_page_that_is_on_is_not(busy):
    passed = []
    request = sorting_polls_and_presses(lambda session, state: passed.append(state.page_script_hash))
    session = session_on("plan", busy=busy)
    poll_of_plan = ClientState(page_script_hash="plan", fragment_id="price", is_auto_rerun=True)
    poll_of_run = ClientState(page_script_hash="generate", fragment_id="live", is_auto_rerun=True)
    request(session, poll_of_plan)
    request(session, ClientState(page_script_hash="generate"))
    if not busy:  # the run of the page is over, and the session knows where it is
        session._client_state.page_script_hash = "generate"
    request(session, poll_of_plan)
    request(session, poll_of_run)
    assert passed == ["plan", "generate", "generate"]


def test_without_the_repair_a_press_inside_a_part_that_is_gone_is_dropped():
    heard = []
    session = SimpleNamespace(
        _state=AppSessionState.APP_NOT_RUNNING,
        _scriptrunner=None,
        has_fragment=lambda name: False,
        _create_scriptrunner=heard.append,
    )
    press = ClientState(page_script_hash="generate", fragment_id="confirmation", widget_states=values(spend=1))
    plain(AppSession.request_rerun)(session, press)
    assert heard == []
    session._client_state = ClientState(page_script_hash="generate")
    AppSession.request_rerun(session, press)
    [whole] = heard
    assert (whole.fragment_id, whole.page_script_hash) == (None, "generate")
    assert [(each.id, each.int_value) for each in whole.widget_states.widgets] == [("spend", 1)]


@pytest.mark.parametrize(("busy", "drawn"), [(True, ""), (False, "stop")])
def test_a_press_inside_a_part_draws_the_whole_screen_while_anything_is_on(busy, drawn):
    passed = []
    request = sorting_polls_and_presses(lambda session, state: passed.append(state))
    session = session_on("plan", busy=busy)
    session.has_fragment = lambda name: True
    press = ClientState(page_script_hash="generate", fragment_id="stop", query_string="run=7")
    request(session, press)
    [heard] = passed
    assert (heard.fragment_id, heard.page_script_hash, heard.query_string) == (drawn, "generate", "run=7")
    assert press.fragment_id == "stop"


class Runner:
    """A runner that has ended: it takes no requests."""

    def request_rerun(self, data):
        return False


def test_a_new_run_waits_until_the_one_before_has_been_heard_out():
    created = []
    create = hearing_the_last_run_out(lambda session, data: created.append(data.fragment_id))

    async def meet():
        session = SimpleNamespace(
            _event_loop=asyncio.get_running_loop(),
            _scriptrunner=Runner(),
            _state=AppSessionState.APP_IS_RUNNING,
            has_fragment=lambda name: name == "price",
        )
        create(session, POLL)
        create(session, RerunData(fragment_id="gone", is_auto_rerun=True))
        create(session, RerunData(fragment_id="part of a press, gone"))
        await asyncio.sleep(0.1)
        assert created == []
        session._scriptrunner = None
        await asyncio.sleep(0.1)
        assert sorted(created, key=str) == [None, "price"]
        create(session, POLL)
        assert created[2:] == ["price"]

    asyncio.run(meet())


def test_nothing_is_run_for_a_session_that_is_being_closed():
    created = []
    create = hearing_the_last_run_out(lambda session, data: created.append(data))

    async def meet():
        session = SimpleNamespace(
            _event_loop=asyncio.get_running_loop(), _scriptrunner=Runner(), _state=AppSessionState.SHUTDOWN_REQUESTED
        )
        create(session, POLL)
        session._scriptrunner = None
        await asyncio.sleep(0.1)

    asyncio.run(meet())
    assert created == []
