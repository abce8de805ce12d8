"""`generate`: the main job, from a private table to a demonstrations file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from dpicl_core.charged_runs import ReadyRun, pay, prepare_run
from dpicl_core.charged_runs import run as run_paid
from dpicl_core.cli.asset_options import add_asset_options, asset_choice_from, charged_to
from dpicl_core.cli.inputs import add_input_options, plan_from, read_inputs, request_from, stage_printer
from dpicl_core.cli.parsing import HelpFormatter, whole
from dpicl_core.cli.plan_options import (
    add_generation_options,
    add_mechanism_options,
    add_privacy_options,
    add_sampling_options,
    add_selection_options,
    mechanism_from,
)
from dpicl_core.cli.progress import RunProgress
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import ConfigError
from dpicl_core.export import document_for
from dpicl_core.files import check_writable
from dpicl_core.language_model import load_model
from dpicl_core.rounding import rounded_up
from dpicl_core.runs import check_context
from dpicl_core.unsigned_export import write_recorded
from dpicl_core.values import GenerationPlan

MECHANISM_NAMES = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "public-only")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "generate",
        help="make differentially private demonstrations from a private table",
        description="Read a private table, calibrate the noise to the request, write each demonstration token by token "
        "with a local model, and save a demonstrations JSON that anyone may use for ever.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the JSON goes")
    parser.add_argument("--shots", type=whole(1), default=4, help="demonstrations to make")
    add_input_options(parser)
    add_privacy_options(parser)
    add_mechanism_options(parser, names=MECHANISM_NAMES)
    add_sampling_options(parser, required=False)
    add_generation_options(parser)
    add_selection_options(parser)
    add_asset_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the demonstrations; refusals come before anything is drawn."""
    mechanism, by_hand = mechanism_from(arguments)
    if mechanism.reads_private_rows and not by_hand and arguments.epsilon is None:
        raise ConfigError("--epsilon is missing; give the privacy loss that this run may spend, for example 4.")
    check_writable(arguments.out)
    dataset, task = read_inputs(arguments)
    plan = plan_from(arguments, task, mechanism)
    ready = prepare_run(dataset, plan, request_from(arguments, dataset), asset=asset_choice_from(arguments))
    document = _generate(ready, arguments)
    write_recorded(document, arguments.out, ready.ledger, run_id=ready.run_id, actor=ready.actor)
    sys.stdout.write(_summary(document, arguments.out))
    return 0


def _generate(ready: ReadyRun, arguments: argparse.Namespace) -> DemonstrationsDocument:
    console = Console(stderr=True, quiet=arguments.quiet)
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    check_context(ready.plan, model)
    console.print(_spending(ready), charged_to(ready), highlight=False, soft_wrap=True)
    paid = pay(ready, model.info)[0]
    console.print(
        f"Paid as run {paid.run_id}; if it is interrupted: ledger resume {paid.run_id} --data FILE --out FILE",
        highlight=False,
        soft_wrap=True,
    )
    with RunProgress(ready.plan.tokens, console) as progress:
        record = run_paid(paid, model, on_event=progress.show)
    return document_for(record)


def _spending(prepared: ReadyRun) -> str:
    plan: GenerationPlan = prepared.plan
    tight = max(price.epsilon_tight for price in prepared.prices)
    paper = max(price.epsilon_paper for price in prepared.prices)
    return (
        f"This run spends the privacy loss epsilon {rounded_up(tight, 4)} at delta {prepared.request.delta:g} "
        f"({rounded_up(paper, 4)} by the paper's accountant), whatever happens from here on: "
        f"{len(plan.target_labels)} demonstrations by {plan.mechanism.name}."
    )


def _summary(document: DemonstrationsDocument, path: Path) -> str:
    lines = [f"{index}. {d.label}: {d.text}" for index, d in enumerate(document.demonstrations, start=1)]
    lines += [f"shortfall: {line}" for line in document.shortfalls]
    lines += [document.guarantee.sentence, f"written to {path}"]
    return "\n".join(lines) + "\n"
