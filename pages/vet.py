"""Vet and export: look at every released text, decide, sign, and take the files. Runs are found in the ledger."""

from __future__ import annotations

import streamlit as st

from dpicl_core.documents import SELECTION_FROM_RELEASED, SELECTION_INFORMED, DemonstrationsDocument
from dpicl_core.ledger import OPEN_STATES, run_lines
from dpicl_core.sign_off import VettableRun, another_try, sign, sign_offs, vettable_run
from dpicl_core.vetting import Decision, summary
from dpicl_core.vetting.decisions import LONGEST_JUSTIFICATION, LONGEST_NAME
from pages.support import frame, keep
from pages.support.badges import onward
from pages.support.decisions import card, decision_on, lacks
from pages.support.guard import guarded
from pages.support.runs import PARAMETER, chosen_run, run_name
from pages.support.signed import certificate_words, downloads
from pages.support.state import ledger
from pages.support.text import count, loss, plain, refusal, warning

LISTED_RUNS = 200
_SIGNED = "vet_signed"
_PRESSED_EARLY = "vet_pressed_early"


def screen() -> None:
    """The whole screen."""
    st.title("Vet and export", anchor=False)
    with ledger().read() as connection:
        ended = [line for line in run_lines(connection, limit=LISTED_RUNS) if line.state not in OPEN_STATES]
    if not ended:
        _teach()
        return
    names = {
        line.id: run_name(line.id, line.created_at, line.asset, line.mechanism, line.epsilon, line.state)
        for line in ended
    }
    run = vettable_run(ledger(), chosen_run(names, "vet_run"))
    st.markdown(
        "Look at every text, decide, and sign. The checks read released texts alone, so they cost nothing. "
        "What you write here leaves with the file or stays in the ledger: put nothing of a private row into it."
    )
    _facts(run)
    prices = {
        label: another_try(ledger(), run.stored, label) for label in {d.label for d in run.document.demonstrations}
    }
    for at, shown in enumerate(run.document.demonstrations, start=1):
        card(run, at, prices[shown.label])
    _files(run)
    _signature(run)


def _teach() -> None:
    st.markdown(
        "Here you will look at every text of a run that has ended, approve, reject or edit it, and sign the file that "
        "leaves. There is no such run in the ledger yet."
    )
    onward("pages/data.py", "Go to Data")


def _facts(run: VettableRun) -> None:
    guarantee = run.document.guarantee
    plain(
        f"{count(len(run.document.demonstrations), 'text')} for {run.stored.plan.task.title}. Spent: epsilon "
        f"{loss(guarantee.epsilon.tight)} at delta {guarantee.delta:g} from data asset {run.asset.name}, by "
        f"{run.stored.actor}."
    )
    for line in run.document.shortfalls:
        warning(line)
    with ledger().read() as connection:
        signed = sign_offs(connection, run.stored.id)
    if signed:
        last = signed[-1]
        plain(
            f"Signed before: {count(len(signed), 'time')}, last by {last.actor} on {last.at[:10]}. You may sign again."
        )
    st.page_link(
        "pages/evaluate.py",
        label="Evaluate these texts",
        icon=":material/labs:",
        query_params={PARAMETER: run.stored.id},
        help="Accuracy, attacks and leaks, for your eyes alone. It reads private rows, so a file that is signed "
        "afterwards says so.",
    )


def _signature(run: VettableRun) -> None:
    with st.container(border=True, key="vet_signature"):
        st.subheader("Signature", anchor=False)
        _selection(run)
        st.text_input("Reviewer's name", key=keep.ready("vet_reviewer", ""), max_chars=LONGEST_NAME)
        justification = f"vet_{run.stored.id}_why"
        st.text_area(
            "Why this privacy loss is justified",
            key=keep.ready(justification, ""),
            max_chars=LONGEST_JUSTIFICATION,
            height=100,
            help="It stands on the certificate: why epsilon is not smaller, and what the texts are needed for.",
        )
        keep.note("vet_reviewer", justification)
        signed = run.stored.id in st.session_state.get(_SIGNED, {})
        st.button(
            "Sign again" if signed else "Sign and make the file",
            type="secondary" if signed else "primary",
            key="vet_sign",
            icon=":material/draw:",
            on_click=_sign,
            args=(run, justification),
            help="Always open, so that one press is enough even when the last field was only just typed.",
        )
        missing = _missing(run, justification)
        if missing:
            words = f"{'; '.join(missing[:4])}{' ...' if len(missing) > 4 else ''}."
            if st.session_state.get(_PRESSED_EARLY) == run.stored.id:
                refusal(f"nothing is signed yet: {words}")
            else:
                plain(f"Before you can sign: {words}")
        elif signed:
            plain("Signed: the file and its certificate stand above.")


def _missing(run: VettableRun, justification: str) -> list[str]:
    """What a signature still lacks, in words."""
    numbers = range(1, len(run.document.demonstrations) + 1)
    missing = [words for at in numbers if (words := lacks(run, at))]
    missing += [] if str(keep.value("vet_reviewer") or "").strip() else ["the reviewer's name is blank"]
    return missing + ([] if str(keep.value(justification) or "").strip() else ["the justification is blank"])


def _selection(run: VettableRun) -> None:
    """What the file will say about the choice, from the ledger's record of what was opened."""
    if not run.views:
        plain(f"selection: {SELECTION_FROM_RELEASED}")
        return
    warning(f"selection: {SELECTION_INFORMED}. The ledger records that this was opened before:")
    for view in run.views[:5]:
        plain(f"{view.at[:16].replace('T', ' ')} UTC: {view.view}")
    if len(run.views) > 5:
        plain(f"and {len(run.views) - 5} more")


@guarded
def _sign(run: VettableRun, justification: str) -> None:
    decisions = _decisions(run)
    st.session_state[_PRESSED_EARLY] = None
    if _missing(run, justification) or decisions is None:
        st.session_state[_PRESSED_EARLY] = run.stored.id
        return
    document = sign(
        ledger(),
        run.stored.id,
        decisions,
        reviewer=str(keep.value("vet_reviewer") or ""),
        justification=str(keep.value(justification) or ""),
    )
    st.session_state[_SIGNED] = {**st.session_state.get(_SIGNED, {}), run.stored.id: (document, decisions)}


def _decisions(run: VettableRun) -> tuple[Decision, ...] | None:
    found = [decision_on(run, at) for at in range(1, len(run.document.demonstrations) + 1)]
    return None if None in found else tuple(each for each in found if each is not None)


def _files(run: VettableRun) -> None:
    """The signed file of this session, if there is one."""
    kept: tuple[DemonstrationsDocument, tuple[Decision, ...]] | None
    kept = st.session_state.get(_SIGNED, {}).get(run.stored.id)
    if kept is None:
        return
    document, decisions = kept
    assert document.vetting is not None
    with st.container(border=True, key="vet_files"):
        st.subheader("The signed file", anchor=False)
        plain(f"{document.vetting.reviewer}: {summary(document.vetting)}; selection: {document.vetting.selection}.")
        if _decisions(run) != decisions:
            warning("you have changed a decision since; sign again to have the change in the file.")
        downloads(document, ledger())
        with st.expander("Read the certificate"):
            certificate_words(document)


frame.show(screen)
