"""What stands between the status and the texts once a run is over: reason, promise, download."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpicl_core.export import document_for
from dpicl_core.jobs import RunSnapshot, RunState
from pages.support.badges import badge, vet_link
from pages.support.compared import RUNS_PARAMETER
from pages.support.state import registry
from pages.support.text import loss, plain, refusal


def outcome(snapshot: RunSnapshot) -> None:
    """Why the run ended where it did not finish, and the download where it did."""
    if snapshot.state is RunState.FAILED:
        refusal(snapshot.reason)
    elif snapshot.reason:
        plain(snapshot.reason)
    _export(snapshot)


def _export(snapshot: RunSnapshot) -> None:
    with st.container(border=True, key="export"):
        if snapshot.record is None or not snapshot.record.demonstrations:
            plain(
                "This run did not finish, so there is no JSON of it. The texts are DP-released and may be copied. "
                + (f"It spent epsilon {loss(snapshot.epsilon_tight)}." if snapshot.spends else "It spent nothing.")
            )
            _in_the_ledger(snapshot)
            return
        document = document_for(snapshot.record)
        badge("released", "export")
        plain(document.guarantee.sentence)
        plain(
            f"Spent: epsilon {loss(snapshot.epsilon_tight)} by the tight accountant, "
            f"{loss(snapshot.epsilon_paper)} by the paper's."
        )
        st.download_button(
            "Download the JSON, unvetted",
            partial(registry().export, snapshot.run_id),
            file_name="demonstrations.json",
            mime="application/json",
            key="download_json",
            icon=":material/download:",
            on_click="ignore",
            help="As often as you like: it is the same file each time and spends nothing. Who took it is recorded.",
        )
        _in_the_ledger(snapshot)


def _in_the_ledger(snapshot: RunSnapshot) -> None:
    if snapshot.spends:
        st.caption(f"In the ledger: run {snapshot.ledger_run_id}")
        plain(f"Charged to data asset {snapshot.asset_name}.")
        if snapshot.record is not None:
            with st.container(key="onward_vet", width="content"):  # the next step, so it looks like the main button
                vet_link(snapshot.ledger_run_id)
            st.page_link(
                "pages/compare.py",
                label="Compare with other mechanisms",
                icon=":material/compare:",
                query_params={RUNS_PARAMETER: snapshot.run_id},
                help="On the same plan. This run is not paid again; each mechanism beside it spends by itself.",
            )
            st.page_link(
                "pages/evaluate.py",
                label="Evaluate",
                icon=":material/labs:",
                query_params={"of": snapshot.ledger_run_id},
                help="Accuracy, attacks and leaks, for your eyes alone. It reads private rows, so a file that is "
                "signed afterwards says so.",
            )
