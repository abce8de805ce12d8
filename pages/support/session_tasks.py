"""Work that this session asked the child process for: begun by a button, polled while it goes on, forgotten with the
table. Two presses of one button begin it once."""

from __future__ import annotations

import secrets
from collections.abc import Hashable

import streamlit as st

from dpicl_core.jobs import Task, TaskSnapshot, TaskState
from pages.support.polling import polled
from pages.support.state import ASKED, AskedTask, registry
from pages.support.text import duration, plain, refusal

POLL_SECONDS = 0.5

_WORDS = {
    TaskState.QUEUED: ":material/hourglass_empty: **Waiting**",
    TaskState.LOADING: ":material/downloading: **Preparing the model**",
    TaskState.WORKING: ":material/play_circle: **Working**",
    TaskState.STOPPING: ":material/stop_circle: **Stopping**",
}


def begin(name: str, about: Hashable, task: Task, model: str | None) -> None:
    """Ask for a task of that name; what an earlier one found is forgotten. about: what it is about, so that its answer
    is never shown beside something else. Raises ConfigError where the queue is full."""
    known = found(name, about)
    if known is not None and not known.over:
        return
    forget(name)
    task_id = registry().ask(task, token=secrets.token_urlsafe(16), model=model)
    st.session_state[f"{ASKED}{name}"] = AskedTask(about, task_id)


def found(name: str, about: Hashable) -> TaskSnapshot | None:
    """The task as it stands; None where none was asked about that."""
    asked = st.session_state.get(f"{ASKED}{name}")
    return registry().answer(asked.task_id) if isinstance(asked, AskedTask) and asked.about == about else None


def asked_about(name: str) -> Hashable | None:
    """What the task of that name is about, which may be another plan by now; None where none was asked."""
    asked = st.session_state.get(f"{ASKED}{name}")
    return asked.about if isinstance(asked, AskedTask) else None


def going_on(name: str, about: Hashable) -> bool:
    """Whether it waits or works; while it does, its place is polled."""
    snapshot = found(name, about)
    return snapshot is not None and not snapshot.over


def forget(name: str) -> None:
    """Stop the task of that name where it goes on, and drop what it found."""
    asked = st.session_state.pop(f"{ASKED}{name}", None)
    if isinstance(asked, AskedTask):
        registry().forget_task(asked.task_id)


def progress(name: str, about: Hashable, *, narrow: bool = False) -> None:
    """State, share done, time left and Stop while it goes on; why it ended where it ended early. narrow: the bar has a
    line of its own."""
    polled(lambda: _draw(name, about, narrow), pending=lambda: going_on(name, about), seconds=POLL_SECONDS)


def _draw(name: str, about: Hashable, narrow: bool) -> None:
    snapshot = found(name, about)
    if snapshot is None or snapshot.state is TaskState.DONE:
        return
    if snapshot.state is TaskState.FAILED:
        refusal(snapshot.reason)
        return
    if snapshot.over:
        plain(snapshot.reason)
        return
    share = snapshot.fraction if snapshot.state is not TaskState.QUEUED else 0.0
    with st.container(key=f"{name}_status", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.markdown(_WORDS[snapshot.state], width=210)
            if not narrow:
                st.progress(share, text=_words(snapshot))
            st.button(
                "Stop",
                key=f"{name}_stop",
                icon=":material/stop:",
                disabled=snapshot.state is TaskState.STOPPING,
                on_click=registry().stop_task,
                args=(snapshot.task_id,),
                help="It spends nothing; what was opened stays recorded.",
            )
        if narrow:
            st.progress(share, text=_words(snapshot))


def _words(snapshot: TaskSnapshot) -> str:
    if snapshot.state is TaskState.QUEUED and not snapshot.place:
        return "About to begin"
    if snapshot.state is TaskState.QUEUED:
        return f"Other work is on. Place in the queue: {snapshot.place}"
    left = "" if snapshot.seconds_left is None else f", {duration(snapshot.seconds_left)} left"
    return f"{snapshot.stage}, {snapshot.fraction:.0%}{left}"
