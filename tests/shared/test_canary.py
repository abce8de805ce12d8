"""The canary row in a real browser: a row unlike all others shows on no page, in no log and in no export."""

from __future__ import annotations

import pytest

from tests.browser.support import chromium_path

if chromium_path() is None:
    pytest.skip("no Chromium on this machine", allow_module_level=True)

from tests.browser.support import button, closed, opened, words
from tests.browser.test_isolation import read, small_run
from tests.browser.test_run_as_a_job import download


def test_the_canary_row_shows_nowhere_when_a_run_fails_in_the_middle(browser, server_of, shared):
    server = server_of("quoting")
    page, canary = _run_of_the_canary(browser, server, shared)
    page.get_by_text("withheld because it may hold private text").wait_for()
    for place in (words(page), page.content(), server.log, page.url):
        assert canary not in place
    closed(page)


def test_the_canary_row_is_not_in_the_export(browser, server_of, shared):
    server = server_of("toy")
    page, canary = _run_of_the_canary(browser, server, shared)
    button(page, "Download the JSON").wait_for()
    assert canary not in download(page).decode("utf-8")
    assert canary not in page.content()
    assert canary not in server.log
    closed(page)


def _run_of_the_canary(browser, server, shared):
    """A page on which a small run of the table has begun, and the distinctive words of the canary row."""
    path = shared / "cases" / "csv" / "canary.csv"
    page = opened(browser, server.url)
    read(page, path, "note")
    small_run(page)
    return page, _canary(path.read_text("utf-8"))


def _canary(content):
    """The distinctive words of the one row that differs from the pattern of the others."""
    rows = [line for line in content.splitlines()[1:] if "reports mild headache" not in line]
    assert rows, "the canary table has no canary"
    return rows[0].split(",", 1)[1].strip('" ')
