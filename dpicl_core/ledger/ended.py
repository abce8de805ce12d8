"""Runs that have ended, with their plans, so that those of one shape can be found and put side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.ledger import plans, schema
from dpicl_core.values import GenerationPlan

ENDED_STATES = ("finished", "partial")


@dataclass(frozen=True, slots=True)
class EndedRun:
    """One run that has ended: public settings alone. created_at: UTC, ISO 8601."""

    id: str
    asset_id: str
    asset: str
    created_at: str
    epsilon: float
    delta: float
    state: str
    plan: GenerationPlan = field(repr=False)


def ended_runs(connection: Connection, *, limit: int) -> list[EndedRun]:
    """At most so many, newest first."""
    run = schema.runs.c
    query = (
        sa.select(
            run.id,
            run.asset_id,
            schema.assets.c.name.label("asset"),
            run.created_at,
            run.epsilon,
            run.delta,
            run.state,
            run.plan,
        )
        .join(schema.assets, schema.assets.c.id == run.asset_id)
        .where(run.state.in_(ENDED_STATES))
        .order_by(run.created_at.desc(), run.id)
        .limit(limit)
    )
    return [
        EndedRun(**{**row, "plan": plans.plan_from_text(row["plan"])}) for row in connection.execute(query).mappings()
    ]
