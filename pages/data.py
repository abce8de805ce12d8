"""Data: choose a table, declare what is public, then see what was understood."""

from __future__ import annotations

import streamlit as st

from dpicl_core.errors import ColumnsNotFoundError, DPICLError
from dpicl_core.tasks import TASKS
from pages.support import frame, keep
from pages.support.state import studio
from pages.support.table import OWN_TASK, declared_labels, read_sample, read_upload
from pages.support.text import plain, refusal
from pages.support.understood import understood

UPLOAD_MEGABYTES = 200
_HEADINGS, _PROBLEM = "data_headings_found", "data_problem"


def screen() -> None:
    """The whole screen."""
    st.title("Data", anchor=False)
    st.markdown(
        "Choose the private table. It is read in memory on this machine and never stored. "
        "What is public is declared first, before anything is counted. Reloading the page forgets the table, on "
        "purpose; runs that were started go on, and the ledger keeps what was released."
    )
    if studio().dataset is None:
        _sources()
        return
    understood()
    with st.expander("Take another table"):
        _sources()


def _sources() -> None:
    left, right = st.columns(2, gap="medium", border=True)
    with left:
        _sample()
    with right:
        _upload()


def _sample() -> None:
    st.subheader("The sample", anchor=False)
    st.markdown(
        "2,400 invented messages that patients send to a clinic, with six topics. No real person stands in it. "
        "Its topics, instruction and limits are already declared, so one click is enough."
    )
    if st.button("Use the sample table", type="primary", key="use_sample", icon=":material/science:"):
        with st.spinner("Reading the sample", show_time=False):
            read_sample()
        st.rerun()


def _upload() -> None:
    st.subheader("Your own table", anchor=False)
    st.markdown(f"A CSV, TSV or Excel file of up to {UPLOAD_MEGABYTES} MB, with one column of texts and one of labels.")
    file = st.file_uploader(
        "Table",
        type=["csv", "tsv", "txt", "xlsx"],
        key=f"upload_file_{studio().uploads}",
        max_upload_size=UPLOAD_MEGABYTES,
    )
    _declaration()
    if st.button("Read the table", type="primary", key="read_table", disabled=file is None, icon=":material/table:"):
        assert file is not None
        progress = st.progress(0.0, "Reading")
        try:
            read_upload(file.getvalue(), file.name, lambda share: progress.progress(min(share, 1.0), "Reading"))
        except ColumnsNotFoundError as error:
            st.session_state[_HEADINGS], st.session_state[_PROBLEM] = error.columns, str(error)
            st.rerun()  # its columns can now be chosen from, above
        except DPICLError as error:
            progress.empty()
            refusal(str(error))
        else:
            st.rerun()
    if problem := st.session_state.pop(_PROBLEM, ""):
        refusal(problem)
        plain('On this screen: choose the columns under "Columns and unit", above.')
    if file is None:
        st.session_state.pop(_HEADINGS, None)
        st.caption("First choose a file. Nothing is read before you press the button.")


def _declaration() -> None:
    st.markdown("**Declare what is public**")
    names = [OWN_TASK, *(name for name in TASKS if name != "sample")]
    titles = {OWN_TASK: "My own task", **{name: task.title for name, task in TASKS.items()}}
    st.selectbox(
        "Task",
        names,
        format_func=lambda name: titles[name],
        key=keep.ready("data_task", OWN_TASK),
        on_change=_task_changed,
    )
    chosen = keep.value("data_task")
    if chosen == OWN_TASK:
        st.checkbox(
            "Labels are free text: examples come from all rows",
            key=keep.ready("data_open_labels", False),
            help="Then the list below holds the labels to write demonstrations for.",
        )
        st.text_area(
            "Public label list, one a line",
            key=keep.ready("data_labels", ""),
            height=110,
            help="Write it from what you know. A label that only the table knows would be private. Where blanks around "
            'a label belong to it, put it in double quotes, as in " yes".',
        )
    else:
        labels = TASKS[chosen].labels
        st.text_area("Public label list (of this task)", value="\n".join(labels), disabled=True, height=110)
    st.number_input(
        "Record cap in tokens: a longer row is cut",
        4,
        8192,
        key=keep.ready("data_record_tokens", 64 if chosen == OWN_TASK else TASKS[chosen].record_tokens),
        help="The model sees at most this much of each row, label and text together.",
    )
    headings: tuple[str, ...] = st.session_state.get(_HEADINGS, ())
    with st.expander("Columns and unit", expanded=bool(headings)):
        _column("Text column", "found by its name", "data_text_column", headings)
        _column("Label column", "found by its name", "data_label_column", headings)
        _column(
            "Person column", "each row is protected by itself", "data_person_column", headings,
            help="When one person may have several rows, name the column that says whose they are.",
        )  # fmt: skip
        st.checkbox(
            "Leave out rows whose label is not on the list",
            key=keep.ready("data_leave_out", False),
            help="Otherwise such rows are refused, with their line numbers.",
        )
    keep.note(
        "data_task",
        "data_open_labels",
        "data_labels",
        "data_record_tokens",
        "data_text_column",
        "data_label_column",
        "data_person_column",
        "data_leave_out",
    )
    if chosen == OWN_TASK and not declared_labels():
        st.caption("The label list is still empty.")


def _column(title: str, blank: str, key: str, headings: tuple[str, ...], *, help: str | None = None) -> None:
    """A column's name: typed while no file was read, chosen once its headings are known. blank: what none means."""
    if not headings:
        st.text_input(f"{title} (blank: {blank})", key=keep.ready(key, ""), help=help)
        return
    if keep.value(key, "") not in headings:
        keep.put(**{key: ""})
    st.selectbox(
        title, ("", *headings), key=keep.ready(key, ""), format_func=lambda name: name or f"({blank})", help=help
    )


def _task_changed() -> None:
    chosen = st.session_state["data_task"]
    keep.put(data_record_tokens=64 if chosen == OWN_TASK else TASKS[chosen].record_tokens)


frame.show(screen)
