"""Checks of released texts: what a reviewer should look at before it leaves.

They read released texts and public facts of the task alone, so they cost no privacy. None of them decides: a finding
may be a coincidence, and a text without findings may still be unfit.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dpicl_core.values import Task
from dpicl_core.vetting.personal_data import personal_data

Span = tuple[int, int]
"""Start and end of a passage, in characters; the end is not part of it."""

NEARLY_EQUAL = 0.9
"""Share of words in common, in order, from which two texts count as one that repeats the other."""

LOOP_WORDS = 5
"""So many words in a row that come again within one text are reported."""

INSTRUCTION_WORDS = 4
"""So many words of an instruction in a row are no coincidence."""

_WORD = re.compile(r"\w+")
_CHAT_MARKS = re.compile(
    r"<\|[^|<>]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|\{(?:text|label|query|private text|private label)\}|#{3,}"
    r"|(?<!\w)(?:assistant|system|user)\s*:",
    re.IGNORECASE,
)


class FindingKind(StrEnum):
    """What was found."""

    EMPTY = "empty"
    REPEAT = "repeat"
    LABEL = "label"
    TEMPLATE = "template"
    PERSONAL_DATA = "personal-data"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. sentence: for a person, without a final stop. spans: the passages meant, in order."""

    kind: FindingKind
    sentence: str
    spans: tuple[Span, ...] = ()


def check_texts(texts: Sequence[str], labels: Sequence[str], task: Task) -> tuple[tuple[Finding, ...], ...]:
    """Findings of each text, in the order of the kinds. labels: of each text, in the same order."""
    return tuple(
        (
            *_empty(text),
            *_repeats(index, texts),
            *_loops(text),
            *_labels(text, label, task),
            *_template(text, task),
            *(
                Finding(FindingKind.PERSONAL_DATA, f"holds what looks like {match.what}", (match.span,))
                for match in personal_data(text)
            ),
        )
        for index, (text, label) in enumerate(zip(texts, labels, strict=True))
    )


def marked(text: str, spans: Iterable[Span], start: str = "⟦", end: str = "⟧") -> str:
    """The text with each passage between two marks, for places that show plain letters alone."""
    shown, at = [], 0
    for first, last in _merged(spans):
        shown += [text[at:first], start, text[first:last], end]
        at = last
    return "".join((*shown, text[at:]))


def _empty(text: str) -> Iterable[Finding]:
    if not _WORD.search(text):
        yield Finding(FindingKind.EMPTY, "holds no word")


def _repeats(index: int, texts: Sequence[str]) -> Iterable[Finding]:
    own = _words(texts[index])
    if not own:
        return
    for other, text in enumerate(texts):
        words = _words(text)
        if other == index or not words:
            continue
        whole = ((0, len(texts[index])),)
        if words == own:
            yield Finding(FindingKind.REPEAT, f"says the same as demonstration {other + 1}", whole)
        elif difflib.SequenceMatcher(None, own, words, autojunk=False).ratio() >= NEARLY_EQUAL:
            yield Finding(FindingKind.REPEAT, f"says nearly the same as demonstration {other + 1}", whole)


def _loops(text: str) -> Iterable[Finding]:
    found = list(_WORD.finditer(text))
    seen: dict[tuple[str, ...], int] = {}
    spans: list[Span] = []
    for at in range(len(found) - LOOP_WORDS + 1):
        window = tuple(match.group().casefold() for match in found[at : at + LOOP_WORDS])
        first = seen.setdefault(window, at)
        if at >= first + LOOP_WORDS or (at > first and len(set(window)) == 1):
            spans += [_reach(found, first, LOOP_WORDS), _reach(found, at, LOOP_WORDS)]
    if spans:
        yield Finding(FindingKind.REPEAT, "repeats its own words", _merged(spans))


def _labels(text: str, own: str, task: Task) -> Iterable[Finding]:
    """Fixed labels alone: a task with open labels usually asks for the label to stand in the text."""
    if task.open_labels:
        return
    for label in dict.fromkeys((own, *task.labels)):
        spans = _passages(rf"(?<!\w){_spaced(label)}(?!\w)", text)
        if spans and label == own:
            yield Finding(FindingKind.LABEL, f'names its own label "{label}"', spans)
        elif spans:
            yield Finding(FindingKind.LABEL, f'names "{label}", which is another label', spans)


def _template(text: str, task: Task) -> Iterable[Finding]:
    headers = (
        task.generation_label_header,
        task.generation_text_header,
        task.icl_text_header,
        task.icl_label_header,
    )
    for header in dict.fromkeys(filter(str.strip, headers)):
        if spans := _passages(rf"(?<!\w){_spaced(header)}\s*:", text):
            yield Finding(FindingKind.TEMPLATE, f'holds the header "{header}:" of the prompt', spans)
    if spans := _shared_runs(text, (task.instruction, task.icl_instruction)):
        yield Finding(FindingKind.TEMPLATE, "holds words of the instruction", spans)
    if spans := tuple(match.span() for match in _CHAT_MARKS.finditer(text)):
        yield Finding(FindingKind.TEMPLATE, "holds marks of a chat or prompt template", spans)


def _shared_runs(text: str, sources: Iterable[str]) -> tuple[Span, ...]:
    """Passages of INSTRUCTION_WORDS words or more that stand in one of the sources."""
    known = {
        tuple(words[at : at + INSTRUCTION_WORDS])
        for words in map(_words, sources)
        for at in range(len(words) - INSTRUCTION_WORDS + 1)
    }
    found = list(_WORD.finditer(text))
    words = [match.group().casefold() for match in found]
    hits = [
        _reach(found, at, INSTRUCTION_WORDS)
        for at in range(len(words) - INSTRUCTION_WORDS + 1)
        if tuple(words[at : at + INSTRUCTION_WORDS]) in known
    ]
    return _merged(hits)


def _passages(pattern: str, text: str) -> tuple[Span, ...]:
    return tuple(match.span() for match in re.finditer(pattern, text, re.IGNORECASE))


def _spaced(words: str) -> str:
    """A pattern of these words with any blanks between them."""
    return r"\s+".join(re.escape(word) for word in words.split())


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _reach(found: Sequence[re.Match[str]], at: int, count: int) -> Span:
    return found[at].start(), found[at + count - 1].end()


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Overlapping passages as one, in order."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)
