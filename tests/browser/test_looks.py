"""Every screen at both widths and in both themes: it fits, reaches nothing outside, and works by keyboard."""

from __future__ import annotations

import contextlib
import time

import pytest
from playwright.sync_api import Error as PlaywrightError

from tests.browser.support import button, closed, onward, opened, start, to_generate, to_plan, use_sample

SIZES = {"wide": (1280, 800), "phone": (390, 844)}


def fits(page):
    """Nothing is wider than the window."""
    return page.evaluate(
        "() => { const m = document.querySelector('.stMain'); return m.scrollWidth <= m.clientWidth + 1 "
        "&& document.documentElement.scrollWidth <= window.innerWidth + 1 }"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_each_screen_fits_and_reaches_nothing_outside(browser, server_of, size, scheme):
    width, height = SIZES[size]
    page = opened(browser, server_of("slow").url, width=width, height=height, scheme=scheme)
    steps = [
        ("data-empty", lambda: None),
        ("data", lambda: use_sample(page)),
        ("plan", lambda: to_plan(page)),
        ("confirm", lambda: to_generate(page)),
        ("generate", lambda: (start(page), page.get_by_text("tokens a second").wait_for(), time.sleep(4))),
    ]
    for name, step in steps:
        step()
        time.sleep(0.7)
        assert fits(page), name
    with contextlib.suppress(PlaywrightError):  # the run may have ended by itself
        page.locator(".st-key-stop_run button").click(timeout=3000)
    assert not page.outside
    assert not page.errors
    closed(page)


def test_the_header_stays_in_sight(browser, server_of):
    page = opened(browser, server_of("slow").url)
    use_sample(page)
    to_plan(page)
    page.locator(".stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    time.sleep(0.5)
    box = page.locator(".st-key-studio_header").bounding_box()
    assert 0 <= box["y"] < 10
    closed(page)


def test_the_journey_starts_by_keyboard_alone(browser, server_of):
    page = opened(browser, server_of("slow").url)
    button(page, "Use the sample table").wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText").strip().endswith("Use the sample table"):
            break
    page.keyboard.press("Enter")
    onward(page, "Continue to Plan").wait_for()
    closed(page)
