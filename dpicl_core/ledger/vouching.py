"""Before money or text leaves: what the tables say of one run, or of one asset's spending, is what the chain recorded.

`verify_ledger` looks at everything and takes its time. These look only at what is about to be relied on, so that rows
changed by other means than this program are found before a run goes on, a budget is counted or a file is signed.
"""

from __future__ import annotations

import hmac
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.errors import LedgerError
from dpicl_core.ledger import chain, schema
from dpicl_core.ledger.assets import Asset
from dpicl_core.ledger.store import Ledger
from dpicl_core.ledger.verification import facts_of, token_key

Place = tuple[str, str]


def check_run(connection: Connection, ledger: Ledger, run_id: str) -> None:
    """Raise LedgerError where the run, what it paid or a token of it was changed, added or removed by other means."""
    told = _told(connection, ledger, schema.events.c.run_id == run_id)
    found: dict[Place, str] = {}
    for row in connection.execute(sa.select(schema.runs).where(schema.runs.c.id == run_id)).mappings():
        found["runs", run_id] = chain.row_digest(row)
    charged = connection.execute(sa.select(schema.charges).where(schema.charges.c.run_id == run_id)).mappings().all()
    if charged:
        found["run_charges", run_id] = chain.group_digest(dict(row) for row in charged)
    for row in connection.execute(sa.select(schema.tokens).where(schema.tokens.c.run_id == run_id)).mappings():
        found["tokens", token_key(run_id, row["demonstration"], row["position"])] = chain.row_digest(row)
    if told != found:
        raise LedgerError(
            f"run {run_id} was changed by other means than this program, so it neither goes on nor leaves; run `ledger "
            "verify` to see where, and put the ledger back from a backup."
        )


def check_spending(connection: Connection, ledger: Ledger, asset: Asset) -> None:
    """Raise LedgerError where the asset's cap, or what its runs paid, was changed by other means."""
    event, run, charge = schema.events.c, schema.runs.c, schema.charges.c
    kinds = event.kind.in_(("asset-created", "reserved"))
    told = {
        place: digest
        for place, digest in _told(connection, ledger, sa.and_(event.asset_id == asset.id, kinds)).items()
        if place[0] in ("assets", "run_charges")
    }
    found: dict[Place, str] = {}
    for row in connection.execute(sa.select(schema.assets).where(schema.assets.c.id == asset.id)).mappings():
        found["assets", asset.id] = chain.row_digest(row)
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    query = sa.select(schema.charges).join(schema.runs, run.id == charge.run_id).where(run.asset_id == asset.id)
    for row in connection.execute(query).mappings():
        groups[row["run_id"]].append(dict(row))
    found.update({("run_charges", run_id): chain.group_digest(group) for run_id, group in groups.items()})
    if told != found:
        raise LedgerError(
            f"what asset {asset.name} may spend or has spent was changed by other means than this program, so nothing "
            "is charged to it; run `ledger verify` to see where, and put the ledger back from a backup."
        )


def _told(connection: Connection, ledger: Ledger, which: sa.ColumnElement[bool]) -> dict[Place, str]:
    """The last digest that these events give for each row; every event's own code is checked first."""
    before = schema.events.alias()
    query = (
        sa.select(schema.events, before.c.mac.label("mac_before"))
        .outerjoin(before, before.c.seq == schema.events.c.seq - 1)
        .where(which)
        .order_by(schema.events.c.seq)
    )
    told: dict[Place, str] = {}
    for event in connection.execute(query).mappings():
        last = "0" * 64 if event["seq"] == 1 else str(event["mac_before"])
        code = chain.event_code(ledger.identity, ledger.ledger_id, last, event)
        if not hmac.compare_digest(code, str(event["mac"])):
            raise LedgerError(
                f"event {event['seq']} of the ledger was changed by other means than this program; run `ledger verify`."
            )
        told.update(facts_of(str(event["payload"])))
    return told
