"""How fast a token is, beside two plain ways to compute it: one table, one JSON file, one plot.

    python -m benchmarks.speed                                  everything, a quarter to half an hour on two cores
    python -m benchmarks.speed --json speed.json --plot speed.html
    python -m benchmarks.speed --only trec --rounds 2           cases whose name holds a word, fewer rounds
    python -m benchmarks.speed --only shots --facts             the last case, and everything but the other cases

Four ways: (a) transformers in float32 with the logits of every position, (b) bfloat16 with those of the last, (c) this
engine with fresh subsets, (d) this engine with fixed groups, whose states it keeps where that pays. Other work on the
machine disturbs all of them alike: they take turns, at least five times over a run, and processor seconds stand beside
wall seconds. docs/performance.md explains the table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed_cases import Case, EngineRun, Measured, TokenCounter, case_of, made_up_pool, timed
from benchmarks.speed_facts import fits, matrix_rates, mechanism_milliseconds, memory, starts, trec_seconds
from benchmarks.speed_plain import PlainModels
from dpicl_core.language_model import load_model
from dpicl_core.language_model.precision import processor_name
from dpicl_core.language_model.transformers_model import TransformersModel
from dpicl_core.sampling import Grouping

POOLS = (60, 300, 3000)
LONG_STEPS = 25
"""Of the 100 tokens of AGNews and DBPedia, so many are made: the time of a step grows by a third until the 100th."""

IDS = 100
VARIANTS = ("a", "b", "c", "d")


@dataclass(slots=True)
class CaseResult:
    """Means over the rounds of one case, for one step of all its demonstrations together.

    seconds, cpu_seconds, tokens: by variant. natural_tokens: what (b) would compute were rows padded to the longest
    alone; ratios: of wall and of processor seconds, against (d) unless it says otherwise.
    """

    name: str
    rows: int
    rounds: int
    steps: int
    load: float
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, float] = field(default_factory=dict)
    natural_tokens: float = 0.0
    natural_seconds: float = 0.0
    matrix_share: dict[str, float] = field(default_factory=dict)
    d_by_step: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Models:
    """The engine's model with its counter, and the plain ones in their own process."""

    engine: TransformersModel
    counter: TokenCounter
    plain: PlainModels


def all_cases() -> list[Case]:
    """Table 12 of Gao et al. 2024 over three pool sizes, then the open-label case of many shots."""
    shapes = (("agnews", LONG_STEPS), ("dbpedia", LONG_STEPS), ("trec", None), ("mit_g", None))
    cases = [case_of(task, rows, steps=steps) for task, steps in shapes for rows in POOLS]
    return [*cases, case_of("mit_g", 300, shots=4, subsets=20, per_subset=1, tokens=40)]


def run_case(case: Case, models: Models, rounds: int) -> CaseResult:
    """(d) makes the whole run; after every fifth of it (or less), each other variant makes that step once."""
    pool, shots = made_up_pool(case), len(case.plan.target_labels)
    fresh = EngineRun(case, pool, models.engine, Grouping.FRESH)
    kept = EngineRun(case, pool, models.engine, Grouping.FIXED)
    ids, stops = np.arange(1000, 1000 + IDS), _stops(case.steps, rounds)
    found: dict[str, list[Measured]] = {variant: [] for variant in VARIANTS}
    natural: list[Measured] = []
    for position in range(case.steps):
        found["d"].append(timed(lambda at=position: models.counter.during(lambda: kept.step(at))))  # type: ignore[misc]
        if position not in stops:
            continue
        prompts = fresh.prompts(position)
        found["a"].append(models.plain.step("a", prompts, ids))
        found["b"].append(models.plain.step("b", prompts, ids))
        natural.append(models.plain.step("b natural", prompts, ids))
        found["c"].append(timed(lambda at=position: models.counter.during(lambda: fresh.step(at))))  # type: ignore[misc]
    result = CaseResult(case.name, case.rows, len(stops), case.steps, os.getloadavg()[0])
    for variant, measured in found.items():
        times = 1 if variant in "cd" else shots
        result.seconds[variant] = times * float(np.mean([each.seconds for each in measured]))
        result.cpu_seconds[variant] = times * float(np.mean([each.cpu_seconds for each in measured]))
        result.tokens[variant] = times * float(np.mean([each.tokens for each in measured]))
    result.natural_tokens = shots * float(np.mean([each.tokens for each in natural]))
    result.natural_seconds = shots * float(np.mean([each.seconds for each in natural]))
    result.d_by_step = [each.seconds for each in found["d"]]
    return result


def _stops(steps: int, rounds: int) -> set[int]:
    """Positions of the rounds, in the middle of equal parts of the run."""
    rounds = min(rounds, steps)
    return {int((number + 0.5) * steps / rounds) for number in range(rounds)}


def load_models() -> Models:
    """The default model for both sides."""
    engine = load_model(dtype="bfloat16")
    if not isinstance(engine, TransformersModel):
        raise SystemExit("the benchmark needs the embedded model")
    return Models(engine, TokenCounter(engine), PlainModels())


def share_of_matrix_rate(result: CaseResult, parameters: int, rates: dict[str, float]) -> dict[str, float]:
    """Floating-point operations of the layers' matrix products a second, over what this machine reaches on them."""
    return {
        variant: 2
        * parameters
        * result.tokens[variant]
        / seconds
        / (rates["float32" if variant == "a" else "bfloat16"])
        for variant, seconds in result.seconds.items()
    }


def table(results: Sequence[CaseResult]) -> str:
    """A Markdown table: seconds and tokens a step, and what (d) gains."""
    head = (
        "case", "pool", "a s", "b s", "c s", "d s", "a tok", "c tok", "d tok", "natural tok",
        "a/d", "b/d", "c/d", "a/d cpu", "b/d cpu", "c/d cpu", "share c", "share d", "load",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in results:
        s, p = r.seconds, r.cpu_seconds
        cells = [r.name, str(r.rows), *(f"{s[v]:.2f}" for v in VARIANTS)]
        cells += [*(f"{r.tokens[v]:.0f}" for v in "acd"), f"{r.natural_tokens:.0f}"]
        cells += [f"{s['a'] / s['d']:.1f}", f"{s['b'] / s['d']:.2f}", f"{s['c'] / s['d']:.2f}"]
        cells += [f"{p['a'] / p['d']:.1f}", f"{p['b'] / p['d']:.2f}", f"{p['c'] / p['d']:.2f}"]
        cells += [f"{r.matrix_share[v]:.2f}" for v in "cd"] + [f"{r.load:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plot(results: Sequence[CaseResult], path: Path) -> None:
    """Seconds a step of the four ways, one group of bars a case, as one HTML file."""
    import plotly.graph_objects as go

    names = [f"{r.name}, {r.rows} rows" for r in results]
    bars = [go.Bar(name=f"({v})", x=names, y=[r.seconds[v] for r in results]) for v in VARIANTS]
    figure = go.Figure(bars, layout={"barmode": "group", "yaxis": {"title": "seconds a step", "type": "log"}})
    figure.write_html(path, include_plotlyjs=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that the variants take turns in a case")
    parser.add_argument("--only", default="", help="cases whose name holds this; nothing but the table then")
    parser.add_argument("--facts", action="store_true", help="start, memory, mechanism and fits as well, behind --only")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="an HTML file")
    options = parser.parse_args(arguments)
    everything = options.facts or not options.only
    started = time.perf_counter()
    facts: dict[str, Any] = {"processor": processor_name(), "cores": os.cpu_count(), "load": list(os.getloadavg())}
    if everything:
        facts["start_seconds"] = starts()
        facts["memory"] = memory()
    models = load_models()
    rates = matrix_rates()
    facts["matrix_rate_gflops"] = {name: rate / 1e9 for name, rate in rates.items()}
    results = []
    embedding = models.engine._model.get_input_embeddings().weight.numel()
    parameters = models.engine.info.parameters - embedding
    for case in all_cases():
        if options.only and options.only not in f"{case.name}, {case.rows} rows":
            continue
        result = run_case(case, models, options.rounds)
        result.matrix_share = share_of_matrix_rate(result, parameters, rates)
        results.append(result)
        print(table(results).splitlines()[-1], file=sys.stderr, flush=True)
    models.plain.close()
    if everything:
        facts["mechanism_ms"] = mechanism_milliseconds()
        facts["fits"] = fits(models.engine, results[-1].d_by_step)
        facts["trec_four_demonstrations_seconds"] = trec_seconds(models.engine)
    facts["seconds_in_all"] = time.perf_counter() - started
    print(table(results))
    print(json.dumps(facts, indent=2))
    if options.json:
        content = {"facts": facts, "cases": [asdict(result) for result in results]}
        options.json.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    if options.plot:
        plot(results, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
