"""From rows to the pools that generation draws from: label lists by declaration, persons, sizes.

Nothing here orders, groups or drops rows by their text. Label counts are public under the neighbouring relation that
keeps labels; where they are not, only declared lower bounds may be used in their place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

from dpicl_core.data.dataset import Dataset, DroppedRow, DropReason, Level, Notice
from dpicl_core.data.wording import counted, line_phrase, listed, shorten
from dpicl_core.errors import ConfigError, DataError
from dpicl_core.specs import require
from dpicl_core.values import Example, Pool, PrivacyUnit

_GOOD_RATE = 0.05
_HIGHEST_RATE = 0.5


def label_counts(dataset: Dataset) -> dict[str, int]:
    """Rows per label: declared labels in declared order (0 where absent), then any others sorted by name."""
    found = Counter(example.label for example in dataset.examples)
    others = sorted(set(found) - set(dataset.declared_labels))
    return {label: found[label] for label in (*dataset.declared_labels, *others)}


def declare_labels(
    dataset: Dataset,
    labels: Sequence[str],
    merge: Mapping[str, str] | None = None,
    leave_out: Iterable[str] = (),
) -> Dataset:
    """The data set under a public label list.

    labels: after merging. merge: old label to declared label. leave_out: labels whose rows are not used; they are
    listed in `dropped`. Raises ConfigError for a list that contradicts itself, and DataError, with line numbers and
    without the labels themselves, when rows carry a label that is neither declared, merged nor left out: it counts as
    private.
    """
    merged = dict(merge or {})
    left_out = frozenset(leave_out)
    _check_declaration(labels, merged, left_out)
    declared = frozenset(labels)
    renamed = [merged.get(example.label, example.label) for example in dataset.examples]
    unknown = [
        (line, label)
        for line, label in zip(dataset.lines, renamed, strict=True)
        if label not in declared and label not in left_out
    ]
    if unknown:
        lines = [line for line, _ in unknown]
        kinds = counted(len({label for _, label in unknown}), "label")
        raise DataError(
            f"{counted(len(lines), 'row')} with {kinds} that the label list lacks ({line_phrase(lines)}); declare them "
            "with --label, merge them, or leave them out."
        )
    keep = [label in declared for label in renamed]
    gone = [DroppedRow(line, DropReason.LEFT_OUT) for line, kept in zip(dataset.lines, keep, strict=True) if not kept]
    examples = tuple(
        example if example.label == label else Example(label, example.text)
        for example, label, kept in zip(dataset.examples, renamed, keep, strict=True)
        if kept
    )
    if not examples:
        raise DataError(
            f"no row has a declared label ({listed([shorten(label) for label in labels])}); correct the list."
        )
    present = {example.label for example in examples}
    absent = [shorten(label) for label in labels if label not in present]
    notices = dataset.notices
    if absent:
        sentence = f"No row has the declared label {listed(absent)}; correct its spelling or take it off the list."
        notices = (*notices, Notice("absent-labels", sentence, (), len(absent), Level.WARNING))
    return replace(
        dataset,
        examples=examples,
        lines=tuple(compress(dataset.lines, keep)),
        persons=None if dataset.persons is None else tuple(compress(dataset.persons, keep)),
        dropped=tuple(sorted((*dataset.dropped, *gone), key=lambda row: row.line)),
        notices=notices,
        declared_labels=tuple(labels),
    )


def assign_persons(dataset: Dataset, choose: Callable[[Sequence[str]], str]) -> dict[str, str]:
    """One label for each person, in order of their first rows.

    choose: picks one of the labels that a person has, given in order of first row; for privacy a secret uniform draw,
    made once per data asset and stored. Raises ConfigError without a person column.
    """
    labels: dict[str, dict[str, None]] = {}
    for person, example in zip(_persons(dataset), dataset.examples, strict=True):
        labels.setdefault(person, {})[example.label] = None
    return {person: choose(tuple(own)) for person, own in labels.items()}


def pool_for(
    dataset: Dataset, label: str | None, unit: PrivacyUnit, assignment: Mapping[str, str] | None = None
) -> Pool:
    """The units of one target label, or of all rows when label is None, in file order.

    assignment: person to label (see assign_persons); needed when the unit is the person and a label is given.
    Raises ConfigError for an undeclared label, a missing person column or an incomplete assignment.
    """
    require(
        label is None or not dataset.declared_labels or label in dataset.declared_labels,
        "the target label is not on the declared list; choose a declared one.",
    )
    if unit is PrivacyUnit.ROW:
        rows = dataset.examples
        return Pool(label, tuple((example,) for example in rows if label is None or example.label == label))
    persons = _persons(dataset)
    if label is not None and assignment is None:
        raise ConfigError("with the person as the unit each person needs one label; draw the assignment first.")
    grouped: dict[str, list[Example]] = {}
    for person, example in zip(persons, dataset.examples, strict=True):
        if label is not None and assignment is not None:
            require(person in assignment, "the assignment lacks a person of the table; draw it again for this table.")
            if assignment[person] != label or example.label != label:
                continue
        grouped.setdefault(person, []).append(example)
    return Pool(label, tuple(tuple(rows) for rows in grouped.values()))


def check_pool(pool: Pool, subsets: int, per_subset: int, *, unit: PrivacyUnit = PrivacyUnit.ROW) -> None:
    """Raise DataError when a pool has fewer units than the M*N = subsets * per_subset drawn for one token."""
    needed = subsets * per_subset
    if len(pool) >= needed:
        return
    whose = "the whole table" if pool.label is None else f"label {shorten(pool.label)}"
    raise DataError(
        f"{whose} has {counted(len(pool), unit.value)}, but a token draws M*N = {subsets}*{per_subset} = {needed}; "
        "lower --subsets or --per-subset, merge the label with another, or leave it out."
    )


@dataclass(frozen=True, slots=True)
class SuggestedSizes:
    """M and N for the smallest pool. sampling_rate: M*N over its units; reason: one sentence."""

    subsets: int
    per_subset: int
    sampling_rate: float
    reason: str


def suggest_sizes(pool_sizes: Mapping[str, int]) -> SuggestedSizes | None:
    """M and N that suit every declared pool, or None when the smallest pool has fewer than 4 units.

    pool_sizes: declared label to units (rows or persons). One row a subset: for as many rows drawn, twice the
    subsets mean half the noise on their mean (docs/results.md). Aims at a sampling rate of 0.05 in the smallest pool
    with 10 to 20 subsets; a pool under 20 units gets fewer, at a rate of at most 0.5.
    """
    require(bool(pool_sizes), "a suggestion needs at least one declared label; give the list with --label.")
    smallest = min(pool_sizes, key=lambda label: pool_sizes[label])
    units = pool_sizes[smallest]
    budget = int(units * _GOOD_RATE)
    subsets, per_subset = min(max(budget, 10), 20, int(units * _HIGHEST_RATE)), 1
    if subsets < 2:
        return None
    rate = subsets * per_subset / units
    verdict = (
        "a low rate, so little noise" if rate <= 2 * _GOOD_RATE else "a high rate, so much noise: merge small labels"
    )
    reason = (
        f"the smallest pool, {shorten(smallest)}, holds {units:,}; M = {subsets} and N = {per_subset} draw {rate:.1%} "
        f"of it for a token, {verdict}."
    )
    return SuggestedSizes(subsets, per_subset, rate, reason)


def _persons(dataset: Dataset) -> tuple[str, ...]:
    if dataset.persons is None:
        raise ConfigError("the table was read without a person column; name it with --person-column.")
    return dataset.persons


def _check_declaration(labels: Sequence[str], merge: Mapping[str, str], left_out: frozenset[str]) -> None:
    require(bool(labels), "the label list is empty; declare at least one label.")
    require(all(label.strip() for label in labels), "a declared label is blank; remove it.")
    twice = [label for label, count in Counter(labels).items() if count > 1]
    require(not twice, f"label {shorten(twice[0]) if twice else ''} is declared twice; name each label once.")
    both = [label for label in labels if label in left_out or label in merge]
    require(
        not both, f"label {shorten(both[0]) if both else ''} is declared and also merged away or left out; choose one."
    )
    conflict = [old for old in merge if old in left_out]
    require(not conflict, f"label {shorten(conflict[0]) if conflict else ''} is both merged and left out; choose one.")
    stray = [new for new in merge.values() if new not in labels]
    require(
        not stray, f"labels are merged into {shorten(stray[0]) if stray else ''}, which is not declared; declare it."
    )
