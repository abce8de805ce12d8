"""Generate: the confirmation that spends, then the run as it happens. The run itself lives in the registry."""

from __future__ import annotations

import streamlit as st

from dpicl_core.errors import DPICLError
from dpicl_core.jobs import RunSnapshot
from pages.support import frame
from pages.support.badges import onward
from pages.support.budget import budget_of_table
from pages.support.choices import choices_of
from pages.support.confirming import confirmation
from pages.support.live import live
from pages.support.resuming import RUN_PARAMETER, interrupted
from pages.support.state import change, registry, studio
from pages.support.text import refusal
from pages.support.words import STATES, TITLES


def screen() -> None:
    """The whole screen. Each of its three states has a place of its own, so that none shows rests of another."""
    st.title("Generate", anchor=False)
    confirming, running, ended = st.container(), st.container(), st.container()
    run_id = _run_on_screen()
    snapshot = None if run_id is None else registry().snapshot(run_id)
    if run_id is None:
        with confirming:
            _before()
    elif snapshot is None:
        with ended:
            _unknown_run()
    else:
        with running:
            live(snapshot)
        with ended:
            if snapshot.state.over:
                _after(snapshot)
    _earlier_runs(run_id)


def _before() -> None:
    if studio().dataset is None:
        st.markdown(
            "Here you will watch the demonstrations being written, token by token, while the radius shrinks. "
            "It needs a table and a plan first."
        )
        onward("pages/data.py", "Go to Data")
        return
    interrupted()
    confirmation()
    budget_of_table()


def _after(snapshot: RunSnapshot) -> None:
    """What can be done once a run is over; a run that was paid for and did not finish may go on."""
    if snapshot.ledger_run_id and snapshot.record is None:
        interrupted(only=snapshot.ledger_run_id)
    st.button("Make another run", key="another_run", icon=":material/replay:", on_click=_leave_run)


def _unknown_run() -> None:
    refusal(
        "There is no run of this address on this server: it was closed, or the server was started anew since. What it "
        "released is in the ledger. Read its table again on Data, and Generate offers to go on where it is not over."
    )
    st.button("Leave this address", key="unknown_run", on_click=_leave_run)


def _earlier_runs(shown: str | None) -> None:
    """Links to the other runs of this session."""
    own = studio().own_runs
    others = [(number, run_id) for number, run_id in enumerate(own, start=1) if run_id != shown]
    if not others:
        return
    with st.expander("Other runs of this session"):
        for at, run_id in others:
            snapshot = registry().snapshot(run_id)
            if snapshot is not None:
                words = f"Run {at}: {TITLES[snapshot.plan.mechanism.name]}, {STATES[snapshot.state][1].lower()}"
                st.page_link("pages/generate.py", label=words, query_params={RUN_PARAMETER: run_id})


def _run_on_screen() -> str | None:
    """The run of the address, else the last one of this session, which then goes into the address."""
    asked: str | None = st.query_params.get(RUN_PARAMETER)
    if asked:
        return asked
    run_id = studio().run_id
    if run_id is not None and _plan_has_changed_since(run_id):
        return None
    if run_id is not None:
        st.query_params[RUN_PARAMETER] = run_id
    return run_id


def _plan_has_changed_since(run_id: str) -> bool:
    """A changed plan leads to a new confirmation, not back to a run that is over; one that goes on is shown."""
    state, snapshot = studio(), registry().snapshot(run_id)
    if state.dataset is None or snapshot is None or not snapshot.state.over:
        return False
    try:
        choices = choices_of(state)
    except DPICLError:
        return True
    return choices.plan != snapshot.plan or choices.request.epsilon != (
        snapshot.request.epsilon or choices.request.epsilon
    )


def _leave_run() -> None:
    change(run_id=None)
    if RUN_PARAMETER in st.query_params:
        del st.query_params[RUN_PARAMETER]


frame.show(screen)
