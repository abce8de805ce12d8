"""A set just generated is evaluated in a real browser, on the toy model: four measures, their figures, the playground,
and what Vet and the ledger say of it afterwards."""

from __future__ import annotations

from playwright.sync_api import expect

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
    unfold,
    use_sample,
    words,
)

INFORMED = "selection: informed by private data, not covered by the guarantee"
MEASURES = {
    "Measure accuracy": ".st-key-accuracy_chart .scatterlayer",
    "Measure membership inference": ".st-key-roc_chart .scatterlayer",
    "Measure leakage": ".st-key-measure_leakage [data-testid=stDataFrame]",
    "Measure consensus": ".st-key-consensus_chart .scatterlayer",
}


def set_small(page, fold, numbers):
    """Open the settings of one measure and type smaller numbers."""
    section = page.locator(f".st-key-measure_{fold}")
    unfold(section, "Settings")
    for label, value in numbers.items():
        field = section.get_by_role("spinbutton", name=label).first
        field.fill(str(value))
        field.press("Enter")
        settled(page)
        expect(field).to_have_value(str(value))


def fits(page):
    return page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth + 1")


def test_a_set_just_generated_is_evaluated_and_vet_and_ledger_say_so(browser, server_of):
    server = server_of("toy")
    page = opened(browser, server.url)
    use_sample(page)
    to_plan(page)
    plan_run(page, {"How many": 2, "T_max": 4, "M, groups": 4})
    start(page)
    button(page, "Download the JSON").wait_for()
    settled(page)
    page.locator(".st-key-export").get_by_role("link", name="Evaluate").click()
    page.get_by_text(f'the signed file says "{INFORMED}"').wait_for()
    expect(button(page, "Measure membership inference")).to_be_disabled()
    press(page, "Use the sample's held-out rows")
    page.get_by_text("sample_held_out.csv: 360 rows").wait_for()
    settled(page)
    set_small(page, "accuracy", {"Rows asked": 12, "Seeds of each set": 2})
    set_small(page, "membership", {"Trials for each text": 2, "Members of a trial": 5, "Prompts with a real row": 4})
    for name, sign in MEASURES.items():
        press(page, name)
        page.locator(sign).first.wait_for()
        settled(page)
    said = words(page)
    assert "12 rows asked, the same for every set: held-out rows. Model: toy." in said
    assert "A real row in the prompt: AUC" in said
    assert "ceiling of Anchored, epsilon 4 (tight): AUC" in said
    assert "Compared with 2,400 rows" in said
    assert "the ledger records that something internal was opened (4 times" in said

    query = page.get_by_role("textbox", name="Query")
    query.fill("When will the pharmacy have my <b>pills</b>?")
    query.press("Control+Enter")
    settled(page)
    page.locator(".st-key-play_ask button").click()
    page.locator(".st-key-answer_1").wait_for()
    assert page.locator(".st-key-playground b").count() == 0

    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert fits(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("link", name="Vet and export", exact=False).first.click()
    page.get_by_text(INFORMED).wait_for()
    page.get_by_text("UTC: membership inference, not DP").wait_for()
    assert not page.errors
    assert not page.outside

    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        (line, *_) = run_lines(connection)
        happened = events_of(connection, run_id=line.id, without=("token",))
    ledger.engine.dispose()
    assert [event.details["view"] for event in happened if event.kind == "internal-view"] == [
        "in-context accuracy, not DP",
        "membership inference, not DP",
        "words shared with private rows, not DP",
        "consensus of private next-token vectors, not DP",
    ]
    assert "pharmacy" not in server.log
    closed(page)
