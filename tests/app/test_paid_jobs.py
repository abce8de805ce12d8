"""Jobs and the ledger: paid before anything is drawn, stored before it is shown, settled whatever ends the process."""

from __future__ import annotations

import hashlib
import os
import signal

import pytest

from dpicl_core.charged_runs import ResumableRun, belonging, interrupted_runs, prepare_run
from dpicl_core.errors import ConfigError, ExportError, LedgerError
from dpicl_core.jobs import RunState
from dpicl_core.ledger import asset_reports, events_of, open_ledger, run_lines, stored_run, verify_ledger
from dpicl_core.planning import plan_for
from dpicl_core.runs import request_for
from dpicl_core.values import PrivacyUnit
from dpicl_core.verification import read_document, verify
from tests.app.test_jobs import over
from tests.support.ledgers import table
from tests.support.runs import ready_run
from tests.support.tables import ANIMALS, animal_rows

LONG = {"tokens": 40, "min_tokens": 40, "shots": 1}


def lines(ledger):
    with ledger.read() as connection:
        return run_lines(connection)


def stored(ledger, run_id):
    with ledger.read() as connection:
        return stored_run(connection, run_id)


def spent(ledger):
    with ledger.read() as connection:
        return [report.epsilon_spent for report in asset_reports(connection)]


def kinds(ledger, run_id):
    with ledger.read() as connection:
        return [event.kind for event in events_of(connection, run_id=run_id, without=("token",))]


def shown(snapshot):
    return [token for draft in snapshot.drafts for token in draft.tokens]


def going(registry, ready, until, least=3):
    run_id = registry.submit(ready, token=ready.run_id)
    until(lambda: registry.snapshot(run_id).tokens_done >= least)
    return run_id


def resumable(ready):
    [run] = interrupted_runs(belonging(ready.dataset, ready.ledger), ready.ledger)
    return ResumableRun(run.stored, run.asset_name, ready.dataset, ready.ledger, "Bo")


def test_a_run_is_paid_in_the_child_before_it_draws_and_every_token_shown_is_stored(registry_of, until):
    registry, ready = registry_of("slow"), ready_run("adadpsyn", shots=2, tokens=8)
    run_id = registry.submit(ready, token="a")
    paid = until(lambda: (found := registry.snapshot(run_id)).spends and found)
    assert (paid.ledger_run_id, paid.asset_name) == (ready.run_id, "animals")
    assert paid.ledger_run_id not in run_id
    while not registry.snapshot(run_id).state.over:
        seen = shown(registry.snapshot(run_id))
        assert set(seen) <= set(stored(ready.ledger, ready.run_id).tokens)
    done = registry.snapshot(run_id)
    assert sorted(shown(done), key=_place) == sorted(stored(ready.ledger, ready.run_id).tokens, key=_place)
    assert done.record.run_id == ready.run_id
    assert kinds(ready.ledger, ready.run_id) == ["reserved", "started", "finished"]
    assert verify_ledger(ready.ledger).holds


def _place(token):
    return token.demonstration, token.position


def test_a_run_that_is_stopped_before_it_is_paid_costs_nothing_and_says_so(registry_of, until):
    registry, ready = registry_of("slow_to_load"), ready_run()
    run_id = registry.submit(ready, token="a")
    until(lambda: registry.snapshot(run_id).state is RunState.LOADING)
    registry.stop(run_id)
    stopped = until(over(registry, run_id))
    assert stopped.reason == "You stopped this run. The run was not paid for yet, so nothing was drawn or spent."
    assert not stopped.spends
    assert lines(ready.ledger) == []


def test_the_budget_refuses_in_the_child_what_another_run_took_meanwhile(registry_of, until):
    registry = registry_of("toy")
    first = ready_run(cap=4)
    second = ready_run(cap=4)
    one, two = (registry.submit(ready, token=ready.run_id) for ready in (first, second))
    assert until(over(registry, one)).state is RunState.FINISHED
    refused = until(over(registry, two))
    assert refused.state is RunState.FAILED
    assert not refused.spends
    assert "the cap of asset animals (epsilon 4" in refused.reason[0].lower() + refused.reason[1:]
    assert "These would fit: " in refused.reason
    assert "--" not in refused.reason
    assert [line.id for line in lines(first.ledger)] == [first.run_id]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_run_that_ended_early_goes_on_from_its_stored_tokens_at_no_cost(registry_of, until, end):
    registry, ready = registry_of("slow"), ready_run(**LONG)
    run_id = going(registry, ready, until)
    if end == "stop":
        registry.stop(run_id)
    else:
        os.kill(registry.child_pid(), signal.SIGKILL)
    ended = until(over(registry, run_id))
    assert "stays spent" in ended.reason
    before = stored(ready.ledger, ready.run_id)
    assert before.state == "stopped"
    assert tuple(shown(ended)) == before.tokens
    cost = spent(ready.ledger)
    again = registry.submit(resumable(ready), token="again")
    assert again == run_id
    done = until(over(registry, run_id))
    assert done.state is RunState.FINISHED
    assert tuple(shown(done))[: len(before.tokens)] == before.tokens
    assert done.tokens_done == 40
    assert spent(ready.ledger) == cost
    assert kinds(ready.ledger, ready.run_id) == ["reserved", "started", "stopped", "resumed", "finished"]
    assert verify_ledger(ready.ledger).holds


def test_a_run_is_closed_as_partial_once_it_is_stopped_and_its_texts_leave(registry_of, until):
    registry, ready = registry_of("slow"), ready_run(**LONG)
    run_id = going(registry, ready, until)
    with pytest.raises(ConfigError, match="still going on"):
        registry.close_partial(ready.ledger, ready.run_id, "enough", asset_name="animals")
    registry.stop(run_id)
    stopped = until(over(registry, run_id))
    with pytest.raises(ExportError, match="no finished texts"):
        registry.export(run_id)
    assert registry.close_partial(ready.ledger, ready.run_id, "enough", asset_name="animals") == run_id
    closed = registry.snapshot(run_id)
    assert closed.state is RunState.PARTIAL
    assert shown(closed) == shown(stopped)
    document = read_document(registry.export(run_id))
    assert verify(document).problems == ()
    assert document.demonstrations[0].ended_by == "stopped"


def test_a_server_that_is_new_closes_a_run_of_the_old_one_on_a_page_of_its_own(registry_of, until):
    old, ready = registry_of("slow"), ready_run(**LONG)
    old_id = going(old, ready, until)
    old.shutdown()
    state = stored(ready.ledger, ready.run_id)
    assert (state.state, state.reason) == ("stopped", "The server was shut down.")
    new = registry_of("slow")
    run_id = new.close_partial(open_ledger(), ready.run_id, "enough", asset_name="animals")
    assert run_id != old_id
    assert tuple(shown(new.snapshot(run_id))) == state.tokens
    assert new.snapshot(run_id).drafts[0].text == state.tokens[-1].text


def test_exports_and_opened_pictures_are_in_the_ledger_before_anything_is_handed_out(registry_of, until):
    registry, ready = registry_of("toy"), ready_run(shots=1)
    run_id = registry.submit(ready, token="a")
    until(over(registry, run_id))
    contents = [registry.export(run_id), registry.export(run_id)]
    registry.open_clusters(run_id)
    registry.open_clusters(run_id)
    until(lambda: registry.diagnostics(run_id))
    with ready.ledger.read() as connection:
        events = events_of(connection, run_id=ready.run_id, without=("token",))
    exported = [event for event in events if event.kind == "exported"]
    assert [event.details["sha256"] for event in exported] == [hashlib.sha256(part).hexdigest() for part in contents]
    [view] = [event for event in events if event.kind == "internal-view"]
    assert view.details == {"view": "cluster picture"}
    assert {event.actor for event in events} == {ready.actor}


def test_a_ledger_that_cannot_be_written_hands_nothing_out(registry_of, until):
    registry, ready = registry_of("toy"), ready_run(shots=1)
    run_id = registry.submit(ready, token="a")
    until(over(registry, run_id))
    with ready.ledger.write() as connection:
        connection.exec_driver_sql("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'full'); END")
    with pytest.raises(LedgerError, match="disk is full"):
        registry.export(run_id)
    with pytest.raises(LedgerError, match="disk is full"):
        registry.open_clusters(run_id)
    assert registry.snapshot(run_id).opened_views == ()
    assert registry.diagnostics(run_id) == ()


def test_a_child_that_cannot_open_the_ledger_says_so_and_nothing_is_spent(registry_of, until):
    registry, ready = registry_of("toy"), ready_run()
    (ready.ledger.identity.home / "secret.key").unlink()
    failed = until(over(registry, registry.submit(ready, token="a")))
    assert "secret.key in DPICL_HOME) is missing" in failed.reason
    assert failed.reason.endswith("nothing was drawn or spent.")
    assert not failed.spends


def test_persons_run_through_the_stored_assignment(registry_of, until):
    people = table(animal_rows(240), persons=[f"Person {number // 4}" for number in range(240)])
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, unit=PrivacyUnit.PERSON, subsets=4, per_subset=2)
    registry, totals = registry_of("toy"), []
    for _ in range(2):
        ready = prepare_run(people, plan, request_for(people, 1.0))
        done = until(over(registry, registry.submit(ready, token=ready.run_id)))
        assert done.state is RunState.FINISHED
        totals.append([price.pool_units for price in stored(ready.ledger, ready.run_id).prices])
    assert totals[0] == totals[1]
    assert sum(totals[0]) == 60
