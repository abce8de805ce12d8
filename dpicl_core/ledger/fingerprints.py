"""Keyed hashes of a private table: enough to recognise its rows again, useless without the secret."""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from dataclasses import dataclass, field
from enum import IntEnum

from dpicl_core.data import Dataset
from dpicl_core.ledger.identity import Identity, keyed_hash

LONG_WORDS = 8
"""One shared row of this many words proves that two tables share a person's text."""

TELLING_WORDS = 3
"""Shorter rows ("None.", "No change.") stand in unrelated tables and prove nothing."""

_WORD = re.compile(r"\w+")
_LETTERS_PER_WORD = 5
_HASH_DIGITS = 32


class Weight(IntEnum):
    """What it proves that a row stands in two tables."""

    NOTHING = 0
    SOMETHING = 1
    """Counts towards the tenth of shared rows."""

    EVERYTHING = 2
    """One is enough."""


@dataclass(frozen=True, slots=True)
class RowMark:
    """row: keyed hash of the normalised text. pair: of text and label together. Both 128 bits, hexadecimal."""

    row: str
    pair: str
    weight: Weight


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the ledger may know of a table.

    file_hash: keyed hash over all rows in order, byte for byte; equal only for equal tables. marks: distinct.
    rows, persons: counts. columns: the public names with which the table was read.
    """

    file_hash: str
    marks: tuple[RowMark, ...] = field(repr=False)
    rows: int
    persons: int | None
    text_column: str
    label_column: str
    person_column: str | None

    @property
    def units(self) -> int:
        """Persons where a person column was named, else rows."""
        return self.rows if self.persons is None else self.persons


def normalised(text: str) -> str:
    """Compatibility forms folded, case folded, words only, single blanks: what survives harmless editing."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded)) or " ".join(folded.split())


def weight_of(normal: str) -> Weight:
    """Judged by words; scripts that put no blanks between words are judged by letters, five to a word."""
    words = max(normal.count(" ") + 1, len(normal.replace(" ", "")) // _LETTERS_PER_WORD)
    if words >= LONG_WORDS:
        return Weight.EVERYTHING
    return Weight.SOMETHING if words >= TELLING_WORDS else Weight.NOTHING


def fingerprint(dataset: Dataset, identity: Identity) -> Fingerprint:
    """The table's keyed hashes; about 10 microseconds a row."""
    row_key, pair_key = identity.key("rows"), identity.key("row and label")
    whole = hmac.new(identity.key("file"), digestmod=hashlib.sha256)
    marks: dict[tuple[str, str], RowMark] = {}
    persons = dataset.persons or ("",) * len(dataset)
    for example, person in zip(dataset.examples, persons, strict=True):
        for part in (example.label, example.text, person):
            encoded = part.encode("utf-8", "surrogatepass")
            whole.update(len(encoded).to_bytes(8, "big") + encoded)  # the length keeps neighbouring cells apart
        normal = normalised(example.text)
        row = keyed_hash(row_key, normal)[:_HASH_DIGITS]
        pair = keyed_hash(pair_key, f"{row}\x1f{example.label}")[:_HASH_DIGITS]
        marks.setdefault((row, pair), RowMark(row, pair, weight_of(normal)))
    return Fingerprint(
        file_hash=whole.hexdigest(),
        marks=tuple(marks.values()),
        rows=len(dataset),
        persons=dataset.person_count,
        text_column=dataset.text_column,
        label_column=dataset.label_column,
        person_column=dataset.person_column,
    )


def person_hashes(dataset: Dataset, identity: Identity, asset_id: str) -> dict[str, str]:
    """Person to keyed hash, another one for each asset, so that two assets cannot be joined over it."""
    key = identity.key(f"persons of {asset_id}")
    return {person: keyed_hash(key, person)[:_HASH_DIGITS] for person in dict.fromkeys(dataset.persons or ())}
