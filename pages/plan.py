"""Plan: what is asked of the model, how much privacy is spent, and beside it what that buys."""

from __future__ import annotations

import streamlit as st

from dpicl_core.planning import DEFAULT_MECHANISM
from dpicl_core.values import default_delta
from pages.support import frame, keep
from pages.support.badges import onward
from pages.support.bought import what_this_buys
from pages.support.choices import DEFAULT_EPSILON, EPSILONS, MECHANISMS, MODEL_KINDS, task_of
from pages.support.rehearsed import rehearsal
from pages.support.rehearsing import rehearse_here
from pages.support.settings import advanced, prompt_preview
from pages.support.state import Studio, studio
from pages.support.text import plain
from pages.support.words import MODEL_KINDS as KIND_WORDS
from pages.support.words import MODEL_NAME_HELP, SENTENCES, TITLES


def screen() -> None:
    """The whole screen."""
    st.title("Plan", anchor=False)
    state = studio()
    if state.dataset is None:
        _teach()
        return
    with st.container(key="plan_columns"):
        left, right = st.columns([11, 9], gap="medium")
        with left:
            _privacy(state)
            _mechanism()
            _demonstrations(state)
            _model()
            prompt_preview(task_of(state))
            advanced(state)
        with right, st.container(border=True, key="plan_bought"):
            with st.container(key="plan_fold"):
                st.toggle("Show all of what this buys", key=keep.ready("plan_unfolded", False))
                keep.note("plan_unfolded")
            with st.container(key="bought_open" if keep.value("plan_unfolded", False) else "bought_folded"):
                what_this_buys()
            rehearse_here()
            onward("pages/generate.py", "Continue to Generate")
    rehearsal()


def _teach() -> None:
    st.markdown(
        "Here you will choose how much privacy to spend and see at once what it buys: the noise, the risk in words, "
        "and which labels have enough rows. It needs a table first."
    )
    onward("pages/data.py", "Go to Data")


def _privacy(state: Studio) -> None:
    with st.container(border=True):
        st.subheader("Privacy", anchor=False)
        st.select_slider(
            "The privacy loss epsilon",
            EPSILONS,
            key=keep.ready("plan_epsilon", DEFAULT_EPSILON),
            format_func=lambda value: f"{value:g}",
            help="How much the released texts may depend on any one row. Smaller is safer and needs more noise.",
        )
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            st.caption("stronger privacy", width="content")
            st.caption("better text", width="content")
        rule = default_delta(state.units)
        st.text_input(
            f"delta (blank: {rule:g}, by the rule)",
            key=keep.ready("plan_delta", ""),
            help="The chance with which the promise may fail. The rule: the largest power of ten at or under 1/(10 n), "
            "n being the units of the table.",
        )
        given = str(keep.value("plan_delta") or "").strip()
        if given:
            st.checkbox(
                "I accept a delta above 1/n",
                key=keep.ready("plan_accept_delta", False),
                help="Above 1/n the promise could fail for one unit outright. Recorded with the run.",
            )
        keep.note("plan_epsilon", "plan_delta", "plan_accept_delta")


def _mechanism() -> None:
    with st.container(border=True):
        st.subheader("Mechanism", anchor=False)
        st.radio(
            "Mechanism",
            MECHANISMS,
            key=keep.ready("plan_mechanism", DEFAULT_MECHANISM),
            format_func=lambda name: TITLES[name],
            horizontal=True,
            label_visibility="collapsed",
        )
        keep.note("plan_mechanism")
        with st.expander("What it does, in five sentences"):
            for sentence in SENTENCES[keep.value("plan_mechanism")]:
                st.markdown(f"- {sentence}")


def _demonstrations(state: Studio) -> None:
    task = task_of(state)
    with st.container(border=True):
        st.subheader("Demonstrations", anchor=False)
        st.number_input("How many", 1, 100, key=keep.ready("plan_shots", 4))
        st.multiselect(
            "Labels to write for (none: the declared ones, in order)",
            task.labels,
            key=keep.ready("plan_targets", []),
            help="More demonstrations than labels: the labels repeat, and a label used twice costs twice.",
        )
        keep.note("plan_shots", "plan_targets")
        shots = int(keep.value("plan_shots"))
        source = tuple(keep.value("plan_targets")) or task.labels
        plain("Will be written: " + ", ".join(source[index % len(source)] for index in range(min(shots, 12))))


def _model() -> None:
    with st.expander("Model"):
        st.selectbox(
            "Model",
            MODEL_KINDS,
            key=keep.ready("plan_model_kind", "default"),
            format_func=lambda kind: KIND_WORDS[kind],
            label_visibility="collapsed",
        )
        kind = keep.value("plan_model_kind")
        if kind != "default":
            st.text_input(MODEL_NAME_HELP[kind], key=keep.ready("plan_model_name", ""))
        keep.note("plan_model_kind", "plan_model_name")
        st.caption("It runs on this machine. A model of the hub is downloaded first; nothing is ever sent to it.")


frame.show(screen)
