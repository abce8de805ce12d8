"""One released text with its checks and what a person decides about it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpicl_core.documents import DemonstrationPart
from dpicl_core.sign_off import AnotherTry, VettableRun, findings_of
from dpicl_core.vetting import Approve, Decision, Edit, Finding, Reject, marked
from dpicl_core.vetting.decisions import LONGEST_REASON, LONGEST_TEXT
from pages.support import keep
from pages.support.badges import badge
from pages.support.text import plain, warning

APPROVE, REJECT, EDIT = "Approve", "Reject", "Edit"


def key_of(run_id: str, number: int, part: str) -> str:
    """The name of a widget of one text; numbers count from 1."""
    return f"vet_{run_id}_{number}_{part}"


def card(run: VettableRun, number: int, price: AnotherTry) -> None:
    """The text, what the checks found, and the decision."""
    released = run.document.demonstrations[number - 1]
    findings = run.findings[number - 1]
    with st.container(border=True, key=f"vet_card_{number}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.text(f"{number}. {released.label}", width="content")
            badge("released", f"vet_{number}")
        plain(released.text or "(no text)")
        if released.ended_by == "token-limit":
            warning("it was cut at the token limit, so its last sentence may break off.")
        found(released.text, findings)
        _decision(run, number, released, price)


def found(text: str, findings: Sequence[Finding]) -> None:
    """What the checks found, each with the text and its passages between marks."""
    if not findings:
        st.caption(
            "The checks found no repeat, no label or prompt words, no personal data. Whether it suits its label and "
            "makes sense they cannot say: read it."
        )
    for finding in findings:
        place = f": {marked(text, finding.spans)}" if finding.spans else ""
        warning(f"it {finding.sentence}{place}")


def decision_on(run: VettableRun, number: int) -> Decision | None:
    """What the widgets say, on screen or not; None while nothing is decided."""
    chosen = keep.value(key_of(run.stored.id, number, "choice"))
    if chosen == APPROVE:
        return Approve()
    if chosen == REJECT:
        return Reject(str(keep.value(key_of(run.stored.id, number, "reason"), "") or ""))
    if chosen == EDIT:
        released = run.document.demonstrations[number - 1].text
        text = keep.value(key_of(run.stored.id, number, "text"), released)
        note = keep.value(key_of(run.stored.id, number, "note"), "")
        return Edit(str(text or ""), str(note or "") or None)
    return None


def lacks(run: VettableRun, number: int) -> str:
    """What is still missing for this text, in words; nothing where it is decided."""
    decision = decision_on(run, number)
    if decision is None:
        return f"text {number} has no decision"
    if isinstance(decision, Reject) and not decision.reason.strip():
        return f"text {number} is rejected without a reason"
    if isinstance(decision, Edit) and not decision.text.strip():
        return f"the edit of text {number} is empty"
    if isinstance(decision, Edit) and decision.text == run.document.demonstrations[number - 1].text:
        return f"the edit of text {number} changes nothing"
    return ""


def _decision(run: VettableRun, number: int, released: DemonstrationPart, price: AnotherTry) -> None:
    choice, reason, text, note = (key_of(run.stored.id, number, part) for part in ("choice", "reason", "text", "note"))
    st.radio(
        f"Decision on text {number}",
        (APPROVE, REJECT, EDIT),
        index=None,
        key=keep.ready(choice),
        horizontal=True,
    )
    chosen = keep.value(choice)
    if chosen == REJECT:
        st.text_input(f"Why text {number} is rejected", key=keep.ready(reason, ""), max_chars=LONGEST_REASON)
        plain(f"What it cost stays spent. {price.words()}")
    elif chosen == EDIT:
        st.text_area(
            f"Text {number}, edited",
            key=keep.ready(text, released.text),
            max_chars=LONGEST_TEXT,
            height=100,
            help="An edit is free of privacy cost only if nothing from a private row goes into it. It is marked in the "
            "file by the hash of what was released; the released text stays in the ledger.",
        )
        st.text_input(
            f"What was changed in text {number}, and why (may stay blank)",
            key=keep.ready(note, ""),
            max_chars=LONGEST_REASON,
        )
        _checks_of_edit(run, number)
    keep.note(choice, reason, text, note)


def _checks_of_edit(run: VettableRun, number: int) -> None:
    """The same checks on the text as it would leave, among the others as they would."""
    texts = []
    for at, shown in enumerate(run.document.demonstrations, start=1):
        decision = decision_on(run, at)
        texts.append(decision.text if isinstance(decision, Edit) else shown.text)
    edited = texts[number - 1]
    if edited == run.document.demonstrations[number - 1].text:
        st.caption("Nothing is changed yet.")
        return
    found(edited, findings_of(run.stored, texts)[number - 1])
