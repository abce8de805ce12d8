"""A comparison is paid for in one step before any of it is drawn, and nothing that was paid for is lost."""

from __future__ import annotations

import os
import signal

import pytest

from dpicl_core.charged_runs import AssetChoice, ResumableRun, belonging, interrupted_runs, pay_together
from dpicl_core.errors import BudgetError, ConfigError, LedgerError
from dpicl_core.jobs import JobRegistry, ModelCheck, RunState, TaskState, offer_together, pay_and_queue
from dpicl_core.jobs.registry import QUEUE_LIMIT
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import asset_reports, events_of, open_ledger, run_lines, verify_ledger
from dpicl_core.planning import plan_for
from dpicl_core.runs import request_for
from dpicl_core.values import PrivacyUnit
from tests.app.test_jobs import over
from tests.support.ledgers import table
from tests.support.tables import ANIMALS, animal_rows

TOY = ToyModel().info
NAMES = ("adadpsyn", "tang-gaussian", "public-only")


@pytest.fixture(scope="module")
def shared():
    """One registry for each fake model, since starting a child takes longest; each run names its own ledger."""
    made = {}

    def of(loader):
        return made.setdefault(loader, JobRegistry(f"tests.app.fake_models:{loader}"))

    yield of
    for registry in made.values():
        registry.shutdown()


def offered(names=NAMES, *, cap=None, epsilon=1.0, dataset=None, **settings):
    rows = table() if dataset is None else dataset
    plans = [plan_for(ANIMALS, name, **{"shots": 2, "tokens": 8, "min_tokens": 8, **settings}) for name in names]
    return offer_together(rows, plans, request_for(rows, epsilon), AssetChoice(cap=cap), open_ledger())


def happened(kinds=("reserved", "started", "token", "finished", "stopped", "resumed", "internal-view")):
    with open_ledger().read() as connection:
        return [(event.kind, event.run_id) for event in events_of(connection) if event.kind in kinds]


def lines():
    with open_ledger().read() as connection:
        return run_lines(connection)


def test_all_are_paid_before_any_is_drawn_then_drawn_one_after_the_other(shared, until):
    registry, offer = shared("slow"), offered()
    ids = pay_and_queue(registry, offer.ready, TOY, model=None)
    first, second, third = (registry.snapshot(run_id) for run_id in ids)
    assert all(each.spends for each in (first, second, third))
    assert [each.state for each in (second, third)] == [RunState.QUEUED] * 2
    assert [each.ledger_run_id for each in (first, second, third)] == [ready.run_id for ready in offer.ready]
    done = [until(over(registry, run_id)) for run_id in ids]
    assert [each.state for each in done] == [RunState.FINISHED] * 3
    kinds = [kind for kind, _ in happened()]
    assert kinds[:3] == ["reserved"] * 3
    order = [run_id for kind, run_id in happened() if kind != "reserved"]
    assert list(dict.fromkeys(order)) == [ready.run_id for ready in offer.ready]
    assert sorted(order, key=[ready.run_id for ready in offer.ready].index) == order
    assert "resumed" not in kinds
    assert all(each.seconds_taken > 0 for each in done)
    assert [each.tokens_done for each in done] == [16] * 3
    assert verify_ledger(open_ledger()).holds


def test_what_is_said_before_is_what_is_paid():
    offer = offered()
    assert offer.epsilon == pytest.approx(2.0, rel=1e-3)
    assert offer.delta == pytest.approx(2 * request_for(table(), 1.0).delta)
    assert [each.plan.mechanism.name for each in offer.ready] == list(NAMES)
    pay_together(offer.ready, TOY)
    with open_ledger().read() as connection:
        (report,) = asset_reports(connection)
    assert report.share_left == pytest.approx(1 - offer.outlook.after.share_spent)


def test_a_second_press_pays_nothing_and_starts_nothing(registry_of):
    registry, offer = registry_of("slow"), offered()
    ids = pay_and_queue(registry, offer.ready, TOY, model=None)
    assert pay_and_queue(registry, offer.ready, TOY, model=None) == ids
    with pytest.raises(BudgetError, match="paid already"):  # on another server of the same ledger
        pay_and_queue(registry_of("toy"), offer.ready, TOY, model=None)
    assert len(lines()) == 3
    assert len(registry.going_on()) == 3


def test_what_does_not_fit_together_is_refused_before_and_when_paid_none_of_it_is(shared):
    problem = offered(cap=1.2, epsilon=1.0).problem
    assert "does not allow these 3 runs together" in problem
    assert problem.endswith("Compare fewer mechanisms, or choose a smaller epsilon or fewer demonstrations.")
    one, other = offered(("tang-gaussian", "anchored"), cap=2.5), offered(("tang-gaussian", "anchored"), cap=2.5)
    assert not one.problem and not other.problem  # noqa: PT018 - each fits by itself, both do not
    pay_together(one.ready, TOY)
    with pytest.raises(BudgetError, match="does not allow"):
        pay_and_queue(shared("toy"), other.ready, TOY, model=None)
    assert {line.id for line in lines()} == {ready.run_id for ready in one.ready}


def test_a_full_queue_is_refused_before_anything_is_paid(registry_of):
    registry, offer = registry_of("slow_to_load"), offered()
    for number in range(QUEUE_LIMIT - 1):
        registry.ask(ModelCheck(offer.ready[0].plan), token=str(number))
    with pytest.raises(ConfigError, match=f"at most {QUEUE_LIMIT}"):
        pay_and_queue(registry, offer.ready, TOY, model=None)
    assert lines() == []


def test_a_process_that_dies_takes_one_run_along_and_the_others_go_on(shared, until):
    registry, offer = shared("slow"), offered(tokens=20)
    ids = pay_and_queue(registry, offer.ready, TOY, model=None)
    until(lambda: registry.snapshot(ids[0]).tokens_done >= 2)
    os.kill(registry.child_pid(), signal.SIGKILL)
    ended = [until(over(registry, run_id)).state for run_id in ids]
    assert ended == [RunState.FAILED, RunState.FINISHED, RunState.FINISHED]
    (left,) = interrupted_runs(belonging(table(), open_ledger()), open_ledger())
    assert left.stored.id == offer.ready[0].run_id


def test_a_waiting_run_that_is_stopped_stays_paid_and_goes_on_later_at_no_cost(shared, until):
    registry, offer = shared("slow"), offered()
    ids = pay_and_queue(registry, offer.ready, TOY, model=None)
    registry.stop(ids[1])
    stopped = registry.snapshot(ids[1])
    assert (stopped.state, stopped.reason) == (
        RunState.STOPPED,
        "You stopped this run. What the run reserved stays spent.",
    )
    until(over(registry, ids[2]))
    with open_ledger().read() as connection:
        (before,) = asset_reports(connection)
    (left,) = interrupted_runs(belonging(table(), open_ledger()), open_ledger())
    work = ResumableRun(left.stored, left.asset_name, table(), open_ledger(), "Bo")
    assert registry.submit(work, token="on") == ids[1]
    assert until(over(registry, ids[1])).tokens_done == 16
    with open_ledger().read() as connection:
        assert asset_reports(connection)[0].epsilon_spent == before.epsilon_spent


def test_persons_are_assigned_once_for_all_runs(shared, until):
    people = table(animal_rows(240), persons=[f"Person {number // 4}" for number in range(240)])
    offer = offered(("tang-gaussian", "anchored"), dataset=people, unit=PrivacyUnit.PERSON)
    registry = shared("toy")
    done = [until(over(registry, run_id)) for run_id in pay_and_queue(registry, offer.ready, TOY, model=None)]
    assert [each.state for each in done] == [RunState.FINISHED] * 2
    pools = [[price.pool_units for price in each.prices] for each in done]
    assert pools[0] == pools[1]
    assert sum(pools[0]) == 60


def test_the_model_is_asked_without_a_row_and_refuses_prompts_that_are_too_long(shared, until):
    registry = shared("toy")
    plan = plan_for(ANIMALS, "public-only", shots=2)
    known = registry.ask(ModelCheck(plan), token="check")
    assert until(lambda: registry.answer(known).over and registry.answer(known)).result == TOY
    long = plan_for(ANIMALS, "public-only", shots=2, per_subset=100, record_tokens=64)
    asked = registry.ask(ModelCheck(long), token="check again")
    refused = until(lambda: registry.answer(asked).over and registry.answer(asked))
    assert refused.state is TaskState.FAILED
    assert "the longest prompt of this plan" in refused.reason[:1].lower() + refused.reason[1:]


def test_the_figures_and_the_cluster_picture_are_opened_and_recorded_each_by_itself(shared, until):
    registry, offer = shared("toy"), offered(("tang-gaussian",))
    (run_id,) = pay_and_queue(registry, offer.ready, TOY, model=None)
    done = until(over(registry, run_id))
    for view in ("radii", "radii", "cluster picture"):
        registry.open_internal(run_id, view)
    until(lambda: len(registry.diagnostics(run_id)) == done.tokens_done)
    assert [name for name, _ in registry.snapshot(run_id).opened_views] == ["radii", "cluster picture"]
    assert len(happened(("internal-view",))) == 2


def test_a_page_made_from_the_ledger_holds_released_texts_and_no_vector(shared, until):
    registry, offer = shared("toy"), offered(("tang-gaussian",))
    (run_id,) = pay_and_queue(registry, offer.ready, TOY, model=None)
    with pytest.raises(LedgerError, match="once it has ended"):
        registry.show_ended(open_ledger(), offer.ready[0].run_id, asset_name="animals")
    done = until(over(registry, run_id))
    page, again = (registry.show_ended(open_ledger(), done.ledger_run_id, asset_name="animals") for _ in range(2))
    assert page == again != run_id
    shown = registry.snapshot(page)
    assert [draft.text for draft in shown.drafts] == [draft.text for draft in done.drafts]
    assert (shown.state, shown.seconds_taken, shown.drawn_here) == (RunState.FINISHED, None, False)
    registry.open_internal(page, "radii")
    assert registry.diagnostics(page) == ()
