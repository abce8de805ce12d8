"""The command line's entrance: picks the command, turns every failure into one sentence.

Exit status: 0 done, 2 refused or failed with a sentence, 130 stopped by the user.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

from dpicl_core.cli import (
    account,
    compare,
    data,
    evaluate,
    export,
    generate,
    ledger,
    model,
    rehearse,
    tasks,
    verify,
    vet,
)
from dpicl_core.cli.parsing import USAGE_ERROR, HelpFormatter, OneSentenceParser
from dpicl_core.errors import DPICLError

INTERRUPTED = 130
COMMANDS = (generate, account, data, rehearse, compare, vet, verify, evaluate, export, ledger, tasks, model)


def build_parser() -> OneSentenceParser:
    """The whole parser."""
    parser = OneSentenceParser(
        prog="dpicl",
        description="Differentially private synthetic demonstrations from a private table, on this machine.",
        formatter_class=HelpFormatter,
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; never shows a traceback, whose message could quote a private row."""
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except DPICLError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("stopped; what the run had reserved stays spent, and nothing was written.\n")
        return INTERRUPTED
    except BrokenPipeError:
        return _fail("the program that reads this output closed it early; nothing else went wrong.")
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else (error.strerror or type(error).__name__)
        return _fail(f"the system refused a file operation ({reason}); free space or check the path, then try again.")
    except Exception as error:
        return _fail(
            f"an unexpected fault of kind {type(error).__name__} stopped the command; its message is withheld because "
            "it may hold private text. Please report the kind and the command."
        )


def _fail(sentence: str) -> int:
    sys.stderr.write(f"error: {sentence}\n")
    return USAGE_ERROR


if __name__ == "__main__":
    raise SystemExit(main())
