"""What the measures found, as tables and figures. All of it is internal, not DP, and stays on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dpicl_core.evaluation import Bounded, Spread
from dpicl_core.evaluation.results import (
    AccuracyResult,
    CanaryRuns,
    ConsensusRun,
    LeakageResult,
    LeakLine,
    MembershipResult,
)
from dpicl_core.specs import SIMPLEX_DIAMETER
from dpicl_core.values import Task
from pages.support.evaluation_figures import accuracy_figure, consensus_figure, name_of, roc_figure
from pages.support.figures import CONFIG
from pages.support.text import count, plain, warning
from pages.support.words import TITLES

RATE = 0.1
"""False-positive rate at which attacks are compared in the table."""

_PROTECTED_NOT = {**TITLES, "unprotected": "Without noise"}


def accuracy(result: AccuracyResult, task: Task) -> None:
    """Figure and table of all sets."""
    st.plotly_chart(
        accuracy_figure(result, None if task.open_labels else len(task.labels)),
        width="stretch",
        key="accuracy_chart",
        config=CONFIG,
        alt="Share of right labels with each set in the prompt, with its 95% interval over seeds",
    )
    columns: dict[str, list[Any]] = {
        "set": [name_of(line.kind) for line in result.sets],
        "seeds": [line.raw.count for line in result.sets],
        **_spread_columns("", [line.raw for line in result.sets]),
    }
    if any(line.calibrated is not None for line in result.sets):
        columns |= _spread_columns("calibrated ", [line.calibrated for line in result.sets])
    _table(columns, "accuracy_table", "Mean, standard deviation and 95% interval of each set's accuracy")
    where = (
        "held-out rows"
        if result.held_out
        else "rows of the table itself, set apart from the sets that are made here; the run itself may have drawn them"
    )
    plain(
        f"{count(result.queries, 'row')} asked, the same for every set: {where}. Model: {result.model}. With so many "
        f"rows a share is known to about {_margin(result.queries):.2f} either way, which the intervals leave out."
    )
    if any(line.raw.count == 1 for line in result.sets):
        plain("One seed has no interval: another run of the same plan may differ by 0.1 to 0.2.")


def membership(result: MembershipResult) -> None:
    """ROC curves with the proven ceiling, and the areas."""
    st.plotly_chart(
        roc_figure(result),
        width="stretch",
        key="roc_chart",
        config=CONFIG,
        alt="ROC curves of the attacks, the highest curve that the composed privacy loss allows, and guessing",
    )
    attacks = result.attacks
    columns = {
        "in the prompt": [name_of(line.attack.kind) for line in attacks],
        "AUC": [f"{line.attack.area.value:.3f}" for line in attacks],
        "95% interval": [_interval(line.attack.area) for line in attacks],
        "ceiling": ["1" if not line.ceiling else f"{line.ceiling.area:.3f}" for line in attacks],
        "found at 10% wrong": [f"{line.attack.curve.at(RATE):.3f}" for line in attacks],
        "ceiling of that": ["1" if not line.ceiling else f"{line.ceiling.at(RATE):.3f}" for line in attacks],
        "trials": [line.attack.trials for line in attacks],
    }
    _table(columns, "membership_table", "Area under each ROC curve with its interval, and the proven ceiling")
    plain(
        f"AUC 0.5 is guessing. One text in the prompt, {result.rows} members and {result.rows} others a trial; the "
        f"score is the probability of the true label. Model: {result.model}. The ceiling is the most that any attack "
        "can reach, whatever it knows; it follows from the composed privacy loss. A measured AUC may lie above it by "
        "chance, or because the two tables differ for other reasons. Intervals are too narrow below about five texts."
    )
    if result.left_out:
        plain(f"{count(result.left_out, 'held-out row')} left out, since the text stands in the private table too.")


def leakage(result: LeakageResult) -> None:
    """What each text shares with the rows, and the words that it shares."""
    texts = result.texts
    columns: dict[str, list[Any]] = {
        "text": [f"{name_of(line.kind)}, {line.number}" for line in texts],
        "words": [line.found.words for line in texts],
        "longest run": [line.found.longest_run.words for line in texts],
        "rows with it": [line.found.longest_run.rows for line in texts],
    }
    if any(line.chance is not None for line in texts):
        columns["run by chance"] = [None if line.chance is None else line.chance.longest_run.words for line in texts]
    columns |= {
        "exact duplicates": [line.found.exact_duplicates for line in texts],
        "near duplicates": [line.found.near_duplicates for line in texts],
        "most alike row": [f"{line.found.likeness:.0f}%" for line in texts],
        "personal data": [len(line.found.passages) for line in texts],
    }
    by_chance = "; by chance: with a held-out row, which no run has used" if "run by chance" in columns else ""
    _table(columns, "leakage_table", "What each text shares with the private rows")
    plain(
        f"Compared with {count(result.rows, 'row')}, without case and punctuation. Runs are of words, shared with a row"
        f"{by_chance}; near duplicates are {result.near_percent:g}% alike or more."
    )
    with st.expander("The longest shared runs, in their own words"):
        for line in texts:
            _shared(line)
    for line in texts:
        for passage in line.found.passages:
            where = f"{name_of(line.kind)}, text {line.number}"
            warning(f"{where} holds {passage.what} that stands in {count(passage.rows, 'row')}.")
    if not any(line.found.passages for line in texts):
        plain("No text holds personal data that stands in a row.")


def consensus(result: ConsensusRun, labels: tuple[str, ...]) -> None:
    """Table 1: radius by label, and the noise that a ball of it would allow. labels: of each text of the run."""
    found = result.found
    st.plotly_chart(
        consensus_figure(found, labels),
        width="stretch",
        key="consensus_chart",
        config=CONFIG,
        alt="Radius of the smallest ball around a private vector that holds 80 percent of them, for each token",
    )
    lines = (*found.labels, found.average)
    columns = {
        "label": [line.label or "mean of labels" for line in lines],
        "tokens": [line.tokens for line in lines],
        "radius": [f"{line.radius:.3f}" for line in lines],
        "noise it would allow": [_noise(line.noise_allowed) for line in lines],
        "noise over the whole simplex": [_noise(line.noise_whole) for line in lines],
        "smaller by": [f"{SIMPLEX_DIAMETER / (2 * line.radius):.1f} x" if line.radius else "-" for line in lines],
    }
    _table(columns, "consensus_table", "Mean radius for each label, and the noise it would allow")
    plain(
        f"Along one unpaid run of {TITLES[result.mechanism]} at epsilon {result.epsilon:g}, whose text is forgotten. "
        f"Model: {result.model}. Radius 0.707 is the whole simplex. Nobody may use such a ball for free: finding it "
        "privately is what AdaDPSyn pays for."
    )


def canaries(result: CanaryRuns) -> None:
    """How many runs let words of the planted row out."""
    found = result.results
    columns = {
        "mechanism": [_PROTECTED_NOT.get(line.mechanism, line.mechanism) for line in found],
        "runs": [line.runs for line in found],
        "runs with its words": [line.runs_with_words for line in found],
        "words that came out": [line.words_out for line in found],
        "longest run of words": [line.longest_run for line in found],
    }
    _table(columns, "canary_table", "How many runs let words of the planted row out")
    plain(f'Planted once: "{result.canary}". Texts were counted and forgotten. Model: {result.model}.')


def _shared(line: LeakLine) -> None:
    run = line.found.longest_run
    where = f"{name_of(line.kind)}, text {line.number}"
    if run.words == 0 or line.line is None:
        plain(f"{where}: no word stands in a row.")
    else:
        words = f"{count(run.words, 'word')} in {count(run.rows, 'row')}, first at line {line.line}"
        plain(f'{where}: {words}: "{line.passage}"')


def _spread_columns(prefix: str, spreads: Sequence[Spread | None]) -> dict[str, list[Any]]:
    return {
        f"{prefix}accuracy": ["-" if spread is None else f"{spread.mean:.3f}" for spread in spreads],
        f"{prefix}sd": [_noise(None if spread is None else spread.deviation, places=3) for spread in spreads],
        f"{prefix}95% interval": [
            "-" if spread is None or spread.low is None else f"{spread.low:.2f} to {spread.high:.2f}"
            for spread in spreads
        ],
    }


def _margin(queries: int) -> float:
    """Half of a 95% interval of a share near 1/2 from so many rows."""
    return float(0.98 / max(queries, 1) ** 0.5)


def _interval(area: Bounded) -> str:
    return "-" if area.low is None or area.high is None else f"{area.low:.2f} to {area.high:.2f}"


def _noise(value: float | None, places: int = 4) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _table(columns: Mapping[str, Sequence[Any]], key: str, alt: str) -> None:
    rows = len(next(iter(columns.values())))
    st.dataframe(dict(columns), hide_index=True, width="stretch", height=min(38 + 35 * rows, 400), key=key, alt=alt)
