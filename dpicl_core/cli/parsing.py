"""Argument types and the parser: wrong input ends in one sentence and exit status 2."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import NoReturn

USAGE_ERROR = 2


class OneSentenceParser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one sentence without the usage block."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: {message.rstrip('.')}. See --help for every option.\n")
        raise SystemExit(USAGE_ERROR)


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults where there is one to show."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, []):
            return action.help
        return super()._get_help_string(action)


def number(text: str) -> float:
    """A finite number with a point as decimal mark."""
    try:
        value = float(text)
    except ValueError:
        hint = "; write the decimal mark as a point" if "," in text else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a number{hint}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number; give one such as 4")
    return value


def positive(text: str) -> float:
    """A finite number above 0."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be above 0, but is {text}; give a larger number")
    return value


def whole(minimum: int) -> Callable[[str], int]:
    """A whole number of at least `minimum`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; give one such as {minimum}") from None
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, but is {value}; give a larger number")
        return value

    return parse


def numbers(text: str) -> tuple[float, ...]:
    """Finite numbers separated by commas."""
    return tuple(number(part.strip()) for part in text.split(","))
