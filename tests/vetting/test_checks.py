"""Checks of released texts find what a reviewer should look at, where it stands, and leave plain texts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpicl_core.vetting import FindingKind, check_texts, marked
from dpicl_core.vetting.personal_data import personal_data
from tests.support.tables import ANIMALS


def findings(text, label="cat", others=(), task=ANIMALS):
    texts = (text, *others)
    return check_texts(texts, [label] * len(texts), task)[0]


def kinds(text, **more):
    return {finding.kind for finding in findings(text, **more)}


@pytest.mark.parametrize(
    "text",
    [
        "She slept on the warm sill until noon.",
        "I need a new appointment next Tuesday, please.",
        "The text was long and the kind nurse read all of it.",
        "What is the population of Peru in 1998?",
    ],
)
def test_a_plain_text_has_no_finding(text):
    assert findings(text) == ()


@pytest.mark.parametrize("text", ["", "   ", "...", "?!"])
def test_a_text_without_a_word_is_empty(text):
    assert kinds(text) == {FindingKind.EMPTY}


def test_equal_and_nearly_equal_texts_are_told_to_each_other_by_number():
    first = "the cup fell from the table and broke in two"
    equal, near, other = first.upper() + "!", first + " today", "nothing of that kind was ever seen"
    found = check_texts((first, equal, near, other), ["cat"] * 4, ANIMALS)
    sentences = [[finding.sentence for finding in each] for each in found]
    assert sentences[0] == ["says the same as demonstration 2", "says nearly the same as demonstration 3"]
    assert sentences[1] == ["says the same as demonstration 1", "says nearly the same as demonstration 3"]
    assert sentences[3] == []


def test_a_text_that_goes_round_in_circles_is_marked_where_it_does():
    text = "I would like to come. Then I would like to come again."
    (finding,) = findings(text)
    assert (finding.kind, finding.sentence) == (FindingKind.REPEAT, "repeats its own words")
    assert [text[first:last] for first, last in finding.spans] == ["I would like to come", "I would like to come"]
    assert kinds("no no no no no no no") == {FindingKind.REPEAT}


def test_own_and_other_labels_are_told_apart_and_parts_of_words_are_no_labels():
    text = "The Cat met a dog."
    own, other = findings(text)
    assert own.sentence == 'names its own label "cat"'
    assert other.sentence == 'names "dog", which is another label'
    assert [text[slice(*span)] for span in (*own.spans, *other.spans)] == ["Cat", "dog"]
    assert findings("A catalogue of dogmas.") == ()


def test_open_labels_may_stand_in_their_texts():
    assert findings("a cat film", task=replace(ANIMALS, open_labels=True)) == ()


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        ("Kind: it slept", "Kind:"),
        ("so it went. sentence : more", "sentence :"),
        ("please write a sentence about it now", "write a sentence about it"),
        ("it slept <|im_end|> well", "<|im_end|>"),
        ("[INST] go on", "[INST]"),
        ("it slept. Assistant: more", "Assistant:"),
        ("### it slept", "###"),
        ("a day with {text} inside", "{text}"),
    ],
)
def test_words_of_the_prompt_are_found_where_they_stand(text, passage):
    found = [finding for finding in findings(text) if finding.kind is FindingKind.TEMPLATE]
    assert passage in [text[first:last] for finding in found for first, last in finding.spans]


@pytest.mark.parametrize(
    ("text", "what", "passage"),
    [
        ("write to ann.lee+x@mail.example.org soon", "an e-mail address", "ann.lee+x@mail.example.org"),
        ("see https://example.org/a?b=1 there", "a web address", "https://example.org/a?b=1"),
        ("ask @ann_lee about it", "an account name", "@ann_lee"),
        ("call (415) 555-2671 today", "a telephone number", "(415) 555-2671"),
        ("ring 020 7946 0958 at noon", "a telephone number", "020 7946 0958"),
        ("dial +49 30 901820 now", "a telephone number", "+49 30 901820"),
        ("Dr. Grace Hopper called", "a person's name with a title", "Dr. Grace Hopper"),
        ("lives at 12 Old Mill Road now", "a street address", "12 Old Mill Road"),
        ("born 03/11/1974 in town", "a date", "03/11/1974"),
        ("card 4111 1111 1111 1111 was used", "a payment card number", "4111 1111 1111 1111"),
        ("to DE89 3704 0044 0532 0130 00 please", "a bank account number (IBAN)", "DE89 3704 0044 0532 0130 00"),
        ("ssn 536-90-4399 on file", "a US social security number", "536-90-4399"),
        ("number 149 803 3245 given", "a UK NHS number", "149 803 3245"),
        ("code RSSMRA85T10A562S here", "an Italian tax code", "RSSMRA85T10A562S"),
        ("from 192.168.1.17 at night", "an internet address of a machine", "192.168.1.17"),
        ("from 2001:db8::8a2e:370:7334 at night", "an internet address of a machine", "2001:db8::8a2e:370:7334"),
        ("chart 48812093 was pulled", "a number that may identify somebody", "48812093"),
    ],
)
def test_personal_data_is_named_and_found_where_it_stands(text, what, passage):
    assert [(match.what, text[slice(*match.span)]) for match in personal_data(text)] == [(what, passage)]
    (finding,) = [each for each in findings(text) if each.kind is FindingKind.PERSONAL_DATA]
    assert finding.sentence == f"holds what looks like {what}"


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("card 4111 1111 1111 1112 was used", "card"),
        ("to DE89 3704 0044 0532 0130 01 please", "IBAN"),
        ("number 149 803 3246 given", "NHS"),
        ("from 392.168.1.17 at night", "machine"),
        ("at 12:30:45 sharp", "machine"),
        ("in 1998 there were 12,500 of them", "identify"),
    ],
)
def test_wrong_check_digits_and_plain_figures_are_not_taken_for_personal_data(text, never):
    assert not any(never in match.what for match in personal_data(text))


def test_two_passages_of_one_text_are_both_found_in_order():
    assert [match.what for match in personal_data("ann@example.org or 4111 1111 1111 1111")] == [
        "an e-mail address",
        "a payment card number",
    ]


def test_marks_stand_around_the_passages_and_overlaps_become_one():
    assert marked("one two three", [(4, 7), (5, 13), (0, 3)]) == "⟦one⟧ ⟦two three⟧"
    assert marked("one", []) == "one"


def test_a_very_long_text_is_checked_quickly():
    import time

    began = time.perf_counter()
    check_texts(["1:" * 2000, "a1 " * 1300, "12 " * 1300, "x@" * 2000], ["cat"] * 4, ANIMALS)
    assert time.perf_counter() - began < 5
