"""Ledger: data assets with what is left, every run, what a plan would leave, purge, retention, downloads."""

from __future__ import annotations

import json

import streamlit as st

from dpicl_core.data import neutralised_csv
from dpicl_core.errors import DPICLError
from dpicl_core.ledger import (
    OPEN_STATES,
    AssetReport,
    RunLine,
    asset_reports,
    events_of,
    everything,
    run_lines,
    total_if_fixed_in_advance,
    what_if_again,
)
from dpicl_core.rounding import percent_left
from pages.support import frame, keep
from pages.support.asset import offer
from pages.support.badges import badge, figure_heading, onward
from pages.support.budget import rule_words
from pages.support.choices import choices_of
from pages.support.guard import guarded
from pages.support.purging import purging, told
from pages.support.retention import CHOICES_MINUTES, DEFAULT_MINUTES
from pages.support.state import ledger, studio
from pages.support.text import count, loss, plain
from pages.support.words import TITLES

LISTED_RUNS = 500
SHOWN_EVENTS = 40


def screen() -> None:
    """The whole screen."""
    st.title("Ledger", anchor=False)
    st.markdown(
        "Every run on private rows is paid for here before anything is drawn, from whichever screen, command or "
        "notebook it comes, and nothing is ever given back."
    )
    told()
    with ledger().read() as connection:
        reports = asset_reports(connection)
        lines = run_lines(connection, limit=LISTED_RUNS)
    if not reports:
        _teach()
    else:
        _what_this_plan_would_leave()
        for report in reports:
            _asset(report)
        _runs(lines, {report.asset.name: report for report in reports})
        _downloads(lines)
    _memory()


def _teach() -> None:
    st.markdown(
        "Nothing is in it yet. The first run makes its table a **data asset** with a cap; here you will see what is "
        "left of it as a bar, and every run with who made it, when, and at what price."
    )
    onward("pages/data.py", "Go to Data")


def _what_this_plan_would_leave() -> None:
    st.fragment(_plan_would_leave, run_every=None if studio().dataset is None else 1.0)()


@guarded
def _plan_would_leave() -> None:
    """The plan as it stands on Plan, worked out in the background; nothing is written."""
    state = studio()
    with st.container(border=True, key="ledger_what_if"):
        figure_heading("What the plan on Plan would leave", "public", "what_if")
        if state.dataset is None:
            plain("No table is chosen, so there is no plan to look at.")
            return
        try:
            found = offer(choices_of(state))
        except DPICLError as error:
            plain(str(error))
            return
        if found is None:
            plain("Being worked out ...")
        elif found.ready is None:
            plain(f"It cannot run: {found.problem}")
        else:
            outlook, asset = found.ready.outlook, found.ready.asset
            new = " (a new data asset)" if found.ready.is_new else ""
            plain(
                f"{percent_left(1 - outlook.after.share_spent)} of epsilon {asset.epsilon:g} would be left of "
                f"{asset.name}{new}; now it is {percent_left(1 - outlook.before.share_spent)}."
            )


def _asset(report: AssetReport) -> None:
    asset = report.asset
    with st.container(border=True, key=f"asset_{asset.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"asset_name_{asset.id}"):
            st.text(asset.name, width="content")
            badge("public", f"asset_{asset.id}")
        left = percent_left(report.share_left)
        st.progress(
            min(max(report.share_left, 0.0), 1.0),
            text=f"**{left} left** of epsilon {asset.epsilon:g} at delta {asset.delta:g}",
        )
        rows = "no file yet" if report.rows is None else count(report.rows, "row")
        persons = "" if report.persons is None else f" of {count(report.persons, 'person')}"
        plain(
            f"Answered for by {asset.owner}. Unit: {asset.unit.value}. {rows}{persons}. {count(report.runs, 'run')}; "
            f"everything released so far stays under epsilon {loss(report.epsilon_spent)}, whatever comes next."
        )
        if report.purged_at is not None:
            plain(f"Purged on {report.purged_at[:10]}: no run is ever charged to it again.")
        _more(report)
        if report.purged_at is None:
            purging(report)


def _more(report: AssetReport) -> None:
    asset = report.asset
    with st.expander("More about this asset", key=f"more_{asset.id}"):
        plain(
            f"Signed by {asset.created_by} on {asset.created_at[:10]}, for good. Runs add up by the "
            f"{rule_words(asset)}."
        )
        st.dataframe(
            {
                "label": list(report.share_left_by_label),
                "left": [percent_left(share) for share in report.share_left_by_label.values()],
            },
            hide_index=True,
            width="stretch",
            height=min(38 + 35 * len(report.share_left_by_label), 290),
            key=f"labels_{asset.id}",
            alt="Table of labels with what is left of the budget for the rows of each",
        )
        st.caption("A row pays for the demonstrations of its own label; the bar shows the label that has least left.")
        if st.button("Compose all runs as if fixed in advance", key=f"total_{asset.id}"):
            with ledger().read() as connection:
                total = total_if_fixed_in_advance(connection, asset)
            plain(
                f"Epsilon {loss(total)} at delta {asset.delta:g}. It would hold if every plan had been fixed before "
                "the first run; nothing is ever granted by it."
            )


def _runs(lines: list[RunLine], reports: dict[str, AssetReport]) -> None:
    figure_heading("Runs", "public", "runs")
    if not lines:
        plain("No run yet.")
        return
    st.dataframe(
        {
            "when (UTC)": [line.created_at[:16].replace("T", " ") for line in lines],
            "who": [line.actor for line in lines],
            "asset": [line.asset for line in lines],
            "mechanism": [TITLES.get(line.mechanism, line.mechanism) for line in lines],
            "epsilon": [loss(line.epsilon) for line in lines],
            "state": [line.state for line in lines],
            "exports": [line.exports for line in lines],
            "internal views": [line.internal_views for line in lines],
        },
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(lines), 360),
        key="ledger_runs",
        alt="Table of runs: when, who, asset, mechanism, epsilon, state, exports, internal views opened",
    )
    names = {line.id: line for line in lines}
    chosen = st.selectbox(
        "Look at one run",
        list(names),
        index=None,
        format_func=lambda run_id: (
            f"{names[run_id].created_at[:16].replace('T', ' ')} UTC · {names[run_id].asset} · "
            f"{TITLES.get(names[run_id].mechanism, names[run_id].mechanism)} · {run_id[:6]}"
        ),
        key="ledger_run",
    )
    if chosen is not None:
        _one_run(names[chosen], reports[names[chosen].asset])


def _one_run(line: RunLine, report: AssetReport) -> None:
    with st.container(border=True, key="ledger_one_run"):
        with ledger().read() as connection:
            happened = events_of(connection, run_id=line.id, without=("token",))
            again = what_if_again(connection, report.asset, line.id)
        plain(f"Run {line.id}: {count(line.tokens, 'token')} stored.")
        if report.purged_at is None:
            plain(
                f"One more run that costs the same would leave {percent_left(again)}."
                if again >= 0
                else "One more run that costs the same would go over the cap."
            )
        for event in happened[:SHOWN_EVENTS]:
            details = ", ".join(f"{name} {_short(value)}" for name, value in event.details.items() if value is not None)
            plain(f"{event.at[:19].replace('T', ' ')} · {event.actor} · {event.kind} · {details}".rstrip(" ·"))
        if len(happened) > SHOWN_EVENTS:
            plain(f"and {len(happened) - SHOWN_EVENTS} events more, in the download")
        if line.state not in OPEN_STATES:
            st.page_link(
                "pages/vet.py", label="Vet this run", icon=":material/fact_check:", query_params={"of": line.id}
            )


def _short(value: object) -> str:
    """Hashes by their beginning; the download has the whole of them."""
    text = str(value)
    return f"{text[:12]}..." if len(text) == 64 and " " not in text else text


def _downloads(lines: list[RunLine]) -> None:
    book = ledger()
    with st.container(horizontal=True, gap="small", key="ledger_downloads"):
        st.download_button(
            "Download all of it (JSON)",
            lambda: (json.dumps(everything(book), indent=2, ensure_ascii=False) + "\n").encode(),
            file_name="ledger.json",
            mime="application/json",
            key="ledger_json",
            icon=":material/download:",
            on_click="ignore",
        )
        header = list(RunLine.__dataclass_fields__)
        rows = [[str(getattr(line, name)) for name in header] for line in lines]
        st.download_button(
            "Download the runs (CSV)",
            neutralised_csv(header, rows),
            file_name="runs.csv",
            mime="text/csv",
            key="ledger_csv",
            icon=":material/download:",
            on_click="ignore",
        )
    st.caption(
        "No hash of a row, no person and no secret stands in them. Cells that a spreadsheet could run are disarmed."
    )


def _memory() -> None:
    st.subheader("Memory", anchor=False)
    st.selectbox(
        "Let go of the table in memory after so long without a click",
        CHOICES_MINUTES,
        format_func=lambda value: f"{value} minutes" if value < 60 else count(value // 60, "hour"),
        key=keep.ready("retention_minutes", DEFAULT_MINUTES),
        help="For this browser session. A run that goes on keeps its own copy until it ends. Closing the browser tab "
        "lets go of the table as well.",
    )
    keep.note("retention_minutes")


frame.show(screen)
