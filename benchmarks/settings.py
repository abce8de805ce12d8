"""Rehearsals on public records: what each setting of a mechanism leaves of the choices made without noise.

    python -m benchmarks.settings --out docs/results/settings.md

The rows are those of public tables, so nothing here is private: for each table and each size of groups the noise-free
choice is followed for some tokens, and then every setting adds its noise, calibrated by the tight accountant for the
table's pools, to the same tokens again and again. It says which of K, T^, lambda, noise split, schedule, M and N change
least, not which text is good. Noise comes from the seeded twin, which has the same law.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.utility_cells import table
from dpicl_core.data import pool_for
from dpicl_core.files import write_atomically
from dpicl_core.language_model import LanguageModel, load_model
from dpicl_core.planning import mechanism_named, plan_for
from dpicl_core.randomness import SeededRandomness
from dpicl_core.rehearsal import RehearsalRequest, Step, followed_steps, forecast, noise_for
from dpicl_core.specs import AdaDPSynSpec, AnchoredSpec, MechanismSpec, TangGaussianSpec
from dpicl_core.tasks import task_named
from dpicl_core.values import PrivacyUnit, default_delta

ROOT = Path(__file__).resolve().parent.parent
EPSILONS = (1.0, 4.0)
TASKS = ("agnews", "dbpedia", "trec")
USUAL = (10, 1, 100)
"""M, N and K of the comparison of mechanisms."""

SHAPES = (USUAL, (10, 2, 100), (20, 1, 100), (10, 1, 50), (10, 1, 300))
SHOTS, TOKENS, RECORD_TOKENS, SEED = 4, 12, 48, 7


def settings() -> Iterator[tuple[str, MechanismSpec]]:
    """Every setting that is compared on the usual shape, by its words."""
    ada = mechanism_named("adadpsyn")
    assert isinstance(ada, AdaDPSynSpec)
    yield "Tang Gaussian", TangGaussianSpec()
    for iterations in (1, 2, 3):
        yield f"AdaDPSyn, T^ = {iterations}", replace(ada, iterations=iterations).split_as(0.03, 0.94, 0.03)
    for margin in (0.1, 0.3):
        yield f"AdaDPSyn, lambda = {margin:g}", replace(ada, margin=margin)
    for split in ((0.01, 0.98, 0.01), (0.10, 0.80, 0.10), (0.30, 0.40, 0.30)):
        yield f"AdaDPSyn, split {', '.join(f'{share:.2f}' for share in split)}", ada.split_as(*split)
    for schedule in ((0.35, 0.10), (0.35,), (0.20,), (0.10,), (0.30, 0.15), (0.45, 0.20, 0.10), (0.20, 0.05)):
        yield f"Anchored, radii {', '.join(f'{radius:g}' for radius in schedule)}", AnchoredSpec(schedule=schedule)


def rehearsed(
    task_name: str, shape: tuple[int, int, int], data: Path, model: LanguageModel
) -> tuple[RehearsalRequest, tuple[Step, ...]]:
    """Public rows of one table followed without noise, and what its noise is calibrated for."""
    subsets, per_subset, vocabulary = shape
    task = task_named(task_name)
    rows = table(data, task_name, "train")
    plan = plan_for(
        task, TangGaussianSpec(), shots=SHOTS, subsets=subsets, per_subset=per_subset, vocabulary=vocabulary,
        tokens=min(TOKENS, task.tokens), record_tokens=min(RECORD_TOKENS, task.record_tokens),
    )  # fmt: skip
    pools = {label: pool_for(rows, label, PrivacyUnit.ROW) for label in plan.pool_labels()}
    units = tuple((label, len(pool)) for label, pool in pools.items())
    rng = SeededRandomness(SEED)
    steps = followed_steps(plan, pools, model, rng=rng, following=lambda share: None)
    specs = (TangGaussianSpec(),)
    return RehearsalRequest(plan, specs, EPSILONS, units, default_delta(len(rows)), EPSILONS[0]), steps


def lines_for(
    request: RehearsalRequest, steps: Sequence[Step], specs: Sequence[tuple[str, MechanismSpec]]
) -> dict[str, list[float]]:
    """By setting: the share of tokens left unchanged, for each epsilon."""
    noise, rng = noise_for(request), SeededRandomness(SEED)
    return {
        words: [forecast(steps, noise.specs(spec, epsilon), epsilon, rng=rng).unchanged.mean for epsilon in EPSILONS]
        for words, spec in specs
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything and write one table."""
    parser = argparse.ArgumentParser(description="what each setting of a mechanism leaves unchanged, on public tables")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "settings.md")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of public tables")
    parser.add_argument("--tasks", default=",".join(TASKS))
    options = parser.parse_args(argv)
    started, tasks, model = time.monotonic(), options.tasks.split(","), load_model(None)
    found: dict[str, dict[str, list[float]]] = {}
    counts: dict[str, int] = {}
    few = [("Tang Gaussian", TangGaussianSpec()), ("Anchored, radii 0.35, 0.1", AnchoredSpec(schedule=(0.35, 0.10)))]
    for task in tasks:
        for shape in SHAPES:
            request, steps = rehearsed(task, shape, options.data, model)
            counts[task] = len(steps)
            usual = shape == USUAL
            told = lines_for(request, steps, tuple(settings()) if usual else few)
            where = "" if usual else f"; M {shape[0]}, N {shape[1]}, K {shape[2]}"
            for words, shares in told.items():
                found.setdefault(words + where, {})[task] = shares
            print(f"{task} {shape}: {len(steps)} tokens, {time.monotonic() - started:.0f} s", flush=True)
    write_atomically(options.out, report(found, tasks, counts, time.monotonic() - started).encode())
    return 0


def report(found: dict[str, dict[str, list[float]]], tasks: Sequence[str], counts: dict[str, int], took: float) -> str:
    """One table: a line for each setting, a column for each task and epsilon, and the mean of all."""
    heads = [f"{task}, epsilon {epsilon:g}" for task in tasks for epsilon in EPSILONS]
    lines = [
        "# Settings, rehearsed on public records",
        "",
        "Written by `python -m benchmarks.settings`; nothing here was edited by hand. Share of tokens (%) that noise "
        "leaves as they are without noise, at equal privacy loss by the tight accountant. M 10, N 1, K 100 unless a "
        "line says otherwise (its noise-free choice is then another one). Tokens: "
        f"{', '.join(f'{task} {counts[task]}' for task in tasks)}; their means are sure to some 3 points. "
        f"{took / 60:.0f} minutes.",
        "",
        f"| setting | {' | '.join(heads)} | mean |",
        f"|---|{'---|' * (len(heads) + 1)}",
    ]
    for words, by_task in found.items():
        shares = [share for task in tasks for share in by_task[task]]
        cells = " | ".join(f"{100 * share:.0f}" for share in (*shares, sum(shares) / len(shares)))
        lines.append(f"| {words} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
