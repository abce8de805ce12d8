"""The browser tests are collected where there is a Chromium; DPICL_REQUIRE_BROWSER makes its absence an error."""

from __future__ import annotations

from tests.browser.support import chromium_path

collect_ignore_glob = [] if chromium_path() else ["test_*.py"]
