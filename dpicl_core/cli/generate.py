"""`generate`: the main job, from a private table to a demonstrations file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from dpicl_core.cli.parsing import HelpFormatter, whole
from dpicl_core.cli.plan_options import (
    add_generation_options,
    add_mechanism_options,
    add_privacy_options,
    add_sampling_options,
    mechanism_from,
)
from dpicl_core.cli.progress import RunProgress
from dpicl_core.data import Dataset, declare_labels, read_dataset
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import ConfigError
from dpicl_core.export import document_for, write_document
from dpicl_core.files import check_writable
from dpicl_core.language_model import load_model
from dpicl_core.planning import plan_for
from dpicl_core.runs import PreparedRun, check_context, prepare_run, request_for
from dpicl_core.runs import run as run_plan
from dpicl_core.tasks import TASKS, custom_task, task_named
from dpicl_core.values import GenerationPlan, Task

MECHANISM_NAMES = ("adadpsyn", "tang-gaussian")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "generate",
        help="make differentially private demonstrations from a private table",
        description="Read a private table, calibrate the noise to the request, write each demonstration token by token "
        "with a local model, and save a demonstrations JSON that anyone may use for ever.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table (CSV)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the JSON goes")
    parser.add_argument("--shots", type=whole(1), default=4, help="demonstrations to make")
    parser.add_argument(
        "--model", metavar="NAME", help="local folder, GGUF file or hub name; default: the embedded model"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only errors")
    add_task_options(parser)
    add_privacy_options(parser)
    add_mechanism_options(parser, names=MECHANISM_NAMES)
    add_sampling_options(parser, required=False)
    add_generation_options(parser)
    parser.set_defaults(run=run)


def add_task_options(parser: argparse.ArgumentParser) -> None:
    """What is public about the table: task or label list, columns, targets, instruction."""
    group = parser.add_argument_group("task (all of it is public)")
    group.add_argument("--task", metavar="NAME", help=f"built-in task: {', '.join(TASKS)}")
    group.add_argument(
        "--label", action="append", default=[], metavar="LABEL", help="declared public label; repeat for each one"
    )
    group.add_argument(
        "--open-labels", action="store_true", help="labels are free text: examples come from all rows, not one label"
    )
    group.add_argument(
        "--target-label",
        action="append",
        default=[],
        metavar="LABEL",
        help="label of a demonstration; repeat for each one; default: the first labels in declared order",
    )
    group.add_argument("--instruction", help="first line of the generation prompt; default: the task's")
    group.add_argument("--text-column", metavar="COLUMN", help="column that holds the text")
    group.add_argument("--label-column", metavar="COLUMN", help="column that holds the label")


def run(arguments: argparse.Namespace) -> int:
    """Make the demonstrations; refusals come before anything is drawn."""
    mechanism, by_hand = mechanism_from(arguments)
    if not by_hand and arguments.epsilon is None:
        raise ConfigError("--epsilon is missing; give the privacy loss that this run may spend, for example 4.")
    check_writable(arguments.out)
    dataset = read_dataset(arguments.data, text_column=arguments.text_column, label_column=arguments.label_column)
    task = task_from(arguments, dataset)
    if not task.open_labels:
        dataset = declare_labels(dataset, labels=task.labels)
    plan = plan_for(
        task,
        mechanism,
        shots=arguments.shots,
        targets=arguments.target_label,
        subsets=arguments.subsets,
        per_subset=arguments.per_subset,
        tokens=arguments.tokens,
        vocabulary=arguments.vocabulary,
        record_tokens=arguments.record_tokens,
        min_tokens=arguments.min_tokens,
    )
    request = request_for(
        dataset,
        arguments.epsilon,
        delta=arguments.delta,
        accept_delta=arguments.accept_delta,
        accountant=arguments.accountant,
    )
    prepared = prepare_run(dataset, plan, request)
    document = _generate(prepared, arguments)
    write_document(document, arguments.out)
    sys.stdout.write(_summary(document, arguments.out))
    return 0


def task_from(arguments: argparse.Namespace, dataset: Dataset) -> Task:
    """The built-in task, or one written from column names and declared labels."""
    from dataclasses import replace

    if arguments.task is not None:
        if arguments.label or arguments.open_labels:
            raise ConfigError(
                f"--task {arguments.task} brings its own labels; leave --label and --open-labels out, "
                "or leave --task out."
            )
        task = task_named(arguments.task)
        return task if arguments.instruction is None else replace(task, instruction=arguments.instruction)
    return custom_task(
        text_column=dataset.text_column,
        label_column=dataset.label_column,
        labels=arguments.target_label if arguments.open_labels else arguments.label,
        open_labels=arguments.open_labels,
        instruction=arguments.instruction,
    )


def _generate(prepared: PreparedRun, arguments: argparse.Namespace) -> DemonstrationsDocument:
    console = Console(stderr=True, quiet=arguments.quiet)
    console.print(_spending(prepared), highlight=False, soft_wrap=True)
    model = load_model(arguments.model, progress=_stage_printer(console))
    check_context(prepared.plan, model)
    with RunProgress(prepared.plan.tokens, console) as progress:
        record = run_plan(prepared, model, on_event=progress.show)
    return document_for(record)


def _stage_printer(console: Console) -> Callable[[str, float], None]:
    """Prints each stage of preparing the model once."""
    seen: set[str] = set()

    def show(stage: str, fraction: float) -> None:
        if stage not in seen:
            seen.add(stage)
            console.print(f"model: {stage} ...", highlight=False, markup=False)

    return show


def _spending(prepared: PreparedRun) -> str:
    plan: GenerationPlan = prepared.plan
    tight = max(price.epsilon_tight for price in prepared.prices)
    paper = max(price.epsilon_paper for price in prepared.prices)
    return (
        f"This run spends the privacy loss epsilon {tight:.4g} at delta {prepared.request.delta:g} "
        f"({paper:.4g} by the paper's accountant), whatever happens from here on: "
        f"{len(plan.target_labels)} demonstrations by {plan.mechanism.name}."
    )


def _summary(document: DemonstrationsDocument, path: Path) -> str:
    lines = [f"{index}. {d.label}: {d.text}" for index, d in enumerate(document.demonstrations, start=1)]
    lines += [f"shortfall: {line}" for line in document.shortfalls]
    lines += [document.guarantee.sentence, f"written to {path}"]
    return "\n".join(lines) + "\n"
