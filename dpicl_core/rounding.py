"""Numbers for people, rounded against the one who spends: no loss is told smaller and no budget larger than it is."""

from __future__ import annotations

import math

_SLACK = 1e-9
"""Of the last digit: what a float that should be a round number may be off by."""


def rounded_up(value: float, digits: int = 3) -> str:
    """A loss or a risk to so many significant digits, never below the value; `0` where there is none."""
    if value <= 0:
        return "0"
    if math.isinf(value):
        return "inf"
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return f"{math.ceil(value / unit - _SLACK) * unit:.10g}"


def thousandths_up(value: float) -> float:
    """Rounded up to three digits behind the point."""
    return -(-value * 1000 // 1) / 1000


def percent_left(share: float) -> str:
    """A share that is left, in percent to a tenth, rounded down, so that no one plans with more than there is."""
    return f"{math.floor(max(share, 0.0) * 1000 + _SLACK) / 10:g}%"
