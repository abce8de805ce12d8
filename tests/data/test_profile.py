"""The profile: counts and lengths are right, and what harms privacy is warned of without private text."""

from __future__ import annotations

import pytest

from dpicl_core.data import declare_labels, flatten_text, long_rows, privacy_warnings, profile, read_dataset
from dpicl_core.errors import ConfigError

SECRET = "zebra-4711"


def words(text):
    return len(text.split())


def codes(notices):
    return [notice.code for notice in notices]


def test_counts_and_lengths_are_right():
    found = profile(read_dataset(b"label,text\na,12345\na,123\nb,1\nb,1234567\n"))
    assert (found.rows, found.persons, found.most_rows_of_a_person) == (4, None, None)
    assert [(one.label, one.rows, one.lengths.longest) for one in found.labels] == [("a", 2, 5), ("b", 2, 7)]
    assert (found.lengths.shortest, found.lengths.median, found.lengths.longest) == (1, 3, 7)


def test_duplicate_texts_are_warned_of_and_kept():
    dataset = read_dataset(f"label,text\na,the {SECRET}\na,other\nb,The  {SECRET}\n".encode())
    found = profile(dataset)
    assert (found.duplicate_rows, found.duplicate_lines) == (2, (2, 4))
    (warning, *_) = privacy_warnings(dataset, found)
    assert warning.code == "duplicate-texts"
    assert SECRET not in warning.sentence
    assert len(dataset) == 3


def test_duplicates_of_one_person_are_no_harm_when_persons_are_protected():
    text = "who,label,text\np,a,same\np,a,same\nq,a,other\nr,b,other\n"
    dataset = read_dataset(text.encode(), person_column="who")
    found = profile(dataset)
    assert found.duplicate_lines == (4, 5)
    assert (found.persons, found.most_rows_of_a_person) == (3, 2)


def test_labels_of_one_row_are_warned_of_by_line():
    dataset = read_dataset(f"label,text\na,x\na,y\n{SECRET},z\n".encode())
    (warning,) = privacy_warnings(dataset, profile(dataset))
    assert (warning.code, warning.lines) == ("one-off-labels", (4,))
    assert SECRET not in warning.sentence


def test_small_labels_are_counted_and_named_only_when_declared():
    rows = "".join(f"big,row {i}\n" for i in range(40)) + "".join(f"{SECRET},row {i + 40}\n" for i in range(39))
    dataset = read_dataset(f"label,text\n{rows}".encode())
    (warning,) = privacy_warnings(dataset, profile(dataset), subsets=10, per_subset=2)
    assert (warning.code, warning.count) == ("small-labels", 1)
    assert SECRET not in warning.sentence
    declared = declare_labels(dataset, labels=["big", SECRET])
    (warning,) = privacy_warnings(declared, profile(declared), subsets=10, per_subset=2)
    assert f"{SECRET} (39)" in warning.sentence
    assert privacy_warnings(dataset, profile(dataset), subsets=9, per_subset=2) == ()


def test_small_labels_are_judged_by_persons_when_they_are_the_unit():
    rows = "".join(f"p{i % 5},a,row {i}\n" for i in range(100))
    dataset = read_dataset(f"who,label,text\n{rows}".encode(), person_column="who")
    assert codes(privacy_warnings(dataset, profile(dataset), subsets=3, per_subset=1)) == ["small-labels"]


@pytest.mark.parametrize(
    ("name", "value", "warned"),
    [
        ("patient", lambda i: f"{i}", True),
        ("PatientID", lambda i: f"{i}", True),
        ("user_name", lambda i: "x", True),
        ("E-mail", lambda i: "x", True),
        ("contact", lambda i: f"someone{i}@example.org", True),
        ("ref", lambda i: f"KX{i % 9:04d}", True),
        ("line", lambda i: f"(030) 555 {i % 12:04d}", True),
        ("seen by", lambda i: ["Ada", "Bo", "Cy", "Di"][i % 4] + " " + ["Moss", "Reed", "Stone"][i % 3], True),
        ("id", lambda i: f"{i}", False),
        ("year", lambda i: f"{2000 + i % 9}", False),
        ("date", lambda i: f"2026-03-{i % 28 + 1:02d}", False),
        ("department", lambda i: ["north", "south"][i % 2], False),
        ("score", lambda i: f"0.{i % 7}", False),
        ("comment", lambda i: f"all fine on visit {i}", False),
    ],
)
def test_columns_that_look_like_persons_are_warned_of(name, value, warned):
    rows = "".join(f"{value(i)},a,row number {i}\n" for i in range(60))
    dataset = read_dataset(f"{name},label,text\n{rows}".encode())
    assert ("person-like-column" in codes(dataset.warnings)) is warned
    used = read_dataset(f"{name},label,text\n{rows}".encode(), person_column=name)
    assert "person-like-column" not in codes(used.warnings)


def test_spellings_of_one_label_or_person_are_warned_of():
    text = "who,label,text\nAnn,Sports,a\nAnn,Sports,b\nann ,sports ,c\nBob,Ｓports,d\nBob,News,e\n"
    dataset = read_dataset(text.encode(), person_column="who")
    by_code = {notice.code: notice for notice in dataset.notices}
    assert by_code["label-spellings"].lines == (4, 5)
    assert by_code["person-spellings"].lines == (4,)
    assert by_code["padded-labels"].lines == (4,)
    assert not [notice for notice in dataset.notices if "ports" in notice.sentence or "nn" in notice.sentence.split()]


def test_rows_over_the_token_cap_are_flagged_with_their_label_counted():
    dataset = read_dataset(b'label,text\ntwo words,a b c\ntwo words,"a b\n\n c d"\nx,a b c d\n')
    assert long_rows(dataset, 5, words).lines == (3,)
    assert long_rows(dataset, 4, words).lines == (2, 3, 6)
    assert long_rows(dataset, 6, words).lines == ()
    assert long_rows(dataset, 5, words).basis == "tokens"
    with pytest.raises(ConfigError):
        long_rows(dataset, 0, words)


def test_a_surely_long_row_is_flagged_without_being_tokenised():
    dataset = read_dataset(b"label,text\na,short\na," + b"x" * 200_000 + b"\n")

    def counter(text):
        assert len(text) < 1000
        return words(text)

    assert long_rows(dataset, 64, counter, longest_token_bytes=100).lines == (3,)
    assert long_rows(dataset, 64, words).lines == ()


def test_without_a_tokenizer_only_rows_too_long_for_any_cap_are_flagged():
    dataset = read_dataset(b"label,text\na," + b"x" * 131_071 + b"\na," + b"x" * 131_072 + b"\n")
    found = long_rows(dataset)
    assert (found.lines, found.basis) == ((3,), "bytes")


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("one\ntwo\r\n\r\nthree\tfour", "one two three four"),
        ("  a\u00a0 b \u2028c\x85 ", "a b c"),
        ("a\x00b\x1b[0m c\x7f", "a b [0m c"),
        ("e\u0301 👩‍👩‍👧 שלום \u200b", "e\u0301 👩‍👩‍👧 שלום \u200b"),
        (" \x01 \x02", ""),
    ],
)
def test_text_is_flattened_to_one_line(text, flat):
    assert flatten_text(text) == flat
    assert flatten_text(flat) == flat
