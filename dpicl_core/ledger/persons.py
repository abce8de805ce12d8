"""The stored secret assignment of each person to one label, per asset; persons stand as keyed hashes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.data import Dataset, assign_persons
from dpicl_core.ledger import chain, schema
from dpicl_core.ledger.assets import Asset
from dpicl_core.ledger.fingerprints import person_hashes
from dpicl_core.ledger.store import Ledger
from dpicl_core.randomness import SecretRandomness


def assignment_for(ledger: Ledger, asset: Asset | None, dataset: Dataset) -> dict[str, str]:
    """Person to label: as stored, and secretly drawn for persons that the asset has not met."""
    secret = SecretRandomness()
    drawn = assign_persons(dataset, lambda labels: labels[secret.choose(len(labels))])
    if asset is None:
        return drawn
    with ledger.read() as connection:
        known = _stored(connection, asset)
    hashes = person_hashes(dataset, ledger.identity, asset.id)
    return {person: known.get(hashes[person], label) for person, label in drawn.items()}


def store_assignment(
    ledger: Ledger, asset: Asset, dataset: Dataset, assignment: Mapping[str, str], *, actor: str
) -> bool:
    """Store new persons' labels; False, and nothing stored, where another process drew differently meanwhile."""
    hashes = person_hashes(dataset, ledger.identity, asset.id)
    wanted = {hashes[person]: label for person, label in assignment.items()}
    with ledger.write() as connection:
        known = _stored(connection, asset)
        if any(known.get(person, label) != label for person, label in wanted.items()):
            return False
        batch = secrets.token_hex(16)
        fresh = [
            {"asset_id": asset.id, "person_hash": person, "label": label, "batch": batch}
            for person, label in wanted.items()
            if person not in known
        ]
        if fresh:
            connection.execute(schema.persons.insert(), fresh)
            facts = [chain.Fact("asset_persons", batch, chain.group_digest(fresh))]
            details = {"persons": len(fresh)}
            chain.append(
                connection, ledger, "persons-assigned", actor=actor, asset_id=asset.id, facts=facts, details=details
            )
    return True


def _stored(connection: Connection, asset: Asset) -> dict[str, str]:
    query = sa.select(schema.persons.c.person_hash, schema.persons.c.label).where(schema.persons.c.asset_id == asset.id)
    return {row.person_hash: row.label for row in connection.execute(query)}
