"""Which words of a text no other text beside it has, and a way to mark them that shows every text letter by letter.

Streamlit marks passages in markdown alone, and markdown obeys much of what a text may hold: emphasis, links, formulas,
icons, colours. Inside a code span it obeys nothing, so here every passage is a code span of its own, fenced by more
backticks than it holds, and marked passages are set strong. The style sheet gives such spans the look of prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of words, one blank between any two. own: no other text beside this one has any of them."""

    text: str
    own: bool


def marked_texts(texts: Sequence[str | None]) -> tuple[tuple[Passage, ...], ...]:
    """Every text as passages, in order. None: a text that is not there yet, which has no passage and is no other text.

    Words are compared without case and without marks at their edges. A word without a letter or digit is never marked,
    and nothing is where there is no other text.
    """
    words = [[] if text is None else text.split() for text in texts]
    bare = [{_bare(word) for word in each} for each in words]
    found = []
    for at, each in enumerate(words):
        others = [bare[other] for other in range(len(texts)) if other != at and texts[other] is not None]
        elsewhere = set().union(*others) if others else bare[at]
        found.append(_passages(each, [_bare(word) not in elsewhere | {""} for word in each]))
    return tuple(found)


def words_in_common(passages: Sequence[Passage]) -> tuple[int, int]:
    """Words that another text has too, and all words; marks that stand alone are no words."""
    counts = [(sum(bool(_bare(word)) for word in passage.text.split()), passage.own) for passage in passages]
    return sum(words for words, own in counts if not own), sum(words for words, _ in counts)


def literal_markdown(passages: Sequence[Passage]) -> str:
    """Markdown that shows the passages letter by letter, the own ones strong; control characters become blanks."""
    return " ".join(f"**{_span(passage.text)}**" if passage.own else _span(passage.text) for passage in passages)


def _passages(words: Sequence[str], own: Sequence[bool]) -> tuple[Passage, ...]:
    runs: list[tuple[list[str], bool]] = []
    for word, alone in zip(words, own, strict=True):
        if not runs or runs[-1][1] is not alone:
            runs.append(([], alone))
        runs[-1][0].append(word)
    return tuple(Passage(" ".join(each), alone) for each, alone in runs)


def _bare(word: str) -> str:
    return _EDGES.sub("", word).casefold()


def _span(text: str) -> str:
    """A code span. A blank at both ends is taken off by the reader of markdown, so it keeps the fence from the text."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}"
