"""The measures of the Evaluate screen, each with its own words, settings, button, progress and result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpicl_core.evaluation import REFERENCE_SETS
from dpicl_core.evaluation.canaries import RUNS
from dpicl_core.evaluation.results import AccuracyResult, CanaryRuns, ConsensusRun, LeakageResult, MembershipResult
from dpicl_core.evaluation.tasks import ASKED_ROWS, SEEDS
from dpicl_core.jobs import Task
from pages.support import evaluation_results as show
from pages.support import keep, session_tasks
from pages.support.badges import figure_heading
from pages.support.choices import model_of
from pages.support.evaluated import Evaluated
from pages.support.evaluation_figures import name_of
from pages.support.guard import guarded
from pages.support.state import registry
from pages.support.text import duration, plain

TRIALS, TRIAL_ROWS, REAL_PROMPTS = 10, 20, 40
"""Of the attack on the screen: quick, and enough to tell 0.5 from 0.6; the papers' are 20, 50 and 100."""

_NO_TABLE = "It needs the private table; read it again on Data."


def accuracy(of: Evaluated) -> None:
    """In-context accuracy of the run's set and of others."""
    with st.container(border=True, key="measure_accuracy"):
        _heading(
            "In-context accuracy",
            "accuracy",
            "Does the text still work? The share of rows that the model labels right with each set in its prompt.",
        )
        with st.expander("Settings", key="accuracy_settings"):
            st.multiselect(
                "Sets beside the released ones",
                REFERENCE_SETS,
                key=keep.ready("evaluate_references", list(REFERENCE_SETS)),
                format_func=name_of,
                help="Public only: the instruction alone wrote the texts. Random real rows and the run without noise "
                "are unprotected: they never leave this machine.",
            )
            left, right = st.columns(2)
            left.number_input("Rows asked", 4, 2000, key=keep.ready("evaluate_rows", ASKED_ROWS))
            right.number_input(
                "Seeds of each set that is made here",
                1,
                20,
                key=keep.ready("evaluate_seeds", SEEDS),
                help="The interval over seeds needs at least two. A released set is one seed; runs of the same plan "
                "count as seeds of one another.",
            )
            if of.task.open_labels:
                st.checkbox("Compare without case and punctuation", key=keep.ready("evaluate_fold", False))
            else:
                st.checkbox(
                    "Also calibrated",
                    key=keep.ready("evaluate_calibrate", True),
                    help="Label probabilities divided by what the model says of inputs without content (Zhao and "
                    "others 2021). Small models need it.",
                )
            keep.note("evaluate_references", "evaluate_rows", "evaluate_seeds", "evaluate_fold", "evaluate_calibrate")
        task = of.accuracy(
            tuple(keep.value("evaluate_references")),
            rows=int(keep.value("evaluate_rows")),
            seeds=int(keep.value("evaluate_seeds")),
            calibrate=bool(keep.value("evaluate_calibrate", True)),
            fold=bool(keep.value("evaluate_fold", False)),
        )
        _button("Measure accuracy", "accuracy", of, None if of.private is None else task, _NO_TABLE)
        _result("accuracy", of, AccuracyResult, lambda found: show.accuracy(found, of.task))


def membership(of: Evaluated) -> None:
    """The attack of both papers, and what the proof allows any attack."""
    with st.container(border=True, key="measure_membership"):
        _heading(
            "Membership inference",
            "membership",
            "Do the texts give away whose rows made them? An attack that guesses from the model's sureness, beside the "
            "same attack on a real row in the prompt, and the most that the privacy loss leaves to any attack.",
        )
        with st.expander("Settings", key="membership_settings"):
            columns = st.columns(3)
            columns[0].number_input("Trials for each text", 1, 200, key=keep.ready("evaluate_trials", TRIALS))
            columns[1].number_input("Members of a trial", 2, 1000, key=keep.ready("evaluate_trial_rows", TRIAL_ROWS))
            columns[2].number_input("Prompts with a real row", 0, 500, key=keep.ready("evaluate_real", REAL_PROMPTS))
            keep.note("evaluate_trials", "evaluate_trial_rows", "evaluate_real")
        task = of.membership(
            trials=int(keep.value("evaluate_trials")),
            rows=int(keep.value("evaluate_trial_rows")),
            real_prompts=int(keep.value("evaluate_real")),
        )
        lacks = _NO_TABLE if of.private is None else "It needs held-out rows, which no run has used: give them above."
        _button("Measure membership inference", "membership", of, task, lacks)
        _result("membership", of, MembershipResult, show.membership)


def leakage(of: Evaluated) -> None:
    """Words, duplicates, personal data."""
    with st.container(border=True, key="measure_leakage"):
        _heading(
            "Leakage",
            "leakage",
            "Does a text repeat what stands in a row? The longest shared run of words, exact and near duplicates, and "
            "personal data that stands in the table. With held-out rows, how much of it is chance.",
        )
        _button("Measure leakage", "leakage", of, of.leakage(), _NO_TABLE)
        _result("leakage", of, LeakageResult, show.leakage)
        with st.expander("Canaries: plant one row of made-up words and count what comes out", key="canary_fold"):
            _canaries(of)


def consensus(of: Evaluated) -> None:
    """Table 1 of Gao and others."""
    with st.container(border=True, key="measure_consensus"):
        _heading(
            "Consensus",
            "consensus",
            "How closely do the private next-word vectors agree? For every token, the smallest ball around one of them "
            "that holds 80%, and the noise that it would allow: the measure behind AdaDPSyn.",
        )
        _button("Measure consensus", "consensus", of, of.consensus(), _NO_TABLE)
        _result("consensus", of, ConsensusRun, lambda found: show.consensus(found, of.stored.plan.target_labels))


def _canaries(of: Evaluated) -> None:
    plain(
        "Twenty runs of this mechanism and twenty without protection, each with the planted row among the others: long "
        "for a large plan. They are unpaid and their texts are forgotten. The same from the command line: python -m "
        "dpicl_core evaluate canaries --help"
    )
    st.number_input("Runs of each", 1, 100, key=keep.ready("evaluate_canary_runs", RUNS), width=220)
    keep.note("evaluate_canary_runs")
    _button("Plant and count", "canaries", of, of.canaries(int(keep.value("evaluate_canary_runs"))), _NO_TABLE)
    _result("canaries", of, CanaryRuns, show.canaries)


def _heading(title: str, key: str, words: str) -> None:
    figure_heading(title, "internal", f"measure_{key}")
    plain(words)


def _button(label: str, name: str, of: Evaluated, task: Any, lacks: str) -> None:
    """The button that begins it, with a guess at its time; then progress while it goes on."""
    going = session_tasks.going_on(_slot(name), of.about)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button(
            label,
            key=f"begin_{name}",
            type="primary",
            icon=":material/play_arrow:",
            disabled=task is None or going,
            on_click=_begin,
            args=(name, of.about, task),
        )
        if task is None:
            st.text(lacks)
        elif not going and hasattr(task, "seconds"):
            st.caption(f"About {duration(task.seconds(registry().pace()))}, once the model is loaded.")
    session_tasks.progress(_slot(name), of.about)


@guarded
def _begin(name: str, about: tuple[str | None, ...], task: Task) -> None:
    session_tasks.begin(_slot(name), about, task, model_of())


def _result(name: str, of: Evaluated, kind: type, draw: Callable[[Any], None]) -> None:
    snapshot = session_tasks.found(_slot(name), of.about)
    if snapshot is not None and isinstance(snapshot.result, kind) and snapshot.over:
        draw(snapshot.result)


def _slot(name: str) -> str:
    return f"evaluate_{name}"
