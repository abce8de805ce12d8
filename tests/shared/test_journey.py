"""The steward's whole journey in a real browser, with the real default model, on clinical notes and on questions.

Table, plan, two mechanisms compared, every text looked at, a signed file, its certificate, the ledger, and what a
stranger sees who verifies the file.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from tests.browser.support import chromium_path

if chromium_path() is None:
    pytest.skip("no Chromium on this machine", allow_module_level=True)

from dpicl_core.ledger import open_ledger, run_lines
from dpicl_core.verification import read_document, verify
from tests.browser.film import film_of
from tests.browser.support import closed, onward, opened, press, set_number, settled, to_plan, unfold, upload, words
from tests.browser.test_isolation import read
from tests.browser.test_vetting import decide, taken, type_into

NOTES_LABELS = (
    "FAM/SOCHX",
    "GENHX",
    "PASTMEDICALHX",
    "CC",
    "ALLERGY",
    "MEDICATIONS",
    "IMMUNIZATIONS",
    "LABS",
)
"""Sections of a clinical note, declared from what a clinic knows; the other rows are left out by declaration."""
WHY = "The texts show a note sorter what a section looks like; epsilon is what the privacy office allows for that."
STATED = r"epsilon ([\d.]+)\s+by\s+the\s+tight\s+accountant,\s+([\d.]+)\s+by\s+the\s+paper's"


@dataclass(frozen=True)
class Journey:
    """One way through the screens. numbers: settings of the plan; targets: labels chosen there, if any."""

    name: str
    numbers: dict[str, int]
    targets: tuple[str, ...] = ()


def test_clinical_notes_with_rare_labels_become_a_signed_file(browser, server_of, shared, tmp_path):
    path = shared / "data" / "mts_dialog" / "train.csv"
    server = server_of(None)
    page, film = opened(browser, server.url), film_of("journey-notes")
    page.get_by_role("button", name="Use the sample table").wait_for()
    film.take(page)
    unfold(page, "Columns and unit")
    leave_out = page.locator("label", has_text="Leave out rows whose label is not on the list")
    leave_out.click()
    settled(page)
    expect(leave_out.locator("input")).to_be_checked()
    read(page, path, "\n".join(NOTES_LABELS))
    expect(page.get_by_text("Left out")).not_to_have_count(0)
    rows = [row for row in csv.DictReader(path.open(encoding="utf-8", newline="")) if row["label"] in NOTES_LABELS]
    assert any(row["text"].strip() == "None." for row in rows)
    assert f"{len(rows):,} rows" in words(page)  # "None." is a text like any other
    film.take(page)
    to_plan(page)
    journey = Journey("notes", {"M, groups": 6, "N, rows": 1, "T_max": 6, "How many": 2}, ("FAM/SOCHX", "ALLERGY"))
    signed = _from_plan_to_signed_file(page, journey, film, server, tmp_path)
    assert [part["label"] for part in signed["demonstrations"]] == ["FAM/SOCHX", "ALLERGY"]
    film.write()
    closed(page)


def test_questions_become_a_signed_file(browser, server_of, shared, tmp_path):
    server = server_of(None)
    page, film = opened(browser, server.url), film_of("journey-trec")
    upload(page, shared / "data" / "trec" / "train.csv", "TREC questions")
    to_plan(page)
    journey = Journey("trec", {"M, groups": 8, "T_max": 5, "How many": 2})
    signed = _from_plan_to_signed_file(page, journey, film, server, tmp_path)
    assert [part["label"] for part in signed["demonstrations"]] == ["Number", "Location"]
    film.write()
    closed(page)


def _from_plan_to_signed_file(page, journey, film, server, tmp_path):
    _set_plan(page, journey)
    film.take(page)
    page.get_by_role("link", name="4 Compare").click()
    page.locator(".st-key-compare_spend button:not([disabled])").wait_for()
    assert "whatever happens after you press" in words(page)
    film.take(page)
    press(page, "Spend and start")
    for mechanism in ("adadpsyn", "tang-gaussian"):
        status = page.locator(f'[class*="st-key-cmp_{mechanism}_status"]')
        status.filter(has_text=re.compile("tokens a second|Finished")).wait_for()
        film.take(page, milliseconds=1200)
    page.locator(".st-key-compare_together", has_text="2 of 2 runs are over").wait_for()
    settled(page)
    film.take(page)
    film.take(page, top=".st-key-compare_radius_chart")

    page.locator('[class*="st-key-cmp_adadpsyn_status"]').get_by_role("link", name="Vet and export").click()
    page.get_by_text("selection: ").first.wait_for()
    assert "not covered by the guarantee" not in words(page)  # nothing internal was opened
    film.take(page)
    for number in (1, 2):
        decide(page, number, "Approve")
    type_into(page, "Reviewer's name", "Ada Example")
    type_into(page, "Why this privacy loss is justified", WHY)
    film.take(page, top=".st-key-vet_signature")
    press(page, "Sign and make the file")
    page.locator(".st-key-vet_downloads").wait_for()
    settled(page)
    film.take(page, top=".st-key-vet_downloads")
    content = taken(page, "JSON, signed")
    certificate = taken(page, "Certificate to print (HTML)")
    text = taken(page, "Certificate (text)").decode("utf-8")

    verdict = verify(read_document(content))
    assert verdict.problems == ()
    shown = _verify_on_screen(page, content, tmp_path / f"{journey.name}.json", film)
    assert re.search(STATED, text).groups() == shown
    guarantee = verdict.document.guarantee
    stated = [guarantee.epsilon.tight, guarantee.epsilon.paper]
    assert [float(value) for value in shown] == pytest.approx(stated, rel=0.01)
    sheet = page.context.new_page()
    (tmp_path / "certificate.html").write_bytes(certificate)
    sheet.goto((tmp_path / "certificate.html").as_uri())
    assert re.search(STATED, words(sheet)).groups() == shown
    film.take(sheet)
    sheet.close()
    page.get_by_role("link", name="Ledger", exact=True).click()
    page.get_by_role("heading", name="Ledger", exact=True).wait_for()
    settled(page)
    film.take(page)
    _both_paid_and_one_signed(server)
    assert not page.errors
    assert not page.outside
    return json.loads(content)


def _set_plan(page, journey):
    unfold(page, "Advanced")
    for label, value in journey.numbers.items():
        set_number(page, label, value)
    for target in journey.targets:
        page.get_by_role("combobox", name="Labels to write for").click()
        page.get_by_role("option", name=target).click()
        settled(page)
    page.keyboard.press("Escape")
    onward(page, "Continue to Generate").wait_for()
    page.get_by_text("by the tight accountant").first.wait_for()


def _verify_on_screen(page, content, path, film):
    """The two epsilons that a stranger reads who drops the file there."""
    path.write_bytes(content)
    page.get_by_role("link", name="Verify", exact=True).click()
    page.get_by_role("heading", name="Verify", exact=True).wait_for()
    page.locator("input[type=file]").first.set_input_files(str(path))
    page.get_by_text("The file holds what it says").wait_for()
    film.take(page)
    return re.search(STATED, words(page)).groups()


def _both_paid_and_one_signed(server):
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        last_two = run_lines(connection)[:2]
    ledger.engine.dispose()
    assert {line.mechanism for line in last_two} == {"adadpsyn", "tang-gaussian"}
    assert {line.state for line in last_two} == {"finished"}
