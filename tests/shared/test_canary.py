"""The canary row in a real browser: a row unlike all others shows on no page, in no log and in no export."""

from __future__ import annotations

import pytest

from tests.browser.support import chromium_path, closed

if chromium_path() is None:
    pytest.skip("no Chromium on this machine", allow_module_level=True)

from tests.browser.support import button, opened, press, words
from tests.browser.test_isolation import read, small_run


def test_the_canary_row_shows_nowhere_when_a_run_fails_in_the_middle(browser, server_of, shared, tmp_path):
    path = shared / "cases" / "csv" / "canary.csv"
    canary = _canary(path.read_text("utf-8"))
    server = server_of("quoting")
    page = opened(browser, server.url)
    read(page, path, "note")
    small_run(page)
    page.get_by_text("withheld because it may hold private text").wait_for()
    for place in (words(page), page.content(), server.log, page.url):
        assert canary not in place
    closed(page)


def test_the_canary_row_is_not_in_the_export(browser, server_of, shared):
    path = shared / "cases" / "csv" / "canary.csv"
    canary = _canary(path.read_text("utf-8"))
    server = server_of("toy")
    page = opened(browser, server.url)
    read(page, path, "note")
    small_run(page)
    button(page, "Download the JSON").wait_for()
    assert canary not in _download(page).decode("utf-8")
    assert canary not in page.content()
    assert canary not in server.log
    closed(page)


def _canary(content):
    """The distinctive words of the one row that differs from the pattern of the others."""
    rows = [line for line in content.splitlines()[1:] if "reports mild headache" not in line]
    assert rows, "the canary table has no canary"
    return rows[0].split(",", 1)[1].strip('" ')


def _download(page):
    with page.expect_download() as waiting:
        press(page, "Download the JSON")
    return waiting.value.path().read_bytes()
