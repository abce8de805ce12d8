"""In-context prompts as token ids: a beginning that all queries share, a query, and the labels that may follow.

The cut between beginning and query lies behind the text header, before a blank; there tokenizers cut by themselves, so
the ids are those of the whole prompt. The same holds between a query and a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpicl_core import prompts
from dpicl_core.data import flatten_text
from dpicl_core.language_model.protocol import Tokenizer
from dpicl_core.language_model.scoring import Ids
from dpicl_core.specs import require
from dpicl_core.values import Task

Demonstrations = Sequence[tuple[str, str]]
"""Pairs of text and label, in the order of the prompt."""

QUERY_TOKENS = 256
"""A query longer than this is cut, so that one huge cell cannot fill the model's context."""

_CHARACTERS_PER_TOKEN = 64


def shared_ids(task: Task, tokenizer: Tokenizer, demonstrations: Demonstrations) -> Ids:
    """Instruction, demonstrations and the header of the query's text."""
    whole = prompts.icl_prompt(task, demonstrations, "")
    return (*tokenizer.prefix_ids, *tokenizer.encode(whole.removesuffix(f" \n{task.icl_label_header}:")))


def query_ids(task: Task, tokenizer: Tokenizer, text: str, most: int = QUERY_TOKENS) -> Ids:
    """The query's text, cut to `most` tokens, and the label header that the model completes."""
    tail = f"\n{task.icl_label_header}:"
    words = flatten_text(text[: most * _CHARACTERS_PER_TOKEN])
    ids, ending = tokenizer.encode(f" {words}{tail}"), tokenizer.encode(tail)
    return ids if len(ids) <= most + len(ending) else (*ids[:most], *ending)


def label_ids(tokenizer: Tokenizer, label: str) -> Ids:
    """A label as it follows the label header."""
    return tokenizer.encode(f" {flatten_text(label)}")


@dataclass(frozen=True, slots=True)
class AnswerSpace:
    """The declared labels as ids. closing: whether the end of the line is scored too.

    It is where one label's ids are the beginning of another's ("Art", "Art school"): the shorter one would win
    whenever the longer one is likely.
    """

    labels: tuple[str, ...]
    ids: tuple[Ids, ...]
    closing: bool


def answer_space(task: Task, tokenizer: Tokenizer) -> AnswerSpace:
    """Raises ConfigError where two labels read the same in a prompt."""
    ids = tuple(label_ids(tokenizer, label) for label in task.labels)
    require(
        len(set(ids)) == len(ids),
        f"two of the {len(ids)} declared labels read the same in a prompt; rename one of them.",
    )
    closing = any(a is not b and b[: len(a)] == a for a in ids for b in ids)
    return AnswerSpace(task.labels, ids, closing)
