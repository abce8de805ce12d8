"""From an upload or the sample to this session's state; the engine reads, declares and counts."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dpicl_core.charged_runs import likely_assignment
from dpicl_core.data import (
    Dataset,
    declare_labels,
    label_counts,
    pool_for,
    privacy_warnings,
    profile,
    read_dataset,
    suggest_sizes,
)
from dpicl_core.errors import ConfigError
from dpicl_core.jobs import LengthsTask
from dpicl_core.tasks import custom_task, task_named
from dpicl_core.values import PrivacyUnit, Task
from pages.support import keep
from pages.support.state import change, ledger, registry, studio

OWN_TASK = "own"
ENOUGH_UNITS = 20
"""Ten groups of one, at most half of the pool."""

SAMPLE = Path(__file__).resolve().parent.parent.parent / "assets" / "sample_messages.csv"
HELD_OUT_SAMPLE = SAMPLE.with_name("sample_held_out.csv")


def read_sample() -> None:
    """The sample table under its own task."""
    _take(read_dataset(SAMPLE), task_named("sample"), leave_out=False)


def read_upload(content: bytes, name: str, progress: Callable[[float], None]) -> None:
    """An upload under what was declared on the screen. Raises the engine's refusals."""
    change(dataset=None)
    dataset = read_dataset(
        content,
        name=name,
        text_column=keep.value("data_text_column") or None,
        label_column=keep.value("data_label_column") or None,
        person_column=keep.value("data_person_column") or None,
        progress=progress,
    )
    task = _declared_task(dataset)
    task = replace(task, record_tokens=int(keep.value("data_record_tokens") or task.record_tokens))
    own = keep.value("data_task", OWN_TASK) == OWN_TASK
    _take(dataset, task, leave_out=bool(keep.value("data_leave_out", False)), own=own)
    change(uploads=studio().uploads + 1)


def declared_labels() -> tuple[str, ...]:
    """The typed label list: one a line, blank lines skipped. Blanks around a label count only inside double quotes."""
    typed = (line.strip() for line in str(keep.value("data_labels", "")).splitlines())
    return tuple(_unquoted(line) for line in typed if line)


def _unquoted(line: str) -> str:
    quoted = len(line) > 2 and line[0] == line[-1] == '"'
    return line[1:-1] if quoted else line


def _declared_task(dataset: Dataset) -> Task:
    chosen = keep.value("data_task", OWN_TASK)
    if chosen != OWN_TASK:
        return task_named(chosen)
    return custom_task(
        text_column=dataset.text_column,
        label_column=dataset.label_column,
        labels=declared_labels(),
        open_labels=bool(keep.value("data_open_labels", False)),
    )


def sized(task: Task, unit_counts: Sequence[tuple[str | None, int]]) -> Task:
    """M and N by the pools, whose sizes are public; a pool that cannot give ten groups does not shrink them for the
    others: Plan says that its label is to be merged or left out."""
    pools = {str(label): units for label, units in unit_counts}
    found = suggest_sizes({label: units for label, units in pools.items() if units >= ENOUGH_UNITS} or pools)
    return task if found is None else replace(task, subsets=found.subsets, per_subset=found.per_subset)


def _take(dataset: Dataset, task: Task, *, leave_out: bool, own: bool = False) -> None:
    """Declare, count and keep; then ask for lengths in tokens, which also warms the model.

    own: the steward's own task, whose M and N follow its pools; a built-in one has those of its paper.
    """
    if not task.open_labels:
        others = [label for label in label_counts(dataset) if label not in task.labels] if leave_out else []
        dataset = declare_labels(dataset, task.labels, leave_out=others)
    unit = PrivacyUnit.ROW if dataset.persons is None else PrivacyUnit.PERSON
    by_person = unit is PrivacyUnit.PERSON and not task.open_labels
    assignment = likely_assignment(dataset, ledger()) if by_person else None
    pools: tuple[str | None, ...] = (None,) if task.open_labels else task.labels
    unit_counts = tuple((label, len(pool_for(dataset, label, unit, assignment))) for label in pools)
    task = sized(task, unit_counts) if own else task
    found = profile(dataset)
    keep.drop("plan_")
    keep.drop("budget_")
    change(
        dataset=dataset,
        task=task,
        unit=unit,
        profile=found,
        warnings=privacy_warnings(dataset, found, subsets=task.subsets, per_subset=task.per_subset),
        unit_counts=unit_counts,
        table_id=secrets.token_urlsafe(16),
        lengths_id=_count_lengths(dataset, task),
        run_id=None,
    )


def _count_lengths(dataset: Dataset, task: Task) -> str | None:
    """Have the lengths counted by the child process, which loads the model early; None where its queue is full."""
    with contextlib.suppress(ConfigError):
        return registry().ask(LengthsTask(tuple(dataset.examples), task.record_tokens), token=secrets.token_urlsafe(16))
    return None
