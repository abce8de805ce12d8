"""The rehearsal in a real browser, on the toy model: rehearse, see chart and sentence, take them over, see a price."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from tests.browser.support import (
    PATIENCE,
    button,
    closed,
    onward,
    opened,
    press,
    set_number,
    settled,
    to_plan,
    unfold,
    use_sample,
    words,
)


def fits(page):
    return page.evaluate(
        "() => { const m = document.querySelector('.stMain'); return m.scrollWidth <= m.clientWidth + 1 "
        "&& document.documentElement.scrollWidth <= window.innerWidth + 1 }"
    )


def test_a_plan_is_rehearsed_and_its_price_follows_what_is_taken_over(browser, server_of):
    page = opened(browser, server_of("toy").url)
    use_sample(page)
    to_plan(page)
    unfold(page, "Advanced")
    set_number(page, "How many", 2)
    set_number(page, "T_max", 6)
    press(page, "Rehearse, free")
    page.locator(".st-key-rehearsal_status").get_by_role("button", name="Stop").wait_for()
    expect(page.locator(".st-key-rehearsal_chart .scatterlayer")).to_have_count(1, timeout=PATIENCE)
    page.get_by_text("tokens would be the same without any noise, with").first.wait_for()
    assert words(page).count("public: pseudo-records, no private row was read") == 2
    assert len(page.locator(".st-key-rehearsal_chart .legend .traces").all()) >= 5
    assert page.locator(".st-key-rehearsal_status").count() == 0

    advised = page.locator(".st-key-rehearsal_take button")
    mechanism, epsilon = re.search(r"Take (.+) at epsilon ([\d.]+)", advised.inner_text()).groups()
    advised.click()
    expect(advised).to_be_disabled(timeout=PATIENCE)
    page.get_by_text(f"this run at most {epsilon};").wait_for()
    assert mechanism in words(page).split("demonstrations")[0].replace(",", "")

    press(page, "Use this schedule")
    expect(button(page, "Use this schedule")).to_be_disabled(timeout=PATIENCE)
    price = page.locator(".st-key-plan_bought")
    noise = price.get_by_text("Noise a coordinate")
    expect(noise).to_have_count(1, timeout=PATIENCE)  # what stood there before is gone
    radii = page.get_by_role("textbox", name="Schedule").input_value()
    assert page.get_by_text(f"Proposed schedule for Anchored: {radii}").count() == 1
    proposed = noise.inner_text()
    field = page.get_by_role("textbox", name="Schedule")
    field.fill("0.7")
    field.press("Enter")
    page.get_by_text("since then the schedule of Anchored changed").first.wait_for()
    expect(noise).to_have_count(1, timeout=PATIENCE)
    expect(noise).not_to_have_text(proposed, timeout=PATIENCE)
    assert button(page, "Use this schedule").is_disabled()

    text = page.locator(".st-key-rehearsal").get_by_text("The text without noise")
    before = text.inner_text()
    page.locator(".st-key-rehearsal_token").get_by_role("slider").press("ArrowRight")
    expect(text).not_to_have_text(before, timeout=PATIENCE)
    expect(page.locator(".st-key-rehearsal_clusters_chart .scatterlayer")).to_have_count(1, timeout=PATIENCE)
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        time.sleep(0.7)
        assert fits(page), width
    settled(page)
    assert onward(page, "Continue to Generate").count() == 1
    assert not page.errors
    assert not page.outside
    closed(page)
