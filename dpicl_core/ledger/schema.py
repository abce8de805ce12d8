"""The ledger's tables. No column holds a private text: rows and persons stand as keyed hashes.

Labels, column names, asset names and plans are public by declaration. Times are UTC in ISO 8601. Structured values are
canonical JSON as text, so that their digests are the same on every database.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

_ID = String(32)
_HASH = String(64)
_WHEN = String(40)

head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("ledger_id", _ID, nullable=False),
    Column("secret_check", _HASH, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("last_mac", _HASH, nullable=False),
    Column("head_mac", _HASH, nullable=False),
    CheckConstraint("id = 1", name="one_head"),
)
"""One row: how many events there are and the last one's code. Every writing transaction locks it first."""

assets = Table(
    "assets",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("owner", String(200), nullable=False),
    Column("unit", String(10), nullable=False),
    Column("person_column", Text),
    Column("labels", Text, nullable=False),
    Column("epsilon", Float(53), nullable=False),
    Column("delta", Float(53), nullable=False),
    Column("rule", String(10), nullable=False),
    Column("renyi_order", Float(53)),
    Column("created_at", _WHEN, nullable=False),
    Column("created_by", String(200), nullable=False),
    CheckConstraint("rule IN ('renyi', 'sum')", name="known_rule"),
)

files = Table(
    "asset_files",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("asset_id", _ID, ForeignKey("assets.id"), nullable=False),
    Column("file_hash", _HASH, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("persons", Integer),
    Column("text_column", Text, nullable=False),
    Column("label_column", Text, nullable=False),
    Column("person_column", Text),
    Column("added_at", _WHEN, nullable=False),
    Column("added_by", String(200), nullable=False),
    UniqueConstraint("asset_id", "file_hash", name="one_file_once"),
)
"""Every version of a table that was charged to an asset."""

rows = Table(
    "asset_rows",
    metadata,
    Column("asset_id", _ID, ForeignKey("assets.id"), primary_key=True),
    Column("pair_hash", _ID, primary_key=True),
    Column("row_hash", _ID, nullable=False),
    Column("weight", Integer, nullable=False),
    Column("file_id", _ID, ForeignKey("asset_files.id"), nullable=False),
    Index("ix_asset_rows_row_hash", "row_hash"),
    Index("ix_asset_rows_file_id", "file_id"),
)
"""Distinct rows of an asset's files, under the label that each carried when it was first seen."""

persons = Table(
    "asset_persons",
    metadata,
    Column("asset_id", _ID, ForeignKey("assets.id"), primary_key=True),
    Column("person_hash", _ID, primary_key=True),
    Column("label", Text, nullable=False),
    Column("batch", _ID, nullable=False),
)
"""The secret assignment of each person to one label. batch: persons that were assigned together."""

runs = Table(
    "runs",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("asset_id", _ID, ForeignKey("assets.id"), nullable=False, index=True),
    Column("file_id", _ID, ForeignKey("asset_files.id"), nullable=False),
    Column("actor", String(200), nullable=False),
    Column("created_at", _WHEN, nullable=False),
    Column("plan", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("prices", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("mechanism", String(40), nullable=False),
    Column("epsilon", Float(53), nullable=False),
    Column("delta", Float(53), nullable=False),
    Column("state", String(10), nullable=False),
    Column("runner", _ID),
    Column("changed_at", _WHEN, nullable=False),
    Column("reason", Text),
    CheckConstraint("state IN ('reserved', 'running', 'stopped', 'finished', 'partial')", name="known_state"),
)
"""Every reservation is a run. runner: the attempt that may commit tokens now."""

charges = Table(
    "run_charges",
    metadata,
    Column("run_id", _ID, ForeignKey("runs.id"), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("label", Text),
    Column("sampling_rate", Float(53), nullable=False),
    Column("composed_tokens", Integer, nullable=False),
    Column("mechanism", Text, nullable=False),
    Column("divergence", Float(53)),
    Column("epsilon", Float(53), nullable=False),
    Column("delta", Float(53), nullable=False),
)
"""Who pays what: the units of a label, or of every label where `label` is null."""

tokens = Table(
    "tokens",
    metadata,
    Column("run_id", _ID, ForeignKey("runs.id"), primary_key=True),
    Column("demonstration", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("token_id", Integer, nullable=False),
    Column("ends", Boolean, nullable=False),
    Column("text", Text, nullable=False),
    Column("trace", Text, nullable=False),
    Column("event", BigInteger, nullable=False, unique=True),
)
"""Released tokens. `event` is the position in the chain, hence the order of release."""

events = Table(
    "events",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", _WHEN, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("asset_id", _ID),
    Column("run_id", _ID, index=True),
    Column("payload", Text, nullable=False),
    Column("mac", _HASH, nullable=False),
)
"""Append-only, each row's code made from the one before it; triggers refuse changes through ordinary means."""

TABLES = (head, assets, files, rows, persons, runs, charges, tokens, events)
"""Parents before children: the order in which a backup is put back."""

__all__ = [
    "TABLES",
    "assets",
    "charges",
    "events",
    "files",
    "head",
    "metadata",
    "persons",
    "rows",
    "runs",
    "tokens",
]
