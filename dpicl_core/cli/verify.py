"""`verify`: what a demonstrations file guarantees, checked by anyone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpicl_core.cli.parsing import USAGE_ERROR, HelpFormatter
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.files import read_bytes
from dpicl_core.verification import Verdict, read_document, verify


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


def plain_words(verdict: Verdict) -> str:
    """The guarantee of a file that holds."""
    document: DemonstrationsDocument = verdict.document
    guarantee = document.guarantee
    lines = [
        f"The file holds: {len(document.demonstrations)} demonstrations by {document.mechanism.name}, "
        f"written {document.created} with {document.model.name}.",
        guarantee.sentence,
        f"Recomputed from the parameters in the file: epsilon {guarantee.epsilon.tight:.4g} by the tight accountant, "
        f"{guarantee.epsilon.paper:.4g} by the paper's, at delta {guarantee.delta:g}.",
        "Not covered: " + "; ".join(guarantee.not_covered) + ".",
        "The hash shows accidental changes; it is no signature, so it does not show who wrote the file.",
    ]
    lines += [f"Shortfall: {line}." for line in document.shortfalls]
    return "\n".join(lines) + "\n"
