"""A run on the screen: polled snapshots, drawn in areas that keep their height."""

from __future__ import annotations

import streamlit as st

from dpicl_core.jobs import DraftView, RunSnapshot, RunState
from dpicl_core.specs import MechanismSpec
from pages.support.badges import figure_heading
from pages.support.clusters import cluster_picture
from pages.support.figures import CONFIG, noise_figure, radius_figure
from pages.support.finished import outcome
from pages.support.guard import guarded
from pages.support.quoted import tang_by_label
from pages.support.state import registry
from pages.support.text import duration, plain
from pages.support.words import COLOURS, ENDINGS, STATES, TITLES

POLL_SECONDS = 0.5


def live(first: RunSnapshot) -> None:
    """One run: polled while it goes on. Both states are drawn in the same places, so that the end changes no layout."""
    going = not first.state.over
    st.fragment(_draw, run_every=POLL_SECONDS if going else None)(first.run_id, going, first.spends)
    snapshot = registry().snapshot(first.run_id)
    if snapshot is not None:
        cluster_picture(snapshot)


@guarded
def _draw(run_id: str, going: bool, paid: bool) -> None:
    snapshot = registry().snapshot(run_id)
    if snapshot is None or (going and (snapshot.state.over or snapshot.spends != paid)):
        st.rerun()  # the whole screen: the header says what is left, and the cluster picture may be opened
        return
    status(snapshot)
    with st.container(key="run_outcome"):
        if snapshot.state.over:
            outcome(snapshot)
    picture(snapshot)


def status(snapshot: RunSnapshot) -> None:
    """State, progress, speed, time left and Stop, always in the same place."""
    icon, word = STATES[snapshot.state]
    with (
        st.container(border=True, key="run_status"),
        st.container(horizontal=True, vertical_alignment="center", gap="medium"),
    ):
        st.markdown(f"{icon} **{word}**", width=190)
        st.progress(fraction_done(snapshot), text=status_words(snapshot), width="stretch")
        if not snapshot.state.over:
            st.button(
                "Stop",
                key="stop_run",
                icon=":material/stop:",
                disabled=snapshot.state is RunState.STOPPING,
                on_click=registry().stop,
                args=(snapshot.run_id,),
                help="What this run reserved stays spent; before it is paid for, a stop costs nothing.",
            )


def fraction_done(snapshot: RunSnapshot) -> float:
    """From 0 to 1: of loading the model, then of the tokens."""
    if snapshot.state is RunState.LOADING:
        return min(max(snapshot.stage_fraction, 0.0), 1.0)
    return snapshot.tokens_done / snapshot.tokens_most if snapshot.tokens_most else 0.0


def status_words(snapshot: RunSnapshot) -> str:
    """Where the run stands, in one line."""
    if snapshot.state is RunState.QUEUED:
        return f"Another run is on. Place in the queue: {max(snapshot.place, 1)}"
    if snapshot.state is RunState.LOADING:
        paid = "paid for, " if snapshot.spends else "not paid for yet, "
        return f"The model is being prepared; {paid}nothing new has been drawn yet"
    parts = [f"{snapshot.tokens_done} of at most {snapshot.tokens_most} tokens"]
    if snapshot.tokens_per_second is not None and not snapshot.state.over:
        parts.append(f"{snapshot.tokens_per_second:.1f} tokens a second")
    if snapshot.seconds_left is not None:
        parts.append(f"{duration(snapshot.seconds_left)} left")
    return ", ".join(parts)


def picture(snapshot: RunSnapshot) -> None:
    """Texts on the left, charts on the right, so that all of it is in sight at once."""
    left, right = st.columns([11, 9], gap="medium")
    with left:
        texts(snapshot)
    with right:
        charts(snapshot)


def texts(snapshot: RunSnapshot) -> None:
    """Every demonstration so far, in areas of fixed height."""
    figure_heading("Demonstrations", "released", "texts")
    for draft in snapshot.drafts:
        with st.container(
            border=True, key=f"draft_{draft.index}", height=_draft_height(snapshot.plan.tokens), gap="xxsmall"
        ):
            with st.container(horizontal=True, horizontal_alignment="distribute", gap="small"):
                st.text(f"{draft.index + 1}. {draft.label}", width="content")
                st.text(_draft_words(draft, snapshot), width="content")
            plain(draft.text or ("..." if not snapshot.state.over else "(no text)"))


def _draft_height(tokens: int) -> int:
    """Pixels for a heading and the lines that the longest text is likely to fill, four at most."""
    return 66 + 25 * min(4, -(-tokens // 15))


def _draft_words(draft: DraftView, snapshot: RunSnapshot) -> str:
    done = len(draft.tokens)
    if draft.ended_by is not None:
        return f"{done} tokens, {ENDINGS[draft.ended_by]}"
    return f"token {done} of {snapshot.plan.tokens}"


def charts(snapshot: RunSnapshot) -> None:
    """Radius and noise over tokens; one demonstration or all of them."""
    plan = snapshot.plan
    if nothing := _nothing_to_draw(plan.mechanism):
        st.markdown("**Radius and noise by token**")
        plain(nothing)
        return
    names = ["All demonstrations", *(f"{d.index + 1}. {d.label}" for d in snapshot.drafts)]
    choice = st.selectbox(
        "Show in the charts",
        range(len(names)),
        format_func=lambda at: names[at],
        key="chart_choice",
        label_visibility="collapsed",
    )
    drafts = snapshot.drafts if not choice else snapshot.drafts[choice - 1 : choice]
    colour, name = COLOURS[plan.mechanism.name], TITLES[plan.mechanism.name]
    figure_heading("Radius by token", "released", "radius")
    st.plotly_chart(
        radius_figure(drafts, plan.tokens, colour),
        width="stretch",
        key="radius_chart",
        config=CONFIG,
        alt="Radius R after each refinement step of every committed token, from 0.707 down, and the target r",
    )
    figure_heading("Noise a coordinate, by token, against Tang", "released", "noise")
    st.plotly_chart(
        noise_figure(drafts, plan.tokens, colour, name, tang_by_label(snapshot)),
        width="stretch",
        key="noise_chart",
        config=CONFIG,
        alt="Noise per coordinate of every committed token beside Tang's noise at the same privacy loss",
    )


def _nothing_to_draw(mechanism: MechanismSpec) -> str:
    """Why a run of this mechanism has neither radius nor noise scale; empty where it has both."""
    if not mechanism.reads_private_rows:
        return "No private row is read: there is no radius and no noise, and no privacy is spent."
    if not mechanism.releases_vector:
        return (
            "This mechanism releases the winner of a noisy vote alone: there is no radius and no noise scale to draw. "
            "The noise is already in the vote that each token won."
        )
    return ""
