"""What every test gets: a ledger of its own, so that no test spends from another one's, or from the user's."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from dpicl_core.language_model.process_settings import rest_while_waiting
from tests.browser.fixtures import browser, server_of

__all__ = ["browser", "server_of"]  # here, so that all folders share one server of each kind

rest_while_waiting()  # before any test module imports torch

settings.register_profile("shared machine", deadline=None)  # how long an example takes says nothing where others run
settings.load_profile("shared machine")

LONG_FIRST = (
    "browser/test_default_model.py",
    "browser/test_compare.py",
    "ledger/",
    "audit/",
    "accounting/",
    "shared/test_main_job.py",
    "cli/test_commands.py",
    "browser/",
    "shared/test_browser_shared.py",
    "shared/test_journey.py",
    "language_model/",
)
"""Some processes share the tests file by file: the longest file begins, beside files that leave it the processor, and
no long one is left for the end."""


SAME_SERVER = {
    "the default model": ("browser/test_default_model.py", "shared/test_journey.py", "shared/test_browser_shared.py"),
    "the slow model": ("browser/test_run_as_a_job.py", "browser/test_compare.py", "browser/test_looks.py"),
    "the toy model": (
        "browser/test_rehearsal.py",
        "browser/test_isolation.py",
        "browser/test_vetting.py",
        "browser/test_evaluation.py",
        "shared/test_canary.py",
    ),
}
"""Files that one process takes one after the other, since a server that has started serves them all."""


class FilesOfOneServerTogether(LoadFileScheduling):
    """The processes share the tests file by file, but files that ask for the same server stay together."""

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        return next((name for name, files in SAME_SERVER.items() if file.endswith(files)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FilesOfOneServerTogether(config, log)


def pytest_collection_modifyitems(items):
    """Order files by how long they take; the order inside a file stays."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(node_id):
    return next((at for at, part in enumerate(LONG_FIRST) if f"tests/{part}" in node_id), len(LONG_FIRST))


@pytest.fixture(scope="session", autouse=True)
def home_of_the_session(tmp_path_factory):
    """For fixtures that are shared by several tests; no ledger of the person who runs the tests is ever touched."""
    before = {name: os.environ.get(name) for name in ("DPICL_HOME", "DPICL_DATABASE_URL", "DPICL_NICENESS")}
    os.environ.pop("DPICL_DATABASE_URL", None)
    os.environ["DPICL_NICENESS"] = "0"  # a run that stepped back would starve behind the tests of the other processes
    os.environ["DPICL_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


@pytest.fixture(autouse=True)
def own_home(home_of_the_session, tmp_path_factory, monkeypatch):
    """A fresh home folder, hence a fresh ledger, for each test."""
    monkeypatch.setenv("DPICL_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where a browser test fails, its report says what stood on the pages that were open."""
    report = yield
    browser = getattr(item, "funcargs", {}).get("browser")
    if report.when == "call" and report.failed and browser is not None:
        for page in (page for context in browser.contexts for page in context.pages):
            try:
                seen = page.locator("body").inner_text(timeout=5_000)
            except Exception as error:
                seen = f"could not be read ({type(error).__name__})"
            report.sections.append((f"page {page.url}", seen))
    return report
