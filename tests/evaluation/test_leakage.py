"""Shared words, duplicates and personal data, on texts whose overlap can be counted by eye."""

from __future__ import annotations

import pytest

from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import leakage
from dpicl_core.evaluation.leakage import longest_shared_run, words_of
from dpicl_core.values import Example

ROWS = [
    Example("note", "The patient reports mild headache, and was advised rest."),
    Example("note", "Call +1 202-555-0143 or write to ada@example.org."),
    Example("note", "mild headache and nothing else"),
    Example("note", "Nothing."),
]


def run_of(text):
    return longest_shared_run(text, [words_of(row.text) for row in ROWS])


def test_the_longest_run_ignores_case_and_punctuation_and_counts_the_rows_that_hold_one_as_long():
    text = "Today: MILD headache and fever"
    found = run_of(text)
    assert (found.words, found.rows, found.row) == (3, 2, 0)
    assert text[slice(*found.span)] == "MILD headache and"


def test_a_run_must_be_unbroken_and_a_word_may_come_twice():
    assert run_of("mild and headache").words == 1
    found = longest_shared_run("a b a b c", [["x", "a", "b", "c"], ["a", "b", "a"]])
    assert (found.words, found.rows, found.row) == (3, 2, 0)
    assert found.span == (4, 9)


def test_nothing_shared_is_no_run():
    assert run_of("zzz") == run_of("")
    assert (run_of("zzz").words, run_of("zzz").row) == (0, None)


def test_copies_are_exact_duplicates_and_one_changed_word_is_a_near_one():
    texts = (
        "the patient reports mild headache AND was advised rest",
        "Patient reports mild headache, and was told rest.",
    )
    copied, changed, new = leakage([*texts, "x"], ROWS)
    assert (copied.exact_duplicates, copied.near_duplicates, copied.likeness) == (1, 1, 100)
    assert (changed.exact_duplicates, changed.near_duplicates) == (0, 1)
    # in common, in order: 38 letters and blanks up to "was ", the d of "advised" and "told", 5 of " rest"; of 54 and 47
    assert changed.likeness == pytest.approx(100 * 2 * 44 / (54 + 47))
    assert (new.exact_duplicates, new.near_duplicates, new.longest_run.words) == (0, 0, 0)


def test_personal_data_counts_only_where_it_stands_in_the_table():
    (found,) = leakage(["Ask ADA@example.org or 202 555 0143, not bob@example.org."], ROWS)
    assert [(passage.what, passage.rows) for passage in found.passages] == [
        ("an e-mail address", 1),
        ("a telephone number", 1),
    ]


def test_an_empty_text_and_an_empty_table_share_nothing():
    (empty,) = leakage([""], ROWS)
    (alone,) = leakage(["mild headache"], [])
    for found in (empty, alone):
        assert (found.longest_run.words, found.exact_duplicates, found.near_duplicates, found.likeness) == (0, 0, 0, 0)


def test_a_percentage_out_of_bounds_is_refused():
    with pytest.raises(ConfigError, match="at most 100"):
        leakage(["a"], ROWS, near_percent=120)
