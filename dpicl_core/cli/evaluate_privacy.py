"""`evaluate membership` and `evaluate leakage`: what released texts give away about private rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from dpicl_core.cli.evaluate_inputs import (
    add_documents,
    declared,
    documents_from,
    measuring,
    private_table,
    table_from,
    task_for,
)
from dpicl_core.cli.evaluate_text import Report, leakage_report, membership_report
from dpicl_core.cli.inputs import stage_printer
from dpicl_core.cli.parsing import positive, whole
from dpicl_core.evaluation import AttackOptions, LeakageTask, MembershipTask
from dpicl_core.evaluation.leakage import NEAR_DUPLICATE_PERCENT
from dpicl_core.evaluation.tasks import REAL_PROMPTS
from dpicl_core.language_model import load_model


def add_membership_options(parser: argparse.ArgumentParser) -> None:
    """Options of `membership`."""
    add_documents(parser, least=1)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table: the members")
    parser.add_argument("--test", type=Path, required=True, metavar="FILE", help="rows never used: the non-members")
    parser.add_argument("--trials", type=whole(1), default=20, help="trials for each demonstration")
    parser.add_argument("--rows", type=whole(1), default=50, help="members, and as many others, that one trial asks")
    parser.add_argument(
        "--real-prompts", type=whole(0), default=REAL_PROMPTS, help="prompts with a real row, for comparison; 0: none"
    )


def add_leakage_options(parser: argparse.ArgumentParser) -> None:
    """Options of `leakage`."""
    add_documents(parser, least=1)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table")
    parser.add_argument("--test", type=Path, metavar="FILE", help="rows never used: how much is shared by chance")
    parser.add_argument(
        "--near", type=positive, default=NEAR_DUPLICATE_PERCENT, metavar="PERCENT", help="likeness of a near duplicate"
    )


def membership(arguments: argparse.Namespace, console: Console) -> Report:
    """Attack the demonstrations of every file, and real rows in their place; add the proven ceiling."""
    documents = documents_from(arguments.demos)
    table, test = table_from(arguments, arguments.data), table_from(arguments, arguments.test)
    task = task_for(arguments, documents, table)
    measured = MembershipTask(
        task=task,
        documents=documents,
        private=private_table(declared(table, task), documents),
        held_out=private_table(declared(test, task)),
        options=AttackOptions(arguments.trials, arguments.rows),
        real_prompts=arguments.real_prompts,
    )
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    with measuring(console) as told:
        return membership_report(measured.run(model, told))


def leaks(arguments: argparse.Namespace, console: Console) -> Report:
    """Compare every text with the private table, and with rows that were never used where there are some."""
    documents = documents_from(arguments.demos)
    table = private_table(table_from(arguments, arguments.data), documents)
    unused = None if arguments.test is None else private_table(table_from(arguments, arguments.test))
    with measuring(console) as told:
        return leakage_report(LeakageTask(documents, table, unused, arguments.near).run(None, told))
