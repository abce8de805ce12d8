"""Alembic migrations of the ledger; they run by themselves when a ledger is opened."""
