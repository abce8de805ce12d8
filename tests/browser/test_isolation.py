"""Two browser sessions with two files, and a failure that quotes a row."""

from __future__ import annotations

import pytest

from tests.browser.support import (
    button,
    closed,
    onward,
    opened,
    plan_run,
    settled,
    start,
    to_plan,
    words,
)
from tests.support.tables import animal_rows


def table(tmp_path, name, rows):
    path = tmp_path / name
    path.write_text("label,text\n" + "".join(f"{label},{text}\n" for label, text in rows), "utf-8")
    return path


def read(page, path, labels):
    field = page.get_by_role("textbox", name="Public label list")
    field.fill(labels)
    field.press("Control+Enter")
    settled(page)
    page.locator("input[type=file]").first.set_input_files(str(path))
    page.locator(".st-key-read_table button:not([disabled])").click()
    onward(page, "Continue to Plan").wait_for()


def small_run(page):
    to_plan(page)
    plan_run(page, {"M, groups": 4, "N, rows": 2, "T_max": 6, "How many": 1})
    start(page)


def test_two_sessions_with_two_files_never_meet(browser, server_of, tmp_path):
    server = server_of("toy")
    first, second = opened(browser, server.url), opened(browser, server.url)
    read(first, table(tmp_path, "first.csv", [(row.label, row.text) for row in animal_rows()]), "cat\ndog")
    birds = [("owl", f"hoot number {i} at noon") for i in range(40)] + [("wren", f"song {i}") for i in range(40)]
    read(second, table(tmp_path, "second.csv", birds), "owl\nwren")
    for page, foreign in ((first, ("owl", "wren", "second.csv", "hoot")), (second, ("cat", "dog", "first.csv"))):
        small_run(page)
        button(page, "Download the JSON").wait_for()
        assert not [word for word in foreign if word in words(page).split() or word in page.url]
    assert first.url != second.url
    closed(first)
    closed(second)


@pytest.mark.parametrize("secret", ["the marmot under the blue staircase"])
def test_an_error_that_quotes_a_row_reaches_neither_page_nor_log(browser, server_of, tmp_path, secret):
    server = server_of("quoting")
    page = opened(browser, server.url)
    rows = [(row.label, f"{secret} {row.text}") for row in animal_rows()]
    read(page, table(tmp_path, "rows.csv", rows), "cat\ndog")
    small_run(page)
    page.get_by_text("withheld because it may hold private text").wait_for()
    assert secret not in words(page)
    assert secret not in page.content()
    assert secret not in server.log
    assert "marmot" not in page.url
    closed(page)
