"""What the steward should know of a table before planning: counts, lengths, duplicates. Internal, never exported."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dpicl_core.data.dataset import Dataset, Level, Notice
from dpicl_core.data.pools import label_counts
from dpicl_core.data.wording import counted, first_lines, flatten_text, line_phrase, listed, shorten
from dpicl_core.specs import require
from dpicl_core.values import Example


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of texts, in characters: shortest, median, 95th percentile (a value that occurs), longest."""

    shortest: int
    median: int
    percentile_95: int
    longest: int


@dataclass(frozen=True, slots=True)
class LabelProfile:
    """One label: its rows, its persons (None when the unit is the row) and the lengths of its texts."""

    label: str = field(repr=False)
    rows: int
    persons: int | None
    lengths: Lengths | None


@dataclass(frozen=True, slots=True)
class Profile:
    """A private summary of a table.

    labels: as in label_counts. duplicate_rows: rows whose text stands in another row too (case and blanks apart),
    across persons where there are any; duplicate_lines: the first of them. one_off_labels: labels of a single row.
    most_rows_of_a_person: None when the unit is the row.
    """

    rows: int
    persons: int | None
    labels: tuple[LabelProfile, ...] = field(repr=False)
    lengths: Lengths
    duplicate_rows: int
    duplicate_lines: tuple[int, ...]
    one_off_labels: int
    one_off_lines: tuple[int, ...]
    most_rows_of_a_person: int | None


def profile(dataset: Dataset) -> Profile:
    """Count and measure a table; reads every text, changes nothing."""
    counts = label_counts(dataset)
    lengths: defaultdict[str, list[int]] = defaultdict(list)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for example in dataset.examples:
        lengths[example.label].append(len(example.text))
    if dataset.persons is not None:
        for person, example in zip(dataset.persons, dataset.examples, strict=True):
            owners[example.label].add(person)
    duplicates = _duplicate_lines(dataset)
    one_off = [
        line for line, example in zip(dataset.lines, dataset.examples, strict=True) if counts[example.label] == 1
    ]
    rows_of_persons = None if dataset.persons is None else Counter(dataset.persons)
    return Profile(
        rows=len(dataset),
        persons=dataset.person_count,
        labels=tuple(
            LabelProfile(
                label,
                rows,
                None if dataset.persons is None else len(owners[label]),
                _lengths(lengths[label]) if rows else None,
            )
            for label, rows in counts.items()
        ),
        lengths=_lengths([length for own in lengths.values() for length in own]),
        duplicate_rows=len(duplicates),
        duplicate_lines=first_lines(duplicates),
        one_off_labels=len(one_off),
        one_off_lines=first_lines(one_off),
        most_rows_of_a_person=None if rows_of_persons is None else max(rows_of_persons.values()),
    )


def privacy_warnings(
    dataset: Dataset, found: Profile, *, subsets: int | None = None, per_subset: int | None = None
) -> tuple[Notice, ...]:
    """What harms privacy or makes a run costly; names only declared labels.

    subsets (M) and per_subset (N): when both are given, labels with fewer than 2*M*N units are reported.
    """
    notices = []
    if found.duplicate_rows:
        whose = (
            "if they come from one person, she is protected one row at a time only, so name a person column"
            if found.persons is None
            else "if two names stand for one person, she is protected as two, so give her one name"
        )
        sentence = (
            f"{counted(found.duplicate_rows, 'row')} with a text that another row has too; {whose}; rows are never "
            f"merged here: {line_phrase(found.duplicate_lines, found.duplicate_rows)}."
        )
        notices.append(_warning("duplicate-texts", sentence, found.duplicate_lines, found.duplicate_rows))
    if found.one_off_labels:
        sentence = (
            f"{counted(found.one_off_labels, 'label')} of a single row: such a label may itself tell who it is about; "
            f"merge or leave it out, or take open labels: {line_phrase(found.one_off_lines, found.one_off_labels)}."
        )
        notices.append(_warning("one-off-labels", sentence, found.one_off_lines, found.one_off_labels))
    if subsets is not None and per_subset is not None:
        notices += _small_labels(dataset, found, 2 * subsets * per_subset)
    return tuple(notices)


@dataclass(frozen=True, slots=True)
class LongRows:
    """Rows over the record-token cap. lines: all of them; basis: `tokens`, or `bytes` when no tokenizer was given."""

    lines: tuple[int, ...]
    basis: str


MOST_RECORD_TOKENS = 8192
"""The largest record-token cap that a plan may have, in tokens."""

_BYTES_SURELY_TOO_LONG = 16 * MOST_RECORD_TOKENS
"""UTF-8 bytes of a row that is over every cap: prose takes about 4 bytes a token; 16 on average are out of reach."""


def long_rows(
    dataset: Dataset,
    cap: int | None = None,
    count_tokens: Callable[[str], int] | None = None,
    *,
    longest_token_bytes: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> LongRows:
    """Rows whose label and text together exceed the record-token cap; a run cuts or skips them by public rule.

    cap: in tokens; None finds the rows that are too long for any cap by their bytes alone, without a tokenizer.
    count_tokens: tokens of one string. longest_token_bytes: when known, rows of more than cap times as many bytes are
    flagged without being tokenised (a sure lower bound).
    """
    if cap is None or count_tokens is None:
        sizes = (len(example.label.encode()) + len(example.text.encode()) for example in dataset.examples)
        lines = [line for line, size in zip(dataset.lines, sizes, strict=True) if size > _BYTES_SURELY_TOO_LONG]
        return LongRows(tuple(lines), "bytes")
    require(cap >= 1, f"record-tokens must be at least 1, but is {cap}; the default of a plan is 64.")
    of_label: dict[str, int] = {}
    lines = []
    for index, (line, example) in enumerate(zip(dataset.lines, dataset.examples, strict=True)):
        if progress is not None and index % 4096 == 0:
            progress(index / len(dataset))
        if example.label not in of_label:
            of_label[example.label] = count_tokens(example.label)
        if _is_long(example, cap - of_label[example.label], count_tokens, longest_token_bytes):
            lines.append(line)
    if progress is not None:
        progress(1.0)
    return LongRows(tuple(lines), "tokens")


def _is_long(example: Example, left: int, count_tokens: Callable[[str], int], longest: int | None) -> bool:
    text = flatten_text(example.text)
    surely = longest is not None and len(text.encode()) > max(left, 0) * longest
    return surely or count_tokens(text) > left


def _small_labels(dataset: Dataset, found: Profile, bound: int) -> list[Notice]:
    """Labels with fewer units than `bound` = 2*M*N; a label that is not declared is counted, not named."""
    unit = "row" if found.persons is None else "person"
    small = [
        (label.label, units)
        for label in found.labels
        if (units := label.rows if label.persons is None else label.persons) < bound
    ]
    if not small:
        return []
    declared = set(dataset.declared_labels)
    named = [f"{shorten(label)} ({units:,})" for label, units in small if label in declared]
    who = f": {listed(named)}" if named else f", the smallest with {counted(min(units for _, units in small), unit)}"
    sentence = (
        f"{counted(len(small), 'label')} with fewer than 2*M*N = {counted(bound, unit)}{who}; over half of such a pool "
        "is drawn for every token, which needs much noise: lower N, merge the label or leave it out."
    )
    return [_warning("small-labels", sentence, (), len(small))]


def _duplicate_lines(dataset: Dataset) -> list[int]:
    """Rows whose text occurs again; with persons, only where the text occurs under two persons."""
    keys = [hash(flatten_text(example.text).casefold()) for example in dataset.examples]
    if dataset.persons is None:
        counts = Counter(keys)
        return [line for line, key in zip(dataset.lines, keys, strict=True) if counts[key] > 1]
    owner: dict[int, str] = {}
    shared: set[int] = set()
    for key, person in zip(keys, dataset.persons, strict=True):
        if owner.setdefault(key, person) != person:
            shared.add(key)
    return [line for line, key in zip(dataset.lines, keys, strict=True) if key in shared]


def _lengths(lengths: Sequence[int]) -> Lengths:
    ordered = sorted(lengths)
    last = len(ordered) - 1
    return Lengths(ordered[0], ordered[last // 2], ordered[int(last * 0.95)], ordered[last])


def _warning(code: str, sentence: str, lines: tuple[int, ...], count: int) -> Notice:
    return Notice(code, sentence, lines, count, Level.WARNING)
