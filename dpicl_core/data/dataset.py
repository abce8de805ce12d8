"""What reading a table gives: rows in file order, where they stood, and what a person should know of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dpicl_core.specs import require
from dpicl_core.values import Example


class DropReason(StrEnum):
    """Why a row of the file is not among the examples."""

    BLANK_TEXT = "blank text"
    BLANK_LABEL = "blank label"
    BLANK_TEXT_AND_LABEL = "blank text and label"
    BLANK_PERSON = "blank person"
    LEFT_OUT = "label left out by declaration"


class Level(StrEnum):
    """How much a notice asks of the reader."""

    NOTICE = "notice"
    """Something was done or met that is worth knowing."""

    WARNING = "warning"
    """Something may weaken the protection or spoil the result unless a person looks at it."""


@dataclass(frozen=True, slots=True)
class DroppedRow:
    """A row that was not kept. line: where it starts, as an editor counts (from 1)."""

    line: int
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Notice:
    """One finding about a table, without any private text.

    code: stable name for programs. sentence: plain words. lines: the first line numbers concerned (at most 20).
    count: how many rows, columns or lines are concerned in all.
    """

    code: str
    sentence: str
    lines: tuple[int, ...] = ()
    count: int = 0
    level: Level = Level.NOTICE


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes become characters. code: for programs; words: for people; codec: Python's name; mark_bytes: length
    of the byte-order mark that is skipped, in bytes."""

    code: str
    words: str
    codec: str
    mark_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Delimiter:
    """What separates cells. code: the character itself ("" in a workbook); words: its name."""

    code: str
    words: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A private table as read: examples in file order, never sorted, grouped or deduplicated.

    examples, lines: parallel; lines are those where each row starts, as an editor counts (in a workbook, row numbers).
    persons: parallel to examples when a person column was chosen, else None.
    columns: all column names in file order; a second column `label` is called `label#2`.
    dropped: rows of the file that are not among the examples, in file order.
    declared_labels: the public label list, empty until `declare_labels` was applied.
    content_sha256: of the file's bytes, private as they are; empty for a table that was not read from a file.
    """

    name: str
    examples: tuple[Example, ...] = field(repr=False)
    lines: tuple[int, ...] = field(repr=False)
    persons: tuple[str, ...] | None = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    text_column: str = field(repr=False)
    label_column: str = field(repr=False)
    person_column: str | None = field(repr=False)
    encoding: Encoding
    delimiter: Delimiter
    dropped: tuple[DroppedRow, ...] = field(default=(), repr=False)
    notices: tuple[Notice, ...] = field(default=(), repr=False)
    declared_labels: tuple[str, ...] = field(default=(), repr=False)
    content_sha256: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        require(len(self.examples) == len(self.lines), "a data set needs one line number per row.")
        require(self.persons is None or len(self.persons) == len(self.examples), "a data set needs one person per row.")

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def person_count(self) -> int | None:
        """Number of distinct persons, or None when the unit is the row."""
        return None if self.persons is None else len(set(self.persons))

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """The notices that may weaken the protection or spoil the result."""
        return tuple(notice for notice in self.notices if notice.level is Level.WARNING)
