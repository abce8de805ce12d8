"""DP-ICL Studio in the browser: `python -m streamlit run app.py`, then http://127.0.0.1:8501."""

import streamlit as st

from pages.support import frame

frame.configure()
st.navigation(
    [
        st.Page("pages/data.py", title="Data", url_path="data", default=True),
        st.Page("pages/plan.py", title="Plan", url_path="plan"),
        st.Page("pages/generate.py", title="Generate", url_path="generate"),
        st.Page("pages/compare.py", title="Compare", url_path="compare"),
        st.Page("pages/vet.py", title="Vet and export", url_path="vet"),
        st.Page("pages/evaluate.py", title="Evaluate", url_path="evaluate"),
        st.Page("pages/ledger.py", title="Ledger", url_path="ledger"),
        st.Page("pages/verify.py", title="Verify", url_path="verify"),
    ],
    position="hidden",
).run()
