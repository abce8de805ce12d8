"""Figures that are measured once, by hand: python -m tests.browser.measure clicks|memory.

clicks: 95th percentile of 30 clicks while a run with the default model goes on, against the same without a run.
memory: growth of the server and of the tab's JavaScript heap over 20 runs with a fake model.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

from tests.browser.support import (
    Server,
    button,
    launched,
    opened,
    press,
    served,
    set_number,
    start,
    to_generate,
    to_plan,
    unfold,
    use_sample,
)

CLICKS = 30
RUNS = 20


def click_seconds(page) -> list[float]:
    """Seconds from a click on a mechanism to its price on the screen, prices known beforehand."""
    found = []
    for number in range(CLICKS):
        name, sign = (("Tang, Gaussian", "(this is Tang's)"), ("Anchored", "Tang's at the same privacy loss"))[
            number % 2
        ]
        began = time.monotonic()
        page.locator("label", has_text=name).first.click()
        page.get_by_text(sign).first.wait_for()
        found.append(time.monotonic() - began)
        time.sleep(0.4)
    return found


def percentile_95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def clicks(folder: Path) -> None:
    with served(folder) as server, sync_playwright() as playwright:
        browser = launched(playwright)
        page, other = opened(browser, server.url), opened(browser, server.url)
        use_sample(page)
        to_plan(page)
        time.sleep(90)  # the lengths are counted and the child is idle
        click_seconds(page)
        without = click_seconds(page)
        use_sample(other)
        to_plan(other)
        to_generate(other)
        start(other)
        other.get_by_text("tokens a second").wait_for(timeout=200_000)
        beside = click_seconds(page)
        going = other.get_by_text("tokens a second").count()
        idle, busy = percentile_95(without), percentile_95(beside)
        _say(f"idle median {statistics.median(without):.3f} s, busy median {statistics.median(beside):.3f} s")
        _say(f"idle p95 {idle:.3f} s, busy p95 {busy:.3f} s, ratio {busy / idle:.2f}, run still on: {bool(going)}")


def memory(folder: Path) -> None:
    with served(folder, "toy") as server, sync_playwright() as playwright:
        page = opened(launched(playwright), server.url)
        use_sample(page)
        to_plan(page)
        unfold(page, "Advanced")
        set_number(page, "T_max", 20)
        for number in range(RUNS + 2):
            if number == 2:  # imports, caches and the first figures are not growth
                before = _megabytes(server, page)
            if number == 0:
                to_generate(page)
            page.locator(".st-key-spend button:not([disabled])").wait_for()
            start(page)
            button(page, "Download the JSON").wait_for()
            if number < RUNS + 1:
                press(page, "Make another run")
        after = _megabytes(server, page)
        _say(f"server {before[0]:.0f} to {after[0]:.0f} MB, heap {before[1]:.1f} to {after[1]:.1f} MB over {RUNS} runs")
        _say(f"growth {sum(after) - sum(before):.1f} MB")


def _megabytes(server: Server, page) -> tuple[float, float]:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    return psutil.Process(server.process.pid).memory_info().rss / 1e6, heap / 1e6


def _say(sentence: str) -> None:
    sys.stdout.write(sentence + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        {"clicks": clicks, "memory": memory}[sys.argv[1]](Path(scratch))
