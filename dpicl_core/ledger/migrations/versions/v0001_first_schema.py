"""First schema: assets, files, rows, persons, runs, charges, tokens, events and the chain's head."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.String(32)
_HASH = sa.String(64)
_WHEN = sa.String(40)
_NAME = sa.String(200)
_DOUBLE = sa.Float(53)


def upgrade() -> None:
    """Make every table, and let nobody change or remove an event by ordinary means."""
    _head_and_events()
    _assets()
    _runs()
    _guard_events()


def downgrade() -> None:
    """A ledger is never taken back to an older schema: that could lose spending."""
    raise NotImplementedError("restore a backup made by the older version instead")


def _head_and_events() -> None:
    op.create_table(
        "ledger_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ledger_id", _ID, nullable=False),
        sa.Column("secret_check", _HASH, nullable=False),
        sa.Column("events", sa.BigInteger, nullable=False),
        sa.Column("last_mac", _HASH, nullable=False),
        sa.Column("head_mac", _HASH, nullable=False),
        sa.CheckConstraint("id = 1", name="one_head"),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", _WHEN, nullable=False),
        sa.Column("actor", _NAME, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("asset_id", _ID),
        sa.Column("run_id", _ID, index=True),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("mac", _HASH, nullable=False),
    )


def _assets() -> None:
    op.create_table(
        "assets",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", _NAME, nullable=False, unique=True),
        sa.Column("owner", _NAME, nullable=False),
        sa.Column("unit", sa.String(10), nullable=False),
        sa.Column("person_column", sa.Text),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("epsilon", _DOUBLE, nullable=False),
        sa.Column("delta", _DOUBLE, nullable=False),
        sa.Column("rule", sa.String(10), nullable=False),
        sa.Column("renyi_order", _DOUBLE),
        sa.Column("created_at", _WHEN, nullable=False),
        sa.Column("created_by", _NAME, nullable=False),
        sa.CheckConstraint("rule IN ('renyi', 'sum')", name="known_rule"),
    )
    op.create_table(
        "asset_files",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("asset_id", _ID, sa.ForeignKey("assets.id"), nullable=False),
        sa.Column("file_hash", _HASH, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("persons", sa.Integer),
        sa.Column("text_column", sa.Text, nullable=False),
        sa.Column("label_column", sa.Text, nullable=False),
        sa.Column("person_column", sa.Text),
        sa.Column("added_at", _WHEN, nullable=False),
        sa.Column("added_by", _NAME, nullable=False),
        sa.UniqueConstraint("asset_id", "file_hash", name="one_file_once"),
    )
    op.create_table(
        "asset_rows",
        sa.Column("asset_id", _ID, sa.ForeignKey("assets.id"), primary_key=True),
        sa.Column("pair_hash", _ID, primary_key=True),
        sa.Column("row_hash", _ID, nullable=False, index=True),
        sa.Column("weight", sa.Integer, nullable=False),
        sa.Column("file_id", _ID, sa.ForeignKey("asset_files.id"), nullable=False, index=True),
    )
    op.create_table(
        "asset_persons",
        sa.Column("asset_id", _ID, sa.ForeignKey("assets.id"), primary_key=True),
        sa.Column("person_hash", _ID, primary_key=True),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("batch", _ID, nullable=False),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("asset_id", _ID, sa.ForeignKey("assets.id"), nullable=False, index=True),
        sa.Column("file_id", _ID, sa.ForeignKey("asset_files.id"), nullable=False),
        sa.Column("actor", _NAME, nullable=False),
        sa.Column("created_at", _WHEN, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("prices", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("mechanism", sa.String(40), nullable=False),
        sa.Column("epsilon", _DOUBLE, nullable=False),
        sa.Column("delta", _DOUBLE, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("runner", _ID),
        sa.Column("changed_at", _WHEN, nullable=False),
        sa.Column("reason", sa.Text),
        sa.CheckConstraint("state IN ('reserved', 'running', 'stopped', 'finished', 'partial')", name="known_state"),
    )
    op.create_table(
        "run_charges",
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("label", sa.Text),
        sa.Column("sampling_rate", _DOUBLE, nullable=False),
        sa.Column("composed_tokens", sa.Integer, nullable=False),
        sa.Column("mechanism", sa.Text, nullable=False),
        sa.Column("divergence", _DOUBLE),
        sa.Column("epsilon", _DOUBLE, nullable=False),
        sa.Column("delta", _DOUBLE, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("demonstration", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("token_id", sa.Integer, nullable=False),
        sa.Column("ends", sa.Boolean, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("trace", sa.Text, nullable=False),
        sa.Column("event", sa.BigInteger, nullable=False, unique=True),
    )


def _guard_events() -> None:
    """Changes are refused by the database itself; who removes the triggers is found by the chain."""
    words = "events are never changed or removed"
    if op.get_bind().dialect.name == "sqlite":
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
                f"BEGIN SELECT RAISE(ABORT, '{words}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION dpicl_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{words}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER events_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION dpicl_refuse()"
    )
