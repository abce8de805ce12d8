"""Runs side by side: where each stands, its texts as they grow, and what they released, in charts and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpicl_core.evaluation.comparison import Released, released_numbers, verdict
from dpicl_core.jobs import RunState
from pages.support.badges import figure_heading, vet_link
from pages.support.compared import Column, columns_of, snapshots_of
from pages.support.differences import literal_markdown, marked_texts, words_in_common
from pages.support.figures import CONFIG
from pages.support.guard import guarded
from pages.support.live import fraction_done, status_words
from pages.support.resuming import RUN_PARAMETER
from pages.support.side_by_side import curve, noise, overlaid, radius, released_table
from pages.support.state import registry
from pages.support.text import plain
from pages.support.words import STATES

POLL_SECONDS = 0.5
_PIXELS_OF_A_LINE = 25
_LINES_MOST = 7


def side_by_side(columns: Sequence[Column]) -> None:
    """All runs, polled while one goes on. Both states are drawn in the same places, so that an end moves nothing."""
    ids = tuple(column.snapshot.run_id for column in columns)
    going = any(not column.snapshot.state.over for column in columns)
    st.fragment(_draw, run_every=POLL_SECONDS if going else None)(ids, _stage(columns))


def _stage(columns: Sequence[Column]) -> tuple[tuple[bool, bool], ...]:
    """What the rest of the screen depends on: which runs are over, and which are paid for."""
    return tuple((column.snapshot.state.over, column.snapshot.spends) for column in columns)


@guarded
def _draw(ids: Sequence[str], stage: tuple[tuple[bool, bool], ...]) -> None:
    snapshots = snapshots_of(ids)
    columns = columns_of(snapshots) if len(snapshots) == len(ids) else ()
    if _stage(columns) != stage:
        st.rerun()  # the whole screen: what is left has changed, or what may be opened
        return
    _together(columns)
    for place, column in zip(st.columns(len(columns), gap="small"), columns, strict=True):
        with place:
            _status(column, len(columns))
    _texts(columns)
    _charts(columns)
    _numbers(columns)


def _together(columns: Sequence[Column]) -> None:
    """One line for all, and one Stop for all, in a place that stays when they are over."""
    over = sum(column.snapshot.state.over for column in columns)
    with st.container(horizontal=True, vertical_alignment="center", key="compare_together", height=56, border=False):
        st.markdown(f"**{over} of {len(columns)}** runs are over.", width="content")
        if over < len(columns):
            st.button(
                "Stop all",
                key="compare_stop_all",
                icon=":material/stop:",
                on_click=_stop_all,
                args=([column.snapshot.run_id for column in columns],),
                help="What they reserved stays spent. Each can be gone on with later at no new cost.",
            )


def _stop_all(ids: Sequence[str]) -> None:
    """The waiting ones first, so that none of them begins when the one before it has stopped."""
    for run_id in reversed(ids):
        registry().stop(run_id)


def _status(column: Column, many: int) -> None:
    snapshot = column.snapshot
    icon, word = STATES[snapshot.state]
    with st.container(
        border=True, key=f"cmp_{column.mechanism}_status_{column.at}", height=214 if many > 2 else 190, gap="xxsmall"
    ):
        st.markdown(f"**{column.name}**")
        st.markdown(f"{icon} {word}")
        waits = f"Paid for. Place in the queue: {max(snapshot.place, 1)}"
        words = waits if snapshot.state is RunState.QUEUED else status_words(snapshot)
        st.progress(fraction_done(snapshot), text=words)
        if snapshot.reason:
            plain(snapshot.reason)
        if not snapshot.state.over:
            st.button(
                "Stop",
                key=f"compare_stop_{column.at}",
                icon=":material/stop:",
                disabled=snapshot.state is RunState.STOPPING,
                on_click=registry().stop,
                args=(snapshot.run_id,),
                help="What this run reserved stays spent. It can be gone on with later at no new cost.",
            )
        else:
            _way_on(column)


def _way_on(column: Column) -> None:
    """Vetting for a run with texts that may leave; Generate, where it goes on or is closed, for one cut short."""
    snapshot = column.snapshot
    if snapshot.record is not None and snapshot.record.demonstrations:
        vet_link(snapshot.ledger_run_id)
    elif snapshot.spends:
        st.page_link(
            "pages/generate.py",
            label="Go on or close",
            icon=":material/play_arrow:",
            query_params={RUN_PARAMETER: snapshot.run_id},
            help="On Generate: from its stored tokens at no new cost, or closed for good with the texts so far.",
        )


def _texts(columns: Sequence[Column]) -> None:
    """A row for each demonstration, a text for each run, in areas of fixed height."""
    figure_heading("Texts", "released", "compare_texts")
    st.caption(
        "Underlined: words that no other finished text of the row has. Upper case and marks at a word's edges count "
        "for nothing."
    )
    drafts = [column.snapshot.drafts for column in columns]
    plan = columns[0].snapshot.plan
    for at, label in enumerate(plan.target_labels):
        st.text(f"{at + 1}. {label}")
        row = [each[at] for each in drafts]
        over = [
            draft.ended_by is not None or column.snapshot.state.over for draft, column in zip(row, columns, strict=True)
        ]
        written = [draft.text if done and draft.text.strip() else None for draft, done in zip(row, over, strict=True)]
        marked = marked_texts(written)
        others = len(written) - written.count(None) - 1
        for place, column, draft, done, passages in zip(
            st.columns(len(columns), gap="small"), columns, row, over, marked, strict=True
        ):
            with (
                place,
                st.container(
                    border=True,
                    key=f"cmp_{column.mechanism}_text_{column.at}_{at}",
                    height=_height(plan.tokens, len(columns)),
                    gap="xxsmall",
                ),
            ):
                common = words_in_common(passages) if others > 0 else None
                st.caption(_text_words(column, len(draft.tokens), done, common))
                if done and passages:
                    with st.container(key=f"literal_{column.at}_{at}"):
                        st.markdown(literal_markdown(passages))
                else:
                    plain(draft.text or ("(no text)" if done else "..."))


def _text_words(column: Column, tokens: int, done: bool, common: tuple[int, int] | None) -> str:
    """Fixed words and numbers: whose text it is and how far it came. common: None while there is no other text."""
    if not done:
        if column.snapshot.state is RunState.QUEUED:
            return f"{column.name}: waiting"
        return f"{column.name}: token {tokens} of {column.snapshot.plan.tokens}"
    if common is None or not common[1]:
        return f"{column.name}: {tokens} tokens"
    return f"{column.name}: {common[0]} of {common[1]} words stand in another text too"


def _height(tokens: int, many: int) -> int:
    """Pixels for a heading of up to two lines and the lines that the longest text is likely to fill."""
    characters_of_a_line = 110 // many
    lines = min(_LINES_MOST, max(2, -(-tokens * 5 // characters_of_a_line)))
    return 86 + _PIXELS_OF_A_LINE * lines


def _charts(columns: Sequence[Column]) -> None:
    plan = columns[0].snapshot.plan
    names = ["Mean over the demonstrations", *(f"{at + 1}. {label}" for at, label in enumerate(plan.target_labels))]
    choice = st.selectbox(
        "Show in the charts",
        range(len(names)),
        format_func=lambda at: names[at],
        key="compare_chart_choice",
        label_visibility="collapsed",
    )
    one = slice(None) if not choice else slice(choice - 1, choice)
    left, right = st.columns(2, gap="medium")
    with left:
        _chart(columns, one, "Radius R by token", "radius")
    with right:
        _chart(columns, one, "Noise a coordinate, by token", "noise")
    st.caption(
        "The last step of each token. Noisy max releases the winner alone and public only reads no row, so they have "
        "neither radius nor noise to draw. The dotted line is 0.707, half of the widest spread of all."
    )


def _chart(columns: Sequence[Column], one: slice, title: str, what: str) -> None:
    value = radius if what == "radius" else noise
    curves = tuple(
        curve(column.name, column.mechanism, column.snapshot.drafts[one], value)
        for column in columns
        if column.snapshot.plan.mechanism.releases_vector and column.snapshot.plan.mechanism.reads_private_rows
    )
    figure_heading(title, "released", f"compare_{what}")
    st.plotly_chart(
        overlaid(curves, columns[0].snapshot.plan.tokens, whole_simplex=what == "radius"),
        width="stretch",
        key=f"compare_{what}_chart",
        config=CONFIG,
        alt=f"{title}: one line for each mechanism, laid over each other",
    )


def _numbers(columns: Sequence[Column]) -> None:
    found = released_of(columns)
    figure_heading("In numbers", "released", "compare_numbers")
    st.dataframe(
        released_table([column.name for column in columns], found),
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(columns),
        key="compare_numbers_table",
        alt="A line for each mechanism: epsilon by both accountants, noise, radius and tokens",
    )
    st.caption("Noise and radius: means over the tokens so far, each token's last step. Epsilon: of the whole run.")
    over = all(column.snapshot.state.over for column in columns)
    for sentence in verdict(found) if over else ():
        plain(sentence)
    figure_heading("Seconds of each", "internal", "compare_seconds")
    plain(" · ".join(f"{column.name}: {_seconds(column)}" for column in columns))
    st.caption("How long this machine worked. Never exported; no mechanism protects a time.")
    for sentence in verdict((), seconds_of(columns)) if over else ():
        plain(sentence)


def _seconds(column: Column) -> str:
    taken = column.snapshot.seconds_taken
    return "not measured here" if taken is None else f"{taken:.1f} s"


def released_of(columns: Sequence[Column]) -> tuple[Released, ...]:
    """DP-released numbers of each run, in order."""
    return tuple(
        released_numbers(
            column.snapshot.plan,
            column.snapshot.prices,
            [token for draft in column.snapshot.drafts for token in draft.tokens],
        )
        for column in columns
    )


def seconds_of(columns: Sequence[Column]) -> dict[str, float]:
    """By mechanism, of runs that came to their end here; a run that was stopped would look fast."""
    return {
        column.mechanism: taken
        for column in columns
        if (taken := column.snapshot.seconds_taken) is not None and column.snapshot.state is RunState.FINISHED
    }
