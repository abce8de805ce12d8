"""Work in the child process that is no run: progress, stop, failure, and what is left of it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import pytest

from dpicl_core.errors import ConfigError
from dpicl_core.jobs import LengthsTask, RunState, TaskState
from dpicl_core.jobs.registry import QUEUE_LIMIT
from dpicl_core.values import Example
from tests.support.runs import ready_run

SECRET = "the marmot under the blue staircase"


@dataclass(frozen=True)
class Steps:
    """Tells as many steps, so many seconds apart, and answers with their number."""

    steps: int
    seconds: float
    private: str = field(default="", repr=False)

    def run(self, model, tell):
        for step in range(self.steps):
            tell("stepping", step / self.steps)
            time.sleep(self.seconds)
        return self.steps


@dataclass(frozen=True)
class Quoting:
    """Fails with a message that quotes a row."""

    def run(self, model, tell):
        raise RuntimeError(SECRET)


@dataclass(frozen=True)
class Ending:
    """Ends its process."""

    def run(self, model, tell):
        os._exit(9)


def over(registry, task_id):
    return lambda: (found := registry.answer(task_id)) and found.over and found


def test_a_task_tells_its_share_and_the_time_left_and_then_what_it_found(registry_of, until):
    registry = registry_of("toy")
    task_id = registry.ask(Steps(10, 0.05), token="a")
    seen = until(
        lambda: (found := registry.answer(task_id)) and found.stage == "stepping" and found.fraction >= 0.3 and found
    )
    assert 0 < seen.seconds_left < 30
    assert seen.result is None
    done = until(over(registry, task_id))
    assert (done.state, done.result, done.reason) == (TaskState.DONE, 10, "")
    assert registry.ask(Steps(10, 0.05), token="a") == task_id


@pytest.mark.parametrize("pause", [0.05, 600.0])
def test_a_stop_shows_within_two_seconds_even_where_a_task_tells_nothing(registry_of, until, pause):
    registry = registry_of("toy")
    task_id = registry.ask(Steps(100_000, pause), token="a")
    until(lambda: registry.answer(task_id).state is TaskState.WORKING)
    pressed = time.monotonic()
    registry.stop_task(task_id)
    stopped = until(over(registry, task_id))
    assert time.monotonic() - pressed < 2
    assert (stopped.state, stopped.result) == (TaskState.STOPPED, None)
    again = registry.ask(Steps(1, 0.0), token="b")
    assert until(over(registry, again)).result == 1


def test_a_failure_is_told_without_the_row_that_its_message_quotes_and_a_crash_with_its_exit_code(registry_of, until):
    registry = registry_of("toy")
    quoting, ending = registry.ask(Quoting(), token="a"), registry.ask(Ending(), token="b")
    failed = until(over(registry, quoting))
    assert failed.state is TaskState.FAILED
    assert "withheld" in failed.reason
    assert SECRET not in failed.reason
    assert "exit code 9" in until(over(registry, ending)).reason


def test_tasks_and_runs_share_one_queue_and_a_stopped_task_in_it_never_begins(registry_of, until):
    registry = registry_of("slow")
    run_id = registry.submit(ready_run(), token="run")
    first, second = (registry.ask(Steps(1, 0.0), token=name) for name in "ab")
    until(lambda: registry.snapshot(run_id).state is RunState.RUNNING)
    assert [registry.answer(name).place for name in (first, second)] == [1, 2]
    registry.stop_task(first)
    assert registry.answer(first).state is TaskState.STOPPED
    assert registry.answer(second).place == 1
    assert until(over(registry, second)).state is TaskState.DONE
    assert registry.snapshot(run_id).state is RunState.FINISHED


def test_the_server_lets_a_tasks_rows_go_once_the_child_has_them_and_its_answer_when_told_to(registry_of, until):
    registry = registry_of("toy")
    task_id = registry.ask(Steps(3, 0.01, SECRET), token="a")
    entry = registry._desk.tasks[task_id]
    assert SECRET not in repr(entry)
    until(over(registry, task_id))
    assert entry.work is None
    registry.forget_task(task_id)
    assert registry.answer(task_id) is None
    assert registry.ask(Steps(1, 0.0), token="a") != task_id


def test_a_full_queue_is_refused_in_words(registry_of):
    registry = registry_of("slow_to_load")

    def ask_often():
        for number in range(QUEUE_LIMIT + 2):
            registry.ask(LengthsTask((Example("cat", "a cat"),), 8), token=str(number))

    with pytest.raises(ConfigError, match=f"at most {QUEUE_LIMIT}"):
        ask_often()
