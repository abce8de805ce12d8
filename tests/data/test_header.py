"""The header: columns are found by name, asked for when not certain, and never shown when they may be data."""

from __future__ import annotations

import pytest

from dpicl_core.data import read_dataset
from dpicl_core.errors import DataError

SECRET = "zebra-4711"


def refusal(text, **options):
    with pytest.raises(DataError) as caught:
        read_dataset(text.encode(), **options)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def codes(dataset):
    return {notice.code for notice in dataset.notices}


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("label,text", "text", "label"),
        ("TEXT,Label", "TEXT", "Label"),
        (" text , label ", " text ", " label "),
        ("id,text,label", "text", "label"),
        ("category,text", "text", "category"),
        ("label,sentence", "sentence", "label"),
    ],
)
def test_text_and_label_are_found_by_name(header, text, label):
    dataset = read_dataset(f"{header}\n{','.join('abc'[: header.count(',') + 1])}\n".encode())
    assert (dataset.text_column, dataset.label_column) == (text, label)


def test_columns_are_asked_for_and_listed_when_the_header_looks_like_names():
    message = refusal("label,body,day\na,b,c\n")
    assert "no column is called text" in message
    assert "label, body, day" in message
    assert "there is no text column called words" in refusal("topic,body\na,b\n", text_column="words")


@pytest.mark.parametrize(
    "header",
    [
        f"Sports,{SECRET} won the cup yesterday in a long game.",
        f"Sports,{SECRET}",
        f"{SECRET}@mail.org,Sports",
        f"17,{SECRET}",
        f"Sports,{'x' * 30} {SECRET}",
    ],
)
def test_a_first_line_that_may_be_data_is_not_shown(header):
    message = refusal(f"{header}\nSports,other words\nSports,{SECRET}@mail.org\n")
    assert "not shown" in message


def test_a_first_line_that_may_be_data_is_not_shown_where_one_name_happens_to_fit():
    assert "look like data" in refusal(f"label,{SECRET} wrote this,x\nlabel,other words,y\n")


def test_names_that_nobody_asked_for_are_not_shown_because_a_short_row_looks_like_them():
    message = refusal(f"Anna {SECRET},HIV positive\nBob Smith,HIV negative\n")
    assert "text or label" in message
    assert "the 2 cells of the first line are not shown" in message


def test_columns_are_not_shown_when_the_rows_below_cannot_be_read():
    assert "look like data" in refusal(f"label,{SECRET},x\na,b,c,d\n")


def test_a_first_line_that_is_data_is_refused_or_warned_of():
    text = f"Sports,the {SECRET} team won again today\nSports,they lost\nSports,snow\nWorld,rain\n"
    named = {"label_column": "Sports", "text_column": f"the {SECRET} team won again today"}
    assert "first line looks like data" in refusal(text, **named)
    short = read_dataset(b"Sports,won\nSports,lost\nWorld,rain\n", label_column="Sports", text_column="won")
    assert "first-line" in codes(short)
    assert len(short) == 2


def test_the_second_column_of_a_name_is_chosen_with_a_number():
    text = b"text,label,label\nhello,a,x\nbye,b,y\n"
    message = refusal(text.decode())
    assert "label or label#2" in message
    assert [e.label for e in read_dataset(text, label_column="label#2").examples] == ["x", "y"]
    first = read_dataset(text, label_column="label")
    assert [e.label for e in first.examples] == ["a", "b"]
    assert "repeated-header" in codes(first)
    assert first.columns == ("text", "label", "label#2")


def test_blank_names_are_called_by_position():
    dataset = read_dataset(b",label,text,\n0,a,b,\n1,c,d,\n")
    assert dataset.columns == ("column 1", "label", "text", "column 4")
    assert "blank-header" in codes(dataset)
    assert [e.text for e in read_dataset(b",label,text\nq,a,b\n", text_column="column 1").examples] == ["q"]


@pytest.mark.parametrize("header", ["label,label,label#2,text", "column 2,,label,text"])
def test_names_that_clash_with_made_up_ones_are_refused(header):
    assert "rename" in refusal(f"{header}\na,b,c,d\n", label_column="label")


@pytest.mark.parametrize(
    "options",
    [
        {"text_column": "label"},
        {"label_column": "text"},
        {"person_column": "text"},
        {"text_column": "who", "label_column": "who"},
    ],
)
def test_one_column_has_one_part(options):
    assert "cannot be two" in refusal("who,label,text\na,b,c\n", **options)


def test_a_name_in_another_case_is_found_only_when_one_fits():
    assert read_dataset(b"Body,label\na,b\n", text_column="body").text_column == "Body"
    assert "2 columns could be" in refusal("Body,BODY,label\na,b,c\n", text_column="body")


def test_long_names_are_cut_in_messages():
    message = refusal(f"label,{'w' * 40},day\na,b,c\n", text_column="m" * 500)
    assert "m" * 41 not in message
    assert "w" * 40 in message
