"""What commands that read a private table share: its options, and the public values and rows that they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from dpicl_core.cli.parsing import whole
from dpicl_core.cli.plan_options import selection_from
from dpicl_core.data import Dataset, declare_labels, read_dataset
from dpicl_core.errors import ConfigError
from dpicl_core.language_model.sessions import DEFAULT_CACHE_BYTES
from dpicl_core.planning import plan_for
from dpicl_core.runs import PrivacyRequest, request_for
from dpicl_core.sampling import Grouping
from dpicl_core.specs import MechanismSpec
from dpicl_core.tasks import TASKS, custom_task, task_named
from dpicl_core.values import GenerationPlan, PrivacyUnit, Task


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """Table, model and how much is shown."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table (CSV or .xlsx)")
    add_model_options(parser)
    add_task_options(parser)
    add_unit_options(parser)


def add_model_options(parser: argparse.ArgumentParser, *, also: str = "") -> None:
    """Which model, and how much is shown. also: what else the help says of the model."""
    parser.add_argument(
        "--model", metavar="NAME", help=f"local folder, GGUF file or hub name; default: the embedded model{also}"
    )
    parser.add_argument(
        "--cache-bytes",
        type=whole(0),
        default=DEFAULT_CACHE_BYTES,
        metavar="BYTES",
        help="most memory for what a run with fixed groups keeps from token to token (default 2 GiB)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only results and errors")


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


def add_unit_options(parser: argparse.ArgumentParser) -> None:
    """Who is protected, and against which change."""
    group = parser.add_argument_group("unit and neighbours")
    group.add_argument(
        "--person-column",
        metavar="COLUMN",
        help="protect persons instead of rows: all rows with one value here are one person's; never put into a prompt",
    )
    group.add_argument(
        "--labels-may-change",
        action="store_true",
        help="label counts are private too: needs --label-rows for each target label, and costs more",
    )
    group.add_argument(
        "--label-rows",
        action="append",
        default=[],
        metavar="LABEL=N",
        help="declared lower bound of a label's rows (or persons); repeat for each target label",
    )


def label_bounds_from(arguments: argparse.Namespace) -> dict[str, int] | None:
    """Declared lower bounds, None where labels do not change."""
    bounds: dict[str, int] = {}
    for entry in arguments.label_rows:
        label, _, count = entry.rpartition("=")
        if not label or not count.isdigit() or int(count) < 1:
            raise ConfigError(f"--label-rows must look like LABEL=120, but is {entry}; give a label and a number.")
        bounds[label] = int(count)
    if bool(bounds) != arguments.labels_may_change:
        raise ConfigError("--labels-may-change and --label-rows go together; give both, or neither.")
    return bounds or None


def read_inputs(arguments: argparse.Namespace) -> tuple[Dataset, Task]:
    """The table and its task; rows must carry declared labels where labels are fixed."""
    dataset = read_dataset(
        arguments.data,
        text_column=arguments.text_column,
        label_column=arguments.label_column,
        person_column=arguments.person_column,
    )
    task = task_from(arguments, text_column=dataset.text_column, label_column=dataset.label_column)
    return (dataset if task.open_labels else declare_labels(dataset, labels=task.labels)), task


def plan_from(arguments: argparse.Namespace, task: Task, mechanism: MechanismSpec) -> GenerationPlan:
    """The plan that the options describe."""
    return plan_for(
        task,
        mechanism,
        shots=arguments.shots,
        **plan_settings(arguments),
        selection=selection_from(arguments),
        unit=PrivacyUnit.ROW if arguments.person_column is None else PrivacyUnit.PERSON,
        label_bounds=label_bounds_from(arguments),
    )


def plan_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings of a plan that every command with a plan takes as they are given, None for the task's own."""
    return {
        "targets": arguments.target_label,
        "subsets": arguments.subsets,
        "per_subset": arguments.per_subset,
        "tokens": arguments.tokens,
        "vocabulary": arguments.vocabulary,
        "record_tokens": arguments.record_tokens,
        "min_tokens": arguments.min_tokens,
        "grouping": Grouping(arguments.grouping),
    }


def request_from(arguments: argparse.Namespace, dataset: Dataset) -> PrivacyRequest:
    """Epsilon, delta and accountant of the options."""
    return request_for(
        dataset,
        arguments.epsilon,
        delta=arguments.delta,
        accept_delta=arguments.accept_delta,
        accountant=arguments.accountant,
    )


def task_from(arguments: argparse.Namespace, *, text_column: str, label_column: str) -> Task:
    """The built-in task, or one written from column names and declared labels."""
    if arguments.task is not None:
        if arguments.label or arguments.open_labels:
            raise ConfigError(
                f"--task {arguments.task} brings its own labels; leave --label and --open-labels out, "
                "or leave --task out."
            )
        task = task_named(arguments.task)
        return task if arguments.instruction is None else replace(task, instruction=arguments.instruction)
    return custom_task(
        text_column=text_column,
        label_column=label_column,
        labels=arguments.target_label if arguments.open_labels else arguments.label,
        open_labels=arguments.open_labels,
        instruction=arguments.instruction,
    )


def stage_printer(console: Console) -> Callable[[str, float], None]:
    """Prints each stage of preparing the model once."""
    seen: set[str] = set()

    def show(stage: str, fraction: float) -> None:
        if stage not in seen:
            seen.add(stage)
            console.print(f"model: {stage} ...", highlight=False, markup=False)

    return show
