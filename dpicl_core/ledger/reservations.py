"""Charge first: the whole cost of one or several runs is taken in one transaction, before anything is drawn.

Nothing here gives anything back. A run that stops, crashes or is never started has spent what it reserved.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.errors import BudgetError
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.ledger import chain, matching, plans, schema, vouching
from dpicl_core.ledger.assets import Asset
from dpicl_core.ledger.costs import CostPart, Paid, Standing, cost_parts, for_every_label, labels_over
from dpicl_core.ledger.fingerprints import Fingerprint
from dpicl_core.ledger.purge import check_not_purged
from dpicl_core.ledger.smaller import refusal
from dpicl_core.ledger.store import Ledger
from dpicl_core.runs import PrivacyRequest
from dpicl_core.values import GenerationPlan, Price


@dataclass(frozen=True, slots=True)
class Order:
    """One run that is to be paid for: its plan, what was asked for, and the price of every pool.

    run_id: the id that the run is to have, so that whoever ordered it can ask later whether it was paid; it is paid
    once at most. None: the ledger gives one.
    """

    plan: GenerationPlan
    request: PrivacyRequest
    prices: tuple[Price, ...]
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """A named person's decision that a file does not belong to an asset that it shares rows with."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reservation:
    """A paid run. paid_by_all: whether it was added to every label's budget, with the reason in words, else None."""

    run_id: str
    asset: Asset
    parts: tuple[CostPart, ...] = field(repr=False)
    paid_by_all: str | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What paying for a run would do to an asset. before: its standing now. parts: what would be added."""

    before: Standing
    parts: tuple[CostPart, ...] = field(repr=False)
    paid_by_all: str | None = None

    @property
    def after(self) -> Standing:
        """The asset's standing once the run is paid."""
        return self.before.with_parts(self.parts)


def new_run_id() -> str:
    """128 random bits. It stands in the exported file, so it must never open anything by being known."""
    return secrets.token_hex(16)


def standing(connection: Connection, asset: Asset) -> Standing:
    """What has been paid from an asset so far."""
    cost = schema.charges.c.epsilon if asset.order is None else schema.charges.c.divergence
    query = (
        sa.select(schema.charges.c.label, cost, schema.charges.c.delta)
        .join(schema.runs, schema.runs.c.id == schema.charges.c.run_id)
        .where(schema.runs.c.asset_id == asset.id)
    )
    return Standing(asset, tuple(Paid(label, paid, delta) for label, paid, delta in connection.execute(query)))


def reserve(
    ledger: Ledger,
    asset: Asset,
    mark: Fingerprint,
    orders: Sequence[Order],
    model: ModelInfo,
    *,
    actor: str,
    override: Override | None = None,
) -> list[Reservation]:
    """Pay for all the orders or for none, in one transaction.

    Raises BudgetError over the cap, with what is left and which smaller plans would fit, and where the file meets
    another asset; LedgerError where the ledger cannot be written or was put back to an older state.
    """
    # the dear part, moments of the loss, is done before the ledger is locked
    priced = [cost_parts(asset, order.plan, order.prices) for order in orders]
    with _told_outside(orders), ledger.write() as connection:
        chain.check_not_older(connection, ledger)
        vouching.check_spending(connection, ledger, asset)
        check_not_purged(connection, asset)
        _check_not_paid(connection, orders)
        _check_still_bound(connection, asset, mark, override)
        reason = _why_all_pay(connection, asset, mark, orders)
        parts = [for_every_label(each) if reason else each for each in priced]
        before = standing(connection, asset)
        _check_cap(before, parts)
        file_id = matching.tie_file(connection, ledger, asset, mark, actor=actor)
        done = [
            _insert(connection, ledger, asset, file_id, order, cost, model, actor, reason)
            for order, cost in zip(orders, parts, strict=True)
        ]
        if override is not None:
            chain.append(
                connection,
                ledger,
                "match-overridden",
                actor=actor,
                asset_id=asset.id,
                details={"reason": override.reason},
            )
    chain.note_seen(ledger)
    return done


def check_affordable(ledger: Ledger, asset: Asset, mark: Fingerprint, orders: Sequence[Order]) -> Outlook:
    """Raise the BudgetError that `reserve` would raise now; nothing is written or promised."""
    parts = [cost_parts(asset, order.plan, order.prices) for order in orders]
    with ledger.read() as connection:
        check_not_purged(connection, asset)
        reason = _why_all_pay(connection, asset, mark, orders)
        if reason:
            parts = [for_every_label(each) for each in parts]
        before = standing(connection, asset)
    with _told_outside(orders):
        _check_cap(before, parts)
    return Outlook(before, tuple(part for each in parts for part in each), reason)


def check_affordable_when_new(asset: Asset, orders: Sequence[Order]) -> Outlook:
    """The same for an asset that is not registered yet."""
    parts = [cost_parts(asset, order.plan, order.prices) for order in orders]
    with _told_outside(orders):
        _check_cap(Standing(asset), parts)
    return Outlook(Standing(asset), tuple(part for each in parts for part in each))


def _check_not_paid(connection: Connection, orders: Sequence[Order]) -> None:
    """One confirmation is one payment, however often and by however many processes it is sent."""
    ids = [order.run_id for order in orders if order.run_id is not None]
    paid = connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.id.in_(ids))).scalar() if ids else None
    if paid is not None:
        raise BudgetError(f"this run is paid already, as {paid}; resume it, or prepare another one.")


def _check_still_bound(connection: Connection, asset: Asset, mark: Fingerprint, override: Override | None) -> None:
    """The match again under the lock: another process may have registered the rows meanwhile."""
    bound = matching.asset_for(connection, mark, wanted=asset.name, override=override is not None)
    if bound is None or bound.id != asset.id:
        raise BudgetError(f"asset {asset.name} is no longer in the ledger; start again.")


def _why_all_pay(connection: Connection, asset: Asset, mark: Fingerprint, orders: Sequence[Order]) -> str | None:
    labels = {part for order in orders for part in order.plan.pool_labels() if part is not None}
    if not labels:
        return None  # open labels: everybody pays anyway
    strange = sorted(labels - set(asset.labels))
    if strange:
        return f"label {strange[0]} is not on the asset's list"
    moved = matching.relabelled_rows(connection, asset, mark)
    # how many is a private count, and this sentence is kept
    return "some rows may belong to another label than when the asset was first charged" if moved else None


class _OverTheCap(Exception):
    """Leaves the transaction first, since the search for smaller plans takes a while and the ledger is locked."""

    def __init__(self, before: Standing, labels: Sequence[str], parts: Sequence[Sequence[CostPart]]) -> None:
        super().__init__()
        self.before, self.labels, self.parts = before, labels, parts


@contextlib.contextmanager
def _told_outside(orders: Sequence[Order]) -> Iterator[None]:
    try:
        yield
    except _OverTheCap as over:
        plans_asked = [order.plan for order in orders]
        calibrated = any(order.request.epsilon is not None for order in orders)
        raise refusal(over.before, over.labels, plans_asked, over.parts, calibrated=calibrated) from None


def _check_cap(before: Standing, parts: Sequence[Sequence[CostPart]]) -> None:
    if labels := labels_over(before, [part for each in parts for part in each]):
        raise _OverTheCap(before, labels, parts)


def _insert(
    connection: Connection,
    ledger: Ledger,
    asset: Asset,
    file_id: str,
    order: Order,
    parts: Sequence[CostPart],
    model: ModelInfo,
    actor: str,
    reason: str | None,
) -> Reservation:
    run_id = order.run_id or new_run_id()
    when = chain.now()
    run: dict[str, Any] = {
        "id": run_id,
        "asset_id": asset.id,
        "file_id": file_id,
        "actor": actor,
        "created_at": when,
        "plan": plans.plan_to_text(order.plan),
        "request": chain.canonical(asdict(order.request)),
        "prices": plans.prices_to_text(order.prices),
        "model": plans.model_to_text(model),
        "mechanism": order.plan.mechanism.name,
        "epsilon": max((price.epsilon_tight for price in order.prices), default=0.0),
        "delta": order.request.delta if parts else 0.0,
        "state": "reserved",
        "runner": None,
        "changed_at": when,
        "reason": None,
    }
    charged = [_charge_row(run_id, index, part) for index, part in enumerate(parts)]
    connection.execute(schema.runs.insert().values(**run))
    facts = [chain.Fact("runs", run_id, chain.row_digest(run))]
    if charged:
        connection.execute(schema.charges.insert(), charged)
        facts.append(chain.Fact("run_charges", run_id, chain.group_digest(charged)))
    details = {"mechanism": run["mechanism"], "epsilon": run["epsilon"], "delta": run["delta"], "paid_by_all": reason}
    chain.append(
        connection, ledger, "reserved", actor=actor, asset_id=asset.id, run_id=run_id, facts=facts, details=details
    )
    return Reservation(run_id, asset, tuple(parts), reason)


def _charge_row(run_id: str, index: int, part: CostPart) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "part": index,
        "label": part.label,
        "sampling_rate": part.charge.sampling_rate,
        "composed_tokens": part.charge.composed_tokens,
        "mechanism": plans.mechanism_to_text(part.charge.spec),
        "divergence": part.divergence,
        "epsilon": part.epsilon,
        "delta": part.delta,
    }


def request_from_text(text: str) -> PrivacyRequest:
    """The request that a run's row holds."""
    return PrivacyRequest(**json.loads(text))
