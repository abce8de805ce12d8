"""Verify: drop a demonstrations file and read what it guarantees, or why it does not hold. Needs no private data."""

from __future__ import annotations

import streamlit as st

from dpicl_core.errors import DPICLError
from dpicl_core.verification import read_document, verify
from pages.support import frame
from pages.support.signed import content_of, verdict_words
from pages.support.text import refusal

LARGEST_MEGABYTES = 64


def screen() -> None:
    """The whole screen."""
    st.title("Verify", anchor=False)
    st.markdown(
        "Drop a demonstrations file here. Everything that it claims is recomputed from its own parameters; no private "
        "data, no ledger and no network are needed, so whoever receives the file can do the same."
    )
    file = st.file_uploader(
        "Demonstrations file (JSON)", type=["json"], key="verify_file", max_upload_size=LARGEST_MEGABYTES
    )
    if file is None:
        st.caption(
            "A verdict in words appears here: who is protected, at which price, what is not covered, who signed."
        )
        return
    try:
        with st.spinner("Recomputing every number of the file", show_time=False):
            verdict = verify(read_document(file.getvalue()))
    except DPICLError as error:
        refusal(str(error))
        return
    with st.container(border=True, key="verdict"):
        st.markdown(
            ":material/verified: **The file holds what it says**"
            if verdict.holds
            else ":material/gpp_bad: **The file does not hold what it says**"
        )
        verdict_words(verdict)
        if not verdict.holds:
            st.caption("Do not rely on it; ask its makers for it again.")
        elif verdict.document.vetting is not None:
            st.download_button(
                "Its certificate, to print (HTML)",
                content_of("certificate", verdict),
                file_name="certificate.html",
                mime="text/html",
                key="verify_certificate",
                icon=":material/download:",
                on_click="ignore",
            )


frame.show(screen)
