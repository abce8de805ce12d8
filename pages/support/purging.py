"""Ending a data asset for good, behind a name that must be typed."""

from __future__ import annotations

import streamlit as st

from dpicl_core.ledger import Asset, AssetReport, purge_asset, user_name
from pages.support import keep
from pages.support.asset import where
from pages.support.guard import guarded
from pages.support.retention import forget_table
from pages.support.state import ledger, studio
from pages.support.text import plain

_DONE = "purge_done"

WHAT_IT_DOES = """
**It ends the asset for good.** No run is ever charged to it again, and its rows get no other budget.

**Removed:** the secret label and the hash of every person, every row's link to its label, the hash of each file's rows
in order, and the hashes of rows under three words, which are the easiest to guess. The table in this session's memory
goes too.

**It stays:** one keyed hash of every longer row and of each file's bytes. They say nothing without the ledger's
secret. Without them the same table could be registered anew with a fresh cap, and no total would be true any more.
Spending, plans and released texts stay as well; they are public or released.

**Not reached from here:** the table itself, backups made before, and other browser sessions, which let go of their
table when they are closed or after their retention time. If even the hashes must go, every file of the ledger and its
secret (the folder DPICL_HOME) has to be deleted, and with it all budgets.
"""


def purging(report: AssetReport) -> None:
    """The folded part of an asset that is in use."""
    asset = report.asset
    with st.expander("Purge everything private of this asset", key=f"purge_{asset.id}"):
        st.markdown(WHAT_IT_DOES)
        typed, reason = f"purge_{asset.id}_name", f"purge_{asset.id}_reason"
        plain(f"The asset's name: {asset.name}")
        st.text_input("Type the asset's name to confirm", key=typed)
        st.text_input("Reason (recorded under your name)", key=reason, max_chars=300)
        given = str(st.session_state.get(typed, "")), str(st.session_state.get(reason, ""))
        st.button(
            "Purge, for good",
            key=f"purge_{asset.id}_go",
            icon=":material/delete_forever:",
            disabled=given[0] != asset.name or not given[1].strip(),
            on_click=_purge,
            args=(asset, given[1]),
        )


def told() -> None:
    """What the last purge of this session did."""
    if done := st.session_state.get(_DONE):
        with st.container(border=True, key="purge_told"):
            plain(done)


@guarded
def _purge(asset: Asset, reason: str) -> None:
    facts = purge_asset(ledger(), asset, actor=user_name(), reason=reason)
    if _may_be_of(asset):
        forget_table()
        keep.drop("budget_")
    st.session_state[_DONE] = f"Data asset {asset.name} is ended for good. {facts.words()}"


def _may_be_of(asset: Asset) -> bool:
    """Whether this session's table belongs to the asset, or nobody knows yet."""
    if studio().dataset is None:
        return False
    found = where()
    return found is None or found.known is None or asset.id in {known.id for known in found.known.assets}
