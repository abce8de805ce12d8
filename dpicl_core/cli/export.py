"""`export`: a demonstrations file as a ready prompt or as messages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.errors import ExportError
from dpicl_core.files import read_bytes, write_atomically
from dpicl_core.formats import FORMATS, render
from dpicl_core.verification import read_document, verify


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "export",
        help="turn a demonstrations file into a prompt or into messages",
        description="Turn a demonstrations file that verifies into ready prompt text, or into OpenAI-style messages, "
        "one JSON object per line.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="demonstrations JSON")
    parser.add_argument("--format", choices=tuple(FORMATS), default="prompt", help="what to make")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where it goes; default: standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write or print the chosen format."""
    document = read_document(read_bytes(arguments.file))
    verdict = verify(document)
    if not verdict.holds:
        raise ExportError(f"{verdict.problems[0]}; the file is not exported. Run verify to see every finding.")
    text = render(document, arguments.format)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(arguments.out, text.encode("utf-8"))
    return 0
