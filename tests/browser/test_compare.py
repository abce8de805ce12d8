"""Two mechanisms side by side in a real browser: paid once, kept through a reload, opened on the record, vetted."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from dpicl_core.data import read_dataset
from dpicl_core.ledger import events_of, open_ledger, run_lines
from tests.app.fake_models import MARKUP
from tests.browser.support import (
    PATIENCE,
    SAMPLE,
    closed,
    opened,
    press,
    set_number,
    settled,
    to_plan,
    unfold,
    use_sample,
    words,
)
from tests.browser.test_isolation import read, table
from tests.browser.test_looks import SIZES, fits
from tests.support.tables import animal_rows

SOME_TOKENS = re.compile(r"token ([2-9]|1\d) of 20")
LABELS = ("<script>alert(1)</script> **bold**", ":red[x] $x$ `y`")


def plan_then_compare(page, numbers):
    """From Plan, with these numbers, the last of them that of demonstrations, to the confirmation of a comparison."""
    unfold(page, "Advanced")
    for label, value in numbers.items():
        set_number(page, label, value)
    page.locator(".st-key-studio_header", has_text=f"{value} demonstrations").wait_for()  # the app has taken them all
    page.get_by_role("link", name="4 Compare").click()
    page.locator(".st-key-compare_spend button:not([disabled])").wait_for()


def all_over(page, runs):
    page.locator(".st-key-compare_together", has_text=f"{runs} of {runs} runs are over").wait_for()
    settled(page)


def happened(server, *kinds, before=()):
    """Events of these kinds, and the runs, as far as they belong to none of the runs `before`."""
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        found = [event for event in events_of(connection) if event.kind in kinds]
        lines = run_lines(connection)
    ledger.engine.dispose()
    old = {line.id for line in before}
    return [event for event in found if event.run_id not in old], [line for line in lines if line.id not in old]


def test_two_mechanisms_are_compared_through_a_reload_opened_and_vetted(browser, server_of):
    server = server_of("slow")
    _, before = happened(server)
    page = opened(browser, f"{server.url}/compare")
    press(page, "Use the sample table here")
    page.locator(".st-key-compare_confirmation").wait_for()
    page.get_by_role("link", name="2 Plan").click()
    plan_then_compare(page, {"T_max": 20, "How many": 2})
    assert "together epsilon 8, whatever happens after you press" in words(page)
    page.locator(".st-key-compare_spend button").dblclick()

    page.locator('[class*="st-key-cmp_tang-gaussian_status"]', has_text="Place in the queue: 1").wait_for()
    first = page.locator('[class*="st-key-cmp_adadpsyn_text_0_0"]')
    first.filter(has_text=SOME_TOKENS).wait_for()
    early, address = first.inner_text(), page.url
    assert "runs=" in address
    page.reload()
    page.locator(".st-key-compare_together").wait_for()
    expect(first).not_to_have_text(early, timeout=PATIENCE)
    second = page.context.new_page()
    second.goto(address)
    second.locator(".st-key-compare_together").wait_for()
    page.bring_to_front()
    page.locator('[class*="st-key-cmp_tang-gaussian_text_1_0"]', has_text=SOME_TOKENS).wait_for()
    all_over(page, 2)
    all_over(second, 2)
    assert page.url == second.url == address
    paid, lines = happened(server, "reserved", "started", "token", before=before)
    assert [line.state for line in lines] == ["finished"] * 2
    assert [event.kind for event in paid][:3] == ["reserved", "reserved", "started"]
    assert "By noise a coordinate AdaDPSyn " in words(page)
    assert page.locator(".st-key-compare_radius_chart .point").count() >= 40

    press(page, "Open the internal figures")
    page.get_by_text("Mean radius of the ball that holds 80% of the vectors").wait_for()
    views, _ = happened(server, "internal-view", before=before)
    assert {event.run_id for event in views} == {line.id for line in lines}
    assert "this session has no table" in words(page)  # a reload begins a new session, and rows are kept in sessions
    page.get_by_role("link", name="Go to Data").click()
    use_sample(page)
    page.get_by_role("link", name="4 Compare").click()
    press(page, "Reveal random rows")
    page.locator(".st-key-compare_row_0").wait_for()
    rows = {row.text for row in read_dataset(SAMPLE).examples}
    shown = [page.locator(f".st-key-compare_row_{at} .stText").inner_text() for at in range(2)]
    assert set(shown) <= rows
    assert "internal, not DP" in page.locator(".st-key-compare_row_0").inner_text()
    views, _ = happened(server, "internal-view", before=before)
    assert [event.details["view"] for event in views][2:] == ["random real rows beside compared texts, not DP"] * 2
    assert not any(row in words(second) for row in shown)

    written = page.locator('[class*="st-key-cmp_tang-gaussian_text_1_0"]').inner_text().splitlines()[-1]
    page.locator('[class*="st-key-cmp_tang-gaussian_status"]').get_by_role("link", name="Vet and export").click()
    page.get_by_text("selection: informed by private data, not covered by the guarantee").wait_for()
    (tang,) = [line.id for line in lines if line.mechanism == "tang-gaussian"]
    assert f"of={tang}" in page.url
    assert written in words(page)
    assert not page.errors
    assert not page.outside
    closed(page)
    for name, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            other = opened(browser, address, width=width, height=height, scheme=scheme)
            all_over(other, 2)
            assert fits(other), (name, scheme)
            closed(other)


def test_markup_in_labels_and_texts_is_shown_letter_by_letter(browser, server_of, tmp_path):
    page = opened(browser, server_of("markup").url)
    rows = [(LABELS[at % 2], row.text) for at, row in enumerate(animal_rows())]
    read(page, table(tmp_path, "rows.csv", rows), "\n".join(LABELS))
    to_plan(page)
    plan_then_compare(page, {"M, groups": 4, "N, rows": 2, "T_max": 9, "How many": 2})
    press(page, "Spend and start")
    all_over(page, 2)
    page.get_by_text("By noise a coordinate AdaDPSyn ").wait_for()
    settled(page)
    box = page.get_by_role("combobox", name="Show in the charts")
    box.scroll_into_view_if_needed()
    time.sleep(0.7)  # a list that is open closes when the page scrolls
    box.click()
    page.get_by_role("option", name=LABELS[1]).wait_for()
    page.keyboard.press("Escape")
    seen = words(page)
    for at, label in enumerate(LABELS, start=1):
        assert f"{at}. {label}" in seen
    texts = page.locator('[class*="st-key-literal"]')
    said = " ".join(texts.all_inner_texts())
    assert sum(word in said for word in MARKUP) >= 4
    assert texts.locator("script, a, img, svg, .katex, [data-testid='stIconMaterial'], span[style]").count() == 0
    assert texts.locator("strong").count() >= 1  # own words
    assert "alert(1)" in said or "alert(1)" in seen
    assert not page.errors
    closed(page)
