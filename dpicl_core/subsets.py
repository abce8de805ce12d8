"""The secret draws of one token: M disjoint subsets of N units, fresh each time or M of a run's fixed groups.

Both ways look at how many units a pool has and at nothing else of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from dpicl_core.randomness import RandomSource
from dpicl_core.sampling import Grouping
from dpicl_core.values import Example, GenerationPlan, Pool


@dataclass(frozen=True, slots=True)
class Subset:
    """N rows of N units. group: number of a fixed group, which holds the same rows whenever it is drawn; else None."""

    examples: tuple[Example, ...] = field(repr=False)
    group: int | None = field(default=None, repr=False)


class Subsets(Protocol):
    """What one run draws from one pool."""

    def draw(self, *, rng: RandomSource) -> list[Subset]:
        """M disjoint subsets of N units for one token."""


class FreshSubsets:
    """M*N units drawn anew for every token, uniformly without replacement, and one row of each, drawn anew."""

    def __init__(self, plan: GenerationPlan, pool: Pool) -> None:
        self._plan = plan
        self._pool = pool

    def draw(self, *, rng: RandomSource) -> list[Subset]:
        size = self._plan.per_subset
        indices = rng.draw(len(self._pool), self._plan.units_per_token)
        rows = tuple(_row_of(self._pool.units[index], rng) for index in indices)
        return [Subset(rows[start : start + size]) for start in range(0, len(rows), size)]


class FixedGroups:
    """A secret partition of the pool into floor(n/N) groups of N, made now; M of them are drawn for every token.

    The n mod N units that are left over, a secret choice too, are in no group. A person's row is drawn once, with the
    partition: a prompt that changed would have to be computed again.
    """

    def __init__(self, plan: GenerationPlan, pool: Pool, *, rng: RandomSource) -> None:
        size, count = plan.per_subset, len(pool) // plan.per_subset
        rows = tuple(_row_of(pool.units[index], rng) for index in rng.draw(len(pool), count * size))
        self._subsets = plan.subsets
        self._groups = [Subset(rows[size * group : size * (group + 1)], group) for group in range(count)]

    def __len__(self) -> int:
        return len(self._groups)

    def draw(self, *, rng: RandomSource) -> list[Subset]:
        return [self._groups[group] for group in rng.draw(len(self._groups), self._subsets)]


def subsets_of(plan: GenerationPlan, pool: Pool, *, rng: RandomSource) -> Subsets:
    """The draws that the plan was priced for."""
    return FixedGroups(plan, pool, rng=rng) if plan.grouping is Grouping.FIXED else FreshSubsets(plan, pool)


def _row_of(unit: tuple[Example, ...], rng: RandomSource) -> Example:
    return unit[0] if len(unit) == 1 else unit[rng.choose(len(unit))]
