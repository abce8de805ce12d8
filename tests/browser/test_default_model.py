"""The journey of a new user on the sample, with the real default model: counted in clicks and timed."""

from __future__ import annotations

import json
import time

from dpicl_core.verification import read_document, verify
from tests.browser.support import closed, opened, words

MOST_CLICKS = 12
MOST_SECONDS = 300


def test_a_new_user_has_the_json_of_the_sample_in_time(browser, server_of, record_property):
    page = opened(browser, server_of(None).url)
    began, clicks = time.monotonic(), 0
    for name in ("Use the sample table", "Continue to Plan", "Continue to Generate", "Spend and start"):
        target = page.get_by_role("link" if name.startswith("Continue") else "button", name=name).first
        target.wait_for()
        target.click()
        clicks += 1
    with page.expect_download(timeout=600_000) as waiting:
        page.get_by_role("button", name="Download the JSON").click(timeout=600_000)
        clicks += 1
    seconds = time.monotonic() - began
    content = waiting.value.path().read_bytes()
    assert verify(read_document(content)).problems == ()
    assert all(part["text"] for part in json.loads(content)["demonstrations"])
    print(f"journey: {clicks} clicks, {seconds:.0f} s")  # noqa: T201 - a figure for the note
    record_property("journey_seconds", seconds)
    assert "DP-released" in words(page)
    assert clicks <= MOST_CLICKS
    assert seconds < MOST_SECONDS
    closed(page)
