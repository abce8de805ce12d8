"""Registries for tests: one child process each, ended when the test is."""

from __future__ import annotations

import time
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from dpicl_core.jobs import JobRegistry


@pytest.fixture(scope="session", autouse=True)
def one_look_for_components():
    """Streamlit's test runner reads the metadata of every installed package for each app; they do not change here."""
    patch = pytest.MonkeyPatch()
    patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
    yield
    patch.undo()


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
            time.sleep(0.1)
        raise AssertionError(f"nothing within {seconds} s")

    return wait
