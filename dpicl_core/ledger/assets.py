"""Data assets: what a cap is signed for, once and for good."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.errors import ConfigError
from dpicl_core.ledger import chain, schema
from dpicl_core.ledger.filters import renyi_budget
from dpicl_core.ledger.fingerprints import Fingerprint
from dpicl_core.ledger.store import Ledger
from dpicl_core.specs import require
from dpicl_core.values import PrivacyTarget, PrivacyUnit

Rule = Literal["renyi", "sum"]

DEFAULT_CAP_EPSILON = 8.0
"""Cap of an asset that is registered without one being named."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One private collection and its cap, fixed for good when it was named.

    unit: whose rows one replacement covers. labels: public. epsilon, delta: the cap over all runs together.
    rule: `renyi` at `order`, or `sum`. person_column: public name of the column that says who is who.
    """

    id: str
    name: str
    owner: str
    unit: PrivacyUnit
    person_column: str | None
    labels: tuple[str, ...]
    epsilon: float
    delta: float
    rule: Rule
    order: float | None
    created_at: str
    created_by: str

    @property
    def budget(self) -> float:
        """What the costs of all runs may add up to: a Renyi divergence at the order, or an epsilon."""
        if self.order is None:
            return self.epsilon
        return renyi_budget(order=self.order, epsilon=self.epsilon, delta=self.delta)


@dataclass(frozen=True, slots=True)
class AssetTerms:
    """What is to be signed for a new asset; fields as in Asset."""

    name: str
    owner: str
    unit: PrivacyUnit
    labels: tuple[str, ...]
    epsilon: float
    delta: float
    rule: Rule = "renyi"
    order: float | None = None
    person_column: str | None = None

    def __post_init__(self) -> None:
        PrivacyTarget(self.epsilon, self.delta)
        for what, value, option in (("name", self.name, "--asset"), ("owner", self.owner, "--owner")):
            require(
                bool(value.strip()) and len(value) <= 200 and value.isprintable(),
                f"an asset's {what} must be 1 to 200 printable characters; give one with {option}.",
            )
        require(bool(self.labels), "an asset needs its public label list; declare at least one label.")
        require(self.rule in ("renyi", "sum"), f"the rule must be renyi or sum, but is {self.rule}; choose one.")
        require((self.rule == "renyi") == (self.order is not None), "a Renyi filter needs its order, a sum has none.")


def proposed(terms: AssetTerms) -> Asset:
    """The asset that these terms would make, not registered; its id is empty."""
    return Asset(
        id="",
        name=terms.name,
        owner=terms.owner,
        unit=terms.unit,
        person_column=terms.person_column,
        labels=terms.labels,
        epsilon=float(terms.epsilon),
        delta=float(terms.delta),
        rule=terms.rule,
        order=terms.order,
        created_at="",
        created_by="",
    )


def terms_of(asset: Asset) -> AssetTerms:
    """What was signed for an asset."""
    return AssetTerms(
        name=asset.name,
        owner=asset.owner,
        unit=asset.unit,
        labels=asset.labels,
        epsilon=asset.epsilon,
        delta=asset.delta,
        rule=asset.rule,
        order=asset.order,
        person_column=asset.person_column,
    )


def create_asset(connection: Connection, ledger: Ledger, terms: AssetTerms, *, actor: str) -> Asset:
    """Name an asset. Raises ConfigError where the name is taken or the rule leaves no budget."""
    require(
        asset_named(connection, terms.name) is None,
        f"an asset named {terms.name} exists already; choose another name, or charge to it.",
    )
    row = {
        "id": secrets.token_hex(16),
        "name": terms.name,
        "owner": terms.owner,
        "unit": terms.unit.value,
        "person_column": terms.person_column,
        "labels": chain.canonical(list(terms.labels)),
        "epsilon": float(terms.epsilon),
        "delta": float(terms.delta),
        "rule": terms.rule,
        "renyi_order": terms.order,
        "created_at": chain.now(),
        "created_by": actor,
    }
    asset = _asset(row)
    require(asset.budget > 0, f"order {terms.order} leaves no budget under epsilon {terms.epsilon:g}; leave it out.")
    connection.execute(schema.assets.insert().values(**row))
    facts = [chain.Fact("assets", asset.id, chain.row_digest(row))]
    details = {"name": terms.name, "epsilon": terms.epsilon, "delta": terms.delta, "rule": terms.rule}
    chain.append(connection, ledger, "asset-created", actor=actor, asset_id=asset.id, facts=facts, details=details)
    return asset


def asset_named(connection: Connection, name: str) -> Asset | None:
    """The asset of that name or id, None where there is none."""
    query = sa.select(schema.assets).where(sa.or_(schema.assets.c.name == name, schema.assets.c.id == name))
    found = connection.execute(query).mappings().first()
    return None if found is None else _asset(found)


def all_assets(connection: Connection) -> list[Asset]:
    """Every asset, oldest first."""
    query = sa.select(schema.assets).order_by(schema.assets.c.created_at, schema.assets.c.name)
    return [_asset(row) for row in connection.execute(query).mappings()]


def check_unit(asset: Asset, unit: PrivacyUnit, mark: Fingerprint) -> None:
    """Raise ConfigError where a run protects another unit than the asset's cap is signed for."""
    require(
        asset.unit is unit,
        f"asset {asset.name} counts every {asset.unit.value} once, and this run protects each {unit.value}; "
        + ("name the person column." if asset.unit is PrivacyUnit.PERSON else "leave the person column out."),
    )
    if unit is PrivacyUnit.PERSON and asset.person_column != mark.person_column:
        raise ConfigError(
            f"asset {asset.name} tells persons apart by column {asset.person_column}, but this file was read with "
            f"{mark.person_column}; a second naming of the same persons would give each a second budget."
        )


def _asset(row: Any) -> Asset:
    return Asset(
        id=row["id"],
        name=row["name"],
        owner=row["owner"],
        unit=PrivacyUnit(row["unit"]),
        person_column=row["person_column"],
        labels=tuple(json.loads(row["labels"])),
        epsilon=row["epsilon"],
        delta=row["delta"],
        rule=row["rule"],
        order=row["renyi_order"],
        created_at=row["created_at"],
        created_by=row["created_by"],
    )
