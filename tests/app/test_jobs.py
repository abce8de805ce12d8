"""Runs as background jobs: what a person presses, what fails, and what is left of private rows."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from dpicl_core.export import document_bytes, document_for
from dpicl_core.jobs import LengthsTask, RunState, TaskState, cluster_view
from dpicl_core.values import Example
from tests.support.runs import ready_run


def over(registry, run_id):
    return lambda: (found := registry.snapshot(run_id)) and found.state.over and found


def test_a_run_finishes_and_its_texts_are_those_of_its_record(registry_of, until):
    registry = registry_of("toy")
    run_id = registry.submit(ready_run("adadpsyn"), token="once")
    done = until(over(registry, run_id))
    assert done.state is RunState.FINISHED
    assert [draft.text for draft in done.drafts] == [d.text for d in done.record.demonstrations]
    assert all(draft.tokens for draft in done.drafts)
    assert registry.diagnostics(run_id) == ()


def test_the_same_confirmation_sent_twice_is_one_run(registry_of):
    registry = registry_of("slow")
    ready = ready_run()
    first = registry.submit(ready, token="a")
    assert registry.submit(ready, token="a") == first
    assert registry.submit(ready_run(), token="b") != first
    assert len(first) >= 32


def test_a_second_run_waits_and_knows_its_place(registry_of, until):
    registry = registry_of("slow")
    first, second, third = (registry.submit(ready_run(), token=name) for name in "abc")
    until(lambda: registry.snapshot(first).state is RunState.RUNNING)
    assert registry.snapshot(second).place == 1
    assert registry.snapshot(third).place == 2
    registry.stop(second)
    stopped = registry.snapshot(second)
    assert stopped.state is RunState.STOPPED
    assert not stopped.spends
    assert registry.snapshot(third).place == 1
    until(over(registry, third))


@pytest.mark.parametrize("loader", ["slow", "stuck"])
def test_a_stop_shows_within_two_seconds_even_where_the_model_hangs(registry_of, until, loader):
    registry = registry_of(loader)
    run_id = registry.submit(ready_run(), token="a")
    until(lambda: registry.snapshot(run_id).tokens_done >= 2)
    pressed = time.monotonic()
    registry.stop(run_id)
    stopped = until(over(registry, run_id))
    assert time.monotonic() - pressed < 2
    assert stopped.state is RunState.STOPPED
    assert "stays spent" in stopped.reason
    assert stopped.record is None


def test_a_crash_of_the_process_is_told_with_its_exit_code_and_the_next_run_works(registry_of, until):
    registry = registry_of("crashing")
    run_id = registry.submit(ready_run(), token="a")
    failed = until(over(registry, run_id))
    assert failed.state is RunState.FAILED
    assert "exit code 9" in failed.reason
    again = registry.submit(ready_run(), token="b")
    assert until(over(registry, again)).tokens_done == 2


def test_a_killed_process_shows_within_two_seconds(registry_of, until):
    import os
    import signal

    registry = registry_of("slow")
    run_id = registry.submit(ready_run(), token="a")
    until(lambda: registry.snapshot(run_id).tokens_done >= 1)
    os.kill(registry.child_pid(), signal.SIGKILL)
    killed = time.monotonic()
    failed = until(over(registry, run_id))
    assert time.monotonic() - killed < 2
    assert "as when memory runs out" in failed.reason


def test_a_model_that_cannot_be_loaded_is_told_in_the_engines_words(registry_of, until):
    registry = registry_of("missing")
    run_id = registry.submit(ready_run(), token="a")
    failed = until(over(registry, run_id))
    assert failed.reason.startswith("There is no model of that name; choose another one. The run was not paid for yet")
    assert not failed.spends


def test_an_error_that_quotes_a_row_is_told_without_the_row(registry_of, until):
    registry = registry_of("quoting")
    run_id = registry.submit(ready_run(), token="a")
    reason = until(over(registry, run_id)).reason
    assert "withheld" in reason
    assert "late for food" not in reason


def test_the_server_keeps_no_row_of_a_run_that_began(registry_of, until):
    registry = registry_of("slow")
    secret = "the marmot under the blue staircase"
    rows = [Example("cat", f"{secret} {number}") for number in range(40)]
    run_id = registry.submit(ready_run(rows=rows, shots=1), token="a")
    until(lambda: registry.snapshot(run_id).tokens_done >= 1)
    entry = registry._desk.runs[run_id]
    assert entry.work is None
    assert secret.encode() not in pickle.dumps(registry.snapshot(run_id))
    assert secret not in repr(entry)


def test_internal_vectors_come_only_when_asked_and_go_when_closed(registry_of, until):
    registry = registry_of("slow")
    run_id = registry.submit(ready_run("adadpsyn"), token="a")
    until(lambda: registry.snapshot(run_id).tokens_done >= 3)
    assert registry.diagnostics(run_id) == ()
    assert registry.snapshot(run_id).opened_views == ()
    registry.open_clusters(run_id)
    registry.open_clusters(run_id)
    seen = until(lambda: registry.diagnostics(run_id))
    assert seen[0].position == 0
    [(name, at)] = registry.snapshot(run_id).opened_views
    assert name == "cluster picture"
    assert at.endswith("+00:00")
    done = until(over(registry, run_id))
    until(lambda: len(registry.diagnostics(run_id)) == done.tokens_done)
    registry.close(run_id)
    assert registry.diagnostics(run_id) == ()
    assert registry.snapshot(run_id).opened_views


def test_a_picture_opened_after_the_run_shows_all_of_its_tokens(registry_of, until):
    registry = registry_of("toy")
    run_id = registry.submit(ready_run("anchored"), token="a")
    done = until(over(registry, run_id))
    registry.open_clusters(run_id)
    seen = until(lambda: registry.diagnostics(run_id))
    assert len(seen) == done.tokens_done
    view = cluster_view(seen[0], done.drafts[0].tokens[0].trace)
    assert view.points.shape == (4, 2)
    distances = np.linalg.norm(view.points - view.points[0], axis=1)
    full = np.linalg.norm(seen[0].probabilities - seen[0].probabilities[0], axis=1)
    assert np.all(distances <= full + 1e-12)


def test_the_export_of_a_run_is_the_same_bytes_each_time(registry_of, until):
    registry = registry_of("toy")
    run_id = registry.submit(ready_run(), token="a")
    until(over(registry, run_id))
    first, second = (document_bytes(document_for(registry.snapshot(run_id).record)) for _ in range(2))
    assert first == second


def test_lengths_in_tokens_are_counted_by_the_child(registry_of, until):
    registry = registry_of("toy")
    rows = [Example("cat", "the cat and the dog"), Example("cat", "a cat")]
    task_id = registry.ask(LengthsTask(tuple(rows), 8), token="lengths")
    found = until(lambda: registry.answer(task_id).result)
    until(lambda: registry.answer(task_id).state is TaskState.DONE)
    assert found.longest > found.shortest
    assert found.over_cap == 1
    assert found.cap == 8


def test_the_child_runs_below_the_servers_priority_and_its_output_goes_nowhere(registry_of, until, monkeypatch):
    import os

    monkeypatch.delenv("DPICL_NICENESS")
    registry = registry_of("slow")
    run_id = registry.submit(ready_run(), token="a")
    until(lambda: registry.snapshot(run_id).tokens_done >= 1)
    pid = registry.child_pid()
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    group = Path(f"/proc/{pid}/autogroup")
    if group.exists():  # Linux then shares the processor by session first, and niceness alone would do nothing
        assert group.read_text("ascii").split()[-1] == str(os.getpriority(os.PRIO_PROCESS, pid))
    for descriptor in (0, 1, 2):
        assert str(Path(f"/proc/{pid}/fd/{descriptor}").readlink()) == "/dev/null"
