"""The frame of every screen: where the steward is, what she has chosen so far, what it costs; then the screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from dpicl_core.errors import DPICLError
from dpicl_core.planning import DEFAULT_MECHANISM
from dpicl_core.values import PrivacyUnit
from pages.support import keep, retention
from pages.support.asset import left_line
from pages.support.choices import DEFAULT_EPSILON, choices_of
from pages.support.guard import guarded
from pages.support.state import Studio, registry, studio
from pages.support.streamlit_polls import repair
from pages.support.text import count, loss, plain
from pages.support.words import ABOUT, HELP, TITLES

MENU = {"About": ABOUT}
_ASSETS = Path(__file__).resolve().parent.parent.parent / "assets"
_STYLE, _ICON = _ASSETS / "studio.css", _ASSETS / "icon.png"
_STEPS = (
    ("pages/data.py", "1 Data"),
    ("pages/plan.py", "2 Plan"),
    ("pages/generate.py", "3 Generate"),
    ("pages/compare.py", "4 Compare"),
    ("pages/vet.py", "5 Vet and export"),
    ("pages/evaluate.py", "Evaluate"),
    ("pages/ledger.py", "Ledger"),
    ("pages/verify.py", "Verify"),
)


def configure() -> None:
    """Title, icon and width of the browser page; and the repairs that every screen with a poll needs."""
    repair()
    st.set_page_config(page_title="DP-ICL Studio", page_icon=str(_ICON), layout="wide", menu_items=MENU)


def show(screen: Callable[[], None]) -> None:
    """Draw the header, then the screen.

    Each page calls this itself: until a fresh server has run app.py once, Streamlit runs a page of the folder `pages`
    alone, and it must look the same then.
    """
    configure()
    registry()
    st.html(_STYLE)
    _header(studio())
    retention.watch()
    guarded(screen)()


@guarded
def _header(state: Studio) -> None:
    with st.container(key="studio_header", gap="xxsmall"):
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            for path, label in _STEPS:
                st.page_link(path, label=label, width="content")
            with st.popover("Help", icon=":material/help:", type="tertiary"):
                st.markdown(HELP)
        plain(choices_line(state))
        plain(cost_line(state))


def choices_line(state: Studio) -> str:
    """What has been chosen so far, in one line."""
    if state.dataset is None or state.task is None:
        return "No table yet. First choose one on Data."
    unit = "row" if state.unit is PrivacyUnit.ROW else "person"
    labels = "open labels" if state.task.open_labels else count(len(state.task.labels), "public label")
    parts = [state.dataset.name, count(len(state.dataset), "row"), f"unit: {unit}", labels]
    mechanism = keep.value("plan_mechanism", DEFAULT_MECHANISM)
    return " · ".join([*parts, TITLES[mechanism], count(int(keep.value("plan_shots", 4)), "demonstration")])


def cost_line(state: Studio) -> str:
    """What this run costs at most, and what is left of the table's data asset."""
    if state.dataset is None:
        return "Privacy loss epsilon: nothing is chosen yet."
    left = left_line()
    try:
        plan = choices_of(state).plan
        epsilon = float(keep.value("plan_epsilon", DEFAULT_EPSILON)) if plan.mechanism.reads_private_rows else 0.0
    except DPICLError:
        return f"Privacy loss epsilon: this plan has no price yet; {left}."
    return f"Privacy loss epsilon: this run at most {loss(epsilon)}; {left}."
