"""`evaluate accuracy`: every set of demonstrations on the same held-out rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from dpicl_core.cli.evaluate_inputs import (
    add_documents,
    declared,
    documents_from,
    measuring,
    plan_behind,
    private_table,
    table_from,
    task_for,
)
from dpicl_core.cli.evaluate_text import Report, accuracy_report
from dpicl_core.cli.inputs import stage_printer
from dpicl_core.cli.parsing import whole
from dpicl_core.cli.plan_options import add_generation_options, add_sampling_options, listed_names
from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import REFERENCE_SETS, AccuracyOptions, AccuracyTask
from dpicl_core.evaluation.accuracy import ANSWER_TOKENS
from dpicl_core.evaluation.in_context import QUERY_TOKENS
from dpicl_core.evaluation.sets import NEEDS_PRIVATE_TABLE
from dpicl_core.evaluation.tasks import SEEDS
from dpicl_core.language_model import load_model


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this measure."""
    add_documents(parser, least=0)
    parser.add_argument("--test", type=Path, required=True, metavar="FILE", help="held-out rows with their labels")
    parser.add_argument("--data", type=Path, metavar="FILE", help="the private table, for real-rows and noise-free")
    parser.add_argument(
        "--sets",
        metavar="A,B,...",
        help=f"sets beside the files, of {', '.join(REFERENCE_SETS)}; default: all that the given tables allow",
    )
    parser.add_argument("--seeds", type=whole(1), default=SEEDS, help="draws of each set that is made here")
    parser.add_argument("--shots", type=whole(1), help="demonstrations in a set; default: as in the files, else 4")
    parser.add_argument("--limit", type=whole(1), metavar="ROWS", help="held-out rows used, evenly spaced; default all")
    parser.add_argument("--no-calibration", action="store_true", help="leave contextual calibration out")
    parser.add_argument("--fold", action="store_true", help="open answers: compare without case and punctuation")
    parser.add_argument("--answer-tokens", type=whole(1), default=ANSWER_TOKENS, help="open answers: tokens at most")
    parser.add_argument("--query-tokens", type=whole(1), default=QUERY_TOKENS, help="tokens kept of a held-out text")
    add_sampling_options(parser, required=False)
    add_generation_options(parser)


def measure(arguments: argparse.Namespace, console: Console) -> Report:
    """Make the sets, ask the model, average over seeds."""
    documents = documents_from(arguments.demos)
    test = table_from(arguments, arguments.test)
    task = task_for(arguments, documents, test)
    test = declared(test, task)
    table = None if arguments.data is None else declared(table_from(arguments, arguments.data), task)
    measured = AccuracyTask(
        task=task,
        documents=documents,
        plan=plan_behind(arguments, task, documents),
        references=tuple(_names(arguments.sets, table is not None)),
        private=None if table is None else private_table(table, documents),
        held_out=private_table(test),
        seeds=arguments.seeds,
        limit=arguments.limit,
        options=AccuracyOptions(
            calibrate=not arguments.no_calibration,
            fold=arguments.fold,
            answer_tokens=arguments.answer_tokens,
            query_tokens=arguments.query_tokens,
        ),
    )
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    with measuring(console) as told:
        return accuracy_report(measured.run(model, told))


def _names(given: str | None, has_table: bool) -> list[str]:
    """Sets that are made here. Raises ConfigError for an unknown one, or one that needs --data."""
    if given is None:
        return [name for name in REFERENCE_SETS if has_table or name not in NEEDS_PRIVATE_TABLE]
    names = listed_names(given)
    unknown = [name for name in names if name not in REFERENCE_SETS]
    if unknown:
        raise ConfigError(f"set {unknown[0]} is unknown; choose among {', '.join(REFERENCE_SETS)}.")
    needing = [name for name in names if name in NEEDS_PRIVATE_TABLE]
    if needing and not has_table:
        raise ConfigError(f"set {needing[0]} is made from private rows; give the table with --data, or leave it out.")
    return names
