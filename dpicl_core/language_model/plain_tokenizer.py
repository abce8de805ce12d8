"""Any `tokenizers` tokenizer as plain text in, plain text out: control tokens are neither read from text nor written.

Three habits of published tokenizers are undone on a private copy of their specification:

- added control tokens are matched inside text: here their text is split like any other;
- a space is put before the text: here nothing is, so that a text may be encoded in parts (blocks of a prompt);
- decoding drops the space before a first word: here ids are decoded behind an anchor, so pieces join to the text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpicl_core.errors import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

CONTROL_TEXT = re.compile(
    r"<\|[^|>]*\|>|</?s>|<(?:unk|pad|mask|bos|eos|eot|cls|sep)>|\[(?:PAD|UNK|MASK|CLS|SEP|BOS|EOS)\]"
    r"|<(?:unused|reserved|extra|special)[^>]*>|\[(?:unused|control)[^\]]*\]",
    re.IGNORECASE,
)
"""Texts that only a control token has; a token spelt so is one, whatever its own mark says."""

END_TEXTS = frozenset(
    {
        "</s>",
        "<eos>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<end_of_turn>",
        "<EOT>",
    }
)
"""Control tokens by which models end a text, besides those that their configuration names."""

LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
REPLACEMENT = "\ufffd"
ROUND_TRIP_TEXTS = (
    'A plain sentence, with 12.5 % of (almost) everything: "quotes", it\'s e-mail@example.org & more!',
    "First line\nSecond line\twith a tab  and two spaces\n\nA new paragraph.",
    "Déjà vu — naïve façade, 你好, Привет, 🙂.",
    " leading and trailing ",
)


class PlainTokenizer:
    """See `dpicl_core.language_model.protocol.Tokenizer`.

    specification: contents of a tokenizer.json. prefix_ids: () or the one beginning-of-text id.
    end_ids: end-of-text ids that the model's configuration names. vocabulary_size: V, the width of the logits.
    Raises ModelError where the tokenizer changes plain text or control tokens can be written as text.
    """

    def __init__(
        self, specification: str, *, prefix_ids: tuple[int, ...], end_ids: Iterable[int], vocabulary_size: int
    ) -> None:
        from tokenizers import Tokenizer as Backend

        if len(prefix_ids) > 1:
            raise ModelError(
                f"a text may begin with at most 1 control token, but this model's begins with {len(prefix_ids)}; "
                "choose another model."
            )
        plain = _plain_specification(json.loads(specification))
        self._backend: Backend = Backend.from_str(json.dumps(plain))
        self._backend.encode_special_tokens = True
        controls = {token["id"]: token["content"] for token in plain["added_tokens"] if token["special"]}
        self._anchor = self.encode("a")[-1:]
        if not self._anchor:
            raise ModelError("the tokenizer must encode the letter a, but gives no id for it; choose another model.")
        self._anchor_text: str = self._backend.decode(self._anchor, skip_special_tokens=False)
        texts = [self._own_text(text) for text in self._decode_each(vocabulary_size)]
        controls |= {id_: text for id_, text in enumerate(texts) if CONTROL_TEXT.fullmatch(text.strip())}
        ends = {*end_ids, *(id_ for id_, text in controls.items() if text in END_TEXTS)}
        breaks = {id_ for id_, text in enumerate(texts) if LINE_BREAKS & set(text) and REPLACEMENT not in text}
        self._controls = frozenset(controls) | ends
        beyond = [id_ for id_ in self._backend.get_vocab().values() if id_ >= vocabulary_size]
        if not self._controls.issuperset(beyond):
            raise ModelError(
                f"all tokens must be among the model's {vocabulary_size}, but the tokenizer has {len(beyond)} beyond; "
                "use the tokenizer that the model was trained with."
            )
        self.prefix_ids = prefix_ids
        self.vocabulary_size = vocabulary_size
        self.ending_ids = frozenset(id_ for id_ in ends | (breaks - self._controls) if id_ < vocabulary_size)
        unfit = {id_ for id_, text in enumerate(texts) if not _is_clean(text)}
        everything = (self._controls | unfit) - self.ending_ids
        self.forbidden_ids = frozenset(id_ for id_ in everything if id_ < vocabulary_size)
        self._require_round_trip(controls.values())

    def encode(self, text: str) -> tuple[int, ...]:
        whole = text.encode("utf-8", "replace").decode()  # a lone surrogate would raise, and so reveal its row
        return tuple(self._backend.encode(whole, add_special_tokens=False).ids)

    def decode(self, ids: Iterable[int]) -> str:
        kept = [id_ for id_ in ids if id_ not in self._controls]
        return self._own_text(self._backend.decode([*self._anchor, *kept], skip_special_tokens=False))

    def _own_text(self, behind_anchor: str) -> str:
        """The text without the anchor's; no text where the ids changed how the anchor is written."""
        return behind_anchor.removeprefix(self._anchor_text) if behind_anchor.startswith(self._anchor_text) else ""

    def _decode_each(self, vocabulary_size: int) -> list[str]:
        pairs = [[*self._anchor, id_] for id_ in range(vocabulary_size)]
        texts: list[str] = self._backend.decode_batch(pairs, skip_special_tokens=False)
        return texts

    def _require_round_trip(self, control_texts: Iterable[str]) -> None:
        for text in (*ROUND_TRIP_TEXTS, *(f"Text with {control} inside" for control in control_texts)):
            ids = self.encode(text)
            if any(id_ in self._controls or id_ >= self.vocabulary_size for id_ in ids):
                raise ModelError(
                    "text that looks like a control token must be split as plain text, but this tokenizer turns it "
                    "into one, so a private row could steer the model; choose another model."
                )
            if self.decode(ids) != text:
                raise ModelError(
                    "a tokenizer must give back the text that it encodes, but this one changes "
                    f"{text[:40]!r}; choose another model or repair its tokenizer.json."
                )


def prefix_of(with_controls: Sequence[int], without: Sequence[int]) -> tuple[int, ...]:
    """Control ids that a tokenizer puts before a text, from its two encodings of the same text."""
    for start in range(len(with_controls) - len(without) + 1):
        if list(with_controls[start : start + len(without)]) == list(without):
            return tuple(with_controls[:start])
    return ()


def _is_clean(text: str) -> bool:
    """Whether a token's text may stand in a demonstration: some text, whole characters, no control characters."""
    if not text or REPLACEMENT in text:
        return False
    return text.isprintable() or not any(
        unicodedata.category(character) in ("Cc", "Cs", "Co") and character != "\t" for character in text
    )


def _plain_specification(specification: dict[str, Any]) -> dict[str, Any]:
    """A tokenizer.json that adds nothing to a text and marks every control token as special."""
    added = [
        token | {"special": token["special"] or bool(CONTROL_TEXT.fullmatch(token["content"].strip()))}
        for token in specification.get("added_tokens") or []
    ]
    changed = specification | {"added_tokens": added, "truncation": None, "padding": None, "post_processor": None}
    normalizer = changed.get("normalizer")
    if normalizer:
        kept = [part for part in _parts(normalizer, "normalizers") if part["type"] != "Prepend"]
        changed["normalizer"] = {"type": "Sequence", "normalizers": kept} if kept else None
    pre_tokenizer = changed.get("pre_tokenizer")
    if pre_tokenizer:
        parts = [_without_leading_space(part) for part in _parts(pre_tokenizer, "pretokenizers")]
        changed["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": parts}
    return changed


def _parts(component: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """The components of a (nested) sequence, or the one component itself."""
    if component["type"] != "Sequence":
        yield component
        return
    for part in component[key]:
        yield from _parts(part, key)


def _without_leading_space(component: dict[str, Any]) -> dict[str, Any]:
    if component["type"] == "Metaspace":
        return component | {"prepend_scheme": "never"}
    if component["type"] == "ByteLevel":
        return component | {"add_prefix_space": False}
    return component
