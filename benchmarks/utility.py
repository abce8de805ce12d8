"""Utility benchmark: tasks x mechanisms x epsilons x seeds, with the same measures for all.

    python -m benchmarks.utility --size tiny                 minutes; checks that everything runs
    python -m benchmarks.utility --size three-hours --tables 2,18   what docs/results.md describes
    python -m benchmarks.utility --size paper --model FOLDER the papers' sizes, for a machine with a GPU
    python -m benchmarks.utility --size three-hours --only-write   tables and figures again from what was measured

Every finished cell is one line of JSON in OUT/utility-SIZE.jsonl, numbers alone; a run that was stopped goes on where
it was, and cells of other sizes or models are never mixed. Seeds come first, so that whatever time allows, all
mechanisms have been measured equally often. docs/results.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.utility_cells import Bench, Cell, Sizes, run_cell
from benchmarks.utility_tables import write_results
from dpicl_core.language_model import load_model
from dpicl_core.language_model.scoring import scorer_for

ROOT = Path(__file__).resolve().parent.parent
MECHANISMS = ("tang-gaussian", "adadpsyn", "anchored")
SIZES = {
    "tiny": Sizes(queries=12, tokens=6, subsets=4, per_subset=1, trials=2, rows=6),
    "three-hours": Sizes(queries=100, tokens=12, subsets=10, per_subset=1, trials=10, rows=20, record_tokens=48),
    "paper": Sizes(queries=1000, tokens=100, trials=20, rows=50),
}
TASKS = {
    "tiny": ("trec",),
    "three-hours": ("agnews", "dbpedia", "trec"),
    "paper": ("agnews", "dbpedia", "trec", "mit_g", "mit_d"),
}
TABLES = ("2", "3", "6", "11", "18")
"""2 also fills table 1; 6 stands for 6 to 10, one a task."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing, then write tables and figures."""
    options = parser().parse_args(argv)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    lines = out / f"utility-{options.size}.jsonl"
    sizes = _sizes(options)
    if not options.only_write:
        model = load_model(options.model)
        bench = Bench(model, scorer_for(model), options.data, sizes)
        cells = list(dict.fromkeys(cells_of(options)))
        measure_missing(cells, bench, lines, options.seconds)
    write_results(
        read_lines(lines), lines.with_suffix(".md"), " ".join(["python -m benchmarks.utility", *_shown(argv)])
    )
    return 0


def cells_of(options: argparse.Namespace) -> Iterator[Cell]:
    """All cells of the asked tables, by seed first."""
    tables = options.tables.split(",")
    tasks = options.tasks.split(",") if options.tasks else TASKS[options.size]
    epsilons = [float(value) for value in options.epsilons.split(",")]
    few = options.size == "tiny"
    for seed in range(options.seeds):
        for task in tasks:
            if "2" in tables:
                yield from _main_cells(task, seed, epsilons)
            if "3" in tables and task == tasks[-1 if few else min(1, len(tasks) - 1)]:
                yield from _shot_cells(task, seed, (1, 2) if few else (1, 2, 4, 8))
            if "6" in tables:
                for margin, iterations in itertools.product((0.15,) if few else (0.15, 0.2, 0.25), (1, 2)):
                    yield Cell(
                        "accuracy", task, "adadpsyn", 8.0, "paper", seed=seed, margin=margin, iterations=iterations
                    )
            if "11" in tables and task == tasks[-1]:
                for radius, coverage in itertools.product((0.03,) if few else (0.01, 0.03, 0.1), (0.01, 0.1)):
                    split = (radius, 1 - radius - coverage, coverage)
                    yield Cell("accuracy", task, "adadpsyn", 8.0, "paper", seed=seed, iterations=2, split=split)
            if "18" in tables and task == ("dbpedia" if "dbpedia" in tasks else tasks[-1]):
                yield from _attack_cells(task, seed, epsilons)


def _main_cells(task: str, seed: int, epsilons: Sequence[float]) -> Iterator[Cell]:
    base = Cell("accuracy", task, "0-shot")
    if seed == 0:
        yield base
    yield replace(base, mechanism="public-only", seed=seed)  # nothing random but the target labels of the seed
    yield replace(base, mechanism="real-rows", seed=seed)
    yield replace(base, mechanism="public-only", selection="sample", seed=seed)
    for selection in ("argmax", "sample"):
        yield replace(base, mechanism="noise-free", selection=selection, seed=seed)
        for mechanism in MECHANISMS:
            for epsilon in epsilons:
                yield replace(base, mechanism=mechanism, epsilon=epsilon, selection=selection, seed=seed)
            yield replace(base, mechanism=mechanism, epsilon=1.0, accountant="own", selection=selection, seed=seed)


def _shot_cells(task: str, seed: int, shots: Sequence[int]) -> Iterator[Cell]:
    for count in shots:
        for mechanism in (*MECHANISMS, "noise-free", "real-rows"):
            epsilon = 4.0 if mechanism in MECHANISMS else None
            yield Cell("accuracy", task, mechanism, epsilon, shots=count, seed=seed)


def _attack_cells(task: str, seed: int, epsilons: Sequence[float]) -> Iterator[Cell]:
    yield Cell("membership", task, "real-rows", shots=1, seed=seed)
    yield Cell("membership", task, "noise-free", shots=1, seed=seed)
    for mechanism in MECHANISMS:
        for epsilon in epsilons:
            yield Cell("membership", task, mechanism, epsilon, shots=1, seed=seed)


def measure_missing(cells: Sequence[Cell], bench: Bench, lines: Path, seconds: float | None) -> None:
    """Measure the cells that the file lacks; stop behind the first that ends after `seconds`."""
    name = bench.scorer.name
    done = {line["key"] for line in read_lines(lines)}
    missing = [cell for cell in cells if cell.key(bench.sizes, name) not in done]
    print(f"{len(cells)} cells, {len(cells) - len(missing)} measured before", file=sys.stderr)
    started = time.monotonic()
    for number, cell in enumerate(missing, start=1):
        if seconds is not None and time.monotonic() - started > seconds:
            print(f"time is up; {len(missing) - number + 1} cells are left", file=sys.stderr)
            return
        try:
            numbers: dict[str, Any] = run_cell(cell, bench)
        except KeyboardInterrupt:
            print("stopped; the finished cells are kept", file=sys.stderr)
            return
        _append(lines, {"key": cell.key(bench.sizes, name), **json.loads(cell.key(bench.sizes, name)), **numbers})
        left = (time.monotonic() - started) / number * (len(missing) - number)
        print(f"{number}/{len(missing)} {cell.task} {cell.mechanism}: {numbers['seconds']} s, about {left / 60:.0f} "
              "minutes left", file=sys.stderr)  # fmt: skip


def _append(lines: Path, content: dict[str, Any]) -> None:
    """One whole line, on disk before the next cell begins; never behind half a line that an outage left."""
    cut = lines.exists() and lines.stat().st_size > 0 and not lines.read_bytes().endswith(b"\n")
    with lines.open("a", encoding="utf-8") as stream:
        stream.write(("\n" if cut else "") + json.dumps(content, sort_keys=True, allow_nan=False) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_lines(lines: Path) -> list[dict[str, Any]]:
    """Whole lines alone: one that was cut when the machine stopped is measured again."""
    found = []
    for line in lines.read_text(encoding="utf-8").splitlines() if lines.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _sizes(options: argparse.Namespace) -> Sizes:
    given = {
        name: getattr(options, name)
        for name in ("queries", "tokens", "subsets", "per_subset", "trials", "rows", "record_tokens")
    }
    return replace(SIZES[options.size], **{name: value for name, value in given.items() if value is not None})


def _shown(argv: Sequence[str] | None) -> list[str]:
    """The options that shape the numbers, without places on this machine."""
    given = list(sys.argv[1:] if argv is None else argv)
    kept: list[str] = []
    while given:
        word = given.pop(0)
        if word in ("--out", "--data"):
            given.pop(0)
        elif word != "--only-write":
            kept.append(word)
    return kept


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m benchmarks.utility", description="Utility benchmark.")
    found.add_argument("--size", choices=tuple(SIZES), default="tiny")
    found.add_argument("--tables", default=",".join(TABLES), help="of the paper: 2 (with 1), 3, 6 (to 10), 11, 18")
    found.add_argument("--tasks", help=f"default: by size; of {', '.join(TASKS['paper'])}")
    found.add_argument("--epsilons", default="1,4")
    found.add_argument("--seeds", type=int, default=3)
    found.add_argument("--model", help="local folder, GGUF file or hub name; default: the embedded model")
    for name in ("queries", "tokens", "subsets", "per-subset", "trials", "rows", "record-tokens"):
        found.add_argument(f"--{name}", type=int, help="default: by size")
    found.add_argument("--seconds", type=float, help="begin no cell after so many seconds")
    found.add_argument(
        "--data", type=Path, default=Path(os.environ.get("DPICL_SHARED", ROOT.parent / "shared")) / "data"
    )
    found.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    found.add_argument("--only-write", action="store_true", help="measure nothing; write tables and figures again")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
