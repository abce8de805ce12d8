"""Paid runs on their way: generate, resume, close; every token is in the ledger before anyone sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from dpicl_core import runs
from dpicl_core.charged_runs.internal_view import open_view
from dpicl_core.charged_runs.preparing import PaidRun, ReadyRun, assignment_of, pay
from dpicl_core.data import Dataset, pool_for
from dpicl_core.errors import ConfigError, DataError, DPICLError, LedgerError
from dpicl_core.events import DemonstrationFinished, EndReason, ReleasedEvent, TokenReleased
from dpicl_core.generation import Observer
from dpicl_core.language_model.protocol import LanguageModel, ModelInfo
from dpicl_core.ledger import assets, tokens, vouching
from dpicl_core.ledger.assets import Asset
from dpicl_core.ledger.fingerprints import fingerprint
from dpicl_core.ledger.identity import user_name
from dpicl_core.ledger.store import Ledger, open_ledger
from dpicl_core.ledger.tokens import StoredRun
from dpicl_core.randomness import SecretRandomness
from dpicl_core.runs import PreparedRun, PrivacyRequest, RunRecord
from dpicl_core.values import Example, GenerationPlan, PrivacyUnit


def run(
    ready: ReadyRun | PaidRun,
    model: LanguageModel,
    *,
    on_event: Callable[[ReleasedEvent], None] | None = None,
    observe: Observer | None = None,
) -> RunRecord:
    """Pay, unless that is done, and generate; every token is in the ledger before `on_event` is told of it.

    Whatever stops it (an error, a kill, Ctrl-C) gives nothing back; `resume` goes on from the stored tokens.
    """
    runs.check_context(ready.prepared.plan, model)
    paid = pay(ready, model.info)[0] if isinstance(ready, ReadyRun) else ready
    return _go(paid, model, on_event, observe)


def resume(
    run_id: str,
    dataset: Dataset,
    model: LanguageModel,
    *,
    ledger: Ledger | None = None,
    actor: str | None = None,
    on_event: Callable[[ReleasedEvent], None] | None = None,
    observe: Observer | None = None,
) -> RunRecord:
    """Go on with an interrupted run: its stored tokens stand, the rest is drawn afresh, and nothing is paid again.

    dataset: the same file, read with the same columns; its keyed hash is checked. Raises DataError for another file,
    ModelError for another model, LedgerError where the run has ended.
    """
    book = open_ledger() if ledger is None else ledger
    with book.read() as connection:
        vouching.check_run(connection, book, run_id)
        stored = tokens.stored_run(connection, run_id)
        asset = assets.asset_named(connection, stored.asset_id)
        known = tokens.file_hash_of(connection, stored)
    if asset is None:
        raise LedgerError("the run's asset is no longer in the ledger; run `ledger verify`.")
    if fingerprint(dataset, book.identity).file_hash != known:
        raise DataError(
            "this is not the file that the run was started with, or it was read with other columns or labels; give the "
            "same file, unchanged. The ledger recognises it by keyed hashes."
        )
    _check_same_model(stored.model, model.info)
    prepared = _again(book, asset, dataset, stored)
    runs.check_context(prepared.plan, model)
    return _go(PaidRun(run_id, prepared, book, asset, actor or user_name()), model, on_event, observe)


def close_partial(run_id: str, reason: str, *, ledger: Ledger | None = None, actor: str | None = None) -> RunRecord:
    """End an interrupted run for good; its record holds the demonstrations as far as they came, which may leave."""
    book = open_ledger() if ledger is None else ledger
    return stored_record(tokens.close_partial(book, run_id, reason, actor=actor or user_name()))


def stored_record(stored: StoredRun) -> RunRecord:
    """What a run left so far, as a record: the texts of its stored tokens, which are released and paid.

    Of a finished run it is the record that `run` returned, so that its document has the same bytes. Raises LedgerError
    for a run that has not ended.
    """
    if stored.state in tokens.OPEN_STATES:
        raise LedgerError(f"run {stored.id} is {stored.state}; resume it or close it before its document is made.")
    last: dict[int, TokenReleased] = {token.demonstration: token for token in stored.tokens}
    ids: dict[int, list[int]] = {index: [] for index in last}
    for token in stored.tokens:
        ids[token.demonstration].append(token.token_id)
    demonstrations = tuple(
        DemonstrationFinished(
            demonstration=index,
            label=stored.plan.target_labels[index],
            text=token.text,
            token_ids=tuple(ids[index]),
            ended_by=_ended_by(token, stored.plan),
        )
        for index, token in sorted(last.items())
    )
    return RunRecord(
        plan=stored.plan,
        request=stored.request,
        prices=stored.prices,
        demonstrations=demonstrations,
        model=stored.model,
        private=True,
        finished_at=datetime.fromisoformat(stored.changed_at),
        run_id=stored.id,
    )


def _ended_by(last: TokenReleased, plan: GenerationPlan) -> EndReason:
    if last.ends:
        return "ending-token"
    return "token-limit" if last.position + 1 >= plan.tokens else "stopped"


def internal_run(
    dataset: Dataset,
    plan: GenerationPlan,
    request: PrivacyRequest,
    model: LanguageModel,
    *,
    ledger: Ledger | None = None,
    actor: str | None = None,
    on_event: Callable[[ReleasedEvent], None] | None = None,
) -> RunRecord:
    """A run without protection, for the steward's eyes: opening it is recorded, its text is stored nowhere."""
    open_view(dataset, f"run by {plan.mechanism.name}, not DP", ledger=ledger, actor=actor)
    prepared = runs.prepare_run(dataset, plan, request)
    return runs.run(prepared, model, on_event=on_event)


def reveal_random_rows(
    dataset: Dataset, plan: GenerationPlan, *, ledger: Ledger | None = None, actor: str | None = None
) -> tuple[Example, ...]:
    """One random real row for each target label, for the steward's eyes: not DP, recorded, never exported."""
    open_view(dataset, "random real rows, not DP", ledger=ledger, actor=actor)
    secret = SecretRandomness()
    pools = {label: pool_for(dataset, label, PrivacyUnit.ROW) for label in plan.pool_labels()}
    shown = []
    for label in plan.target_labels:
        pool = pools[None if plan.task.open_labels else label]
        if not len(pool):
            raise DataError(f"label {label} has no row to show; choose another target label.")
        shown.append(pool.units[secret.choose(len(pool))][0])
    return tuple(shown)


def _go(
    paid: PaidRun,
    model: LanguageModel,
    on_event: Callable[[ReleasedEvent], None] | None,
    observe: Observer | None,
) -> RunRecord:
    attempt, stored = tokens.start(paid.ledger, paid.run_id, actor=paid.actor)
    try:
        record = runs.run(
            paid.prepared,
            model,
            on_event=on_event,
            observe=observe,
            commit=tokens.committer(paid.ledger, paid.run_id, attempt, actor=paid.actor),
            released=stored.tokens,
        )
    except BaseException as error:
        _note_stop(paid, attempt, error)
        raise
    finished_at = tokens.finish(paid.ledger, paid.run_id, attempt, actor=paid.actor)
    return replace(record, run_id=paid.run_id, finished_at=datetime.fromisoformat(finished_at))


def _note_stop(paid: PaidRun, attempt: str, error: BaseException) -> None:
    """Say in the ledger why an attempt ended; where even that fails, the run simply stays open."""
    if isinstance(error, DPICLError):
        reason = str(error)
    else:
        # another error's message may hold private text
        reason = {KeyboardInterrupt: "stopped by the user", GeneratorExit: "stopped by the user"}.get(
            type(error), f"stopped by a fault of kind {type(error).__name__}"
        )
    try:
        tokens.stop(paid.ledger, paid.run_id, attempt, reason, actor=paid.actor)
    except LedgerError:
        return


def _again(ledger: Ledger, asset: Asset, dataset: Dataset, stored: StoredRun) -> PreparedRun:
    """The prepared run as it was paid: stored plan and prices, pools rebuilt from the file and the stored labels."""
    assigned = assignment_of(ledger, asset, dataset, stored.plan)
    pools = runs.pools_for(dataset, stored.plan, assignment=assigned)
    return PreparedRun(stored.plan, stored.request, stored.prices, pools)


def _check_same_model(then: ModelInfo, now: ModelInfo) -> None:
    if (then.name, then.weights_sha256) != (now.name, now.weights_sha256):
        raise ConfigError(
            f"the run was started with model {then.name}, and {now.name} with other weights is loaded now; one text "
            "comes from one model. Load the first one again, or close the run as partial."
        )
