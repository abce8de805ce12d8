"""The journey in a real browser on a shared table: TREC with the real default model."""

from __future__ import annotations

import json
import time

import pytest

from tests.browser.support import chromium_path

if chromium_path() is None:
    pytest.skip("no Chromium on this machine", allow_module_level=True)

from tests.browser.support import button, closed, opened, plan_run, start, to_plan, upload, words
from tests.browser.test_run_as_a_job import download


def test_trec_is_uploaded_planned_and_generated_with_the_default_model(browser, server_of, shared):
    page = opened(browser, server_of(None).url)
    upload(page, shared / "data" / "trec" / "train.csv", "TREC questions")
    assert "5,452 rows" in words(page)
    to_plan(page)
    plan_run(page, {"M, groups": 8, "T_max": 5, "How many": 2})
    start(page)
    first = _text_once_there(page)
    address = page.url
    page.get_by_role("link", name="2 Plan").click()
    page.get_by_role("heading", name="What this buys").wait_for()
    page.get_by_role("link", name="3 Generate").click()
    page.locator(".st-key-run_status").wait_for()
    page.reload()
    button(page, "Download the JSON").wait_for(timeout=300_000)
    assert page.url == address
    assert page.locator(".st-key-radius_chart .point").count() > 4
    copies = [download(page) for _ in range(2)]
    assert copies[0] == copies[1]
    document = json.loads(copies[0])
    assert [part["label"] for part in document["demonstrations"]] == ["Number", "Location"]
    assert first.split()[0] in document["demonstrations"][0]["text"]
    closed(page)


def _text_once_there(page):
    end = time.monotonic() + 200
    while time.monotonic() < end:
        lines = page.locator(".st-key-draft_0").inner_text().splitlines()
        if len(lines) >= 3 and lines[-1].strip(" .") and not lines[-1].startswith("token"):
            return lines[-1]
        time.sleep(0.2)
    raise AssertionError("no text came")
