"""The browser tests are collected where there is a Chromium; DPICL_REQUIRE_BROWSER makes its absence an error."""

from __future__ import annotations

from tests.browser.support import chromium_path

if chromium_path() is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.browser.fixtures import browser, server_of

    __all__ = ["browser", "server_of"]
