"""How much work the parts of a measure are, from public numbers: for the time left, and for a guess beforehand.

Work is counted in row-tokens, one token position of one prompt, as `jobs.quotes.row_tokens` counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from dpicl_core.jobs.quotes import DEFAULT_PACE, row_tokens
from dpicl_core.values import GenerationPlan

Progress = Callable[[str, float], None]

_LABEL_TOKENS = 12
"""Header and label behind a query, roughly."""


def generating(plan: GenerationPlan) -> float:
    """Of one run with every token counted."""
    return len(plan.target_labels) * plan.tokens * row_tokens(plan)


def asking(queries: int, query_tokens: int) -> float:
    """Of so many queries behind one shared prompt, which is run once."""
    return queries * float(query_tokens + _LABEL_TOKENS)


def seconds(work: float, pace: float | None) -> float:
    """Rough seconds on this machine; pace: seconds per row-token of its last run, None for a usual machine's."""
    return work * (pace or DEFAULT_PACE)


def portions(progress: Progress, works: Sequence[float]) -> list[Progress]:
    """One teller for each part: its own share from 0 to 1 becomes a share of the whole."""
    total = sum(works) or 1.0
    starts = [0.0, *accumulate(works)]
    return [_within(progress, start / total, work / total) for start, work in zip(starts, works, strict=False)]


def _within(progress: Progress, start: float, length: float) -> Progress:
    return lambda stage, share: progress(stage, start + length * share)
