"""`export`: a demonstrations file as a ready prompt, as messages, or as the certificate of a signed one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpicl_core.certificate import as_html, as_text, certificate_for
from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.errors import ExportError
from dpicl_core.files import read_bytes, write_atomically
from dpicl_core.formats import FORMATS, render
from dpicl_core.verification import Verdict, read_document, verify

CERTIFICATES = {"certificate": as_html, "certificate-text": as_text}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "export",
        help="turn a demonstrations file into a prompt, messages or a certificate",
        description="Turn a demonstrations file that verifies into ready prompt text, into OpenAI-style messages, one "
        "JSON object per line, or, if it is signed, into a printable certificate (HTML or plain text).",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="demonstrations JSON")
    parser.add_argument("--format", choices=(*FORMATS, *CERTIFICATES), default="prompt", help="what to make")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where it goes; default: standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write or print the chosen format."""
    document = read_document(read_bytes(arguments.file))
    verdict = verify(document)
    if not verdict.holds:
        raise ExportError(f"{verdict.problems[0]}; the file is not exported. Run verify to see every finding.")
    text = _text(verdict, arguments.format)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(arguments.out, text.encode("utf-8"))
    return 0


def _text(verdict: Verdict, name: str) -> str:
    if name in CERTIFICATES:
        return CERTIFICATES[name](certificate_for(verdict))
    return render(verdict.document, name)
