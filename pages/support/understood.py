"""What was understood of a table: the lower half of the Data screen."""

from __future__ import annotations

import streamlit as st

from dpicl_core.data import Dataset, DropReason, Profile
from dpicl_core.data.wording import line_phrase
from dpicl_core.jobs import TaskSnapshot, TokenLengths
from dpicl_core.values import PrivacyUnit
from pages.support.badges import figure_heading, onward
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.state import Studio, registry, studio
from pages.support.text import count, plain, refusal, warning


def understood() -> None:
    """Everything about the table in this session."""
    state = studio()
    assert state.dataset is not None
    assert state.profile is not None
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("What was understood", anchor=False, width="content")
        onward("pages/plan.py", "Continue to Plan")
    with st.container(border=True):
        _reading(state.dataset, state)
    left, right = st.columns(2, gap="medium", border=True)
    with left:
        _labels(state)
    with right:
        _lengths_and_duplicates(state.profile)
    _notices(state)


def _reading(dataset: Dataset, state: Studio) -> None:
    figure_heading("How the file was read", "internal", "reading")
    plain(f"{dataset.name}: {count(len(dataset), 'row')} kept, {count(len(dataset.columns), 'column')}.")
    plain(f"Encoding: {dataset.encoding.words}. Columns are divided by: {dataset.delimiter.words or 'cells'}.")
    plain(f'Text column "{dataset.text_column}", label column "{dataset.label_column}".')
    if state.unit is PrivacyUnit.PERSON:
        plain(
            f'The unit is the person: {count(dataset.person_count or 0, "person")}, column "{dataset.person_column}".'
        )
    else:
        plain("The unit is the row: each row is protected by itself.")
    for reason in DropReason:
        lines = [row.line for row in dataset.dropped if row.reason is reason]
        if lines:
            plain(f"Left out, {reason.value}: {count(len(lines), 'row')}, {line_phrase(lines)}.")
    if not dataset.dropped:
        plain("No row was left out.")


def _labels(state: Studio) -> None:
    assert state.profile is not None
    assert state.task is not None
    unit = "rows" if state.unit is PrivacyUnit.ROW else "persons"
    if state.task.open_labels:
        figure_heading("Rows, all labels together", "internal", "labels")
        plain(f"{state.units:,} {unit}. Labels are free text, so they are not listed here.")
        return
    figure_heading(f"{unit.capitalize()} per label", "public", "labels")
    st.dataframe(
        {
            "label": [str(label) for label, _ in state.unit_counts],
            unit: [units for _, units in state.unit_counts],
        },
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(state.unit_counts), 320),
        key="label_table",
        alt=f"Table of {unit} per label",
    )
    st.caption(
        f"Label counts are public: the promise replaces a {unit[:-1]} by another with the same "
        f"{'labels' if unit == 'persons' else 'label'}."
    )


def _lengths_and_duplicates(profile: Profile) -> None:
    figure_heading("Lengths and repeats", "internal", "lengths")
    lengths = profile.lengths
    plain(
        f"Characters in a text: {lengths.shortest:,} to {lengths.longest:,}, half of them up to {lengths.median:,}, "
        f"95 of 100 up to {lengths.percentile_95:,}."
    )
    with st.container(height=100, border=False):
        polled(_token_lengths, pending=_being_counted, seconds=1.0)
    plain(
        "No text stands in two rows."
        if not profile.duplicate_rows
        else f"{count(profile.duplicate_rows, 'row')} with a text that another row has too. Rows are never merged."
    )


def _counted() -> TaskSnapshot | None:
    lengths_id = studio().lengths_id
    return None if lengths_id is None else registry().answer(lengths_id)


def _being_counted() -> bool:
    counted = _counted()
    return counted is not None and not counted.over


@guarded
def _token_lengths() -> None:
    counted = _counted()
    found = None if counted is None else counted.result
    if isinstance(found, TokenLengths):
        plain(
            f"Tokens, label and text together: {found.shortest:,} to {found.longest:,}, half of the rows up to "
            f"{found.median:,}, 95 of 100 up to {found.percentile_95:,}."
        )
        plain(
            f"No row is longer than the cap of {found.cap}."
            if not found.over_cap
            else f"{count(found.over_cap, 'row')} over the cap of {found.cap} tokens: the rest of each is cut off."
        )
    elif _being_counted():
        plain("Tokens: being counted with the default model ...")
    else:
        reason = "" if counted is None else f" {counted.reason}"
        refusal(f"The lengths in tokens were not counted; the other numbers stand.{reason}")


def _notices(state: Studio) -> None:
    assert state.dataset is not None
    notices = (*state.dataset.notices, *state.warnings)
    if not notices:
        return
    with st.container(border=True):
        figure_heading("Worth a look", "internal", "notices")
        for notice in notices:
            warning(notice.sentence, level="Warning" if notice.level == "warning" else "Notice")
