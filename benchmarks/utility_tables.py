"""From measured cells to tables shaped as the paper's (Gao et al. 2024) and to figures, with intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.utility_figures import Bar, bars_figure, curves_figure
from benchmarks.utility_pairs import PAIRED_HEADS, PAIRED_TITLE, paired_rows
from dpicl_core.evaluation import spread
from dpicl_core.evaluation.spreads import bootstrap_mean

Line = dict[str, Any]
Row = Sequence[str]
DEFAULT_SPLIT, DEFAULT_MARGIN, DEFAULT_SHOTS = [0.03, 0.94, 0.03], 0.2, 4
SIMPLEX_RADIUS = 0.7071
ORDER = ("0-shot", "public-only", "tang-gaussian", "adadpsyn", "anchored", "noise-free", "real-rows")
NAMES = {
    "0-shot": "no demonstration",
    "public-only": "public prompt alone (epsilon 0)",
    "tang-gaussian": "Tang Gaussian",
    "adadpsyn": "AdaDPSyn",
    "anchored": "anchored",
    "noise-free": "noise-free algorithm (not private)",
    "real-rows": "random real rows (not private)",
}


def write_results(lines: Sequence[Line], path: Path, command: str) -> None:
    """Write the tables to `path` and the figures beside it. Lines of different sizes or models are kept apart."""
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[f"model {line['model']}; {_sizes(line)}"].append(line)
    parts = [
        "# Utility benchmark: tables",
        "",
        f"Written by `{command}`; nothing here was edited by hand. Means, then standard deviation and 95% interval "
        "over seeds (Student's t), and how many seeds; one seed has none. [What the numbers mean](../results.md).",
    ]
    for number, (title, group) in enumerate(groups.items()):
        stem = path.stem + ("" if number == 0 else f"-{number + 1}")
        parts += ["", f"## {title}", "", _work(group), *_tables(group), *_figures(group, path.parent, stem)]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _tables(lines: Sequence[Line]) -> Iterable[str]:
    accuracy = [line for line in lines if line["measure"] == "accuracy"]
    main = [line for line in accuracy if _is_main(line)]
    for measure in ("calibrated", "raw"):
        for accountant in ("tight", "own"):
            for selection in ("argmax", "sample"):
                yield from _table_2(main, measure, accountant, selection)
    yield from _table(PAIRED_TITLE, PAIRED_HEADS, paired_rows(main))
    yield from _table_1(main)
    yield from _noise_table(main)
    yield from _table_3(accuracy)
    yield from _settings_tables(accuracy)
    yield from _table_18([line for line in lines if line["measure"] == "membership"])


def _is_main(line: Line) -> bool:
    published = line["epsilon"] == 8.0 and line["accountant"] == "paper"
    return line["shots"] == DEFAULT_SHOTS and line["split"] == DEFAULT_SPLIT and not published


def _table_2(lines: Sequence[Line], measure: str, accountant: str, selection: str) -> Iterable[str]:
    chosen = [
        line
        for line in lines
        if line[measure] is not None
        and (line["epsilon"] is None or line["accountant"] == accountant)
        and (line["selection"] == selection or line["mechanism"] in ("0-shot", "real-rows"))
    ]
    epsilons = sorted({line["epsilon"] for line in chosen if line["epsilon"] is not None})
    if not epsilons:
        return
    who = "the tight accountant for all" if accountant == "tight" else "each mechanism under its authors' accountant"
    how = "largest entry" if selection == "argmax" else "sampled (temperature 0.8, top-p 0.9)"
    rows = []
    for task, mechanism in _present(chosen):
        own = [line for line in chosen if (line["task"], line["mechanism"]) == (task, mechanism)]
        if any(line["epsilon"] is not None for line in own):
            cells = [_cell([line[measure] for line in own if line["epsilon"] == epsilon]) for epsilon in epsilons]
        else:
            cells = [_cell([line[measure] for line in own]), *[""] * (len(epsilons) - 1)]
        rows.append((task, NAMES[mechanism], *cells))
    title = f"Table 2, {measure} accuracy (%): {who}; tokens: {how}"
    yield from _table(title, ("task", "demonstrations", *(f"epsilon {epsilon:g}" for epsilon in epsilons)), rows)


def _table_1(lines: Sequence[Line]) -> Iterable[str]:
    """Mean covering radius along the runs of Tang's mechanism, as in the paper."""
    rows = []
    for task in dict.fromkeys(line["task"] for line in lines):
        runs = [
            line["covering_radius"] for line in lines if line["task"] == task and line["mechanism"] == "tang-gaussian"
        ]
        if runs:
            per_label: dict[str, list[float]] = defaultdict(list)
            for run in runs:
                for label, radius in run.items():
                    per_label[label].append(radius)
            means = {label: float(np.mean(radii)) for label, radii in per_label.items()}
            mean = float(np.mean(list(means.values())))
            listed = ", ".join(f"{label} {radius:.3f}" for label, radius in sorted(means.items()))
            rows.append(
                (task, f"{mean:.3f}", f"{SIMPLEX_RADIUS / mean:.1f} x" if mean else "-", str(len(runs)), listed)
            )
    heads = ("task", "radius", "noise it would allow: smaller by", "runs", "labels")
    yield from _table("Table 1, smallest ball with 80% of the next-token vectors (whole simplex: 0.707)", heads, rows)


def _noise_table(lines: Sequence[Line]) -> Iterable[str]:
    rows = []
    for task, mechanism in _present(lines):
        own = [line for line in lines if (line["task"], line["mechanism"]) == (task, mechanism)]
        for epsilon in sorted({line["epsilon"] for line in own if line["epsilon"] is not None}):
            group = [line for line in own if line["epsilon"] == epsilon and line["accountant"] == "tight"]
            if group:
                rows.append(
                    (
                        task,
                        NAMES[mechanism],
                        f"{epsilon:g}",
                        *(f"{np.mean([line[name] for line in group]):.4f}" for name in ("last_radius", "noise")),
                        f"{100 * np.mean([line['agreement'] for line in group]):.0f}",
                        f"{max(line['epsilon_paper'] for line in group):.2f}",
                    )
                )
    heads = (
        "task",
        "mechanism",
        "epsilon",
        "last R",
        "noise a coordinate",
        "tokens as noise-free, %",
        "paper accountant",
    )
    yield from _table("What the noise was (tight accountant, means over runs)", heads, rows)


def _table_3(lines: Sequence[Line]) -> Iterable[str]:
    for task in dict.fromkeys(line["task"] for line in lines if line["shots"] != DEFAULT_SHOTS):
        chosen = [
            line
            for line in lines
            if line["task"] == task
            and line["selection"] == "argmax"
            and line["split"] == DEFAULT_SPLIT
            and (line["epsilon"] is None or (line["epsilon"], line["accountant"]) == (4.0, "tight"))
            and line["mechanism"] not in ("0-shot", "public-only")
        ]
        shots = sorted({line["shots"] for line in chosen})
        measure = "raw" if any(line["calibrated"] is None for line in chosen) else "calibrated"
        rows = [
            (
                NAMES[mechanism],
                *(
                    _cell(
                        [line[measure] for line in chosen if (line["mechanism"], line["shots"]) == (mechanism, count)]
                    )
                    for count in shots
                ),
            )
            for _, mechanism in _present(chosen)
        ]
        heads = ("demonstrations", *(f"{count} shot{'' if count == 1 else 's'}" for count in shots))
        yield from _table(f"Table 3, {task}, {measure} accuracy (%) by shots, epsilon 4", heads, rows)


def _settings_tables(lines: Sequence[Line]) -> Iterable[str]:
    chosen = [
        line
        for line in lines
        if (line["mechanism"], line["epsilon"], line["accountant"]) == ("adadpsyn", 8.0, "paper")
        and line["shots"] == DEFAULT_SHOTS
    ]
    for task in dict.fromkeys(line["task"] for line in chosen):
        own = [line for line in chosen if line["task"] == task]
        measure = "raw" if any(line["calibrated"] is None for line in own) else "calibrated"
        yield from _grid(
            f"Tables 6 to 10, {task}: AdaDPSyn, {measure} accuracy (%) at epsilon 8 (paper accountant)",
            [line for line in own if line["split"] == DEFAULT_SPLIT],
            measure,
            lambda line: f"T^ = {line['iterations']}",
            lambda line: f"lambda = {line['margin']:g}",
        )
        yield from _grid(
            f"Table 11, {task}: AdaDPSyn, {measure} accuracy (%) by share of the budget, T^ = 2, epsilon 8",
            [line for line in own if line["iterations"] == 2 and line["split"] != DEFAULT_SPLIT],
            measure,
            lambda line: f"radius search {line['split'][0]:g}",
            lambda line: f"coverage checks {line['split'][2]:g}",
        )


def _grid(
    title: str, lines: Sequence[Line], measure: str, down: Callable[[Line], str], across: Callable[[Line], str]
) -> Iterable[str]:
    columns = sorted({across(line) for line in lines})
    rows = [
        (
            name,
            *(
                _cell([each[measure] for each in lines if (down(each), across(each)) == (name, head)])
                for head in columns
            ),
        )
        for name in sorted({down(line) for line in lines})
    ]
    yield from _table(title, ("", *columns), rows)


def _table_18(lines: Sequence[Line]) -> Iterable[str]:
    rows = []
    for task, mechanism in _present(lines):
        own = [line for line in lines if (line["task"], line["mechanism"]) == (task, mechanism)]
        for epsilon in sorted({line["epsilon"] for line in own}, key=lambda value: value or 0):
            group = [line for line in own if line["epsilon"] == epsilon]
            area = bootstrap_mean([line["aucs"] for line in group])
            interval = "" if area.low is None else f" ({100 * area.low:.1f}-{100 * area.high:.1f})"
            most = 100 * max(line["ceiling"] for line in group)
            said = "-" if epsilon is None else f"{epsilon:g}"
            found = f"{100 * area.value:.1f}{interval}"
            rows.append((task, NAMES[mechanism], said, found, f"{most:.1f}", str(len(group))))
    heads = ("task", "demonstration in the prompt", "epsilon", "AUC (%)", "any attack at most (%)", "demonstrations")
    title = "Table 18, membership inference, 1-shot (bootstrap interval over demonstrations and trials; 50 is guessing)"
    yield from _table(title, heads, rows)


def _figures(lines: Sequence[Line], folder: Path, stem: str) -> Iterable[str]:
    accuracy = [line for line in lines if line["measure"] == "accuracy" and _is_main(line)]
    for task in dict.fromkeys(line["task"] for line in accuracy):
        bars = list(_bars([line for line in accuracy if line["task"] == task and line["selection"] == "argmax"]))
        if bars:
            name = f"{stem}-{task}.svg"
            (folder / name).write_text(
                bars_figure(f"{task}: accuracy, 95% interval over seeds", bars), encoding="utf-8"
            )
            yield from ("", f"![{task}: accuracy of every set with its interval]({name})")
    attacks = [line for line in lines if line["measure"] == "membership"]
    if attacks:
        curves, bounds = {}, {}
        for _, mechanism in _present(attacks):
            own = [line for line in attacks if line["mechanism"] == mechanism]
            for epsilon in sorted({line["epsilon"] for line in own}, key=lambda value: value or 0):
                group = [line for line in own if line["epsilon"] == epsilon]
                label = mechanism if epsilon is None else f"{mechanism}, epsilon {epsilon:g}"
                curves[label] = [float(value) for value in np.mean([line["curve"] for line in group], axis=0)]
                if epsilon is not None:  # equal for all mechanisms up to the calibration's last digits
                    worst = [line["ceiling_curve"] for line in attacks if line["epsilon"] == epsilon]
                    bounds[f"any attack at most, epsilon {epsilon:g}"] = list(np.max(worst, axis=0))
        name = f"{stem}-membership.svg"
        (folder / name).write_text(
            curves_figure("Membership inference: ROC, and what the loss allows", curves, bounds), encoding="utf-8"
        )
        yield from ("", f"![ROC curves of the membership attack]({name})")


def _bars(lines: Sequence[Line]) -> Iterable[Bar]:
    for _, mechanism in _present(lines):
        own = [line for line in lines if line["mechanism"] == mechanism and line["accountant"] == "tight"]
        for epsilon in sorted({line["epsilon"] for line in own}, key=lambda value: value or 0):
            group = [line for line in own if line["epsilon"] == epsilon]
            values = [line["raw"] if line["calibrated"] is None else line["calibrated"] for line in group]
            found = spread(values)
            label = NAMES[mechanism] if epsilon is None else f"{NAMES[mechanism]}, epsilon {epsilon:g}"
            yield Bar(label, found.mean, found.low, found.high)


def _present(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """Pairs of task and mechanism, tasks in the order met, mechanisms in ORDER."""
    met = {(line["task"], line["mechanism"]) for line in lines}
    tasks = dict.fromkeys(line["task"] for line in lines)
    return [(task, mechanism) for task in tasks for mechanism in ORDER if (task, mechanism) in met]


def _cell(values: Sequence[float]) -> str:
    if not values:
        return "-"
    found = spread(values)
    if found.deviation is None or found.low is None or found.high is None:
        return f"{100 * found.mean:.1f} (1)"
    interval = f"{100 * found.low:.0f}-{100 * found.high:.0f}"
    return f"{100 * found.mean:.1f} sd {100 * found.deviation:.1f} [{interval}] ({found.count})"


def _table(title: str, heads: Row, rows: Sequence[Row]) -> Iterable[str]:
    if rows:
        marks = ["---"] * len(heads)
        yield from ("", f"### {title}", "", *("| " + " | ".join(row) + " |" for row in (heads, marks, *rows)))


def _sizes(line: Line) -> str:
    sizes = line["sizes"]
    drawn = (
        "M and N as in the task" if sizes["subsets"] is None else f"M = {sizes['subsets']}, N = {sizes['per_subset']}"
    )
    cap = sizes.get("record_tokens")
    cut = f", rows cut at {cap} tokens" if cap else ""
    return f"{sizes['queries']} queries, {drawn}, at most {sizes['tokens']} tokens a text{cut}"


def _work(lines: Sequence[Line]) -> str:
    wall, busy = sum(line["seconds"] for line in lines), sum(line["cpu_seconds"] for line in lines)
    seeds = len({line["seed"] for line in lines})
    return f"{len(lines)} cells, {seeds} seed(s), {wall / 60:.0f} minutes, {busy / 60:.0f} of them processor time."
