"""How the units of one token are drawn from their pool, and the sampling rate that follows: draw and price read this.

Fresh subsets: M*N units without replacement, anew at every token. Fixed groups: at the start of a run a secret
partition puts the pool into floor(n/N) groups of N, whatever the rows hold, and M whole groups are drawn at each token.
"""

from __future__ import annotations

from enum import StrEnum

from dpicl_core.specs import require


class Grouping(StrEnum):
    """Whether the N rows of a prompt are put together anew at every token, or once for a run."""

    FRESH = "fresh"
    FIXED = "fixed"


def draws_and_population(units: int, units_per_token: int, group_size: int | None = None) -> tuple[int, int]:
    """What one token draws, and from how many: units, or whole groups where `group_size` (N) is given.

    Units left over when N does not divide `units` are in no group.
    """
    if group_size is None:
        return units_per_token, units
    require(
        group_size >= 1 and units_per_token % group_size == 0,
        f"{units_per_token} units are not whole groups of {group_size}; draw a multiple of the group size.",
    )
    return units_per_token // group_size, units // group_size


def sampling_rate(units: int, units_per_token: int, group_size: int | None = None) -> float:
    """M*N / n for fresh subsets (group_size None), M / floor(n/N) for fixed groups of group_size = N.

    Raises ConfigError where the pool is smaller than one token's draw.
    """
    drawn, population = draws_and_population(units, units_per_token, group_size)
    require(
        1 <= drawn <= population,
        f"one token draws {units_per_token} units, but the pool has {units}; lower --subsets or --per-subset.",
    )
    return drawn / population
