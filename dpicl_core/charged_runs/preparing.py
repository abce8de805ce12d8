"""Before anything is drawn: the file's asset, pools, price, and payment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dpicl_core import runs
from dpicl_core.data import Dataset
from dpicl_core.errors import BudgetError, ConfigError, LedgerError
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.ledger import assets, costs, filters, matching, persons, reservations
from dpicl_core.ledger.assets import DEFAULT_CAP_EPSILON, Asset, AssetTerms, Rule
from dpicl_core.ledger.fingerprints import Fingerprint, fingerprint
from dpicl_core.ledger.identity import user_name
from dpicl_core.ledger.reservations import Order, Outlook, Override, Reservation
from dpicl_core.ledger.store import Ledger, open_ledger
from dpicl_core.runs import PreparedRun, PrivacyRequest
from dpicl_core.values import GenerationPlan, Price, PrivacyUnit, check_delta_rule, default_delta

_ASSIGNMENT_TRIES = 20


@dataclass(frozen=True, slots=True)
class AssetChoice:
    """What the steward says about the asset; everything may be left out.

    name: an existing asset that takes this file as its next version, or the name of a new one (default: the file's
    name without its ending). cap: epsilon over all runs for ever (default 8). delta: over all runs (default: the rule
    for the file's units; ten times that under the sum). owner: who answers for it (default: the user). rule: `renyi`
    or `sum`, for good. override_reason: why rows shared with another asset are no person's text; recorded.
    accept_delta: an asset's delta above 1/n was accepted by name.
    """

    name: str | None = None
    owner: str | None = None
    cap: float | None = None
    delta: float | None = None
    rule: Rule | None = None
    override_reason: str | None = None
    accept_delta: bool = False


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A priced run that its asset can pay now, once.

    is_new: the asset is registered when the run is paid. outlook: what paying would do to the asset. run_id: the id
    that the ledger gives it when it is paid; known beforehand, so that a process that saw another one die can ask.
    """

    prepared: PreparedRun
    ledger: Ledger
    asset: Asset
    is_new: bool
    mark: Fingerprint = field(repr=False)
    dataset: Dataset = field(repr=False)
    actor: str
    outlook: Outlook = field(repr=False)
    override: Override | None = None
    run_id: str = field(default_factory=reservations.new_run_id)

    @property
    def plan(self) -> GenerationPlan:
        return self.prepared.plan

    @property
    def request(self) -> PrivacyRequest:
        return self.prepared.request

    @property
    def prices(self) -> tuple[Price, ...]:
        return self.prepared.prices


@dataclass(frozen=True, slots=True)
class PaidRun:
    """A run that is paid for and not finished yet."""

    run_id: str
    prepared: PreparedRun
    ledger: Ledger
    asset: Asset
    actor: str
    reservation: Reservation | None = None


def prepare_run(
    dataset: Dataset,
    plan: GenerationPlan,
    request: PrivacyRequest,
    *,
    asset: AssetChoice | None = None,
    ledger: Ledger | None = None,
    actor: str | None = None,
) -> ReadyRun:
    """Find the file's asset, build pools, price, and check that the asset can pay. Writes nothing.

    ledger: default the one of this installation. actor: who makes the run; default the operating-system user.
    Raises BudgetError over the cap or where the file's asset is not clear, ConfigError and DataError as
    runs.prepare_run.
    """
    book = open_ledger() if ledger is None else ledger
    choice = AssetChoice() if asset is None else asset
    if not plan.mechanism.exportable:
        raise ConfigError(
            f"{plan.mechanism.name} gives no protection, so it is never paid for or stored; use `internal_run`."
        )
    mark = fingerprint(dataset, book.identity)
    override = _override(choice)
    with book.read() as connection:
        found = matching.asset_for(connection, mark, wanted=choice.name, override=override is not None)
    if found is not None:
        _check_same_terms(found, choice)
        assets.check_unit(found, plan.unit, mark)
    prepared = runs.prepare_run(dataset, plan, request, assignment=assignment_of(book, found, dataset, plan))
    orders = [Order(prepared.plan, prepared.request, prepared.prices)]
    if found is None:
        pays = _proposal(book, choice, dataset, mark, prepared)
        outlook = reservations.check_affordable_when_new(pays, orders)
    else:
        pays = found
        outlook = reservations.check_affordable(book, found, mark, orders)
    if plan.mechanism.reads_private_rows:
        check_delta_rule(pays.delta, mark.units, accepted=choice.accept_delta, whose=f"the delta of asset {pays.name}")
    return ReadyRun(
        prepared=prepared,
        ledger=book,
        asset=pays,
        is_new=found is None,
        mark=mark,
        dataset=dataset,
        actor=actor or user_name(),
        outlook=outlook,
        override=override,
    )


def check_together(ready: Sequence[ReadyRun]) -> Outlook:
    """What paying for all of them would do to their asset. Raises the BudgetError that paying would raise now; nothing
    is written."""
    first, orders = ready[0], [_order(each) for each in ready]
    if first.is_new:
        return reservations.check_affordable_when_new(first.asset, orders)
    return reservations.check_affordable(first.ledger, first.asset, first.mark, orders)


def pay(ready: ReadyRun | Sequence[ReadyRun], model: ModelInfo) -> list[PaidRun]:
    """Register the asset where it is new, then pay for all runs in one transaction, or for none.

    Several runs must be of one file, as in a comparison. Raises BudgetError and LedgerError as reservations.reserve,
    and BudgetError for a run that is paid already.
    """
    together = [ready] if isinstance(ready, ReadyRun) else list(ready)
    first = together[0]
    if any(each.mark != first.mark or each.ledger.ledger_id != first.ledger.ledger_id for each in together):
        raise ConfigError("runs that are paid together must be made of one file and one ledger.")
    asset = _registered(first, [_order(each) for each in together])
    together = [_with_stored_assignment(each, asset) for each in together]
    orders = [_order(each) for each in together]
    paid = reservations.reserve(
        first.ledger, asset, first.mark, orders, model, actor=first.actor, override=first.override
    )
    return [
        PaidRun(reservation.run_id, each.prepared, each.ledger, asset, each.actor, reservation)
        for reservation, each in zip(paid, together, strict=True)
    ]


def assignment_of(ledger: Ledger, asset: Asset | None, dataset: Dataset, plan: GenerationPlan) -> dict[str, str] | None:
    """Each person's label, stored or drawn now; None where units are rows or labels are open."""
    if plan.unit is not PrivacyUnit.PERSON or plan.task.open_labels:
        return None
    return persons.assignment_for(ledger, asset, dataset)


def _order(ready: ReadyRun) -> Order:
    return Order(ready.plan, ready.request, ready.prices, ready.run_id)


def _override(choice: AssetChoice) -> Override | None:
    if choice.override_reason is None:
        return None
    if not choice.override_reason.strip():
        raise ConfigError("--override-reason is empty; say why the shared rows are no person's text.")
    return Override(choice.override_reason.strip())


def _check_same_terms(asset: Asset, choice: AssetChoice) -> None:
    """What was signed for an asset is never changed by a run's options."""
    for option, said, stands in (
        ("cap", choice.cap, asset.epsilon),
        ("asset-delta", choice.delta, asset.delta),
        ("owner", choice.owner, asset.owner),
        ("rule", choice.rule, asset.rule),
    ):
        if said is not None and said != stands:
            raise BudgetError(
                f"asset {asset.name}, to which this file belongs, has {option} {stands} for good, and --{option} says "
                f"{said}; leave the option out."
            )


def _proposal(ledger: Ledger, choice: AssetChoice, dataset: Dataset, mark: Fingerprint, prepared: PreparedRun) -> Asset:
    """The asset that paying would register, its order chosen for runs like this one."""
    with ledger.read() as connection:
        taken = {asset.name for asset in assets.all_assets(connection)}
    rule: Rule = choice.rule or "renyi"
    delta = choice.delta
    if delta is None:
        delta = default_delta(mark.units) * (10 if rule == "sum" else 1)  # a sum adds deltas; 1/n is the most
    cap = DEFAULT_CAP_EPSILON if choice.cap is None else choice.cap
    order = filters.best_order(cap, delta, costs.price_charges(prepared.prices)) if rule == "renyi" else None
    terms = AssetTerms(
        name=choice.name or _free_name(dataset.name, taken),
        owner=choice.owner or user_name(),
        unit=prepared.plan.unit,
        labels=prepared.plan.task.labels,
        epsilon=cap,
        delta=delta,
        rule=rule,
        order=order,
        person_column=mark.person_column if prepared.plan.unit is PrivacyUnit.PERSON else None,
    )
    return assets.proposed(terms)


def _free_name(file_name: str, taken: set[str]) -> str:
    stem = re.sub(r"\.(csv|tsv|txt|xlsx)$", "", file_name, flags=re.IGNORECASE)
    base = "".join(character for character in stem if character.isprintable()).strip()[:180] or "table"
    return next(
        name
        for number in range(1, len(taken) + 2)
        if (name := base if number == 1 else f"{base}-{number}") not in taken
    )


def _registered(ready: ReadyRun, orders: Sequence[Order]) -> Asset:
    """The asset, registered now where it is new, unless another process has done so meanwhile."""
    if not ready.is_new:
        return ready.asset
    reservations.check_affordable_when_new(ready.asset, orders)
    with ready.ledger.write() as connection:
        found = matching.asset_for(connection, ready.mark, wanted=None, override=False)
        if found is None:
            found = assets.create_asset(connection, ready.ledger, assets.terms_of(ready.asset), actor=ready.actor)
            matching.tie_file(connection, ready.ledger, found, ready.mark, actor=ready.actor)
    return found


def _with_stored_assignment(ready: ReadyRun, asset: Asset) -> ReadyRun:
    """Pools from the assignment that is stored for good, stored now for persons that were not met before."""
    plan = ready.plan
    assets.check_unit(asset, plan.unit, ready.mark)
    if plan.unit is not PrivacyUnit.PERSON or plan.task.open_labels:
        return ready
    for _ in range(_ASSIGNMENT_TRIES):
        drawn = persons.assignment_for(ready.ledger, asset, ready.dataset)
        if persons.store_assignment(ready.ledger, asset, ready.dataset, drawn, actor=ready.actor):
            prepared = runs.prepare_run(ready.dataset, plan, ready.request, assignment=drawn)
            return replace(ready, prepared=prepared)
    raise LedgerError("other processes keep assigning persons of this asset; try again.")
