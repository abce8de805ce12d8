"""What the Evaluate screen is about: one run's texts, others beside them, the tables; and the tasks that follow."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import streamlit as st

from dpicl_core.charged_runs import stored_record
from dpicl_core.data import Dataset, declare_labels, label_counts, read_dataset
from dpicl_core.documents import DemonstrationsDocument, ViewPart
from dpicl_core.errors import DataError
from dpicl_core.evaluation import (
    AccuracyOptions,
    AccuracyTask,
    AttackOptions,
    CanaryTask,
    ConsensusTask,
    LeakageTask,
    MembershipTask,
    OwnRun,
    PrivateTable,
)
from dpicl_core.export import document_for
from dpicl_core.ledger import Ledger, StoredRun, ended_runs, stored_run
from dpicl_core.ledger.ended import EndedRun
from dpicl_core.planning import mechanism_named
from dpicl_core.runs import PrivacyRequest
from dpicl_core.sign_off import internal_views
from dpicl_core.specs import MechanismSpec
from dpicl_core.values import GenerationPlan, PrivacyUnit, Selection, Task
from pages.support.asset import where
from pages.support.state import ASKED, ledger, registry, studio
from pages.support.table import HELD_OUT_SAMPLE

LISTED_RUNS = 200
_HELD_OUT = f"{ASKED}held_out"
"""Held-out rows in the session: a name of ASKED, so that they go when the table goes."""

DEFAULT_EPSILON = 4.0
"""What the noise of runs made here is calibrated to where the evaluated run has none."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One run and those beside it, all on the table of this session. views: what the ledger has as opened already.

    private: the table, None where this session holds none. held_out: rows never used, where there are some.
    """

    stored: StoredRun = field(repr=False)
    documents: tuple[DemonstrationsDocument, ...] = field(repr=False)
    views: tuple[ViewPart, ...]
    private: PrivateTable | None
    held_out: PrivateTable | None

    @property
    def task(self) -> Task:
        return self.stored.plan.task

    @property
    def about(self) -> tuple[str | None, ...]:
        """Names what is measured: the runs, this one first."""
        return tuple(document.run for document in self.documents)

    def accuracy(
        self, references: tuple[str, ...], *, rows: int, seeds: int, calibrate: bool, fold: bool
    ) -> AccuracyTask:
        return AccuracyTask(
            task=self.task,
            documents=self.documents,
            plan=self._plan(self.stored.plan.mechanism),
            references=references,
            private=self.private,
            held_out=self.held_out,
            seeds=seeds,
            limit=rows,
            options=AccuracyOptions(calibrate=calibrate, fold=fold),
        )

    def membership(self, *, trials: int, rows: int, real_prompts: int) -> MembershipTask | None:
        """None without held-out rows."""
        if self.private is None or self.held_out is None:
            return None
        options = AttackOptions(trials, rows)
        return MembershipTask(self.task, self.documents, self.private, self.held_out, options, real_prompts)

    def leakage(self) -> LeakageTask | None:
        return None if self.private is None else LeakageTask(self.documents, self.private, self.held_out)

    def consensus(self) -> ConsensusTask | None:
        """Along one run of Tang's, as in the papers, with this run's numbers."""
        if self.private is None:
            return None
        return ConsensusTask(self._own_run("tang-gaussian"), self.private, self._epsilon())

    def canaries(self, runs: int) -> CanaryTask | None:
        """This run's mechanism, and the algorithm without protection, one demonstration a run."""
        if self.private is None:
            return None
        names = dict.fromkeys((self.stored.plan.mechanism.name, "unprotected"))
        tried = tuple(self._own_run(name, shots=1) for name in names)
        return CanaryTask(tried, self.private, self._epsilon(), runs)

    def _own_run(self, mechanism: str, shots: int | None = None) -> OwnRun:
        plan = self.stored.plan
        spec = plan.mechanism if mechanism == plan.mechanism.name else mechanism_named(mechanism)
        plan = replace(self._plan(spec), target_labels=plan.target_labels[:shots])
        noisy = bool(spec.noise_multipliers())
        request = self.stored.request
        return OwnRun(plan, PrivacyRequest(self._epsilon() if noisy else None, request.delta, request.accountant))

    def _plan(self, mechanism: MechanismSpec) -> GenerationPlan:
        """The run's plan for runs that stay here: rows as units, label counts as they are."""
        plan = self.stored.plan
        selection = plan.selection if mechanism.releases_vector else Selection()
        return replace(plan, mechanism=mechanism, selection=selection, unit=PrivacyUnit.ROW, label_bounds=None)

    def _epsilon(self) -> float:
        return self.stored.request.epsilon or DEFAULT_EPSILON


def candidates() -> list[EndedRun] | None:
    """Ended runs of this session's table, newest first; of every table where it holds none. None while the ledger is
    being asked. Raises LedgerError where it cannot be read."""
    book = ledger()
    found = None if studio().dataset is None else where()
    if studio().dataset is not None and found is None:
        return None
    with book.read() as connection:
        runs = ended_runs(connection, limit=LISTED_RUNS)
    if found is None:
        return runs
    own = {asset.id for asset in found.known.assets} if found.known is not None else set()
    return [run for run in runs if run.asset_id in own]


def beside(run: EndedRun, runs: list[EndedRun]) -> list[EndedRun]:
    """Other runs of the same table and task."""
    return [other for other in runs if other.id != run.id and other.plan.task == run.plan.task]


def of_this_session() -> set[str]:
    """Ids in the ledger of the runs that this session started."""
    found = (registry().snapshot(run_id) for run_id in studio().own_runs)
    return {snapshot.ledger_run_id for snapshot in found if snapshot is not None}


def evaluated(run_id: str, others: list[str]) -> Evaluated:
    """The run and those beside it, as the ledger has them."""
    book, table = ledger(), studio().dataset
    with book.read() as connection:
        first, *rest = (stored_run(connection, each) for each in (run_id, *others))
        views = internal_views(connection, first)
    documents = tuple(document_for(stored_record(each)) for each in (first, *rest))
    return Evaluated(first, documents, views, _private(table, (run_id, *others), book), _private(held_out(), (), book))


def held_out() -> Dataset | None:
    """Rows never used, as this session has them."""
    kept: Dataset | None = st.session_state.get(_HELD_OUT)
    return kept


def take_held_out(content: bytes | None, name: str) -> None:
    """Read held-out rows with the table's columns, leaving rows of undeclared labels out; None for the sample's.

    Raises DataError as reading does.
    """
    table = studio().dataset
    assert table is not None
    source = HELD_OUT_SAMPLE if content is None else content
    found = read_dataset(source, name=name, text_column=table.text_column, label_column=table.label_column)
    if table.declared_labels:
        others = [label for label in label_counts(found) if label not in table.declared_labels]
        found = declare_labels(found, table.declared_labels, leave_out=others)
    if not len(found):
        raise DataError("no row of the file carries a declared label; give rows of the same task.")
    st.session_state[_HELD_OUT] = found


def let_held_out_go() -> None:
    """Forget the held-out rows."""
    st.session_state.pop(_HELD_OUT, None)


def _private(dataset: Dataset | None, run_ids: tuple[str, ...], book: Ledger) -> PrivateTable | None:
    return None if dataset is None else PrivateTable(dataset, run_ids, book)
