"""What a steward reads: assets with what is left, runs, and the total as if all plans had been fixed in advance."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.accounting import Charge, compose_charges
from dpicl_core.ledger import chain, plans, schema
from dpicl_core.ledger.assets import Asset, all_assets
from dpicl_core.ledger.costs import Paid, Standing
from dpicl_core.ledger.purge import purged_when
from dpicl_core.ledger.reservations import standing
from dpicl_core.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class AssetReport:
    """share_left: of the budget, by the label that has spent most, from 0 to 1. epsilon_spent: at the asset's delta,
    valid whatever plans come next. rows, persons: of the newest file, None before the first. purged_at: when it was
    ended for good, UTC, None while it is in use."""

    asset: Asset
    share_left: float
    epsilon_spent: float
    share_left_by_label: dict[str, float]
    runs: int
    files: int
    rows: int | None
    persons: int | None
    purged_at: str | None = None


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in a list. tokens: committed so far."""

    id: str
    asset: str
    actor: str
    created_at: str
    mechanism: str
    epsilon: float
    delta: float
    state: str
    tokens: int
    exports: int
    internal_views: int


def budgets_as_of(connection: Connection) -> tuple[int, int, int]:
    """Numbers of assets, files and paid runs: others after whatever may change what is left. Three quick counts."""
    assets, files, runs = (
        connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in (schema.assets, schema.files, schema.runs)
    )
    return assets, files, runs


def asset_reports(connection: Connection) -> list[AssetReport]:
    """All assets, oldest first."""
    return [asset_report(connection, asset) for asset in all_assets(connection)]


def asset_report(connection: Connection, asset: Asset) -> AssetReport:
    """One asset as it stands."""
    position = standing(connection, asset)
    runs = connection.execute(
        sa.select(sa.func.count()).select_from(schema.runs).where(schema.runs.c.asset_id == asset.id)
    ).scalar_one()
    files = (
        connection.execute(
            sa.select(schema.files.c.rows, schema.files.c.persons)
            .where(schema.files.c.asset_id == asset.id)
            .order_by(schema.files.c.added_at.desc())
        )
        .mappings()
        .all()
    )
    purged = purged_when(connection, asset)
    by_label = {label: position.share_left(label) for label in position.labels()}
    return AssetReport(
        asset=asset,
        share_left=min(by_label.values()),
        epsilon_spent=position.epsilon_spent,
        share_left_by_label=by_label,
        runs=int(runs),
        files=len(files),
        rows=files[0]["rows"] if files else None,
        persons=files[0]["persons"] if files else None,
        purged_at=None if purged is None else purged[0],
    )


def run_lines(connection: Connection, *, asset_id: str | None = None, limit: int | None = None) -> list[RunLine]:
    """Runs, newest first."""
    tokens = _counts(connection, schema.tokens, None)
    exports = _counts(connection, schema.events, "exported")
    views = _counts(connection, schema.events, "internal-view")
    query = (
        sa.select(
            schema.runs.c.id,
            schema.assets.c.name.label("asset"),
            schema.runs.c.actor,
            schema.runs.c.created_at,
            schema.runs.c.mechanism,
            schema.runs.c.epsilon,
            schema.runs.c.delta,
            schema.runs.c.state,
        )
        .join(schema.assets, schema.assets.c.id == schema.runs.c.asset_id)
        .order_by(schema.runs.c.created_at.desc(), schema.runs.c.id)
        .limit(limit)
    )
    if asset_id is not None:
        query = query.where(schema.runs.c.asset_id == asset_id)
    return [
        RunLine(
            **row,
            tokens=tokens.get(row["id"], 0),
            exports=exports.get(row["id"], 0),
            internal_views=views.get(row["id"], 0),
        )
        for row in connection.execute(query).mappings()
    ]


def total_if_fixed_in_advance(connection: Connection, asset: Asset) -> float:
    """Epsilon at the asset's delta of all its runs composed as loss distributions, by the label that paid most.

    Right only if no plan was chosen after seeing an earlier run's output, and so only shown beside the filter's figure.
    """
    query = (
        sa.select(schema.charges)
        .join(schema.runs, schema.runs.c.id == schema.charges.c.run_id)
        .where(schema.runs.c.asset_id == asset.id)
    )
    by_label: dict[str | None, list[Charge]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        spec = plans.mechanism_from_text(row["mechanism"])
        by_label[row["label"]].append(Charge(spec, row["sampling_rate"], row["composed_tokens"]))
    shared = by_label.pop(None, [])
    paid = [[*shared, *own] for own in by_label.values()] or [shared]
    distinct = {tuple(sorted(map(repr, charges))): charges for charges in paid}
    return max((_epsilon(charges, asset.delta) for charges in distinct.values()), default=0.0)


def _epsilon(charges: Sequence[Charge], delta: float) -> float:
    return compose_charges(merged(charges), delta=delta).epsilon(delta) if charges else 0.0


def merged(charges: Sequence[Charge]) -> list[Charge]:
    """Charges with the same mechanism and rate as one with all their tokens: the same loss, composed faster."""
    tokens: dict[tuple[Any, float], int] = defaultdict(int)
    for charge in charges:
        tokens[(charge.spec, charge.sampling_rate)] += charge.composed_tokens
    return [Charge(spec, rate, count) for (spec, rate), count in tokens.items()]


def what_if(before: Standing, paid: Sequence[Paid]) -> float:
    """Share of the budget, of epsilon or of delta, that these parts would leave, by the label that then has least.

    Below 0 over the cap.
    """
    asset, after = before.asset, replace(before, paid=(*before.paid, *paid))
    return min(
        1 - max(after.spent(label) / asset.budget, after.delta_spent(label) / asset.delta) for label in before.labels()
    )


def what_if_again(connection: Connection, asset: Asset, run_id: str) -> float:
    """what_if for one more run that costs what this one did."""
    charge = schema.charges.c
    cost = charge.epsilon if asset.order is None else charge.divergence
    query = sa.select(charge.label, cost, charge.delta).where(charge.run_id == run_id)
    return what_if(standing(connection, asset), [Paid(*part) for part in connection.execute(query)])


def everything(ledger: Ledger) -> dict[str, Any]:
    """The whole ledger for reading elsewhere: assets, runs with their plans and texts, events. No hash, no secret."""
    with ledger.read() as connection:
        reports = asset_reports(connection)
        listed = run_lines(connection)
        stored = {row["id"]: row for row in connection.execute(sa.select(schema.runs)).mappings()}
        happened = chain.events_of(connection, without=("token",))
        return {
            "format": "dpicl-ledger",
            "ledger": ledger.ledger_id,
            "exported_at": chain.now(),
            "assets": [
                {
                    **asdict(report.asset),
                    "epsilon_spent": report.epsilon_spent,
                    "epsilon_if_fixed_in_advance": total_if_fixed_in_advance(connection, report.asset),
                    "share_left": report.share_left_by_label,
                    "rows": report.rows,
                    "persons": report.persons,
                    "purged_at": report.purged_at,
                }
                for report in reports
            ],
            "runs": [
                {
                    **asdict(line),
                    "plan": json.loads(row["plan"]),
                    "prices": json.loads(row["prices"]),
                    "request": json.loads(row["request"]),
                    "reason": row["reason"],
                }
                for line in listed
                for row in (stored[line.id],)
            ],
            "events": [asdict(event) for event in happened],
        }


def _counts(connection: Connection, table: sa.Table, kind: str | None) -> dict[str, int]:
    query = sa.select(table.c.run_id, sa.func.count()).group_by(table.c.run_id)
    if kind is not None:
        query = query.where(table.c.kind == kind, table.c.run_id.is_not(None))
    return {run_id: int(count) for run_id, count in connection.execute(query)}
