"""`compare`: several mechanisms on one plan, each with its own draws, each of which spends."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from dpicl_core.charged_runs import (
    PaidRun,
    ReadyRun,
    check_together,
    internal_run,
    pay,
    prepare_run,
    reveal_random_rows,
)
from dpicl_core.charged_runs import run as run_paid
from dpicl_core.cli.asset_options import add_asset_options, asset_choice_from, charged_to
from dpicl_core.cli.inputs import add_input_options, plan_from, read_inputs, request_from, stage_printer
from dpicl_core.cli.parsing import HelpFormatter, whole
from dpicl_core.cli.plan_options import (
    add_generation_options,
    add_privacy_options,
    add_sampling_options,
    add_selection_options,
    add_setting_options,
    listed_names,
    with_settings,
)
from dpicl_core.cli.progress import RunProgress
from dpicl_core.data import flatten_text
from dpicl_core.errors import ConfigError
from dpicl_core.events import ReleasedEvent, TokenReleased
from dpicl_core.export import document_for
from dpicl_core.files import check_writable
from dpicl_core.language_model import load_model
from dpicl_core.planning import MECHANISM_TEMPLATES, mechanism_named
from dpicl_core.rounding import rounded_up
from dpicl_core.runs import RunRecord, check_context
from dpicl_core.unsigned_export import write_recorded
from dpicl_core.values import Example, GenerationPlan, Selection

INTERNAL = " [internal, not DP, never exported]"
DEFAULT_MECHANISMS = "adadpsyn,tang-gaussian,anchored,public-only"


@dataclass(frozen=True, slots=True)
class Measured:
    """One finished mechanism: its record, the last radius and noise per coordinate averaged over tokens, seconds."""

    record: RunRecord
    radius: float | None
    noise: float | None
    seconds: float


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "compare",
        help="run several mechanisms on one plan, side by side",
        description="Run several mechanisms on one plan with independent draws. EACH OF THEM SPENDS epsilon on the "
        "private rows (public-only spends nothing); their costs add up.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "--mechanisms",
        default=DEFAULT_MECHANISMS,
        metavar="A,B,...",
        help=f"mechanisms to compare, of {', '.join(MECHANISM_TEMPLATES)}",
    )
    parser.add_argument("--shots", type=whole(1), default=4, help="demonstrations to make with each mechanism")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="keep each mechanism's demonstrations JSON in this folder"
    )
    parser.add_argument(
        "--real-rows",
        action="store_true",
        help="also print one random real row per label: internal, not DP, recorded in the ledger, never exported",
    )
    add_input_options(parser)
    add_privacy_options(parser)
    add_setting_options(parser)
    add_sampling_options(parser, required=False)
    add_generation_options(parser)
    add_selection_options(parser)
    add_asset_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run all mechanisms one after the other and print them side by side."""
    if arguments.epsilon is None:
        raise ConfigError("--epsilon is missing; give the privacy loss that each mechanism may spend, for example 4.")
    names = listed_names(arguments.mechanisms)
    if len(set(names)) != len(names) or len(names) < 2:
        raise ConfigError(f"--mechanisms must name at least two different ones, but is {arguments.mechanisms}.")
    specs = [with_settings(mechanism_named(name), arguments) for name in names]
    if arguments.out is not None:
        check_writable(arguments.out / "any.json")
    dataset, task = read_inputs(arguments)
    request = request_from(arguments, dataset)
    base = plan_from(arguments, task, mechanism_named("public-only"))
    plans = [
        replace(base, mechanism=spec, selection=base.selection if spec.releases_vector else Selection())
        for spec in specs
    ]
    choice = asset_choice_from(arguments)
    ready = [prepare_run(dataset, plan, request, asset=choice) for plan in plans if plan.mechanism.exportable]
    check_together(ready)
    console = Console(stderr=True, quiet=arguments.quiet)
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    check_context(base, model)
    console.print(_spending(ready), charged_to(ready[0]), highlight=False, soft_wrap=True)
    paid = {each.prepared.plan.mechanism.name: each for each in pay(ready, model.info)}

    def make(plan: GenerationPlan, on_event: Callable[[ReleasedEvent], None]) -> RunRecord:
        if plan.mechanism.name in paid:
            return run_paid(paid[plan.mechanism.name], model, on_event=on_event)
        return internal_run(dataset, plan, replace(request, epsilon=None), model, on_event=on_event)

    measured = [_measure(plan, make, console) for plan in plans]
    for result in measured:
        if arguments.out is not None and result.record.private:
            _keep(result.record, paid, arguments.out)
    real = reveal_random_rows(dataset, base) if arguments.real_rows else ()
    sys.stdout.write(comparison_text(measured, real))
    return 0


def _spending(ready: list[ReadyRun]) -> str:
    total = sum(max(price.epsilon_tight for price in each.prices) for each in ready)
    delta = sum(each.request.delta for each in ready if each.plan.mechanism.reads_private_rows)
    return (
        f"Every mechanism spends by itself; together epsilon {rounded_up(total, 4)} at delta {delta:g}, all of it paid "
        "before anything is drawn, whatever happens from here on."
    )


def _keep(record: RunRecord, paid: dict[str, PaidRun], folder: Path) -> None:
    document = document_for(record)
    name = record.plan.mechanism.name
    run = paid[name]
    write_recorded(document, folder / f"{name}.json", run.ledger, run_id=run.run_id, actor=run.actor)


def _measure(
    plan: GenerationPlan,
    make: Callable[[GenerationPlan, Callable[[ReleasedEvent], None]], RunRecord],
    console: Console,
) -> Measured:
    radii: list[float] = []
    scales: list[float] = []
    started = time.perf_counter()
    with RunProgress(plan.tokens, console) as progress:

        def watch(event: ReleasedEvent) -> None:
            progress.show(event)
            if isinstance(event, TokenReleased) and event.trace.steps:
                radii.append(event.trace.steps[-1].radius)
                scales.append(event.trace.steps[-1].noise_scale)

        record = make(plan, watch)
    seconds = time.perf_counter() - started
    return Measured(record, _mean(radii), _mean(scales), seconds)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def comparison_text(measured: list[Measured], real: Sequence[Example] = ()) -> str:
    """Numbers first, one line a mechanism, then the texts under each label, with a real row where one was asked for."""
    lines = [f"{'mechanism':<16}{'epsilon':>9}{'paper':>9}{'noise':>10}{'radius':>9}{'seconds':>9}"]
    for result in measured:
        prices = result.record.prices
        tight = max(price.epsilon_tight for price in prices)
        paper = max(price.epsilon_paper for price in prices)
        lines.append(
            f"{result.record.plan.mechanism.name:<16}{tight:>9.3g}{paper:>9.3g}"
            f"{_cell(result.noise):>10}{_cell(result.radius):>9}{result.seconds:>9.1f}"
        )
    lines.append("noise: standard deviation per coordinate of the mean, last step; radius: last R; means over tokens")
    for index, label in enumerate(measured[0].record.plan.target_labels):
        lines.append(f"\n{index + 1}. {label}")
        for result in measured:
            internal = "" if result.record.private else INTERNAL
            text = result.record.demonstrations[index].text
            lines.append(f"  {result.record.plan.mechanism.name}{internal}: {text}")
        if real:
            lines.append(f"  real row{INTERNAL}: {flatten_text(real[index].text)}")
    return "\n".join(lines) + "\n"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
