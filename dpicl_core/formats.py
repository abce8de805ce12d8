"""A demonstrations document as text that other tools take: a prompt, or messages one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable

from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.prompts import icl_prompt
from dpicl_core.values import Task

QUERY_PLACEHOLDER = "{query}"


def as_prompt(document: DemonstrationsDocument) -> str:
    """The in-context prompt with all demonstrations that have a text, ready for a query."""
    return icl_prompt(_task(document), _pairs(document), QUERY_PLACEHOLDER) + "\n"


def as_jsonl(document: DemonstrationsDocument) -> str:
    """One line of OpenAI-style messages for each demonstration that has a text."""
    lines = []
    for text, label in _pairs(document):
        system = [{"role": "system", "content": document.task.icl_instruction}] if document.task.icl_instruction else []
        messages = [*system, {"role": "user", "content": text}, {"role": "assistant", "content": label}]
        lines.append(json.dumps({"messages": messages}, ensure_ascii=False) + "\n")
    return "".join(lines)


FORMATS: dict[str, Callable[[DemonstrationsDocument], str]] = {"prompt": as_prompt, "jsonl": as_jsonl}


def render(document: DemonstrationsDocument, name: str) -> str:
    """The document in the named format."""
    return FORMATS[name](document)


def _pairs(document: DemonstrationsDocument) -> list[tuple[str, str]]:
    return [(d.text, d.label) for d in document.demonstrations if d.text]


def _task(document: DemonstrationsDocument) -> Task:
    facts = document.task.model_dump()
    return Task(**{**facts, "labels": tuple(facts["labels"])})
