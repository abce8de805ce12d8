"""A run in a real browser, with a slow toy model: nothing that a person does to the page kills, doubles or loses it."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime

import pytest

from dpicl_core.ledger import events_of, open_ledger, run_lines
from tests.browser.support import (
    button,
    closed,
    opened,
    plan_run,
    press,
    settled,
    start,
    to_plan,
    use_sample,
    words,
)


@pytest.fixture
def ready(browser, server_of):
    """A page just before the confirmation, for a run of a few seconds."""
    pages = []

    def prepare(loader="slow", shots=2, tokens=40):
        page = opened(browser, server_of(loader).url)
        pages.append(page)
        use_sample(page)
        to_plan(page)
        plan_run(page, {"T_max": tokens, "How many": shots})
        return page

    yield prepare
    for page in pages:
        closed(page)


def tokens_shown(page):
    """Committed tokens by the status line."""
    text = page.locator(".st-key-run_status").inner_text()
    digits = [word for word in text.replace(",", " ").split() if word.isdigit()]
    return int(digits[0]) if digits else 0


def wait_for_tokens(page, least, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if tokens_shown(page) >= least:
            return tokens_shown(page)
        time.sleep(0.1)
    raise AssertionError(f"no {least} tokens within {seconds} s")


def wait_for_points(page, least):
    """Until the radius chart shows so many points; it is empty for a moment while it is drawn."""
    end = time.monotonic() + 30
    while page.locator(".st-key-radius_chart .point").count() < least:
        assert time.monotonic() < end, "the radius chart did not grow"
        time.sleep(0.1)


def download(page):
    with page.expect_download() as waiting:
        press(page, "Download the JSON")
    return waiting.value.path().read_bytes()


def test_text_and_radius_change_while_screens_are_switched_and_the_page_is_refreshed(ready):
    page = ready(tokens=60)
    start(page)
    wait_for_tokens(page, 4)
    before = page.locator(".st-key-draft_0").inner_text()
    page.locator(".st-key-radius_chart .point").first.wait_for(state="attached")
    points = page.locator(".st-key-radius_chart .point").count()
    wait_for_tokens(page, tokens_shown(page) + 6)
    assert page.locator(".st-key-draft_0").inner_text() != before
    wait_for_points(page, points + 1)
    address = page.url
    assert "run=" in address
    page.get_by_role("link", name="2 Plan").click()
    page.get_by_role("heading", name="What this buys").wait_for()
    page.get_by_role("link", name="3 Generate").click()
    page.locator(".st-key-run_status").wait_for()
    assert page.url == address
    seen = tokens_shown(page)
    page.reload()
    page.locator(".st-key-run_status").wait_for()
    assert wait_for_tokens(page, seen) >= seen
    second = page.context.new_page()
    second.goto(address)
    second.locator(".st-key-run_status").wait_for()
    button(page, "Download the JSON").wait_for()
    button(second, "Download the JSON").wait_for()
    assert download(page) == download(second) == download(page)
    assert not page.errors
    assert not page.outside


def runs_paid(server):
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        found = run_lines(connection)
    ledger.engine.dispose()
    return found


def test_two_fast_clicks_start_one_run_and_each_download_is_recorded(ready, server_of):
    page = ready(tokens=10)
    before = len(runs_paid(server_of("slow")))
    page.locator(".st-key-spend button").dblclick()
    button(page, "Download the JSON").wait_for()
    content = download(page)
    assert download(page) == content
    newest, *others = runs_paid(server_of("slow"))
    assert len(others) == before
    assert (newest.id, newest.state, newest.exports) == (json.loads(content)["run"], "finished", 2)
    assert newest.id not in page.url
    assert f"In the ledger: run {newest.id}" in words(page)


def stopped_at(server):
    """When the newest run was stopped, by the ledger."""
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        [line] = run_lines(connection, limit=1)
        [event] = [event for event in events_of(connection, run_id=line.id) if event.kind == "stopped"]
    ledger.engine.dispose()
    return datetime.fromisoformat(event.at)


def test_a_stop_shows_within_two_seconds_says_what_is_spent_and_the_run_may_go_on(ready, server_of):
    page = ready(tokens=90)  # 18 s at least: on a busy machine a click alone may take some, and a run that ends wins
    start(page)
    wait_for_tokens(page, 3)
    press(page, "Stop")
    pressed = datetime.now(UTC)
    page.get_by_text("Stopped by you").wait_for()
    shown_after = (datetime.now(UTC) - pressed).total_seconds()
    assert (stopped_at(server_of("slow")) - pressed).total_seconds() < 2
    assert shown_after < 3 or os.getloadavg()[0] > os.cpu_count(), f"{shown_after:.1f} s on an idle machine"
    assert "What the run reserved stays spent" in words(page)
    assert not page.get_by_role("button", name="Download the JSON").count()
    tokens_then = tokens_shown(page)
    page.get_by_text("This run was interrupted at token").wait_for()
    address = page.url
    press(page, "Go on")
    button(page, "Download the JSON").wait_for()
    assert tokens_shown(page) > tokens_then
    assert page.url == address


def test_a_second_session_waits_in_the_queue_and_sees_its_place(ready):
    first, second = ready(tokens=200), ready(tokens=4)
    start(first)
    start(second)
    second.get_by_text("Place in the queue: 1").wait_for()
    press(first, "Stop")
    button(second, "Download the JSON").wait_for()


def test_a_crash_of_the_process_is_told(ready):
    page = ready("crashing")
    start(page)
    page.get_by_text("ended unexpectedly (exit code 9)").wait_for()


def test_switching_screens_quickly_leaves_no_error(ready):
    page = ready()
    start(page)
    for name in ("1 Data", "2 Plan", "3 Generate", "1 Data", "3 Generate", "2 Plan", "3 Generate"):
        page.get_by_role("link", name=name).click()
        time.sleep(0.5)
    page.locator(".st-key-run_status").wait_for()
    settled(page) if page.get_by_text("Finished").count() else None
    assert not page.errors
    assert "unexpected error" not in words(page)


def test_the_cluster_picture_opens_on_purpose_and_is_marked(ready):
    page = ready(tokens=6)
    start(page)
    button(page, "Download the JSON").wait_for()
    assert not page.locator(".st-key-cluster_chart").count()
    press(page, "Open the cluster picture")
    page.locator(".st-key-cluster_chart .scatterlayer").wait_for()
    assert "internal, not DP" in page.locator(".st-key-clusters").inner_text()
    assert "Opened and recorded on this run" in words(page)
