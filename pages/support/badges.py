"""What may leave and what may not, in words, with an icon and a shape; never by colour alone."""

from __future__ import annotations

from typing import Literal

import streamlit as st

Kind = Literal["released", "internal", "public"]

_LABELS: dict[Kind, tuple[str, str, Literal["green", "orange", "gray"], str]] = {
    "released": (
        "DP-released",
        ":material/verified_user:",
        "green",
        "Protected by the noise of this run: may be shown, stored and shared.",
    ),
    "internal": (
        "internal, not DP",
        ":material/lock:",
        "orange",
        "Computed from private rows without noise: for the steward's eyes, never exported.",
    ),
    "public": (
        "public",
        ":material/public:",
        "gray",
        "Declared before the rows were read, or computed from declared numbers alone.",
    ),
}


def badge(kind: Kind, key: str, *, why: str = "") -> None:
    """One badge. key: unique on the screen; it also carries the outline of the internal ones. why: fixed words that
    take the place of the badge's own help, and stand on it."""
    label, icon, colour, help_text = _LABELS[kind]
    if why:
        label, help_text = f"{label}: {why}", f"{why[:1].upper()}{why[1:]}."
    with st.container(key=f"badge_{kind}_{key}", width="content"):
        st.badge(label, icon=icon, color=colour, help=help_text)


def figure_heading(title: str, kind: Kind, key: str, *, why: str = "") -> None:
    """A constant heading with its badge behind it; why: as in badge."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{title}**", width="content")
        badge(kind, key, why=why)


def onward(path: str, label: str) -> None:
    """A link that looks like the main button. It switches screens in the browser: a switch that the server makes while
    a part of the old screen is polled can reach the browser in the wrong order, which leaves an empty page."""
    with st.container(key=f"onward_{label.rsplit(' ', 1)[-1].lower()}", width="content"):
        st.page_link(path, label=label, icon=":material/arrow_forward:", width="content")


def vet_link(ledger_run_id: str) -> None:
    """From a finished run to its texts on Vet and export."""
    st.page_link(
        "pages/vet.py",
        label="Vet and export",
        icon=":material/fact_check:",
        query_params={"of": ledger_run_id},
        help="A person reads each text, approves, edits or rejects it, and signs; then it may leave.",
    )
