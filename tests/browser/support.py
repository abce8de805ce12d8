"""A real server and a real Chromium for tests, and the steps of the journey as small functions."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser, Locator, Page, Playwright, expect

from dpicl_core.data import declare_labels, read_dataset
from dpicl_core.ledger import AssetTerms, Ledger, create_asset, fingerprint, open_ledger, tie_file
from dpicl_core.tasks import task_named
from dpicl_core.values import PrivacyUnit

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "assets" / "sample_messages.csv"
CHROMIUM_VARIABLE = "DPICL_CHROMIUM"
REQUIRED_VARIABLE = "DPICL_REQUIRE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-precise-memory-info",
]
PATIENCE = 120_000
"""Milliseconds for one step: other work may share the machine."""

_AT_NOTHING = "/_stcore/health"
"""An address of the server that shows no app and opens no session."""

_AT_REST = """async part => {
    for (let still = 0, height = -1; still < 6; ) {
        await new Promise(requestAnimationFrame);
        still = part.offsetHeight === height && part.getAnimations().length === 0 ? still + 1 : 0;
        height = part.offsetHeight;
    }
}"""


def chromium_path() -> str | None:
    """The Chromium of this machine. Raises where one is required and there is none."""
    named = os.environ.get(CHROMIUM_VARIABLE)
    found = named if named and Path(named).exists() else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and os.environ.get(REQUIRED_VARIABLE):
        raise RuntimeError(
            "the browser tests need Chromium, but there is none: apt-get install chromium, or name it in "
            f"{CHROMIUM_VARIABLE}."
        )
    return found


@dataclass
class Server:
    """A server of the app. log: everything that it and its child printed. home: folder of its ledger."""

    url: str
    log_file: Path
    home: Path
    process: subprocess.Popen = field(repr=False)

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8", errors="replace")


@contextlib.contextmanager
def served(folder: Path, loader: str | None = None) -> Iterator[Server]:
    """Serve the app on a free port; loader: a fake model of tests.app.fake_models, None for the default model.

    Its ledger is in the folder, and is there again when the same folder is served once more.
    """
    home = folder / "home"
    if not home.exists():
        sign_the_sample(open_ledger(home=home))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": _cache_home(), "DPICL_HOME": str(home)}
    for variable in ("DPICL_MODEL_LOADER", "DPICL_DATABASE_URL"):
        environment.pop(variable, None)
    if loader is not None:
        environment["DPICL_MODEL_LOADER"] = f"tests.app.fake_models:{loader}"
    log = folder / "server.log"
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}{_AT_NOTHING}", process)
        yield Server(f"http://127.0.0.1:{port}", log, home, process)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()


def sign_the_sample(ledger: Ledger) -> None:
    """An asset for the sample table with room for some 28 runs at epsilon 4; the product's own default is 8."""
    task = task_named("sample")
    dataset = declare_labels(read_dataset(SAMPLE), task.labels)
    terms = AssetTerms("Clinic messages", "Privacy office", PrivacyUnit.ROW, task.labels, 20.0, 1e-5, "renyi", 2.196)
    with ledger.write() as connection:
        asset = create_asset(connection, ledger, terms, actor="privacy officer")
        tie_file(connection, ledger, asset, fingerprint(dataset, ledger.identity), actor="privacy officer")
    ledger.engine.dispose()


def launched(playwright: Playwright) -> Browser:
    """A headless Chromium of this machine with a fresh profile."""
    return playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)


def opened(browser: Browser, url: str, *, width: int = 1280, height: int = 800, scheme: str = "light") -> Page:
    """A new session on a page that is ready; `page.outside` lists requests that left this machine, `page.errors` the
    console's errors.

    A page that a test has given back with `closed` is taken again: it has compiled the app's scripts already.
    """
    spare = (page for context in browser.contexts for page in context.pages if page.url.endswith(_AT_NOTHING))
    page = next(spare, None) or _new_page(browser)
    page.outside, page.errors = [], []  # type: ignore[attr-defined]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.goto(url)
    page.locator(".st-key-studio_header").wait_for()
    return page


def _new_page(browser: Browser) -> Page:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("request", lambda request: _note_outside(page, request.url))
    page.on("console", lambda message: _note_error(page, message))
    return page


def closed(page: Page) -> None:
    """End the session of a page and forget all that the browser kept of it."""
    for other in page.context.pages:
        if other != page:
            other.close()
    page.goto(urljoin(page.url, _AT_NOTHING))
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.context.clear_cookies()


def press(page: Page, name: str) -> None:
    """Press the button of that name, once it can be pressed."""
    button(page, name).click()


def button(page: Page, name: str):
    return page.locator(".stMain").get_by_role("button", name=name, exact=False).first


def unfold(within: Page | Locator, name: str) -> None:
    """Open a folded part, and wait until nothing in it moves: a press while it unfolds goes down on one widget and up
    on another."""
    within.locator("summary", has_text=name).click()
    part = within.locator("details[open]", has_text=name)
    part.evaluate(_AT_REST)


def onward(page: Page, name: str):
    """The link to the next screen."""
    return page.get_by_role("link", name=name)


def use_sample(page: Page) -> None:
    press(page, "Use the sample table")
    onward(page, "Continue to Plan").wait_for()


def to_plan(page: Page) -> None:
    onward(page, "Continue to Plan").click()
    page.get_by_text("by the tight accountant").wait_for()


def to_generate(page: Page) -> None:
    """To the confirmation, until it can be pressed."""
    onward(page, "Continue to Generate").click()
    page.locator(".st-key-spend button:not([disabled])").wait_for()


def plan_run(page: Page, numbers: Mapping[str, int]) -> None:
    """From Plan to the confirmation with these numbers, by their names on the screen."""
    unfold(page, "Advanced")
    for label, value in numbers.items():
        set_number(page, label, value)
    to_generate(page)


def start(page: Page) -> None:
    """Start the run, and wait for its status."""
    press(page, "Spend and start")
    page.locator(".st-key-run_status").wait_for()


def upload(page: Page, path: Path, task: str) -> None:
    """Upload a table and read it under a built-in task."""
    choose(page, "Task", task)
    page.locator("input[type=file]").first.set_input_files(str(path))
    page.locator(".st-key-read_table button:not([disabled])").click()
    onward(page, "Continue to Plan").wait_for()


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option of a select box."""
    page.get_by_role("combobox", name=label, exact=False).first.click()
    page.get_by_role("option", name=option).click()


def set_number(page: Page, label: str, value: int) -> None:
    """Type a number and let the app take it."""
    field_ = page.get_by_role("spinbutton", name=label).first
    field_.fill(str(value))
    field_.press("Enter")
    settled(page)
    expect(field_).to_have_value(str(value))


def settled(page: Page) -> None:
    """Until the app has stopped running the script."""
    time.sleep(0.3)
    page.locator('[data-testid="stStatusWidget"]').wait_for(state="detached")


def words(page: Page) -> str:
    """Everything that the page says."""
    return page.locator("body").inner_text()


def _note_outside(page: Page, url: str) -> None:
    if not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")):
        page.outside.append(url)  # type: ignore[attr-defined]


def _note_error(page: Page, message) -> None:
    """Below /plan Streamlit first looks for its server in the wrong folder: a 404 by design."""
    if message.type == "error" and "404" not in message.text:
        page.errors.append(message.text)  # type: ignore[attr-defined]


def _wait_until_healthy(url: str, process: subprocess.Popen) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server did not come up")


def _cache_home() -> str:
    return os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
