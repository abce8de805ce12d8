"""`evaluate`: accuracy, membership inference, leakage, canaries, consensus; internal, not DP, recorded when opened."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from dpicl_core.cli import evaluate_accuracy, evaluate_privacy, evaluate_runs
from dpicl_core.cli.evaluate_inputs import add_common_options, told_internal
from dpicl_core.cli.evaluate_text import Report
from dpicl_core.cli.inputs import add_model_options, add_task_options
from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.files import check_writable, write_atomically

Measure = Callable[[argparse.Namespace, Console], Report]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "evaluate",
        help="measure what texts are worth and what they give away: internal, not DP",
        description="Measure what demonstrations are worth and what they give away. Reads private rows, so results are "
        "internal, not DP, for the steward alone; opening them is recorded in the ledger, and a file that is signed "
        "later says so.",
        formatter_class=HelpFormatter,
    )
    measures = parser.add_subparsers(
        dest="measure", metavar="MEASURE", required=True, help="what to measure; --help behind each one explains it"
    )
    for name, help_text, add_options, measure in (
        ("accuracy", "in-context accuracy on held-out rows", evaluate_accuracy.add_options, evaluate_accuracy.measure),
        ("membership", "membership inference", evaluate_privacy.add_membership_options, evaluate_privacy.membership),
        ("leakage", "words shared with private rows", evaluate_privacy.add_leakage_options, evaluate_privacy.leaks),
        ("canaries", "plant a row and count its words", evaluate_runs.add_canary_options, evaluate_runs.canaries),
        ("consensus", "how closely next-token vectors agree", evaluate_runs.add_consensus_options, evaluate_runs.agree),
    ):
        each = measures.add_parser(name, help=help_text, description=f"{help_text}.", formatter_class=HelpFormatter)
        add_common_options(each)
        add_model_options(each)
        add_task_options(each)
        add_options(each)
        each.set_defaults(run=run, measured_by=measure)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and write where a file was named."""
    out: Path | None = arguments.out
    if out is not None:
        check_writable(out)
    console = Console(stderr=True, quiet=arguments.quiet)
    report: Report = arguments.measured_by(arguments, console)
    if out is not None:
        write_atomically(out, report.json_bytes())
    sys.stdout.write(report.text())
    told_internal(console)
    return 0
