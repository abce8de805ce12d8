"""The cluster picture: opened on purpose, recorded on the run, internal."""

from __future__ import annotations

import streamlit as st

from dpicl_core.jobs import RunSnapshot, cluster_view
from dpicl_core.jobs.registry import CLUSTER_VIEW
from pages.support.badges import figure_heading
from pages.support.figures import CONFIG, cluster_figure
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.state import registry
from pages.support.text import plain
from pages.support.words import COLOURS


def cluster_picture(snapshot: RunSnapshot) -> None:
    """A door with a lock while closed; the picture once it was opened."""
    with st.container(border=True, key="clusters"):
        figure_heading("Cluster picture", "internal", "clusters")
        if not snapshot.plan.mechanism.reads_private_rows:
            plain("No private row was read, so there is nothing to see.")
        elif CLUSTER_VIEW not in [name for name, _ in snapshot.opened_views]:
            plain(
                "Shows the private next-word vectors of each token without noise. It is for your eyes, cannot be "
                "exported, and that you opened it is recorded in the ledger before anything is shown."
            )
            st.button(
                "Open the cluster picture",
                key="open_clusters",
                icon=":material/lock_open:",
                disabled=not snapshot.spends,
                on_click=guarded(registry().open_clusters),
                args=(snapshot.run_id,),
            )
        else:
            run_id = snapshot.run_id
            polled(lambda: _picture(run_id), pending=lambda: _more_to_come(run_id), seconds=1.0)


def _more_to_come(run_id: str) -> bool:
    snapshot = registry().snapshot(run_id)
    return snapshot is not None and (not snapshot.state.over or snapshot.diagnostics_kept < snapshot.tokens_done)


@guarded
def _picture(run_id: str) -> None:
    snapshot = registry().snapshot(run_id)
    assert snapshot is not None
    seen = {(d.demonstration, d.position): d for d in registry().diagnostics(run_id)}
    plain("Opened and recorded on this run: " + ", ".join(f"{name}, {at}" for name, at in snapshot.opened_views))
    if not seen:
        plain("The vectors are not here (yet): they are sent by the process that holds them, and it keeps the last "
              "few runs only.")  # fmt: skip
        return
    drafts = [draft for draft in snapshot.drafts if any(key[0] == draft.index for key in seen)]
    names = [f"{draft.index + 1}. {draft.label}" for draft in drafts]
    at = st.selectbox(
        "Demonstration", range(len(drafts)), format_func=lambda i: names[i], key="cluster_draft", width=320
    )
    draft = drafts[at or 0]
    tokens = [token for token in draft.tokens if (draft.index, token.position) in seen]
    number = st.slider("Token", 1, max(len(tokens), 2), key="cluster_token", disabled=len(tokens) < 2)
    token = tokens[min(number, len(tokens)) - 1]
    view = cluster_view(seen[draft.index, token.position], token.trace)
    st.plotly_chart(
        cluster_figure(view, COLOURS[snapshot.plan.mechanism.name]),
        width="stretch",
        key="cluster_chart",
        config=CONFIG,
        alt="Private vectors of one token in two principal components, with ball, public vector and noisy means",
    )
    plain(f"These two directions hold {view.kept_variance:.0%} of the spread of the private vectors.")
    if view.inside is not None:
        plain(f"{view.inside} of {len(view.points)} private vectors lie inside the ball.")
    st.button(
        "Close the picture and forget the vectors",
        key="forget_clusters",
        on_click=registry().close,
        args=(run_id,),
    )
