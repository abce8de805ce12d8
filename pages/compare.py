"""Compare: two mechanisms or more on one plan, side by side; started here, or taken from runs that have ended."""

from __future__ import annotations

import streamlit as st

from dpicl_core.jobs import RunSnapshot
from pages.support import frame
from pages.support.behind import before_and_after, internal_figures
from pages.support.columns import side_by_side
from pages.support.compared import MOST_COLUMNS, Column, alike, columns_of, leave, shown_ids, snapshots_of
from pages.support.comparing import note_started, starting
from pages.support.ended import choose_ended
from pages.support.guard import guarded
from pages.support.state import studio
from pages.support.table import read_sample
from pages.support.text import count, plain, refusal

SHOWS = (
    ("Texts side by side", "a text of each mechanism for each label, growing live, with the words marked that differ"),
    ("Radius and noise by token", "one chart each, all mechanisms laid over each other"),
    ("Numbers", "epsilon, noise a coordinate, radius and seconds of each"),
    ("How close the private vectors lie", "the table of the paper, behind a lock: internal, not DP"),
    ("Agreement", "how often a token is the choice made without noise, behind the same lock"),
    ("Before and after", "real rows beside synthetic ones, behind a lock of their own"),
)


def screen() -> None:
    """The whole screen. Choosing and looking each have a place of their own, so that none shows rests of the other."""
    st.title("Compare", anchor=False)
    choosing, looking = st.container(), st.container()
    ids = shown_ids()
    note_started()
    if not ids:
        with choosing:
            _choose()
        return
    snapshots = snapshots_of(ids)
    with looking:
        _missing(len(ids) - len(snapshots), snapshots)
        if snapshots:
            _look(columns_of(snapshots))
        st.button("Start another comparison", key="compare_leave", icon=":material/replay:", on_click=leave)


def _choose() -> None:
    if studio().dataset is None:
        _teach()
    else:
        plain(
            "Two mechanisms or more on the plan of the Plan screen: the same task, labels, sizes and epsilon, each "
            "with draws of its own."
        )
        starting()
    choose_ended()


def _teach() -> None:
    """What will stand here, and a way to it."""
    st.markdown("Here you will see what each mechanism makes of the same plan. It needs a table first.")
    with st.container(border=True, key="compare_empty"):
        for title, words in SHOWS:
            st.markdown(f"**{title}**: {words}")
    plain("Each mechanism spends by itself; before you press, the screen says how much.")
    st.button(
        "Use the sample table here",
        type="primary",
        key="compare_sample",
        icon=":material/science:",
        on_click=guarded(read_sample),
    )


def _missing(unknown: int, snapshots: tuple[RunSnapshot, ...]) -> None:
    """What of the address is not on the screen, and why."""
    if unknown:
        refusal(
            f"{count(unknown, 'run')} of this address cannot be shown: the server was started anew since, or the "
            "address is wrong. What was released is in the ledger: start another comparison and choose runs that have "
            "ended, or go on with one that is not over on Generate."
        )
    strange = [each for each in snapshots if not alike(each, snapshots[0])]
    if strange:
        refusal(
            f"{count(len(strange), 'run')} of this address left out: another plan or another data asset than the first "
            "one, so texts and numbers cannot be compared."
        )


def _look(columns: tuple[Column, ...]) -> None:
    beside = tuple(column.snapshot for column in columns)
    if len(columns) == 1:
        plain("One run so far. Pick what to compare it with; it takes the plan of this run.")
        starting(beside)
    side_by_side(columns)
    internal_figures(columns)
    before_and_after(columns)
    if 1 < len(columns) < MOST_COLUMNS:
        with st.expander("Add a mechanism to this comparison", key="compare_more"):
            starting(beside)


frame.show(screen)
