"""Runs that have ended and share a plan, found in the ledger, to be put side by side; nothing is spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from dpicl_core.evaluation.comparison import shape_of
from dpicl_core.ledger import EndedRun, ended_runs
from pages.support import keep
from pages.support.compared import MOST_COLUMNS, show
from pages.support.guard import guarded
from pages.support.state import ledger, registry, studio
from pages.support.text import count, loss
from pages.support.words import TITLES

LISTED_RUNS = 200
Group = tuple[EndedRun, ...]


@guarded
def choose_ended() -> None:
    """A plan that at least two runs share, then two of them or more."""
    with ledger().read() as connection:
        groups = groups_of(ended_runs(connection, limit=LISTED_RUNS))
    if not groups:
        return
    with st.expander("Or put runs that have ended side by side", key="compare_ended"):
        st.caption("Runs of one data asset and one plan. Looking at them spends nothing.")
        names = {group[0].id: _group_words(group) for group in groups}
        if keep.value("compare_group") not in names:
            keep.put(compare_group=groups[0][0].id)
        st.selectbox("Data asset and plan", list(names), format_func=names.__getitem__, key=keep.ready("compare_group"))
        keep.note("compare_group")
        group = next(each for each in groups if each[0].id == keep.value("compare_group"))
        words = {run.id: _run_words(run) for run in group}
        chosen = st.multiselect(
            "Runs",
            list(words),
            default=[run.id for run in newest_of_each(group)],
            format_func=words.__getitem__,
            max_selections=MOST_COLUMNS,
            key=f"compare_chosen_{group[0].id}",
        )
        st.button(
            "Show side by side",
            key="compare_show",
            icon=":material/compare:",
            disabled=len(chosen) < 2,
            on_click=_show,
            args=([run for run in group if run.id in chosen],),
        )


def groups_of(runs: Iterable[EndedRun]) -> list[Group]:
    """Runs that share data asset and plan, at least two of them, in the order in which they came."""
    found: dict[object, list[EndedRun]] = {}
    for run in runs:
        found.setdefault((run.asset_id, shape_of(run.plan)), []).append(run)
    return [tuple(group) for group in found.values() if len(group) > 1]


def newest_of_each(group: Sequence[EndedRun]) -> list[EndedRun]:
    """The first of each mechanism, as many as have room."""
    first: dict[str, EndedRun] = {}
    for run in group:
        first.setdefault(run.plan.mechanism.name, run)
    return list(first.values())[:MOST_COLUMNS]


@guarded
def _show(runs: Sequence[EndedRun]) -> None:
    """This session's own pages where there are some, since only they can open what is internal."""
    own = {}
    for run_id in studio().own_runs:
        snapshot = registry().snapshot(run_id)
        if snapshot is not None and snapshot.state.over:
            own[snapshot.ledger_run_id] = run_id
    show([own.get(run.id) or registry().show_ended(ledger(), run.id, asset_name=run.asset) for run in runs])


def _group_words(group: Group) -> str:
    plan = group[0].plan
    labels = ", ".join(dict.fromkeys(plan.target_labels))
    return (
        f"{group[0].asset} · {count(len(plan.target_labels), 'demonstration')} for {labels[:80]} · M {plan.subsets}, "
        f"N {plan.per_subset} · up to {count(plan.tokens, 'token')} · {count(len(group), 'run')}"
    )


def _run_words(run: EndedRun) -> str:
    title = TITLES.get(run.plan.mechanism.name, run.plan.mechanism.name)
    early = "" if run.state == "finished" else ", closed early"
    when = run.created_at[:16].replace("T", " ")
    return f"{title} · epsilon {loss(run.epsilon)}{early} · {when} UTC · {run.id[:6]}"
