"""The registry of tasks, and tasks for any other table, written from its public column names alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpicl_core.errors import ConfigError
from dpicl_core.tasks import agnews, dbpedia, mit_d, mit_g, sample, trec
from dpicl_core.values import Task

__all__ = ["TASKS", "custom_task", "target_labels", "task_named"]

TASKS: dict[str, Task] = {module.TASK.name: module.TASK for module in (sample, agnews, dbpedia, trec, mit_g, mit_d)}


def task_named(name: str) -> Task:
    """The built-in task of that name; ConfigError lists the names where there is none."""
    if name not in TASKS:
        raise ConfigError(
            f"task {name} is not built in; choose one of {', '.join(TASKS)}, or leave --task out and declare "
            "--label for your own table."
        )
    return TASKS[name]


def custom_task(
    *,
    text_column: str,
    label_column: str,
    labels: Sequence[str],
    open_labels: bool = False,
    instruction: str | None = None,
) -> Task:
    """A task for any table; instruction and headers are written from the column names, which are public.

    labels: the declared label list, or for open labels the declared target labels.
    """
    if not labels:
        wanted = "--target-label" if open_labels else "--label"
        raise ConfigError(
            f"a task that is not built in needs its public labels, but none is declared; give {wanted} once for each."
        )
    label_header, text_header = heading(label_column), heading(text_column)
    if label_header == text_header:
        label_header, text_header = "Label", "Text"
    generation = instruction or f"Given a {label_header.lower()}, write a {text_header.lower()} that belongs to it."
    listed = f" Choose one of: {', '.join(labels)}." if not open_labels else ""
    return Task(
        name="custom",
        title=f"{text_header} by {label_header.lower()}",
        instruction=generation,
        generation_label_header=label_header,
        generation_text_header=text_header,
        icl_instruction=f"State the {label_header.lower()} of each {text_header.lower()}.{listed}",
        icl_text_header=text_header,
        icl_label_header=label_header,
        labels=tuple(labels),
        open_labels=open_labels,
    )


def heading(column: str) -> str:
    """A column name as one line of plain words: `note_text` becomes `Note Text`."""
    words = "".join(character if character.isalnum() else " " for character in column).split()
    return " ".join(word[:1].upper() + word[1:] for word in words) or "Text"


def target_labels(task: Task, shots: int, chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """One target label per demonstration: the chosen ones, else the declared ones in order.

    Labels are used without replacement; when there are more shots than labels they repeat in the same order.
    """
    if shots < 1:
        raise ConfigError(f"shots must be a whole number from 1 to 1000, but is {shots}; choose 1 to 8.")
    source = tuple(chosen) or task.labels
    return tuple(source[index % len(source)] for index in range(shots))
