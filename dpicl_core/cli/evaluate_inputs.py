"""What the measures of `evaluate` share: documents, tables, the plan that stands behind them, progress."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress as Bar

from dpicl_core.cli.inputs import plan_settings, task_from
from dpicl_core.data import Dataset, declare_labels, read_dataset
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import PrivateTable, common_task
from dpicl_core.evaluation.tasks import Progress
from dpicl_core.files import read_bytes
from dpicl_core.planning import mechanism_named, plan_for
from dpicl_core.specs import MechanismSpec
from dpicl_core.values import GenerationPlan, Selection, Task
from dpicl_core.verification import read_document


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Where results go."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the numbers as JSON; internal, not DP")


def add_documents(parser: argparse.ArgumentParser, *, least: int) -> None:
    """Demonstrations files as positional arguments."""
    parser.add_argument(
        "demos",
        type=Path,
        nargs="+" if least else "*",
        metavar="DEMOS",
        help="demonstrations JSON; files of one mechanism and epsilon count as its seeds",
    )


def documents_from(paths: Sequence[Path]) -> tuple[DemonstrationsDocument, ...]:
    """The demonstrations files, in order."""
    return tuple(read_document(read_bytes(path)) for path in paths)


def task_for(arguments: argparse.Namespace, documents: Sequence[DemonstrationsDocument], dataset: Dataset) -> Task:
    """The documents' task; without one, that of the options."""
    if not documents:
        return task_from(arguments, text_column=dataset.text_column, label_column=dataset.label_column)
    if arguments.task is not None or arguments.label or arguments.open_labels:
        raise ConfigError("the demonstrations files bring their task; leave --task, --label and --open-labels out.")
    return common_task(documents)


def table_from(arguments: argparse.Namespace, path: Path) -> Dataset:
    """One table, read with the columns of the options."""
    return read_dataset(path, text_column=arguments.text_column, label_column=arguments.label_column)


def declared(dataset: Dataset, task: Task) -> Dataset:
    """The table under the task's labels where they are fixed; DataError as declare_labels."""
    return dataset if task.open_labels else declare_labels(dataset, labels=task.labels)


def private_table(dataset: Dataset, documents: Sequence[DemonstrationsDocument] = ()) -> PrivateTable:
    """The table as a measure takes it, with the runs whose texts are measured."""
    return PrivateTable(dataset, tuple(document.run for document in documents if document.run is not None))


def plan_behind(
    arguments: argparse.Namespace,
    task: Task,
    documents: Sequence[DemonstrationsDocument],
    mechanism: MechanismSpec | None = None,
) -> GenerationPlan:
    """The plan for sets and runs that are made here: the documents' numbers, or the task's, unless options say more."""
    plan = plan_for(
        task,
        mechanism or mechanism_named("public-only"),
        shots=arguments.shots or 4,
        **plan_settings(arguments),
    )
    if not documents:
        return plan
    first = documents[0]
    labels = plan.target_labels if arguments.shots or arguments.target_label else tuple(first.plan.target_labels)
    made = first.mechanism
    selection = Selection(made.selection == "sample", made.temperature or 1.0, made.top_p or 1.0)
    return replace(plan, target_labels=labels, selection=selection if plan.mechanism.releases_vector else Selection())


@contextmanager
def measuring(console: Console) -> Iterator[Progress]:
    """A bar for the stage that is told; on a console that is no terminal each stage is named once."""
    seen: set[str] = set()
    with Bar(console=console, transient=True, disable=not console.is_terminal or console.quiet) as bar:
        task = bar.add_task("", total=1.0)

        def told(stage: str, fraction: float) -> None:
            bar.update(task, description=stage, completed=fraction)
            if not console.is_terminal and stage not in seen:
                seen.add(stage)
                console.print(f"{stage} ...", highlight=False, markup=False)

        yield told


def told_internal(console: Console) -> None:
    """Say what opening this means."""
    console.print(
        "internal, not DP: these numbers come from private rows. The ledger has recorded that they were opened.",
        highlight=False,
        soft_wrap=True,
    )
