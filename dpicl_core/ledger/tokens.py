"""A run's life after it was paid: start, tokens one by one, stop, resume, end. One transaction for one fact."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.errors import ConfigError, LedgerError
from dpicl_core.events import TokenReleased
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.ledger import chain, plans, schema, vouching
from dpicl_core.ledger.reservations import request_from_text
from dpicl_core.ledger.store import Ledger
from dpicl_core.ledger.verification import token_key
from dpicl_core.runs import PrivacyRequest
from dpicl_core.values import GenerationPlan, Price

State = Literal["reserved", "running", "stopped", "finished", "partial"]
OPEN_STATES: tuple[State, ...] = ("reserved", "running", "stopped")

Decision = Literal["exported", "internal-view", "approved", "rejected", "edited", "setting-changed", "justified"]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run as the ledger holds it: public settings and released text alone."""

    id: str
    asset_id: str
    file_id: str
    actor: str
    created_at: str
    changed_at: str
    state: State
    reason: str | None
    plan: GenerationPlan
    request: PrivacyRequest
    prices: tuple[Price, ...]
    model: ModelInfo
    epsilon: float
    delta: float
    tokens: tuple[TokenReleased, ...] = field(default=(), repr=False)


def stored_run(connection: Connection, run_id: str) -> StoredRun:
    """A run with its tokens in the order of their release. Raises ConfigError where there is none of that id."""
    row = connection.execute(sa.select(schema.runs).where(schema.runs.c.id == run_id)).mappings().first()
    if row is None:
        raise ConfigError(f"the ledger has no run {run_id}; list them with `ledger list`.")
    query = sa.select(schema.tokens).where(schema.tokens.c.run_id == run_id).order_by(schema.tokens.c.event)
    return StoredRun(
        id=row["id"],
        asset_id=row["asset_id"],
        file_id=row["file_id"],
        actor=row["actor"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        state=row["state"],
        reason=row["reason"],
        plan=plans.plan_from_text(row["plan"]),
        request=request_from_text(row["request"]),
        prices=plans.prices_from_text(row["prices"]),
        model=plans.model_from_text(row["model"]),
        epsilon=row["epsilon"],
        delta=row["delta"],
        tokens=tuple(_token(entry) for entry in connection.execute(query).mappings()),
    )


def file_hash_of(connection: Connection, run: StoredRun) -> str:
    """The keyed hash of the file that a run was paid for."""
    query = sa.select(schema.files.c.file_hash).where(schema.files.c.id == run.file_id)
    return str(connection.execute(query).scalar_one())


def reading_of(connection: Connection, run: StoredRun) -> tuple[str, str, str | None]:
    """The public names of the text, label and person columns with which a run's file was read."""
    file = schema.files.c
    query = sa.select(file.text_column, file.label_column, file.person_column).where(file.id == run.file_id)
    row = connection.execute(query).one()
    return row.text_column, row.label_column, row.person_column


def open_runs(connection: Connection, *, file_hash: str, asset_ids: Sequence[str]) -> list[tuple[StoredRun, bool, str]]:
    """Runs of a file, or of these assets, that may still go on, newest first.

    Each with whether it was paid for with this very file, and the time (ISO 8601) of what was last stored of it.
    """
    query = (
        sa.select(schema.runs.c.id, schema.files.c.file_hash)
        .join(schema.files, schema.files.c.id == schema.runs.c.file_id)
        .where(
            schema.runs.c.state.in_(OPEN_STATES),
            sa.or_(schema.files.c.file_hash == file_hash, schema.runs.c.asset_id.in_(asset_ids)),
        )
        .order_by(schema.runs.c.created_at.desc(), schema.runs.c.id)
    )
    found = []
    for run_id, known in connection.execute(query).all():
        last = sa.select(sa.func.max(schema.events.c.at)).where(schema.events.c.run_id == run_id)
        found.append((stored_run(connection, run_id), known == file_hash, str(connection.execute(last).scalar_one())))
    return found


def start(ledger: Ledger, run_id: str, *, actor: str) -> tuple[str, StoredRun]:
    """Make this attempt the only one that may commit tokens; its id, and the run with what it has so far.

    An attempt that was running elsewhere finds at its next token that it was replaced, and shows nothing more.
    Raises LedgerError for a run that has ended.
    """
    attempt = secrets.token_hex(16)
    with ledger.write() as connection:
        vouching.check_run(connection, ledger, run_id)
        run = stored_run(connection, run_id)
        if run.state not in OPEN_STATES:
            raise LedgerError(f"run {run_id} has ended ({run.state}), so it cannot go on; make a new one.")
        kind = "started" if run.state == "reserved" else "resumed"
        _change(
            connection,
            ledger,
            run_id,
            kind,
            {"state": "running", "runner": attempt, "reason": None},
            actor=actor,
            details={"tokens": len(run.tokens)},
        )
    return attempt, run


def committer(ledger: Ledger, run_id: str, attempt: str, *, actor: str) -> Callable[[TokenReleased], None]:
    """What the token loop calls with each token before anyone sees it."""

    def commit(token: TokenReleased) -> None:
        with ledger.write() as connection:
            _commit_token(connection, ledger, run_id, attempt, token, actor)

    return commit


def _commit_token(
    connection: Connection, ledger: Ledger, run_id: str, attempt: str, token: TokenReleased, actor: str
) -> None:
    row = connection.execute(
        sa.select(schema.runs.c.state, schema.runs.c.runner, schema.runs.c.asset_id).where(schema.runs.c.id == run_id)
    ).one()
    if row.state != "running" or row.runner != attempt:
        raise LedgerError(
            f"run {run_id} was continued or closed elsewhere, so this attempt has stopped; its last token was not "
            "stored and is not shown."
        )
    sequence = int(connection.execute(sa.select(schema.head.c.events)).scalar_one()) + 1
    stored = {
        "run_id": run_id,
        "demonstration": token.demonstration,
        "position": token.position,
        "token_id": token.token_id,
        "ends": token.ends,
        "text": token.text,
        "trace": plans.trace_to_text(token.trace),
        "event": sequence,
    }
    connection.execute(schema.tokens.insert().values(**stored))
    key = token_key(run_id, token.demonstration, token.position)
    chain.append(
        connection,
        ledger,
        "token",
        actor=actor,
        asset_id=row.asset_id,
        run_id=run_id,
        facts=[chain.Fact("tokens", key, chain.row_digest(stored))],
    )


def stop(ledger: Ledger, run_id: str, attempt: str | None, reason: str, *, actor: str) -> bool:
    """Record that an attempt ended early, with a reason that holds no private text; the run may be resumed.

    attempt: None for whichever was running, where its process is known to be gone. False where no run of that id was
    ever paid; the question waits for a payment that a dead process had sent, so the answer stands.
    """
    with ledger.write() as connection:
        run = connection.execute(sa.select(schema.runs).where(schema.runs.c.id == run_id)).mappings().first()
        if run is not None and run["state"] == "running" and attempt in (None, run["runner"]):
            values = {"state": "stopped", "runner": None, "reason": reason}
            _change(connection, ledger, run_id, "stopped", values, actor=actor, details={"reason": reason})
    return run is not None


def finish(ledger: Ledger, run_id: str, attempt: str, *, actor: str) -> str:
    """Record that all demonstrations are done; when. Raises LedgerError for an attempt that was replaced."""
    with ledger.write() as connection:
        run = connection.execute(sa.select(schema.runs).where(schema.runs.c.id == run_id)).mappings().one()
        if run["state"] != "running" or run["runner"] != attempt:
            raise LedgerError(f"run {run_id} was continued or closed elsewhere; look at it with `ledger show`.")
        _change(connection, ledger, run_id, "finished", {"state": "finished", "runner": None}, actor=actor)
        when = connection.execute(sa.select(schema.runs.c.changed_at).where(schema.runs.c.id == run_id)).scalar_one()
    chain.note_seen(ledger)
    return str(when)


def close_partial(ledger: Ledger, run_id: str, reason: str, *, actor: str) -> StoredRun:
    """End a run for good with what it has; what it reserved stays spent. Raises LedgerError where it has ended."""
    with ledger.write() as connection:
        run = stored_run(connection, run_id)
        if run.state not in OPEN_STATES:
            raise LedgerError(f"run {run_id} has ended already ({run.state}).")
        values = {"state": "partial", "runner": None, "reason": reason}
        details = {"reason": reason, "tokens": len(run.tokens)}
        _change(connection, ledger, run_id, "closed-partial", values, actor=actor, details=details)
        closed = stored_run(connection, run_id)
    chain.note_seen(ledger)
    return closed


def record_decision(
    ledger: Ledger,
    decision: Decision,
    *,
    actor: str,
    run_id: str | None = None,
    asset_id: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record what a person did: exports (with the file's SHA-256), internal views opened, approvals with reasons.

    details: public or released values alone; never a private text.
    """
    with ledger.write() as connection:
        append_decision(connection, ledger, decision, actor=actor, run_id=run_id, asset_id=asset_id, details=details)


def append_decision(
    connection: Connection,
    ledger: Ledger,
    decision: Decision,
    *,
    actor: str,
    run_id: str | None = None,
    asset_id: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """record_decision inside a transaction of the caller's, so that several are recorded together or not at all."""
    if run_id is not None:
        query = sa.select(schema.runs.c.asset_id).where(schema.runs.c.id == run_id)
        asset_id = str(connection.execute(query).scalar_one())
    chain.append(connection, ledger, decision, actor=actor, asset_id=asset_id, run_id=run_id, details=details)


def _change(
    connection: Connection,
    ledger: Ledger,
    run_id: str,
    kind: str,
    values: Mapping[str, Any],
    *,
    actor: str,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Change a run's row and record it with the row's new digest."""
    this = schema.runs.c.id == run_id
    connection.execute(schema.runs.update().where(this).values(**values, changed_at=chain.now()))
    row = connection.execute(sa.select(schema.runs).where(this)).mappings().one()
    facts = [chain.Fact("runs", run_id, chain.row_digest(row))]
    chain.append(
        connection, ledger, kind, actor=actor, asset_id=row["asset_id"], run_id=run_id, facts=facts, details=details
    )


def _token(row: Any) -> TokenReleased:
    return TokenReleased(
        demonstration=row["demonstration"],
        position=row["position"],
        token_id=row["token_id"],
        text=row["text"],
        trace=plans.trace_from_text(row["trace"]),
        ends=bool(row["ends"]),
    )
