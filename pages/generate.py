"""Generate: the confirmation that spends, then the run as it happens. The run itself lives in the registry."""

from __future__ import annotations

import secrets

import streamlit as st

from dpicl_core.errors import DPICLError
from dpicl_core.jobs import rough_seconds
from dpicl_core.runs import PrivacyRequest, prepare_run
from pages.support import frame
from pages.support.choices import choices_of
from pages.support.guard import guarded
from pages.support.live import live
from pages.support.state import change, quotes, registry, studio
from pages.support.text import count, duration, number, plain, refusal
from pages.support.words import STATES, TITLES

RUN_PARAMETER = "run"


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
            live(run_id, going=not snapshot.state.over)
        with ended:
            if snapshot.state.over and st.button("Plan another run", key="another_run", icon=":material/replay:"):
                _leave_run()
                st.switch_page("pages/plan.py")
    _earlier_runs(run_id)


def _unknown_run() -> None:
    refusal("There is no run of this address on this server: it was closed, or the server was started anew since.")
    if st.button("Back to the plan", key="unknown_run"):
        _leave_run()
        st.switch_page("pages/plan.py")


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


def _before() -> None:
    state = studio()
    if state.dataset is None:
        st.markdown(
            "Here you will watch the demonstrations being written, token by token, while the radius shrinks. "
            "It needs a table and a plan first."
        )
        if st.button("Go to Data", type="primary", key="generate_to_data"):
            st.switch_page("pages/data.py")
        return
    _confirmation()


@st.fragment(run_every=0.5)
@guarded
def _confirmation() -> None:
    """States what is spent. The button waits for both accountants, so that nothing is spent unseen."""
    choices = choices_of(studio())
    quote = quotes().quote(choices.request)
    plan = choices.plan
    with st.container(border=True, key="confirmation"):
        if quote.problem:
            refusal(quote.problem)
            return
        epsilon = number(quote.epsilon_tight or 0)
        st.subheader(f"This run will spend epsilon {epsilon}, whatever happens after you press.", anchor=False)
        paper = "being computed ..." if quote.epsilon_paper is None else number(quote.epsilon_paper)
        plain(
            f"By the paper's accountant: {paper}. delta {choices.request.delta:g}. A stop, a crash or an early end "
            "gives nothing back."
        )
        plain(
            f"{count(len(plan.target_labels), 'demonstration')} by {TITLES[plan.mechanism.name]}, up to "
            f"{count(plan.tokens, 'token')} each, for: {', '.join(plan.target_labels[:12])}. "
            f"About {duration(rough_seconds(plan, registry().pace()))}."
        )
        st.button(
            "Spend and start" if plan.mechanism.reads_private_rows else "Start (spends nothing)",
            type="primary",
            key="spend",
            icon=":material/play_arrow:",
            disabled=not quote.complete,
            on_click=_start,
        )
        if not quote.complete:
            st.caption("The button opens when the second accountant is ready, in a few seconds.")
    if studio().run_id is not None and not _plan_has_changed_since(str(studio().run_id)):
        st.rerun()


@guarded
def _start() -> None:
    """One run for this confirmation, however often it is pressed: the token names it."""
    state = studio()
    if state.dataset is None:
        return
    choices = choices_of(state)
    reads = choices.plan.mechanism.reads_private_rows
    request = PrivacyRequest(choices.request.epsilon if reads else None, choices.request.delta)
    prepared = prepare_run(state.dataset, choices.plan, request, assignment=state.assignment)
    run_id = registry().submit(prepared, token=state.confirm_token, model=choices.model)
    change(run_id=run_id, confirm_token=secrets.token_urlsafe(16), own_runs=(*state.own_runs, run_id))


frame.show(screen)
