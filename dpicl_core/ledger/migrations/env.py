"""Alembic's entrance: runs on the connection that `upgrade_schema` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from dpicl_core.ledger.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller's transaction holds everything; Alembic must not commit within it
)
context.run_migrations()
