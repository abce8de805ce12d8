"""Behind the guarantee of a comparison: how close the private vectors lie, how often the noise changed the choice, and
real rows beside synthetic ones. Internal, not DP; each is recorded in the ledger before it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from dpicl_core.charged_runs.internal_view import open_view
from dpicl_core.evaluation.comparison import Unprotected, unprotected_numbers, verdict
from dpicl_core.jobs import RunSnapshot
from dpicl_core.values import Example
from pages.support.asset import where
from pages.support.badges import badge, figure_heading, onward
from pages.support.compared import Column
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.side_by_side import agreement_table, radius_table
from pages.support.state import ASKED, ledger, registry, studio
from pages.support.text import plain

FIGURES_VIEW = "radii and agreement of compared runs, not DP"
ROWS_VIEW = "random real rows beside compared texts, not DP"
WAIT_SECONDS = 15
"""How long the vectors may take to come from the process that holds them, before no more of them are waited for."""

_ROWS = f"{ASKED}compare_rows"


@guarded
def internal_figures(columns: Sequence[Column]) -> None:
    """A door with a lock; behind it the tables, for the runs that it was opened for."""
    with st.container(border=True, key="compare_internal"):
        figure_heading("How close the private vectors lie", "internal", "compare_internal")
        plain(
            "As Table 1 of the paper: the radius of the smallest ball around a private next-word vector that holds 80% "
            "of them, against 0.707 for the whole simplex, and how often a token is the choice made without noise."
        )
        readable = [column for column in columns if _can_be_opened(column.snapshot)]
        closed = [column for column in readable if not _is_open(column.snapshot)]
        if not readable:
            plain("No run here has private vectors that this server holds: only those of its last few runs are kept.")
            return
        if closed:
            _door(closed, all(column.snapshot.state.over for column in columns))
        opened = [column for column in readable if _is_open(column.snapshot)]
        if opened:
            ids = [column.snapshot.run_id for column in opened]
            polled(lambda: _tables(columns), pending=lambda: any(map(_more_to_come, ids)), seconds=1.0)


def _door(closed: Sequence[Column], over: bool) -> None:
    plain(
        "Computed from private rows without noise: for your eyes, never exported. That you opened it is recorded in "
        "the ledger for each run before anything is shown, and a file signed later says so."
    )
    st.button(
        "Open the internal figures",
        key="compare_open_internal",
        icon=":material/lock_open:",
        disabled=not over,
        on_click=_open,
        args=([column.snapshot.run_id for column in closed],),
        help=None if over else "It opens once all runs are over.",
    )


@guarded
def _open(ids: Sequence[str]) -> None:
    for run_id in ids:
        registry().open_internal(run_id, FIGURES_VIEW)


def _can_be_opened(snapshot: RunSnapshot) -> bool:
    """Whether it reads rows and this server drew a part of it; a page of the ledger alone has no vectors."""
    return snapshot.plan.mechanism.reads_private_rows and (
        not snapshot.state.over or snapshot.drawn_here or snapshot.diagnostics_kept > 0
    )


def _is_open(snapshot: RunSnapshot) -> bool:
    return FIGURES_VIEW in [name for name, _ in snapshot.opened_views]


def _more_to_come(run_id: str) -> bool:
    """Whether vectors of an opened run are on their way; not for ever, since a process that ended took them along."""
    snapshot = registry().snapshot(run_id)
    if snapshot is None or snapshot.diagnostics_kept >= snapshot.tokens_done:
        return False
    opened = max(at for name, at in snapshot.opened_views if name == FIGURES_VIEW)
    return (datetime.now(UTC) - datetime.fromisoformat(opened)).total_seconds() < WAIT_SECONDS


@guarded
def _tables(columns: Sequence[Column]) -> None:
    found = [_numbers(column.snapshot.run_id) for column in columns]
    opened = [
        f"{column.name} {at[:16].replace('T', ' ')} UTC"
        for column in columns
        for name, at in column.snapshot.opened_views
        if name == FIGURES_VIEW
    ]
    plain("Opened and recorded: " + ", ".join(opened))
    if not any(found):
        plain("The vectors are not here (yet): they are sent by the process that holds them, which keeps the last few "
              "runs only.")  # fmt: skip
        return
    names = [column.name for column in columns]
    labels = columns[0].snapshot.plan.target_labels
    table = radius_table(labels, names, found)
    st.markdown("**Mean radius of the ball that holds 80% of the vectors**")
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(table["label"]),
        key="compare_radius_table",
        alt="A line for each label, a column for each mechanism, and 0.707 for the whole simplex",
    )
    st.caption("Along each mechanism's own text, so the columns differ by the texts too; the paper follows Tang's.")
    st.markdown("**Agreement with the choice made without noise**")
    st.dataframe(
        agreement_table(names, found),
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(names),
        key="compare_agreement_table",
        alt="A line for each mechanism: share of tokens as without noise, and how many tokens were seen",
    )
    for sentence in verdict((), None, [each for each in found if each is not None]):
        plain(sentence)


def _numbers(run_id: str) -> Unprotected | None:
    snapshot = registry().snapshot(run_id)
    if snapshot is None or not _is_open(snapshot):
        return None
    tokens = [token for draft in snapshot.drafts for token in draft.tokens]
    return unprotected_numbers(snapshot.plan, tokens, registry().diagnostics(run_id))


@guarded
def before_and_after(columns: Sequence[Column]) -> None:
    """One random real row for each text, behind a lock, beside what was written for its label."""
    with st.container(border=True, key="compare_rows"):
        figure_heading("Before and after", "internal", "compare_rows")
        plain(
            "One random row of your table for each text, beside the texts that were written for its label. A row is no "
            "model of a text: no text was made from it more than from others."
        )
        if studio().dataset is None:
            plain("The rows are not here: this session has no table. Read the table of these runs on Data again.")
            onward("pages/data.py", "Go to Data")
            return
        polled(lambda: _rows(columns), pending=lambda: where() is None, seconds=0.5)


@guarded
def _rows(columns: Sequence[Column]) -> None:
    here = where()
    asset = columns[0].snapshot.asset_name
    if here is None:
        plain("The ledger is being asked whose table this is ...")
        return
    if here.known is None or asset not in [each.name for each in here.known.assets]:
        plain(f"These runs were charged to data asset {asset}, and the table of this session does not belong to it.")
        return
    shown = _revealed(columns)
    if shown is None:
        plain(
            "That you looked is recorded in the ledger for each run before a row is shown, and a file signed later "
            "says so. The rows stay in the memory of this session and are never exported."
        )
        over = all(column.snapshot.state.over for column in columns)
        st.button(
            "Reveal random rows",
            key="compare_reveal",
            icon=":material/lock_open:",
            disabled=not over,
            on_click=_reveal,
            args=(columns,),
            help=None if over else "It opens once all runs are over.",
        )
        return
    for at, row in enumerate(shown):
        _pair(columns, at, row)
    st.button("Hide the rows", key="compare_hide", icon=":material/lock:", on_click=_hide)


def _pair(columns: Sequence[Column], at: int, row: Example) -> None:
    st.text(f"{at + 1}. {columns[0].snapshot.plan.target_labels[at]}")
    left, right = st.columns(2, gap="small")
    with left, st.container(border=True, key=f"compare_row_{at}"):
        badge("internal", f"compare_row_{at}")
        plain(row.text)
    with right, st.container(border=True, key=f"compare_after_{at}"):
        badge("released", f"compare_after_{at}")
        for column in columns:
            st.caption(column.name)
            plain(column.snapshot.drafts[at].text or "(no text)")


def _revealed(columns: Sequence[Column]) -> tuple[Example, ...] | None:
    """The rows on the screen, where they were revealed for these runs."""
    kept = st.session_state.get(_ROWS)
    return kept[1] if kept is not None and kept[0] == _key(columns) else None


def _key(columns: Sequence[Column]) -> tuple[str, ...]:
    return (studio().table_id, *(column.snapshot.run_id for column in columns))


@guarded
def _reveal(columns: Sequence[Column]) -> None:
    dataset = studio().dataset
    assert dataset is not None
    runs = [column.snapshot.ledger_run_id for column in columns]
    view = open_view(dataset, ROWS_VIEW, run_ids=runs, ledger=ledger())
    st.session_state[_ROWS] = (_key(columns), view.random_rows(columns[0].snapshot.plan))


def _hide() -> None:
    st.session_state.pop(_ROWS, None)
