"""Task and examples to prompt text. Pure: text in, text out; tokens are the business of prompt_tokens."""

from __future__ import annotations

from collections.abc import Sequence

from dpicl_core.data import flatten_text
from dpicl_core.values import Example, Task

SEPARATOR = "\n\n"
"""What stands between the parts of a prompt."""


def instruction_text(task: Task) -> str:
    """The public beginning of every generation prompt."""
    return f"{task.instruction}{SEPARATOR}"


def example_text(task: Task, example: Example) -> str:
    """One example of a generation prompt: label first, then the text, each on its own line."""
    return (
        f"{task.generation_label_header}: {flatten_text(example.label)}\n"
        f"{task.generation_text_header}: {flatten_text(example.text)}"
    )


def target_text(task: Task, label: str) -> str:
    """The end of a generation prompt: the target label and the header that the model continues."""
    return f"{task.generation_label_header}: {flatten_text(label)}\n{task.generation_text_header}:"


def generation_prompt(task: Task, examples: Sequence[Example], label: str, text_so_far: str = "") -> str:
    """A whole generation prompt as a person reads it; without examples it is the public prompt."""
    shown = "".join(example_text(task, example) + SEPARATOR for example in examples)
    return instruction_text(task) + shown + target_text(task, label) + text_so_far


def demonstration_block(task: Task, text: str, label: str) -> str:
    """One demonstration of an in-context prompt: text first, then its label (format of Zhao et al. 2021)."""
    return f"{task.icl_text_header}: {flatten_text(text)}\n{task.icl_label_header}: {flatten_text(label)}{SEPARATOR}"


def icl_prompt(task: Task, demonstrations: Sequence[tuple[str, str]], query: str) -> str:
    """The in-context prompt for one query: instruction, (text, label) demonstrations, then the query to complete."""
    start = f"{task.icl_instruction}{SEPARATOR}" if task.icl_instruction else ""
    blocks = "".join(demonstration_block(task, text, label) for text, label in demonstrations)
    return f"{start}{blocks}{task.icl_text_header}: {flatten_text(query)}\n{task.icl_label_header}:"
