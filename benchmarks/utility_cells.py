"""One cell of the utility benchmark: make a set of demonstrations, measure it, give back numbers alone.

Public benchmark tables stand in for private ones, so runs here are unpaid, and chance comes from the seeded twin: the
same law as the product's, and a cell that is made again gives the same numbers on the same machine.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpicl_core import runs
from dpicl_core.accounting import composed_loss
from dpicl_core.data import Dataset, declare_labels, pool_for, read_dataset
from dpicl_core.evaluation import (
    AccuracyOptions,
    AttackOptions,
    Curve,
    accuracy_of,
    attack_on_demonstrations,
    attack_on_real_rows,
    ceiling,
    covering_radius,
)
from dpicl_core.evaluation.roc import GRID
from dpicl_core.evaluation.spreads import evenly_spaced
from dpicl_core.events import ReleasedEvent, StewardDiagnostics, TokenReleased
from dpicl_core.language_model import LanguageModel
from dpicl_core.language_model.scoring import Scorer
from dpicl_core.planning import DEFAULT_NOISE_SPLIT, mechanism_named, plan_for, price_plan
from dpicl_core.randomness import SeededRandomness
from dpicl_core.runs import PreparedRun, PrivacyRequest
from dpicl_core.specs import AdaDPSynSpec, MechanismSpec
from dpicl_core.tasks import task_named
from dpicl_core.values import GenerationPlan, Pool, Price, PrivacyUnit, Selection, Task, default_delta

SAMPLED = Selection(sample=True, temperature=0.8, top_p=0.9)
OWN_ACCOUNTANT = {"tang-gaussian": "paper", "adadpsyn": "paper", "anchored": "tight"}
"""The accountant that a mechanism's authors used, sampling without replacement counted as such."""

NO_TEXT = ("0-shot", "real-rows")
SPEC_NAMES = {"noise-free": "unprotected"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """What bounds the work. queries: held-out rows; tokens: T_max at most; subsets, per_subset, record_tokens: M, N and
    the record cap, None for the task's; trials, rows: of the membership attack."""

    queries: int
    tokens: int
    subsets: int | None = None
    per_subset: int | None = None
    trials: int = 20
    rows: int = 50
    record_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """measure: "accuracy" or "membership". mechanism: of the engine, or noise-free, real-rows, 0-shot. epsilon: None
    where there is no noise. accountant: tight, paper, or own (see OWN_ACCOUNTANT). seed: which repetition."""

    measure: str
    task: str
    mechanism: str
    epsilon: float | None = None
    accountant: str = "tight"
    selection: str = "argmax"
    shots: int = 4
    seed: int = 0
    margin: float = 0.2
    iterations: int = 1
    split: tuple[float, float, float] = DEFAULT_NOISE_SPLIT

    def key(self, sizes: Sizes, model: str) -> str:
        """The cell with everything its numbers depend on, as one line of JSON."""
        given = {name: value for name, value in asdict(sizes).items() if name != "record_tokens" or value is not None}
        return json.dumps({**asdict(self), "sizes": given, "model": model}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Bench:
    """What all cells share."""

    model: LanguageModel
    scorer: Scorer
    data: Path
    sizes: Sizes


@dataclass(slots=True)
class _Seen:
    """What was met along a run."""

    labels: Sequence[str]
    radii: dict[str, list[float]] = field(default_factory=dict)
    last_radius: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)

    def observe(self, seen: StewardDiagnostics) -> None:
        if len(seen.probabilities):
            self.radii.setdefault(self.labels[seen.demonstration], []).append(covering_radius(seen.probabilities))
            self.best.append(int(seen.candidates[int(np.argmax(seen.probabilities.mean(axis=0)))]))

    def event(self, event: ReleasedEvent) -> None:
        if isinstance(event, TokenReleased):
            self.chosen.append(event.token_id)
            if event.trace.steps:
                self.last_radius.append(event.trace.steps[-1].radius)
                self.noise.append(event.trace.steps[-1].noise_scale)


def run_cell(cell: Cell, bench: Bench) -> dict[str, Any]:
    """The numbers of one cell; no text."""
    started = time.perf_counter(), time.process_time()
    numbers = _membership(cell, bench) if cell.measure == "membership" else _accuracy(cell, bench)
    return {
        **numbers,
        "seconds": round(time.perf_counter() - started[0], 1),
        "cpu_seconds": round(time.process_time() - started[1], 1),
    }


def _accuracy(cell: Cell, bench: Bench) -> dict[str, Any]:
    task = task_named(cell.task)
    train, test = table(bench.data, cell.task, "train"), table(bench.data, cell.task, "test")
    rng = _rng(cell, "draws")
    plan = plan_of(cell, task, bench.sizes)
    numbers: dict[str, Any] = {}
    if cell.mechanism == "0-shot":
        pairs: list[tuple[str, str]] = []
    elif cell.mechanism == "real-rows":
        pools = {label: pool_for(train, label, PrivacyUnit.ROW) for label in plan.pool_labels()}
        chosen = [pools[None if task.open_labels else label] for label in plan.target_labels]
        rows = [pool.units[rng.choose(len(pool))][0] for pool in chosen]
        pairs = [(row.text, row.label) for row in rows]
    else:
        made, numbers = generated(cell, plan, train, bench, rng)
        pairs = [pair for pair in made if pair[0]]
    options = AccuracyOptions(fold=True)
    found = accuracy_of(task, pairs, evenly_spaced(test.examples, bench.sizes.queries), bench.scorer, options)
    return {"raw": found.raw, "calibrated": found.calibrated, "queries": found.queries, **numbers}


def _membership(cell: Cell, bench: Bench) -> dict[str, Any]:
    """Members are every second training row of a label, others the rest: one distribution, as the attack assumes."""
    task, sizes = task_named(cell.task), bench.sizes
    whole = table(bench.data, cell.task, "train")
    inside, outside = _every_second(whole, 0), _every_second(whole, 1)
    labels: tuple[str | None, ...] = (None,) if task.open_labels else task.labels
    members: dict[str | None, Pool] = {label: pool_for(inside, label, PrivacyUnit.ROW) for label in labels}
    others: dict[str | None, Pool] = {label: pool_for(outside, label, PrivacyUnit.ROW) for label in labels}
    options, rng = AttackOptions(sizes.trials, sizes.rows), _rng(cell, "draws")
    if cell.mechanism == "real-rows":
        found = attack_on_real_rows(task, sizes.trials, members, others, bench.scorer, options, rng=rng)
        bound, numbers = ceiling(None), {}
    else:
        plan = plan_of(cell, task, sizes)
        pairs, numbers = generated(cell, plan, inside, bench, rng)
        found = attack_on_demonstrations(cell.mechanism, task, pairs, members, others, bench.scorer, options, rng=rng)
        bound = _ceiling(cell, plan, inside)
    return {
        "aucs": [area for areas in found.areas for area in areas],
        "curve": list(found.curve.true_positive),
        "ceiling": bound.area,
        "ceiling_curve": [bound.at(float(rate)) for rate in GRID],
        **numbers,
    }


def generated(
    cell: Cell, plan: GenerationPlan, train: Dataset, bench: Bench, rng: SeededRandomness
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Texts with their labels, and what was met while they were made."""
    pools = runs.pools_for(train, plan)
    request = PrivacyRequest(cell.epsilon, default_delta(len(train)))
    prices = prices_of(cell, plan, {label: len(pool) for label, pool in pools.items()}, request.delta)
    seen = _Seen(plan.target_labels)
    record = runs.run(
        PreparedRun(plan, request, prices, pools), bench.model, rng=rng, on_event=seen.event, observe=seen.observe
    )
    made = record.demonstrations
    agreement = [a == b for a, b in zip(seen.best, seen.chosen, strict=True)] if seen.best else []
    numbers = {
        "epsilon_tight": _finite(max(price.epsilon_tight for price in prices)),
        "epsilon_paper": _finite(max(price.epsilon_paper for price in prices)),
        "delta": request.delta,
        "tokens_made": len(seen.chosen),
        "covering_radius": {label: _mean(values) for label, values in seen.radii.items()},
        "last_radius": _mean(seen.last_radius),
        "noise": _mean(seen.noise),
        "agreement": _mean([float(value) for value in agreement]),
        "empty_texts": sum(not each.text for each in made),
    }
    return [(each.text, each.label) for each in made], numbers


def plan_of(cell: Cell, task: Task, sizes: Sizes) -> GenerationPlan:
    """The plan of a cell; target labels are drawn once a seed, without replacement, the same for all mechanisms."""
    order = SeededRandomness(cell.seed).draw(len(task.labels), len(task.labels))
    targets = [task.labels[order[index % len(order)]] for index in range(cell.shots)]
    spec = spec_of(cell)
    sample = cell.selection == "sample" and spec.releases_vector
    return plan_for(
        task,
        spec,
        shots=cell.shots,
        targets=targets,
        subsets=sizes.subsets,
        per_subset=sizes.per_subset,
        tokens=min(task.tokens, sizes.tokens),
        record_tokens=sizes.record_tokens,
        selection=SAMPLED if sample else Selection(),
    )


def spec_of(cell: Cell) -> MechanismSpec:
    """The mechanism with the cell's settings, its noise still to be calibrated."""
    if cell.mechanism in NO_TEXT:
        return mechanism_named("public-only")
    spec = mechanism_named(SPEC_NAMES.get(cell.mechanism, cell.mechanism))
    if isinstance(spec, AdaDPSynSpec):
        return replace(spec, margin=cell.margin, iterations=cell.iterations).split_as(*cell.split)
    return spec


def prices_of(cell: Cell, plan: GenerationPlan, units: dict[str | None, int], delta: float) -> tuple[Price, ...]:
    """One price a pool, calibrated where there is noise; kept, since seeds share them."""
    accountant = OWN_ACCOUNTANT.get(cell.mechanism, "tight") if cell.accountant == "own" else cell.accountant
    return tuple(
        _price(
            replace(plan, target_labels=plan.target_labels if label is None else tuple(
                each for each in plan.target_labels if each == label
            )),
            label, units[label], delta, cell.epsilon, accountant,
        )
        for label in plan.pool_labels()
    )  # fmt: skip


@cache
def _price(
    plan: GenerationPlan, label: str | None, units: int, delta: float, epsilon: float | None, accountant: Any
) -> Price:
    (price,) = price_plan(plan, {label: units}, delta=delta, epsilon=epsilon, accountant=accountant)
    return price


def _ceiling(cell: Cell, plan: GenerationPlan, train: Dataset) -> Curve:
    """What no attack on this demonstration can exceed; everything where nothing protects."""
    (label,) = plan.pool_labels()
    delta = default_delta(len(train))
    (price,) = prices_of(cell, plan, {label: len(pool_for(train, label, PrivacyUnit.ROW))}, delta)
    if cell.mechanism == "noise-free":
        return ceiling(None)
    loss = composed_loss(
        price.mechanism, sampling_rate=price.sampling_rate, composed_tokens=price.composed_tokens, delta=delta
    )
    return ceiling(loss)


@cache
def table(folder: Path, task: str, part: str) -> Dataset:
    """A benchmark table under its task's labels."""
    facts = task_named(task)
    dataset = read_dataset(folder / task / f"{part}.csv", text_column="text", label_column="label")
    return dataset if facts.open_labels else declare_labels(dataset, labels=facts.labels)


def _every_second(dataset: Dataset, first: int) -> Dataset:
    """Every second row of each label, from its row `first` on."""
    met: Counter[str] = Counter()
    kept = []
    for index, example in enumerate(dataset.examples):
        if met[example.label] % 2 == first:
            kept.append(index)
        met[example.label] += 1
    examples, lines = (tuple(part[index] for index in kept) for part in (dataset.examples, dataset.lines))
    return replace(dataset, examples=examples, lines=lines)


def _rng(cell: Cell, purpose: str) -> SeededRandomness:
    digest = hashlib.sha256(f"{purpose} {json.dumps(asdict(cell), sort_keys=True)}".encode()).digest()
    return SeededRandomness([int.from_bytes(digest[at : at + 4], "big") for at in range(0, 16, 4)])


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
