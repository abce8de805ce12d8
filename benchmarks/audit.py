"""Audit the privacy claims by experiment: the real code on neighbouring tables, and faults that it must find.

    python -m benchmarks.audit                     all cases, 10 000 runs on each side, real (secret) noise
    python -m benchmarks.audit --source seeded     the same with the seeded twin: minutes, and reproducible
    python -m benchmarks.audit --only anchored --runs 2000 --json audit.json

docs/audit.md explains what the numbers mean. The exit status is 1 if honest code was caught or a fault was missed.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.audit_bounds import Finding
from benchmarks.audit_cases import Verdict, cases, judge
from dpicl_core.randomness import RandomSource, SecretRandomness, SeededRandomness

SEED = 20_240_901
DETAIL_COLUMNS = ("case", "statistic", "unit", "claim", "lower bound")
COLUMNS = ("case", "planted fault", "strongest statistic", "unit", "claim", "lower bound", "runs a side", "verdict")


def secret_source(side: int) -> RandomSource:
    """Operating-system entropy and OpenDP noise: what a private run uses."""
    return SecretRandomness()


def seeded_source(side: int) -> RandomSource:
    """The reproducible twin, one stream for each side."""
    return SeededRandomness((SEED, side))


SOURCES = {"secret": secret_source, "seeded": seeded_source}


def judge_named(name: str, *, runs: int, source: str) -> Verdict:
    """Judge the case of that name; cases hold functions, which cannot travel to another process."""
    (case,) = (case for case in cases() if case.name == name)
    return judge(case, runs, SOURCES[source])


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def details(verdicts: Iterable[Verdict]) -> list[tuple[str, ...]]:
    """Rows of the second table: what each kind of statistic learned about the honest code, numbered ones together."""
    rows: list[tuple[str, ...]] = []
    for verdict in verdicts:
        kinds: dict[str, Finding] = {}
        for finding in verdict.findings if verdict.planted is None else ():
            kind = re.sub(r" \d+", "", finding.statistic)
            kinds[kind] = max(finding, kinds.get(kind, finding), key=lambda one: one.share)
        rows += [
            (verdict.mechanism, kind, one.unit, f"{one.claimed:.3f}", f"{one.lower_bound:.3f}")
            for kind, one in kinds.items()
            if one.lower_bound > 0
        ]
    return rows


def _cells(verdict: Verdict, finding: Finding) -> tuple[str, ...]:
    return (
        verdict.mechanism,
        verdict.planted or "none",
        finding.statistic,
        finding.unit,
        f"{finding.claimed:.3f}",
        f"{finding.lower_bound:.3f}",
        f"{finding.runs}",
        verdict.words,
    )


def as_json(verdicts: Sequence[Verdict], *, source: str) -> str:
    """Every finding of every case; an infinite number becomes null."""
    rows = [
        {
            "case": verdict.mechanism,
            "planted": verdict.planted,
            "verdict": verdict.words,
            "as_expected": verdict.as_expected,
            "seconds": round(verdict.seconds, 1),
            "findings": [_finite(asdict(finding)) for finding in verdict.findings],
        }
        for verdict in verdicts
    ]
    return json.dumps({"source": source, "cases": rows}, indent=1) + "\n"


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description="Audit the privacy claims.")
    parser.add_argument("--runs", type=int, default=10_000, help="runs on each side of a comparison (default 10000)")
    parser.add_argument("--source", choices=sorted(SOURCES), default="secret", help="default: secret, as in real runs")
    parser.add_argument("--only", default="", help="judge only cases whose name holds this text")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side (default 1)")
    parser.add_argument("--json", type=Path, help="also write every finding to this file")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Judge the chosen cases, print the table, and return 1 if any verdict is not as it should be."""
    options = _arguments(words)
    if options.runs < 100:
        print("--runs must be at least 100, since half of the runs choose an event and half test it.", file=sys.stderr)
        return 2
    names = [case.name for case in cases() if options.only in case.name]
    if not names:
        print(f"no case's name holds {options.only!r}; the names are:", *(c.name for c in cases()), sep="\n  ")
        return 2
    verdicts = []
    with ProcessPoolExecutor(max(1, options.jobs)) as pool:
        for verdict in pool.map(partial(judge_named, runs=options.runs, source=options.source), names):
            verdicts.append(verdict)
            print(f"{verdict.seconds:7.1f} s  {verdict.words:17} {names[len(verdicts) - 1]}", file=sys.stderr)
    print(markdown(COLUMNS, (_cells(verdict, verdict.strongest) for verdict in verdicts)))
    print("\nHonest code, every kind of statistic that proved anything:\n")
    print(markdown(DETAIL_COLUMNS, details(verdicts)))
    if options.json:
        options.json.write_text(as_json(verdicts, source=options.source), encoding="utf-8")
    return 0 if all(verdict.as_expected for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
