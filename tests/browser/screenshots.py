"""Pictures of all screens, to be looked at: python -m tests.browser.screenshots FOLDER [toy] [front].

At both widths and in both themes, with the default model or with the toy one. front: only the screens up to a run that
is on, which are those of README and user guide.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.support import (
    button,
    launched,
    opened,
    press,
    served,
    set_number,
    settled,
    start,
    to_generate,
    to_plan,
    unfold,
    use_sample,
)
from tests.browser.test_evaluation import MEASURES, set_small
from tests.browser.test_looks import SIZES
from tests.browser.test_vetting import WHY, decide, taken, type_into

LONG = 900_000


def take(page: Page, folder: Path, name: str) -> None:
    """The page in both widths and themes, from its top and whole."""
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            time.sleep(1.2)
            page.locator(".stMain").evaluate("main => main.scrollTo(0, 0)")
            page.screenshot(path=str(folder / f"{name}-{size}-{scheme}.png"))
        tall = page.locator(".stMain").evaluate("main => main.scrollHeight")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": width, "height": min(int(tall) + 40, 6000)})
        time.sleep(1.2)
        page.screenshot(path=str(folder / f"{name}-{size}-whole.png"))
    page.set_viewport_size({"width": 1280, "height": 800})
    settled(page)


def front(page: Page, folder: Path) -> None:
    """From the empty Data screen to a run that is on, as the sample's plan stands."""
    button(page, "Use the sample table").wait_for()
    take(page, folder, "data-empty")
    use_sample(page)
    take(page, folder, "data")
    to_plan(page)
    take(page, folder, "plan")
    to_generate(page)
    take(page, folder, "confirm")
    start(page)
    page.locator(".st-key-run_status", has_text=re.compile(r"(4[4-9]|[5-7]\d) of at most")).wait_for(timeout=LONG)
    take(page, folder, "generate")
    button(page, "Download the JSON").wait_for(timeout=LONG)
    take(page, folder, "generated")


def screens(page: Page, folder: Path, scratch: Path) -> None:
    """The journey behind the plan."""
    use_sample(page)
    to_plan(page)
    unfold(page, "Advanced")
    set_number(page, "T_max", 12)
    set_number(page, "How many", 2)
    press(page, "Rehearse, free")
    page.locator(".st-key-rehearsal_chart .scatterlayer").first.wait_for(timeout=LONG)
    settled(page)
    take(page, folder, "rehearsal")
    page.get_by_role("link", name="4 Compare").click()
    page.locator(".st-key-compare_spend button:not([disabled])").wait_for()
    press(page, "Spend and start")
    page.locator(".st-key-compare_together", has_text="2 of 2 runs are over").wait_for(timeout=LONG)
    settled(page)
    take(page, folder, "compare")
    page.locator('[class*="st-key-cmp_adadpsyn_status"]').get_by_role("link", name="Vet and export").click()
    page.locator(".st-key-vet_card_2").wait_for()
    take(page, folder, "vet")
    for number in (1, 2):
        decide(page, number, "Approve")
    type_into(page, "Reviewer's name", "Ada Example")
    type_into(page, "Why this privacy loss is justified", WHY)
    press(page, "Sign and make the file")
    page.locator(".st-key-vet_downloads").wait_for()
    settled(page)
    take(page, folder, "signed")
    path = scratch / "signed.json"
    path.write_bytes(taken(page, "JSON, signed"))
    (folder / "certificate.html").write_bytes(taken(page, "Certificate to print (HTML)"))
    (folder / "certificate.txt").write_bytes(taken(page, "Certificate (text)"))
    page.get_by_role("link", name="Ledger", exact=True).click()
    page.get_by_text("would be left of").first.wait_for()
    take(page, folder, "ledger")
    page.get_by_role("link", name="Verify", exact=True).click()
    page.locator("input[type=file]").first.set_input_files(str(path))
    page.get_by_text("The file holds what it says").wait_for()
    take(page, folder, "verify")
    page.get_by_role("link", name="Evaluate", exact=True).first.click()
    press(page, "Use the sample's held-out rows")
    page.get_by_text("sample_held_out.csv: 360 rows").wait_for()
    settled(page)
    take(page, folder, "evaluate-before")
    set_small(page, "accuracy", {"Rows asked": 24, "Seeds of each set": 2})
    set_small(page, "membership", {"Trials for each text": 2, "Members of a trial": 8, "Prompts with a real row": 6})
    for name, sign in MEASURES.items():
        press(page, name)
        page.locator(sign).first.wait_for(timeout=LONG)
        settled(page)
    take(page, folder, "evaluate")


def main(folder: Path, loader: str | None, *, only_front: bool) -> None:
    """Serve the app, walk, and say what a console or a foreign address had to say."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        served(Path(scratch), loader) as server,
        sync_playwright() as playwright,
    ):
        chromium = launched(playwright)
        first = opened(chromium, server.url)
        front(first, folder)
        pages = [first]
        if not only_front:
            pages.append(opened(chromium, server.url))
            screens(pages[-1], folder, Path(scratch))
        for page in pages:
            sys.stdout.write(f"console errors: {page.errors}; other addresses: {page.outside}\n")


if __name__ == "__main__":
    words = sys.argv[2:]
    main(Path(sys.argv[1]), "slow" if "toy" in words else None, only_front="front" in words)
