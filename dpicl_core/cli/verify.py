"""`verify`: what a demonstrations file guarantees, checked by anyone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpicl_core.cli.parsing import USAGE_ERROR, HelpFormatter
from dpicl_core.files import read_bytes
from dpicl_core.verification import plain_words, read_document, verify


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "verify",
        help="check a demonstrations file and say what it guarantees",
        description="Check schema and hash of a demonstrations file, recompute both epsilons from its parameters, "
        "and say in plain words what it guarantees. Needs no private data.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="demonstrations JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict; exit status 2 where the file does not hold."""
    verdict = verify(read_document(read_bytes(arguments.file)))
    if not verdict.holds:
        for problem in verdict.problems:
            sys.stderr.write(f"error: {problem}.\n")
        return USAGE_ERROR
    sys.stdout.write(plain_words(verdict))
    return 0
