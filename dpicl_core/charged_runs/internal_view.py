"""Looking behind the guarantee at one table: recorded once, then the steward may measure what private rows do.

A view exists only once the ledger has recorded it, so whatever takes one as an argument cannot be reached without that.
Texts of runs made here stand in no ledger and are never exported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from dpicl_core import runs
from dpicl_core.data import Dataset, pool_for
from dpicl_core.errors import DataError
from dpicl_core.events import ReleasedEvent
from dpicl_core.generation import Observer
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.ledger import fingerprint, meetings, open_ledger, record_decision, schema, user_name
from dpicl_core.ledger.store import Ledger
from dpicl_core.randomness import SecretRandomness
from dpicl_core.runs import PrivacyRequest, RunRecord
from dpicl_core.values import Example, GenerationPlan, Pool, PrivacyUnit


@dataclass(frozen=True, slots=True)
class InternalView:
    """A recorded view of one table. what: as the ledger has it, without private text. Made by `open_view` alone."""

    dataset: Dataset = field(repr=False)
    what: str

    def run(
        self,
        plan: GenerationPlan,
        request: PrivacyRequest,
        model: LanguageModel,
        *,
        planted: Sequence[Example] = (),
        on_event: Callable[[ReleasedEvent], None] | None = None,
        observe: Observer | None = None,
    ) -> RunRecord:
        """An unpaid run whose text must stay with the steward. planted: rows added to the table for this run."""
        table = _with_rows(self.dataset, planted)
        record = runs.run(runs.prepare_run(table, plan, request), model, on_event=on_event, observe=observe)
        return replace(record, private=False)  # nobody paid for it, so it may never leave

    def pool(self, label: str | None) -> Pool:
        """All rows of one label, or of the table where label is None. Raises DataError where there is none."""
        pool = pool_for(self.dataset, label, PrivacyUnit.ROW)
        if not len(pool):
            raise DataError("a label of the plan has no row in the table; choose other target labels.")
        return pool

    def random_rows(self, plan: GenerationPlan) -> tuple[Example, ...]:
        """One real row for each target label, drawn with operating-system entropy; no row twice while others are left.

        With open labels any row serves, under its own label.
        """
        secret = SecretRandomness()
        labels = plan.target_labels
        drawn: dict[str | None, list[Example]] = {}
        for name in plan.pool_labels():
            pool, uses = self.pool(name), len(labels) if name is None else labels.count(name)
            order: list[int] = []
            while len(order) < uses:
                order.extend(secret.draw(len(pool), min(len(pool), uses - len(order))))
            drawn[name] = [pool.units[index][0] for index in order]
        return tuple(drawn[None if plan.task.open_labels else label].pop() for label in labels)

    def only(self, indices: Collection[int]) -> InternalView:
        """The same view of some rows alone, by their places among the examples, in file order."""
        kept = sorted(set(indices))
        table = self.dataset
        persons = None if table.persons is None else tuple(table.persons[index] for index in kept)
        rows, lines = tuple(table.examples[index] for index in kept), tuple(table.lines[index] for index in kept)
        return replace(self, dataset=replace(table, examples=rows, lines=lines, persons=persons))


def open_view(
    dataset: Dataset,
    what: str,
    *,
    run_ids: Sequence[str] = (),
    ledger: Ledger | None = None,
    actor: str | None = None,
) -> InternalView:
    """Record the view on the runs whose texts are looked at, and on every asset that the table belongs to.

    An asset is named by its run where there is one; a table that belongs to no asset is recorded on the ledger alone,
    and so is a run of another ledger. what: for example "membership inference, not DP".
    Raises LedgerError where it cannot be recorded; then nothing may be looked at.
    """
    book = open_ledger() if ledger is None else ledger
    mark = fingerprint(dataset, book.identity)
    with book.read() as connection:
        run = schema.runs.c
        query = sa.select(run.id, run.asset_id).where(run.id.in_(run_ids)).order_by(run.created_at, run.id)
        named = {row.id: row.asset_id for row in connection.execute(query)}
        bound = [met.asset.id for met in meetings(connection, mark) if met.binds]
    who, details = actor or user_name(), {"view": what}
    for run_id in named:
        record_decision(book, "internal-view", actor=who, run_id=run_id, details=details)
    others: list[str | None] = [asset_id for asset_id in bound if asset_id not in named.values()]
    if not bound:
        others.append(None)
    for asset_id in others:
        record_decision(book, "internal-view", actor=who, asset_id=asset_id, details=details)
    return InternalView(dataset, what)


def _with_rows(dataset: Dataset, planted: Sequence[Example]) -> Dataset:
    """The table with rows added behind the last, each a unit of its own."""
    if not planted:
        return dataset
    last = max(dataset.lines, default=0)
    persons = dataset.persons
    if persons is not None:
        persons = (*persons, *(f"planted {number} {last}" for number in range(len(planted))))
    return replace(
        dataset,
        examples=(*dataset.examples, *planted),
        lines=(*dataset.lines, *range(last + 1, last + 1 + len(planted))),
        persons=persons,
    )
