"""Runs that are paid for and not over: which a table has, and what the ledger says once a process is gone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from dpicl_core.data import Dataset
from dpicl_core.ledger import matching, persons, schema, tokens
from dpicl_core.ledger.assets import Asset, all_assets
from dpicl_core.ledger.fingerprints import fingerprint
from dpicl_core.ledger.store import Ledger
from dpicl_core.ledger.tokens import StoredRun


@dataclass(frozen=True, slots=True)
class Belonging:
    """Where a table belongs. file_hash: keyed, of the whole file. assets: those that its rows bind it to, mostly one.

    Two or more leave it open which budget the table spends, and a person has to decide.
    """

    file_hash: str = field(repr=False)
    assets: tuple[Asset, ...]


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """A paid run that is not over. same_file: paid for with the very table that was asked about, so it may go on.

    last_stored_at: when the ledger last heard of it (ISO 8601); a moment ago means that it may still go on elsewhere.
    """

    stored: StoredRun
    asset_name: str
    same_file: bool
    last_stored_at: str

    @property
    def tokens_done(self) -> int:
        return len(self.stored.tokens)

    @property
    def tokens_most(self) -> int:
        """T_max for each demonstration, less what texts that have ended left over."""
        return tokens_at_most(self.stored)


@dataclass(frozen=True, slots=True)
class ResumableRun:
    """An order to go on with a run: all that another process needs for `resume`."""

    stored: StoredRun
    asset_name: str
    dataset: Dataset = field(repr=False)
    ledger: Ledger
    actor: str


def belonging(dataset: Dataset, ledger: Ledger) -> Belonging:
    """Ask the ledger for the assets of a table; about 10 microseconds a row."""
    mark = fingerprint(dataset, ledger.identity)
    with ledger.read() as connection:
        met = matching.meetings(connection, mark)
    return Belonging(mark.file_hash, tuple(meeting.asset for meeting in met if meeting.binds))


def refreshed(known: Belonging, ledger: Ledger) -> Belonging:
    """The same, with the asset that a run has made of the table meanwhile; one quick query."""
    if known.assets:
        return known
    file = schema.files.c
    with ledger.read() as connection:
        tied = connection.execute(sa.select(file.asset_id).where(file.file_hash == known.file_hash)).scalars().all()
        return replace(known, assets=tuple(asset for asset in all_assets(connection) if asset.id in tied))


def likely_assignment(dataset: Dataset, ledger: Ledger) -> dict[str, str]:
    """Each person's label as the table's asset has it, and a secret draw for others, made anew when a run is paid."""
    found = belonging(dataset, ledger).assets
    return persons.assignment_for(ledger, found[0] if len(found) == 1 else None, dataset)


def interrupted_runs(known: Belonging, ledger: Ledger) -> tuple[InterruptedRun, ...]:
    """Paid runs of a table or of its assets that are not over, newest first."""
    with ledger.read() as connection:
        found = tokens.open_runs(connection, file_hash=known.file_hash, asset_ids=[asset.id for asset in known.assets])
        names = {asset.id: asset.name for asset in all_assets(connection)}
    return tuple(InterruptedRun(stored, names[stored.asset_id], same, last) for stored, same, last in found)


def settle(ledger: Ledger, run_id: str, reason: str, *, actor: str) -> StoredRun | None:
    """What the ledger holds of a run whose process is known to be gone, noted as stopped; None: it was never paid.

    reason: without private text. Nothing is refunded.
    """
    if not tokens.stop(ledger, run_id, None, reason, actor=actor):
        return None
    with ledger.read() as connection:
        return tokens.stored_run(connection, run_id)


def tokens_at_most(stored: StoredRun) -> int:
    """Tokens that a run can come to, given the texts that have ended."""
    plan = stored.plan
    lengths = [0] * len(plan.target_labels)
    ended = [False] * len(plan.target_labels)
    for token in stored.tokens:
        lengths[token.demonstration] += 1
        ended[token.demonstration] = ended[token.demonstration] or token.ends
    return sum(length if over else plan.tokens for length, over in zip(lengths, ended, strict=True))
