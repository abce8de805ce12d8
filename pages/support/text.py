"""Text from a table, a model or a person is shown letter by letter: this is the only way it reaches the screen."""

from __future__ import annotations

import html
import re

import streamlit as st

from dpicl_core.rounding import rounded_up
from pages.support.words import OPTIONS

SHOWN_CHARACTERS = 4000
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def plain(text: str, *, help: str | None = None) -> None:
    """Show a text as it is: no markdown, no HTML, no links, control characters made visible as blanks."""
    shown = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " ..."
    st.text("".join(c if c.isprintable() or c == "\n" else " " for c in shown), help=help)


def for_plotly(text: str) -> str:
    """A text for a figure, where `<b>` or `<a>` would otherwise be obeyed."""
    return html.escape("".join(c if c.isprintable() else " " for c in text)).replace("$", "&#36;")


def refusal(sentence: str) -> None:
    """A refusal: icon, the word, then the sentence as plain text (it may name a file, a column or a label)."""
    with st.container(border=True, key=f"refusal_{abs(hash(sentence))}"):
        st.markdown(":material/block: **Refused**")
        plain(in_screen_words(sentence))


def in_screen_words(sentence: str) -> str:
    """A sentence of the engine with the screens' names in place of the command line's options."""
    return _OPTION.sub(lambda found: OPTIONS.get(found.group(), found.group()), sentence)


def warning(sentence: str, *, level: str = "Look at this") -> None:
    """A warning, in the same plain way."""
    with st.container(horizontal=True, gap="small", vertical_alignment="top", wrap=False):
        st.markdown(":material/warning:", width="content")
        st.text(f"{level}: {sentence}", width="stretch")


def count(number: int, noun: str) -> str:
    """`1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """`40 s`, `1 min 10 s`, `2 h 5 min`, rounded for a person."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def number(value: float) -> str:
    """Three significant digits, as a person writes them."""
    return f"{value:.3g}"


def loss(epsilon: float) -> str:
    """A privacy loss to three significant digits, rounded up, so that no screen shows less than was spent."""
    return rounded_up(epsilon)
