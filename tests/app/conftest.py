"""Registries for tests: one child process each, ended when the test is."""

from __future__ import annotations

import time

import pytest

from dpicl_core.jobs import JobRegistry


@pytest.fixture
def registry_of():
    """Make a registry whose child loads the named fake model."""
    made = []

    def make(loader: str) -> JobRegistry:
        made.append(JobRegistry(f"tests.app.fake_models:{loader}"))
        return made[-1]

    yield make
    for registry in made:
        registry.shutdown()


@pytest.fixture
def until():
    """Wait until a condition holds, a generous time at most: other work may share the machine."""

    def wait(condition, seconds=60.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.02)
        raise AssertionError(f"nothing within {seconds} s")

    return wait
