"""A demonstration's text is one clean line, whatever ids were released."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.language_model import ToyTokenizer
from dpicl_core.texts import clean_text, demonstration_text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (" How many?\nAnswer Type: x", "How many?"),
        ("caf\N{LATIN SMALL LETTER E WITH ACUTE}\N{REPLACEMENT CHARACTER}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("half \ud83d", "half"),
        ("\n\n late start", "late start"),
        (" \n ", ""),
        ("a\u2028b", "a"),
    ],
)
def test_text_stops_at_the_first_line_break_and_holds_no_broken_character(raw, clean):
    assert clean_text(raw) == clean


@given(st.text(st.characters(codec=None)))
def test_any_decoded_text_becomes_one_line_of_valid_unicode(raw):
    clean = clean_text(raw)
    assert len(clean.splitlines()) <= 1
    assert clean == clean.strip()
    clean.encode("utf-8")


@given(st.lists(st.integers(0, ToyTokenizer().vocabulary_size - 1), max_size=30))
def test_any_released_ids_become_one_line(ids):
    text = demonstration_text(ids, ToyTokenizer())
    assert "\n" not in text
    assert "\N{REPLACEMENT CHARACTER}" not in text
