"""From released token ids to a demonstration's text: post-processing, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence

from dpicl_core.data import flatten_text
from dpicl_core.language_model.protocol import Tokenizer

REPLACEMENT_CHARACTER = "\N{REPLACEMENT CHARACTER}"


def clean_text(raw: str) -> str:
    """The part of decoded text before its first line break, on one line, without broken characters.

    A character that the model did not finish decodes to U+FFFD and is dropped, as are lone surrogates.
    """
    first = raw.lstrip().splitlines()[0] if raw.strip() else ""
    whole = first.replace(REPLACEMENT_CHARACTER, "").encode("utf-8", "ignore").decode("utf-8")
    return flatten_text(whole)


def demonstration_text(token_ids: Sequence[int], tokenizer: Tokenizer) -> str:
    """Text of one demonstration from all its released ids, the ending one included."""
    return clean_text(tokenizer.decode(token_ids))
