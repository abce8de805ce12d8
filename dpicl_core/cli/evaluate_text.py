"""Results of `evaluate` as tables for a terminal and as JSON; every one of them says that it is internal."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from dpicl_core.data.wording import counted
from dpicl_core.evaluation import Bounded, Spread
from dpicl_core.evaluation.results import (
    AccuracyResult,
    AttackLine,
    CanaryRuns,
    ConsensusRun,
    LeakageResult,
    MembershipResult,
)
from dpicl_core.specs import SIMPLEX_DIAMETER

INTERNAL = "internal, not DP"
RATE = 0.1
"""False-positive rate at which attack and ceiling are printed; ten others a trial are the least that resolve it."""


@dataclass(frozen=True, slots=True)
class Report:
    """lines: as printed, without the heading; content: what goes to a file."""

    title: str
    lines: tuple[str, ...] = field(repr=False)
    content: dict[str, Any] = field(repr=False)

    def text(self) -> str:
        """The heading and all lines."""
        return "\n".join([f"{self.title} [{INTERNAL}]", *self.lines]) + "\n"

    def json_bytes(self) -> bytes:
        """Strict JSON, UTF-8; its first key says that it is internal."""
        content = {"protection": INTERNAL, **self.content}
        return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def accuracy_report(result: AccuracyResult) -> Report:
    """Mean, standard deviation and 95% interval over seeds; one seed has no interval."""
    sets, queries, model = result.sets, result.queries, result.model
    how = "exact match of the greedy answer" if result.open_labels else "likeliest label"
    lines = [
        f"{queries} held-out rows, the same for all sets; {how}; model {model}",
        f"{'set':<34}{'seeds':>6}  {'accuracy':<30}{'calibrated':<30}",
    ]
    lines += [f"{each.kind:<34}{each.raw.count:>6}  {_cell(each.raw):<30}{_cell(each.calibrated):<30}" for each in sets]
    if any(each.raw.count == 1 for each in sets):
        lines.append("one seed gives no interval: another draw may differ by 0.1 to 0.2")
    content = {"measure": "accuracy", "model": model, "queries": queries, "sets": [asdict(each) for each in sets]}
    return Report("in-context accuracy", tuple(lines), content)


def membership_report(result: MembershipResult) -> Report:
    """Area under the ROC curve with its interval, beside what the composed loss allows any attack."""
    attacks, model, rows = result.attacks, result.model, result.rows
    lines = [
        f"1-shot; the score is the probability of the true label; {rows} members and {rows} others a trial; "
        f"model {model}",
        f"{'demonstration in the prompt':<34}{'trials':>7}  {'AUC':<24}{'any attack':>11}  found at 10% wrong (most)",
    ]
    for each in attacks:
        bound = "1" if each.ceiling is None else f"{each.ceiling.area:.3f}"
        found = _found(each) if rows * RATE >= 1 else "-"
        name, trials = each.attack.kind, each.attack.trials
        lines.append(f"{name:<34}{trials:>7}  {_interval(each.attack.area):<24}{bound:>11}  {found}")
    lines.append("intervals: bootstrap over demonstrations and trials; too narrow below about five demonstrations")
    lines.append(
        "AUC 0.5 is guessing. any attack: the area that no attack can exceed by the composed privacy loss, whatever it "
        "knows; computed, not measured. Where members and others differ for other reasons, AUC is not 0.5 without leak."
    )
    if result.left_out:
        lines.append(f"{counted(result.left_out, 'held-out row')} left out: the text stands in the private table too")
    content = {
        "measure": "membership",
        "model": model,
        "held_out_rows_left_out": result.left_out,
        "attacks": [
            {**asdict(each.attack), "ceiling": None if each.ceiling is None else asdict(each.ceiling)}
            for each in attacks
        ],
    }
    return Report("membership inference", tuple(lines), content)


def leakage_report(result: LeakageResult) -> Report:
    """What each released text shares with the table. Quoted words stand in the released text itself."""
    texts, rows, near_percent = result.texts, result.rows, result.near_percent
    lines = [f"compared with {rows} private rows, without case and punctuation; near: {near_percent:g}% alike or more"]
    for each in texts:
        found, run = each.found, each.found.longest_run
        where = (
            "" if each.line is None else f' in {counted(run.rows, "row")}, first at line {each.line}: "{each.passage}"'
        )
        lines.append(f"{each.kind}, text {each.number} of {counted(found.words, 'word')}")
        lines.append(f"  longest shared run: {counted(run.words, 'word')}{where}")
        if each.chance is not None:
            lines.append(f"  the same against rows never used: {counted(each.chance.longest_run.words, 'word')}")
        lines.append(
            f"  exact duplicates: {found.exact_duplicates}; near duplicates: {found.near_duplicates}; most alike row: "
            f"{found.likeness:.0f}%"
        )
        lines += [f"  holds {passage.what} that stands in {counted(passage.rows, 'row')}" for passage in found.passages]
    content = {
        "measure": "leakage",
        "rows": rows,
        "near_percent": near_percent,
        "texts": [
            {
                "set": each.kind,
                "text": each.number,
                "words": each.found.words,
                "longest_run_words": each.found.longest_run.words,
                "rows_with_longest_run": each.found.longest_run.rows,
                "longest_run_words_by_chance": None if each.chance is None else each.chance.longest_run.words,
                "exact_duplicates": each.found.exact_duplicates,
                "near_duplicates": each.found.near_duplicates,
                "most_alike_percent": each.found.likeness,
                "personal_data_in_rows": [{"what": p.what, "rows": p.rows} for p in each.found.passages],
            }
            for each in texts
        ],
    }
    return Report("leakage", tuple(lines), content)


def canary_report(result: CanaryRuns) -> Report:
    """How many runs let words of the planted row out."""
    results, model, epsilon = result.results, result.model, result.epsilon
    lines = [
        f'planted once: "{result.canary}"; texts were counted and forgotten; noise for epsilon {epsilon:g}; '
        f"model {model}",
        f"{'mechanism':<18}{'runs':>6}{'runs with its words':>21}{'words':>8}{'longest run':>13}",
    ]
    lines += [
        f"{each.mechanism:<18}{each.runs:>6}{each.runs_with_words:>21}{each.words_out:>8}{each.longest_run:>13}"
        for each in results
    ]
    content = {
        "measure": "canaries",
        "model": model,
        "epsilon": epsilon,
        "mechanisms": [asdict(each) for each in results],
    }
    return Report("canaries", tuple(lines), content)


def consensus_report(result: ConsensusRun) -> Report:
    """Radius of the smallest ball around a vector that holds 80%, and the noise it would allow."""
    found, mechanism, model, epsilon = result.found, result.mechanism, result.model, result.epsilon
    lines = [
        f"along one unpaid run of {mechanism} at epsilon {epsilon:g}; model {model}",
        f"{'label':<28}{'tokens':>7}{'radius':>9}{'noise it would allow':>23}{'noise now':>12}{'smaller by':>12}",
    ]
    for each in (*found.labels, found.average):
        ratio = SIMPLEX_DIAMETER / (2 * each.radius) if each.radius > 0 else None
        lines.append(
            f"{each.label or 'mean of labels':<28}{each.tokens:>7}{each.radius:>9.3f}{_number(each.noise_allowed):>23}"
            f"{_number(each.noise_whole):>12}{'-' if ratio is None else f'{ratio:.1f} x':>12}"
        )
    lines.append("radius: mean over tokens, of a simplex of radius 0.707. noise: per coordinate of the mean, std. dev.")
    content = {
        "measure": "consensus",
        "mechanism": mechanism,
        "model": model,
        "epsilon": epsilon,
        **asdict(found),
    }
    return Report("consensus of next-token vectors", tuple(lines), content)


def _cell(value: Spread | None) -> str:
    if value is None:
        return "-"
    if value.deviation is None or value.low is None or value.high is None:
        return f"{value.mean:.3f}"
    return f"{value.mean:.3f} sd {value.deviation:.3f} ({value.low:.2f}-{value.high:.2f})"


def _interval(value: Bounded) -> str:
    if value.low is None or value.high is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} ({value.low:.3f}-{value.high:.3f})"


def _found(line: AttackLine) -> str:
    most = "1" if line.ceiling is None else f"{line.ceiling.at(RATE):.3f}"
    return f"{line.attack.curve.at(RATE):.3f} ({most})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
