"""Tests of the shared folder, collected only where it exists: DPICL_SHARED, or ../shared beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("DPICL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")

collect_ignore_glob = [] if SHARED.is_dir() else ["test_*.py"]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder, only to be read."""
    return SHARED
