"""Signing what leaves: a run of the ledger, a person's decisions, one transaction that records them, the signed file.

Runs are found in the ledger, so that one that ended yesterday can be vetted today. Whether something internal was
opened before is read from the ledger in the same transaction that records the approval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core import accounting
from dpicl_core.charged_runs import stored_record
from dpicl_core.documents import (
    BudgetPart,
    DecisionPart,
    DemonstrationsDocument,
    ViewPart,
    canonical_hash,
    text_hash,
)
from dpicl_core.errors import ExportError, LedgerError
from dpicl_core.export import document_for
from dpicl_core.ledger import (
    Asset,
    CostPart,
    Ledger,
    StoredRun,
    append_decision,
    asset_named,
    asset_report,
    chain,
    check_run,
    cost_parts,
    events_of,
    record_decision,
    schema,
    share_anything,
    standing,
    stored_run,
    user_name,
    what_if,
)
from dpicl_core.ledger.costs import Paid, for_every_label, labels_over
from dpicl_core.rounding import percent_left, rounded_up
from dpicl_core.vetting import Decision, Finding, SignOff, check_texts, vetted

UNNAMED_VIEW = "something internal"


@dataclass(frozen=True, slots=True)
class VettableRun:
    """A run that has ended, ready to be looked at: released text and public settings alone.

    findings: of each demonstration of the document, in its order. views: what was opened so far, as the ledger says.
    """

    stored: StoredRun = field(repr=False)
    asset: Asset
    document: DemonstrationsDocument = field(repr=False)
    findings: tuple[tuple[Finding, ...], ...] = field(repr=False)
    views: tuple[ViewPart, ...]


@dataclass(frozen=True, slots=True)
class AnotherTry:
    """What one more demonstration of a label would cost with the same noise. epsilon: of that run alone, at the run's
    delta. share_left, share_after: of the asset's budget, now and then. fits: whether the cap allows it."""

    epsilon: float
    delta: float
    share_left: float
    share_after: float
    fits: bool

    def words(self) -> str:
        """One sentence for a person who thinks of rejecting a text."""
        if self.epsilon == 0:
            return "Another try reads no private row and spends nothing."
        after = "is over the cap" if not self.fits else f"would leave {percent_left(self.share_after)}"
        return (
            f"Another try with the same noise spends epsilon {rounded_up(self.epsilon)} at delta {self.delta:g}: of "
            f"the budget {percent_left(self.share_left)} is left, and it {after}."
        )


def vettable_run(ledger: Ledger, run_id: str) -> VettableRun:
    """The run with its document and checks. Raises ConfigError where there is no such run, LedgerError where it has not
    ended, ExportError where it released nothing."""
    with ledger.read() as connection:
        stored = stored_run(connection, run_id)
        return VettableRun(
            stored=stored,
            asset=_asset_of(connection, stored),
            document=_document_of(stored),
            findings=findings_of(stored),
            views=internal_views(connection, stored),
        )


def findings_of(stored: StoredRun, texts: Sequence[str] | None = None) -> tuple[tuple[Finding, ...], ...]:
    """Checks of a run's texts, or of others in their place (edits); reads released text and public facts alone."""
    released = stored_record(stored).demonstrations
    shown = [demonstration.text for demonstration in released] if texts is None else texts
    return check_texts(shown, [demonstration.label for demonstration in released], stored.plan.task)


def internal_views(connection: Connection, stored: StoredRun) -> tuple[ViewPart, ...]:
    """What the ledger records as opened that could have informed a choice among this run's texts, oldest first.

    Views of the run, of other runs of its asset, and of the asset itself. A view of a table that no asset knew yet
    counts where it came before this asset's last new file: it may have been that file. So does a view of another asset
    that has rows, persons or a file in common with this one, as where a person decided against the match.
    """
    tied = events_of(connection, asset_id=stored.asset_id, kind="file-tied")
    last_file = max((event.seq for event in tied), default=0)
    all_views = events_of(connection, kind="internal-view")
    others = {event.asset_id for event in all_views} - {None, stored.asset_id}
    related = {other for other in others if other and share_anything(connection, stored.asset_id, other)}
    found = []
    for event in all_views:
        view = str(event.details.get("view", UNNAMED_VIEW))
        if event.asset_id is None:
            if event.seq > last_file:
                continue
            view += ", of a table that was not in the ledger yet"
        elif event.asset_id != stored.asset_id:
            if event.asset_id not in related:
                continue
            view += ", of another asset that shares rows with this one"
        elif event.run_id not in (None, stored.id):
            view += ", of another run of the same asset"
        found.append(ViewPart(at=event.at, view=view))
    return tuple(found)


def another_try(ledger: Ledger, stored: StoredRun, label: str) -> AnotherTry:
    """The price of one more demonstration of this label with the same noise; nothing is written."""
    with ledger.read() as connection:
        asset = _asset_of(connection, stored)
        before = standing(connection, asset)
        charged = schema.charges.c
        query = sa.select(charged.label).where(charged.run_id == stored.id)
        all_paid = None in set(connection.execute(query).scalars())
    parts: tuple[CostPart, ...] = ()
    plan = replace(stored.plan, target_labels=(label,))
    (pool,) = plan.pool_labels()
    if plan.mechanism.reads_private_rows:
        price = next(price for price in stored.prices if price.label == pool)
        tokens = plan.composed_tokens(pool)
        epsilon = accounting.epsilon_tight(
            price.mechanism, sampling_rate=price.sampling_rate, composed_tokens=tokens, delta=price.delta
        )
        parts = cost_parts(asset, plan, [replace(price, composed_tokens=tokens, epsilon_tight=epsilon)])
        if all_paid:
            parts = for_every_label(parts)
    paid = [Paid(part.label, part.cost, part.delta) for part in parts]
    return AnotherTry(
        epsilon=max((part.epsilon for part in parts), default=0.0),
        delta=stored.request.delta,
        share_left=max(what_if(before, []), 0.0),
        share_after=what_if(before, paid),
        fits=not labels_over(before, parts),
    )


def sign(
    ledger: Ledger,
    run_id: str,
    decisions: Sequence[Decision],
    *,
    reviewer: str,
    justification: str,
    account: str | None = None,
) -> DemonstrationsDocument:
    """Record every decision, the justification and the file's hash in one transaction; the signed document.

    reviewer: the person's name, under which it is recorded. account: the operating-system user, recorded beside it.
    Signing again is allowed and recorded again. Raises ExportError as vetting.vetted, LedgerError where the ledger
    cannot be written or its rows of the run were changed by other means; then nothing is recorded.
    """
    who = account or user_name()
    with ledger.write() as connection:
        check_run(connection, ledger, run_id)
        stored = stored_run(connection, run_id)
        report = asset_report(connection, _asset_of(connection, stored))
        budget = BudgetPart(
            asset=report.asset.name,
            epsilon=report.asset.epsilon,
            delta=report.asset.delta,
            rule=report.asset.rule,
            epsilon_spent=report.epsilon_spent,
            share_left=report.share_left,
        )
        views = internal_views(connection, stored)
        document = vetted(_document_of(stored), decisions, SignOff(reviewer, chain.now(), justification, views, budget))
        vetting = document.vetting
        assert vetting is not None
        kept = iter(document.demonstrations)
        for part in vetting.decisions:
            text = None if part.decision == "rejected" else next(kept).text
            append_decision(
                connection,
                ledger,
                part.decision,
                actor=vetting.reviewer,
                run_id=run_id,
                details={**_details(part, text), "account": who},
            )
        details = {
            "justification": vetting.justification,
            "selection": vetting.selection,
            "internal_views": len(views),
            "sha256": document.sha256,
            "account": who,
        }
        append_decision(connection, ledger, "justified", actor=vetting.reviewer, run_id=run_id, details=details)
    chain.note_seen(ledger)
    return document


def record_export(ledger: Ledger, document: DemonstrationsDocument, format_name: str, content: bytes) -> None:
    """Record that a signed document left, and as which bytes. Raises ExportError for one that nobody has signed or
    that names no run, LedgerError where the ledger does not know the signature."""
    vetting = document.vetting
    if vetting is None or document.run is None:
        raise ExportError("this file is not a signed one; vet its run first.")
    if canonical_hash(document.model_dump(mode="json")) != document.sha256:
        raise ExportError("this file was changed after it was signed; take it again from its makers.")
    with ledger.read() as connection:
        signed = {event.details.get("sha256") for event in sign_offs(connection, document.run)}
    if document.sha256 not in signed:
        raise LedgerError("the ledger does not know this signature; vet the run on the machine that made it.")
    details = {
        "format": format_name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "document_sha256": document.sha256,
        "vetted": True,
        "account": user_name(),
    }
    record_decision(ledger, "exported", actor=vetting.reviewer, run_id=document.run, details=details)


def sign_offs(connection: Connection, run_id: str) -> tuple[chain.Event, ...]:
    """The recorded signatures of a run, oldest first."""
    return tuple(
        event for event in events_of(connection, run_id=run_id, without=("token",)) if event.kind == "justified"
    )


def _details(part: DecisionPart, text: str | None) -> dict[str, object]:
    """What the ledger keeps of a decision; of an edited text its hash alone."""
    details: dict[str, object] = {"demonstration": part.demonstration, "released_sha256": part.released_sha256}
    if part.reason is not None:
        details["reason"] = part.reason
    if part.decision == "edited" and text is not None:
        details["edited_sha256"] = text_hash(text)
    return details


def _document_of(stored: StoredRun) -> DemonstrationsDocument:
    document = document_for(stored_record(stored))
    if not document.demonstrations:
        raise ExportError(f"run {stored.id} released no text before it was closed, so there is nothing to vet.")
    return document


def _asset_of(connection: Connection, stored: StoredRun) -> Asset:
    asset = asset_named(connection, stored.asset_id)
    if asset is None:
        raise LedgerError("the run's asset is no longer in the ledger; run `ledger verify`.")
    return asset
