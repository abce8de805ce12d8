"""From a run to a signed file in a real browser, on the toy model: decide, sign, take the files, see them in the
ledger, verify, print."""

from __future__ import annotations

import hashlib
import json
import re
import time

from dpicl_core.ledger import asset_reports, events_of, open_ledger, run_lines
from dpicl_core.verification import read_document, verify
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

WHY = "Epsilon 4 is the house rule; the texts go into the ticket router."
EVIL = '<b>Grace</b> "Hopper"'


def a_run(page):
    """Two short texts of the sample."""
    use_sample(page)
    to_plan(page)
    plan_run(page, {"How many": 2, "T_max": 6})
    start(page)
    button(page, "Download the JSON").wait_for()


def type_into(page, label, text):
    field = page.get_by_role("textbox", name=label)
    field.fill(text)
    field.press("Control+Enter" if field.evaluate("e => e.tagName") == "TEXTAREA" else "Enter")
    settled(page)


def decide(page, number, choice):
    page.locator(f".st-key-vet_card_{number} label", has_text=choice).last.click()
    settled(page)


def taken(page, name):
    with page.expect_download() as waiting:
        press(page, name)
    return waiting.value.path().read_bytes()


def recorded(server):
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        (line, *_) = run_lines(connection)
        happened = events_of(connection, run_id=line.id, without=("token",))
    ledger.engine.dispose()
    return line, happened


def assets(server):
    """How many assets the ledger knows; other tests on the same server have brought their own tables."""
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        found = asset_reports(connection)
    ledger.engine.dispose()
    return len(found)


def test_a_run_is_vetted_signed_exported_verified_and_printed(browser, server_of, tmp_path):
    server = server_of("toy")
    page = opened(browser, server.url)
    a_run(page)
    press(page, "Open the cluster picture")
    page.locator(".st-key-cluster_chart .scatterlayer").wait_for()
    page.get_by_role("link", name="5 Vet and export").click()
    page.get_by_text("selection: informed by private data, not covered by the guarantee").wait_for()
    decide(page, 1, "Edit")
    type_into(page, "Text 1, edited", "Please call me at (415) 555-2671.")
    page.get_by_text("Please call me at ⟦(415) 555-2671⟧.").wait_for()
    decide(page, 2, "Reject")
    page.get_by_text("Another try with the same noise spends epsilon").wait_for()
    type_into(page, "Why text 2 is rejected", "It says nothing.")
    decide(page, 1, "Edit")
    type_into(page, "Text 1, edited", "Please call me in the morning.")
    type_into(page, "Reviewer's name", EVIL)
    type_into(page, "Why this privacy loss is justified", WHY)
    press(page, "Sign and make the file")
    page.locator(".st-key-vet_downloads").wait_for()
    settled(page)

    signed = taken(page, "JSON, signed")
    verdict = verify(read_document(signed))
    assert verdict.problems == ()
    assert [shown["text"] for shown in json.loads(signed)["demonstrations"]] == ["Please call me in the morning."]
    assert verdict.document.vetting.reviewer == EVIL
    assert b"Please call me in the morning." in taken(page, "Prompt text")
    assert json.loads(taken(page, "Messages (JSONL)"))["messages"][-2]["content"] == "Please call me in the morning."
    certificate = taken(page, "Certificate to print (HTML)")
    text = taken(page, "Certificate (text)").decode()
    _, happened = recorded(server)
    exports = [event.details for event in happened if event.kind == "exported" and event.actor == EVIL]
    assert [each["format"] for each in exports] == ["json", "prompt", "jsonl", "certificate", "certificate-text"]
    assert exports[0]["sha256"] == hashlib.sha256(signed).hexdigest()
    kinds = [event.kind for event in happened if event.actor == EVIL]
    assert kinds[:3] == ["edited", "rejected", "justified"]

    page.get_by_role("link", name="Ledger", exact=True).click()
    page.get_by_text("would be left of Clinic messages").wait_for()
    assert page.get_by_role("progressbar").count() == assets(server)
    page.get_by_role("link", name="Verify", exact=True).click()
    path = tmp_path / "signed.json"
    path.write_bytes(signed)
    page.locator("input[type=file]").first.set_input_files(str(path))
    page.get_by_text("The file holds what it says").wait_for()
    page.get_by_text(f"Signed by {EVIL}").wait_for()
    page.get_by_text("The hash shows accidental changes").wait_for()
    stated = re.search(r"epsilon ([\d.]+) by the tight accountant, ([\d.]+) by the paper's", words(page)).groups()
    assert re.search(r"epsilon ([\d.]+) by the tight\s+accountant, ([\d.]+) by the\s+paper's", text).groups() == stated
    changed = tmp_path / "changed.json"
    changed.write_bytes(signed.replace(b"in the morning", b"at night"))
    page.locator("input[type=file]").first.set_input_files(str(changed))
    page.get_by_text("The file does not hold what it says").wait_for()
    assert not page.errors
    assert not page.outside

    sheet = browser.new_page(viewport={"width": 390, "height": 844})
    fetched = []
    sheet.on("request", lambda request: fetched.append(request.url))
    (tmp_path / "certificate.html").write_bytes(certificate)
    sheet.goto((tmp_path / "certificate.html").as_uri())
    assert EVIL in words(sheet)
    assert "informed by private data, not covered by the guarantee" in words(sheet)
    assert (
        stated == re.search(r"epsilon ([\d.]+) by the tight accountant, ([\d.]+) by the paper's", words(sheet)).groups()
    )
    assert sheet.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert re.findall(rb"/Count (\d+)", sheet.pdf(prefer_css_page_size=True)) == [b"1"]
    assert len(fetched) == 1
    sheet.close()
    closed(page)


def test_a_run_of_another_session_is_found_by_its_address_and_the_screens_fit_a_phone(browser, server_of):
    server = server_of("toy")
    line, _ = recorded(server)
    page = opened(browser, f"{server.url}/vet?of={line.id}", width=390, height=844, scheme="dark")
    page.locator(".st-key-vet_card_2").wait_for()
    assert "No table yet" in words(page)
    for name, heading in (("5 Vet and export", None), ("Ledger", "Ledger"), ("Verify", "Verify")):
        if heading:
            page.get_by_role("link", name=name, exact=True).click()
            page.get_by_role("heading", name=heading, exact=True).wait_for()
        time.sleep(0.7)
        assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth + 1"), name
        page.locator(".stMain").evaluate("main => main.scrollTo(0, 150)")
        header = page.locator(".st-key-studio_header")
        assert header.evaluate("e => getComputedStyle(e).backgroundColor") not in ("transparent", "rgba(0, 0, 0, 0)")
    assert not page.errors
    closed(page)
