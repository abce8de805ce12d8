"""`tasks`: what is built in."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.tasks import TASKS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "tasks",
        help="list the built-in tasks",
        description="List the built-in tasks with their public labels and defaults. Any other table works with "
        "generate --label ... (or --open-labels --target-label ...).",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per task, all facts")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the tasks."""
    for task in TASKS.values():
        if arguments.json:
            sys.stdout.write(json.dumps(asdict(task), ensure_ascii=False) + "\n")
            continue
        kind = "open labels, for example" if task.open_labels else "labels"
        shown = ", ".join(task.labels[:6]) + (", ..." if len(task.labels) > 6 else "")
        sys.stdout.write(
            f"{task.name}: {task.title}\n"
            f"  {kind}: {shown}\n"
            f"  M {task.subsets}, N {task.per_subset}, T_max {task.tokens}, record cap {task.record_tokens} tokens\n"
        )
    return 0
