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

    THE_FILE = 3
    """Not a row: all bytes of a file. Enough, however short its rows are and whichever of its columns were read."""

    A_PERSON = 4
    """Not a row: somebody of the person column. A tenth of them is enough; numbers from 1 stand in unrelated tables."""


ROW_WEIGHTS = (Weight.SOMETHING, Weight.EVERYTHING)
"""Rows that tell something."""


@dataclass(frozen=True, slots=True)
class RowMark:
    """row: keyed hash of the normalised text. pair: of text and label together. Both 128 bits, hexadecimal.

    persons: marks of those whose row it is, where a person column was named.
    """

    row: str
    pair: str
    weight: Weight
    persons: frozenset[str] = frozenset()

    @property
    def tells(self) -> bool:
        """Whether the row is long enough to prove anything."""
        return self.weight in ROW_WEIGHTS


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the ledger may know of a table.

    file_hash: keyed hash over all rows in order, byte for byte; equal only for equal tables. marks: distinct.
    rows, persons: counts. columns: the public names with which the table was read. bytes_mark: keyed hash of the file
    that the table was read from, empty where there is none. person_marks: a keyed hash of each person, the same for
    every asset, so that the next extract of the same persons is recognised.
    """

    file_hash: str
    marks: tuple[RowMark, ...] = field(repr=False)
    rows: int
    persons: int | None
    text_column: str
    label_column: str
    person_column: str | None
    bytes_mark: str = field(default="", repr=False)
    person_marks: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def other_marks(self) -> dict[str, Weight]:
        """What is recognised besides rows: each person, and the file as a whole."""
        whole = {self.bytes_mark: Weight.THE_FILE} if self.bytes_mark else {}
        return {**dict.fromkeys(self.person_marks, Weight.A_PERSON), **whole}

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
    who = _person_marks(dataset, identity)
    whole = hmac.new(identity.key("file"), digestmod=hashlib.sha256)
    marks: dict[tuple[str, str], Weight] = {}
    written: dict[tuple[str, str], set[str]] = {}
    persons = dataset.persons or ("",) * len(dataset)
    for example, person in zip(dataset.examples, persons, strict=True):
        for part in (example.label, example.text, person):
            encoded = part.encode("utf-8", "surrogatepass")
            whole.update(len(encoded).to_bytes(8, "big") + encoded)  # the length keeps neighbouring cells apart
        normal = normalised(example.text)
        row = keyed_hash(row_key, normal)[:_HASH_DIGITS]
        pair = keyed_hash(pair_key, f"{row}\x1f{example.label}")[:_HASH_DIGITS]
        if (row, pair) not in marks:
            marks[row, pair] = weight_of(normal)
        if person:
            written.setdefault((row, pair), set()).add(who[person])
    return Fingerprint(
        file_hash=whole.hexdigest(),
        marks=tuple(
            RowMark(row, pair, weight, frozenset(written.get((row, pair), ()))) for (row, pair), weight in marks.items()
        ),
        rows=len(dataset),
        persons=dataset.person_count,
        text_column=dataset.text_column,
        label_column=dataset.label_column,
        person_column=dataset.person_column,
        bytes_mark=_bytes_mark(dataset, identity),
        person_marks=frozenset(who.values()),
    )


def person_hashes(dataset: Dataset, identity: Identity, asset_id: str) -> dict[str, str]:
    """Person to keyed hash, another one for each asset, so that two assets cannot be joined over it."""
    key = identity.key(f"persons of {asset_id}")
    return {person: keyed_hash(key, person)[:_HASH_DIGITS] for person in dict.fromkeys(dataset.persons or ())}


def _bytes_mark(dataset: Dataset, identity: Identity) -> str:
    if not dataset.content_sha256:
        return ""
    return keyed_hash(identity.key("bytes of a file"), dataset.content_sha256)[:_HASH_DIGITS]


def _person_marks(dataset: Dataset, identity: Identity) -> dict[str, str]:
    """Person to keyed hash under the column's name: two columns of other names count other things."""
    key, column = identity.key("persons"), " ".join((dataset.person_column or "").casefold().split())
    persons = dict.fromkeys(dataset.persons or ())
    return {
        person: keyed_hash(key, f"{column}\x1f{' '.join(person.casefold().split())}")[:_HASH_DIGITS]
        for person in persons
    }
