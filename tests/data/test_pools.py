"""Declared labels, persons, pools and sizes: nothing is dropped in silence, reordered, or named undeclared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.data import (
    DropReason,
    assign_persons,
    check_pool,
    declare_labels,
    label_counts,
    pool_for,
    read_dataset,
    suggest_sizes,
)
from dpicl_core.errors import ConfigError, DataError
from dpicl_core.values import Example, Pool, PrivacyUnit

ROW, PERSON = PrivacyUnit.ROW, PrivacyUnit.PERSON

TABLE = """who,label,text
p1,a,one
p2,b,two
p1,b,three
p3,zebra,four
p2,b,two
p4,a,five
"""


@pytest.fixture
def dataset():
    return read_dataset(TABLE.encode(), person_column="who")


def texts(pool):
    return [tuple(example.text for example in unit) for unit in pool.units]


def test_label_counts_follow_the_declared_order_then_the_alphabet(dataset):
    assert list(label_counts(dataset).items()) == [("a", 2), ("b", 3), ("zebra", 1)]
    declared = declare_labels(dataset, labels=["zebra", "b", "new", "a"])
    assert list(label_counts(declared).items()) == [("zebra", 1), ("b", 3), ("new", 0), ("a", 2)]
    assert "absent-labels" in [notice.code for notice in declared.warnings]


def test_labels_that_are_not_declared_are_refused_by_line_and_never_named(dataset):
    with pytest.raises(DataError) as caught:
        declare_labels(dataset, labels=["a", "b"])
    assert "1 row with 1 label" in str(caught.value)
    assert "line 5" in str(caught.value)
    assert "zebra" not in str(caught.value)


def test_labels_are_merged_and_left_out_by_declaration(dataset):
    merged = declare_labels(dataset, labels=["a", "b"], merge={"zebra": "b"})
    assert [example.label for example in merged.examples] == ["a", "b", "b", "b", "b", "a"]
    assert merged.lines == dataset.lines
    left = declare_labels(dataset, labels=["a", "b"], leave_out=["zebra"])
    assert [(row.line, row.reason) for row in left.dropped] == [(5, DropReason.LEFT_OUT)]
    assert (left.lines, left.persons) == ((2, 3, 4, 6, 7), ("p1", "p2", "p1", "p2", "p4"))
    assert [example.text for example in left.examples] == ["one", "two", "three", "two", "five"]


@pytest.mark.parametrize(
    ("labels", "merge", "leave_out"),
    [
        ([], {}, []),
        (["a", " "], {}, []),
        (["a", "a"], {}, []),
        (["a", "b"], {"a": "b"}, ["zebra"]),
        (["a", "b"], {}, ["a", "zebra"]),
        (["a", "b"], {"zebra": "c"}, []),
        (["a", "b"], {"zebra": "b"}, ["zebra"]),
    ],
)
def test_contradictory_declarations_are_refused(dataset, labels, merge, leave_out):
    with pytest.raises(ConfigError):
        declare_labels(dataset, labels=labels, merge=merge, leave_out=leave_out)


def test_leaving_out_every_row_is_refused(dataset):
    with pytest.raises(DataError, match="no row has a declared label"):
        declare_labels(dataset, labels=["c"], leave_out=["a", "b", "zebra"])


def test_a_pool_of_rows_keeps_file_order_and_duplicates(dataset):
    assert texts(pool_for(dataset, "b", ROW)) == [("two",), ("three",), ("two",)]
    assert len(pool_for(dataset, None, ROW)) == 6
    assert texts(pool_for(dataset, "none", ROW)) == []


def test_a_pool_of_persons_gathers_the_rows_of_the_label_that_each_was_given(dataset):
    assignment = {"p1": "b", "p2": "b", "p3": "zebra", "p4": "a"}
    assert texts(pool_for(dataset, "b", PERSON, assignment)) == [("two", "two"), ("three",)]
    assert texts(pool_for(dataset, "a", PERSON, assignment)) == [("five",)]
    everyone = pool_for(dataset, None, PERSON)
    assert texts(everyone) == [("one", "three"), ("two", "two"), ("four",), ("five",)]


def test_persons_are_given_one_of_their_own_labels(dataset):
    offered = []

    def last(labels):
        offered.append(tuple(labels))
        return labels[-1]

    assert assign_persons(dataset, last) == {"p1": "b", "p2": "b", "p3": "zebra", "p4": "a"}
    assert offered == [("a", "b"), ("b",), ("zebra",), ("a",)]


@given(st.lists(st.tuples(st.sampled_from("pqrst"), st.sampled_from("abc")), min_size=1, max_size=30), st.randoms())
def test_every_person_is_in_exactly_one_pool(table, rng):
    text = "who,label,text\n" + "".join(f"{who},{label},row {i}\n" for i, (who, label) in enumerate(table))
    dataset = read_dataset(text.encode(), person_column="who")
    assignment = assign_persons(dataset, rng.choice)
    pools = [pool_for(dataset, label, PERSON, assignment) for label in "abc"]
    assert sum(len(pool) for pool in pools) == len({who for who, _ in table})
    assert all(example.label == pool.label for pool in pools for unit in pool.units for example in unit)


def test_persons_need_a_person_column_and_an_assignment(dataset):
    rows = read_dataset(b"label,text\na,b\n")
    for broken in (
        lambda: pool_for(rows, "a", PERSON, {}),
        lambda: assign_persons(rows, min),
        lambda: pool_for(dataset, "a", PERSON),
        lambda: pool_for(dataset, "a", PERSON, {"p1": "a"}),
        lambda: pool_for(declare_labels(dataset, labels=["a", "b", "zebra"]), "none", ROW),
    ):
        with pytest.raises(ConfigError):
            broken()


def test_a_pool_smaller_than_a_draw_is_refused_with_label_size_and_bound():
    pool = Pool("Abbreviation", tuple((Example("Abbreviation", f"{i}"),) for i in range(39)))
    check_pool(pool, 39, 1)
    with pytest.raises(DataError, match=r"label Abbreviation has 39 rows, but .* M\*N = 20\*2 = 40.*merge"):
        check_pool(pool, 20, 2)
    with pytest.raises(DataError, match="the whole table has 1 person,"):
        check_pool(Pool(None, pool.units[:1]), 2, 1, unit=PERSON)


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (100_000, (20, 1)),
        (835, (20, 1)),
        (600, (20, 1)),
        (400, (20, 1)),
        (399, (19, 1)),
        (200, (10, 1)),
        (86, (10, 1)),
        (20, (10, 1)),
        (10, (5, 1)),
        (4, (2, 1)),
    ],
)
def test_suggested_sizes_follow_the_smallest_pool(units, expected):
    suggestion = suggest_sizes({"big": 10**6, "small": units})
    assert (suggestion.subsets, suggestion.per_subset) == expected
    assert suggestion.sampling_rate == suggestion.subsets * suggestion.per_subset / units <= 0.5
    assert "small" in suggestion.reason


def test_there_is_no_suggestion_for_pools_that_are_too_small():
    assert suggest_sizes({"a": 3, "b": 100}) is None
    with pytest.raises(ConfigError):
        suggest_sizes({})
