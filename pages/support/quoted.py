"""Numbers that follow from a run's prices."""

from __future__ import annotations

from dpicl_core.jobs import RunSnapshot
from dpicl_core.jobs.quotes import tang_noise


def tang_by_label(snapshot: RunSnapshot) -> tuple[tuple[str | None, float | None], ...]:
    """Tang's noise per coordinate at the same privacy loss, by pool label."""
    return tuple((price.label, tang_noise(price.mechanism, snapshot.plan)) for price in snapshot.prices)
