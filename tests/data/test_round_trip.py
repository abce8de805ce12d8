"""Any table that Python's csv module writes comes back equal or is refused, never different.

Three kinds of bytes stand for two tables at once, so no reader can tell them apart; they are left out here: a header
that begins with U+FEFF (the same as a byte-order mark), Windows-1252 text that is valid UTF-8 by chance, and, before
Python 3.13, rows that all end in a bare CR before an LF (csv leaves such a CR unquoted).
DPICL_ROUND_TRIP_EXAMPLES sets the number of tables; 20,000 were run once.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter

from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from dpicl_core.data import read_dataset
from dpicl_core.errors import DataError

EXAMPLES = int(os.environ.get("DPICL_ROUND_TRIP_EXAMPLES", "300"))
TRIAL = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
SHARE = settings(TRIAL, max_examples=max(EXAMPLES // 2, 100))

CELLS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="ab \"',;\t|\n\r=\\.\u00a0é€😀\u0301", max_size=12),
    st.sampled_from(
        ["NA", "None", "1e3", "01", "true", 'say "so"', "one, two", "a;b", "x\ny", "x\r\ny", "שלום", "\ufeffx"]
    ),
)
FULL_CELLS = CELLS.filter(lambda cell: cell.strip() and "\0" not in cell)
DIALECTS = st.sampled_from(csv.list_dialects())


@st.composite
def tables(draw, cells, *, plain_header):
    """(header, rows, position of text, position of label)."""
    width = draw(st.integers(2, 5))
    text_at, label_at = draw(st.permutations(range(width)))[:2]
    header = draw(st.lists(FULL_CELLS, min_size=width, max_size=width))
    if plain_header:
        header = [f"field {position}" for position in range(width)]
        header[text_at], header[label_at] = "text", "label"
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=8))
    assume(not header[0].startswith("\ufeff"))
    return header, rows, text_at, label_at


@st.composite
def formats(draw):
    """Writer options beyond the registered dialects."""
    return {
        "delimiter": draw(st.sampled_from(",;\t|")),
        "lineterminator": draw(st.sampled_from(["\r\n", "\n", "\r"])),
        "quoting": draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
    }


def written(header, rows, dialect="excel", **options):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, dialect, **options)
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()


def unique_names(header):
    seen = Counter()
    for name in header:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}"


def comes_back(table, content):
    """Whether a table was read; fails when it was read differently."""
    header, rows, text_at, label_at = table
    names = list(unique_names(header))
    try:
        dataset = read_dataset(content, text_column=names[text_at], label_column=names[label_at])
    except DataError as error:
        note(str(error))
        return False
    kept = [row for row in rows if row[text_at].strip() and row[label_at].strip()]
    assert [(e.label, e.text) for e in dataset.examples] == [(row[label_at], row[text_at]) for row in kept]
    assert len(dataset.dropped) == len(rows) - len(kept)
    assert list(dataset.columns) == names
    return True


def encoded(text, codec):
    try:
        content = text.encode(codec)
    except UnicodeEncodeError:
        assume(False)
    if codec == "cp1252" and not text.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            return content
        assume(False)
    return content


@TRIAL
@given(tables(CELLS, plain_header=False), DIALECTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_any_table_in_any_dialect_is_equal_or_refused(table, dialect, codec):
    comes_back(table, encoded(written(*table[:2], dialect), codec))


@TRIAL
@given(tables(CELLS, plain_header=True), formats(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
def test_any_table_in_other_formats_is_equal_or_refused(table, options, codec):
    ends = [row[-1].endswith("\r") for row in (table[0], *table[1])]
    assume(not (options["lineterminator"] == "\n" and all(ends)))
    comes_back(table, encoded(written(*table[:2], **options), codec))


def test_nearly_all_tables_with_full_cells_are_read():
    outcomes = Counter()

    @SHARE
    @given(tables(FULL_CELLS, plain_header=True), DIALECTS)
    def read(table, dialect):
        outcomes[comes_back(table, written(*table[:2], dialect).encode())] += 1

    read()
    share = outcomes[True] / outcomes.total()
    print(f"{outcomes.total():,} tables, {share:.2%} read")  # noqa: T201 - the figure for the closing note
    assert share >= 0.95


def test_nearly_all_tables_with_any_header_are_read():
    outcomes = Counter()

    @SHARE
    @given(tables(FULL_CELLS, plain_header=False), DIALECTS)
    def read(table, dialect):
        outcomes[comes_back(table, written(*table[:2], dialect).encode())] += 1

    read()
    share = outcomes[True] / outcomes.total()
    print(f"{outcomes.total():,} tables with any header, {share:.2%} read")  # noqa: T201 - as above
    assert share >= 0.95
