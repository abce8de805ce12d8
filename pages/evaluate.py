"""Evaluate: does the text still work, and does it give anyone away? For the steward, and recorded when opened."""

from __future__ import annotations

import streamlit as st

from dpicl_core.documents import SELECTION_INFORMED
from dpicl_core.errors import DPICLError
from pages.support import frame, keep, measures
from pages.support.asset import where
from pages.support.badges import badge, figure_heading, onward
from pages.support.evaluated import (
    Evaluated,
    beside,
    candidates,
    evaluated,
    held_out,
    let_held_out_go,
    of_this_session,
    take_held_out,
)
from pages.support.playground import playground
from pages.support.polling import polled
from pages.support.runs import PARAMETER, chosen_run, run_name
from pages.support.state import studio
from pages.support.text import count, plain, refusal, warning

UPLOAD_MEGABYTES = 200


def screen() -> None:
    """The whole screen."""
    st.title("Evaluate", anchor=False)
    runs = candidates()
    if runs is None:
        polled(_asked, pending=_asking, seconds=0.5)
        return
    if not runs:
        _teach()
        return
    st.markdown(
        "Does the text still work, and does it give anyone away? Everything here reads private rows and is for your "
        "eyes alone: no number of it leaves with a file."
    )
    names = {
        run.id: run_name(run.id, run.created_at, run.asset, run.plan.mechanism.name, run.epsilon, run.state)
        for run in runs
    }
    run_id = chosen_run(names, "evaluate_run")
    run = next(each for each in runs if each.id == run_id)
    others = {other.id: names[other.id] for other in beside(run, runs)}
    of = evaluated(run_id, _beside(run_id, others))
    _what_it_means(of)
    if studio().dataset is None:
        warning("This session holds no table, so only the playground works. Read the run's table again on Data.")
        onward("pages/data.py", "Go to Data")
    else:
        _held_out()
        for measure in (measures.accuracy, measures.membership, measures.leakage, measures.consensus):
            measure(of)
    playground(of)


def _asked() -> None:
    plain("The ledger is being asked which runs are of this table ...")


def _asking() -> bool:
    return studio().dataset is not None and where() is None


def _teach() -> None:
    st.markdown(
        "Here you will see what a run's texts are worth and what they give away: how many rows a model labels right "
        "with them, beside real rows and no demonstration at all; whether an attack finds whose rows made them; which "
        "words they share with a row; and a playground for queries of your own. It needs a run that has finished."
    )
    if studio().dataset is None:
        onward("pages/data.py", "Go to Data")
    else:
        onward("pages/generate.py", "Go to Generate")


def _beside(run_id: str, others: dict[str, str]) -> list[str]:
    """Runs that are measured beside this one; those of this session unless somebody chose others."""
    if not others:
        return []
    key = f"evaluate_beside_{run_id}"
    own = of_this_session()
    st.multiselect(
        "Beside it: other runs of this table and task",
        list(others),
        key=keep.ready(key, [other for other in others if other in own]),
        format_func=others.__getitem__,
        help="Runs of one mechanism and epsilon count as seeds of one another.",
    )
    keep.note(key)
    return [other for other in keep.value(key) if other in others]


def _what_it_means(of: Evaluated) -> None:
    """Before the first press: what measuring writes into a file that is signed afterwards."""
    with st.container(border=True, key="evaluate_means"):
        badge("internal", "evaluate")
        sentence = f"selection: {SELECTION_INFORMED}"
        if of.views:
            last = of.views[-1]
            warning(
                f"the ledger records that something internal was opened ({count(len(of.views), 'time')}, last at "
                f"{last.at[:16].replace('T', ' ')} UTC: {last.view}). A file of this run that is signed from now on "
                f'says "{sentence}".'
            )
            return
        warning(
            "each of the measures below is recorded in the ledger, on the run and its data asset, before a row is "
            f'read. If you evaluate before you approve, the signed file says "{sentence}".'
        )
        st.page_link(
            "pages/vet.py",
            label="Vet and sign first, to avoid that sentence",
            icon=":material/fact_check:",
            query_params={PARAMETER: of.stored.id},
        )


def _held_out() -> None:
    """Rows never used: who else could the texts be about? Both states have the same height, so that nothing jumps."""
    found = held_out()
    with st.container(border=True, key="evaluate_held_out"):
        figure_heading("Held-out rows", "internal", "held_out")
        plain(
            "Rows of the same kind that no run has used, with the same columns. Membership inference needs them; "
            "accuracy asks them instead of the table's own rows; leakage learns from them what is chance."
        )
        if found is None:
            _sample_or_none()
        else:
            left_out = f", {count(len(found.dropped), 'row')} left out" if found.dropped else ""
            with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
                st.button("Let them go", key="held_out_go", icon=":material/close:", on_click=let_held_out_go)
                st.text(f"{found.name}: {count(len(found), 'row')}{left_out}")
        with st.expander("Give a file", key="held_out_fold"):
            _file()


def _sample_or_none() -> None:
    task = studio().task
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if task is None or task.name != "sample":
            st.text("None yet.")
        elif st.button("Use the sample's held-out rows", key="held_out_sample", icon=":material/science:"):
            take_held_out(None, "sample_held_out.csv")
            st.rerun()


def _file() -> None:
    file = st.file_uploader(
        "Held-out rows (CSV, TSV or Excel)",
        type=["csv", "tsv", "txt", "xlsx"],
        key=f"held_out_file_{studio().uploads}",
        max_upload_size=UPLOAD_MEGABYTES,
    )
    if st.button("Read the held-out rows", key="held_out_read", disabled=file is None) and file is not None:
        try:
            take_held_out(file.getvalue(), file.name)
        except DPICLError as error:
            refusal(str(error))
        else:
            st.rerun()


frame.show(screen)
