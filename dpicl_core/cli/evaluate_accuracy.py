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
    table_from,
    task_for,
)
from dpicl_core.cli.evaluate_text import Report, SetLine, accuracy_report
from dpicl_core.cli.inputs import stage_printer
from dpicl_core.cli.parsing import whole
from dpicl_core.cli.plan_options import add_generation_options, add_sampling_options, listed_names
from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import (
    REFERENCE_SETS,
    Accuracy,
    AccuracyOptions,
    DemonstrationSet,
    accuracy_of,
    open_view,
    reference_sets,
    set_of,
)
from dpicl_core.evaluation.accuracy import ANSWER_TOKENS
from dpicl_core.evaluation.in_context import QUERY_TOKENS
from dpicl_core.evaluation.sets import NEEDS_PRIVATE_TABLE
from dpicl_core.evaluation.spreads import evenly_spaced
from dpicl_core.language_model import load_model
from dpicl_core.language_model.scoring import scorer_for

VIEW = "in-context accuracy, not DP"


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
    parser.add_argument("--seeds", type=whole(1), default=3, help="draws of each set that is made here")
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
    names = _names(arguments.sets, table is not None)
    options = AccuracyOptions(
        calibrate=not arguments.no_calibration,
        fold=arguments.fold,
        answer_tokens=arguments.answer_tokens,
        query_tokens=arguments.query_tokens,
    )
    plan = plan_behind(arguments, task, documents)
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    scorer = scorer_for(model)
    held_out = open_view(test, VIEW)
    private = held_out if table is None else open_view(table, VIEW)
    queries = evenly_spaced(held_out.dataset.examples, arguments.limit)
    results: dict[str, list[tuple[DemonstrationSet, Accuracy]]] = {}
    with measuring(console) as told:
        sets = [set_of(document) for document in documents]
        for name in names:
            sets += reference_sets(name, plan, arguments.seeds, private, model, progress=told)
        for number, chosen in enumerate(sets):

            def within(stage: str, fraction: float, number: int = number) -> None:
                told("asking for labels", (number + fraction) / len(sets))

            found = accuracy_of(task, chosen.demonstrations, queries, scorer, options, progress=within)
            results.setdefault(chosen.kind, []).append((chosen, found))
    lines = [
        SetLine.of(kind, [found for _, found in pairs], internal=pairs[0][0].internal)
        for kind, pairs in results.items()
    ]
    return accuracy_report(lines, model=scorer.name, queries=len(queries), open_labels=task.open_labels)


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
