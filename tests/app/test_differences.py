"""Own words are found, and whatever a text holds is shown letter by letter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pages.support.differences import Passage, literal_markdown, marked_texts, words_in_common
from tests.app.fake_models import MARKUP


def parsed(passages):
    """Passages as a reader of markdown finds them; it fails on anything but code spans, strong ones, and blanks."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(literal_markdown(passages))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    found, strong = [], False
    for token in tokens[1].children:
        if token.type == "code_inline":
            found.append(Passage(token.content, strong))
        elif token.type in ("strong_open", "strong_close"):
            strong = token.type == "strong_open"
        else:
            assert (token.type, token.content.strip()) == ("text", "")
    return tuple(found)


def own(passages):
    return [passage.text for passage in passages if passage.own]


def test_words_that_no_other_text_has_are_own_whatever_their_case_and_marks():
    first, second = marked_texts(["The cat, sat here.", "a CAT sat there"])
    assert own(first) == ["The", "here."]
    assert own(second) == ["a", "there"]
    assert [passage.text for passage in first] == ["The", "cat, sat", "here."]
    assert words_in_common(first) == (2, 4)


def test_a_text_that_is_not_there_yet_is_no_other_text():
    assert marked_texts(["a cat", None]) == ((Passage("a cat", False),), ())
    first, _, third = marked_texts(["a cat", None, "a dog"])
    assert own(first) == ["cat"]
    assert own(third) == ["dog"]


def test_beside_a_text_without_words_all_words_are_own_and_marks_alone_never_are():
    first, second = marked_texts(["a cat - !", ""])
    assert own(first) == ["a cat"]
    assert words_in_common(first) == (0, 2)
    assert second == ()


def test_words_keep_their_order_and_letters():
    text = "  Don't   (stop)\u00a0now\tplease "
    (passages, _) = marked_texts([text, "stop now"])
    assert " ".join(passage.text for passage in passages) == "Don't (stop) now please"
    assert own(passages) == ["Don't", "please"]


@pytest.mark.parametrize(
    "word", [*MARKUP, "`", "``", "`````", "\\", "&lt;", "|", "|-|", "* a", "1. a", "# a", "> a", "www.a.b"]
)
@pytest.mark.parametrize("alone", [True, False])
def test_markup_comes_out_letter_by_letter(word, alone):
    passages = (Passage(word, alone), Passage(f"a {word}{word} `", not alone), Passage(word, alone))
    assert parsed(passages) == passages


@given(st.lists(st.text(alphabet="`*_$:[]()<>|\\ ab\u2028~#&!", min_size=1, max_size=12), min_size=2, max_size=3))
@settings(max_examples=200, deadline=None)
def test_any_text_comes_out_as_its_words(texts):
    for text, passages in zip(texts, marked_texts(texts), strict=True):
        words = " ".join("".join(c if c.isprintable() else " " for c in word) for word in text.split())
        if passages:
            assert " ".join(passage.text for passage in parsed(passages)) == words


def test_control_characters_become_blanks_and_break_no_line():
    assert parsed((Passage("a\x00b\u202ec", False),)) == (Passage("a b c", False),)
