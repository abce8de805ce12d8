"""Errors on screen: the engine's own sentences are safe; of all others only the kind is told and logged."""

from __future__ import annotations

import functools
import logging
import traceback
from collections.abc import Callable
from typing import ParamSpec

from dpicl_core.errors import DPICLError
from pages.support.text import refusal

Arguments = ParamSpec("Arguments")
LOG = logging.getLogger("dpicl.app")


def guarded(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Wrap a screen, fragment or callback: no exception's text reaches Streamlit, whose log would quote it."""

    @functools.wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except DPICLError as error:
            refusal(str(error))
        except Exception as error:
            LOG.error("a screen failed: %s", place_of(error))
            refusal(
                f"This screen met an unexpected error ({type(error).__name__}). Its message is withheld because it may "
                "hold private text. A run that is going on is not touched; reload the page to go on."
            )

    return run


def place_of(error: BaseException) -> str:
    """Kind and place of an error, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in reversed(frames[-4:]))
    return f"{type(error).__name__} at {where}"


class _WithholdMessages(logging.Filter):
    """Takes texts and tracebacks of exceptions out of log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = f"error: {place_of(record.exc_info[1])}", ()
            record.exc_info, record.exc_text = None, None
        return True


def withhold_messages_in_logs() -> None:
    """Second line of defence, for errors that Streamlit meets outside our code: applies to its whole log."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("streamlit", "asyncio")]
    for logger in [logging.getLogger(name) for name in ("streamlit", "streamlit.error_util", "asyncio", *names)]:
        if not any(isinstance(known, _WithholdMessages) for known in logger.filters):
            logger.addFilter(_WithholdMessages())
