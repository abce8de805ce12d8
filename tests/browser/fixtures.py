"""Fixtures of the browser tests, for all folders of tests."""

from __future__ import annotations

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.support import launched, served


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = launched(playwright)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server_of(tmp_path_factory):
    """Serve the app with a fake model, or the default one (None); one server of each kind for all tests of a process.

    Which files share a process, tests/conftest.py says.
    """
    running = {}
    contexts = []

    def serve(loader):
        if loader not in running:
            context = served(tmp_path_factory.mktemp(f"server-{loader}"), loader)
            running[loader] = context.__enter__()
            contexts.append(context)
        return running[loader]

    yield serve
    for context in contexts:
        context.__exit__(None, None, None)
