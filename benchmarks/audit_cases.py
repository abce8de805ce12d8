"""What is audited: every mechanism on worst-case neighbours, and every planted fault on the same ones.

M = 10 rows and K = 4 candidates, all rows drawn. The tables are chosen so that the sensitivities of
docs/privacy.md are reached: sqrt(2) for a sum, 2R for a projected one, 2 - 2/t for a radius score, 1 for a count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit_bounds import Finding, Statistic, examine
from benchmarks.audit_faults import HalfNoise, MeanNoiseOnSum, OneDraw, OneNoiseVector, private_mean_as_public
from benchmarks.audit_loop import (
    LoopSetting,
    loop_statistics,
    repeated_draw_setting,
    vocabulary_from_a_private_row,
    vocabulary_setting,
)
from benchmarks.audit_statistics import statistics_of
from benchmarks.audit_transcripts import Release, Tables, observe, release_token
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import (
    AdaDPSynSpec,
    AnchoredSpec,
    MechanismSpec,
    PublicOnlySpec,
    TangGaussianSpec,
    TangNoisyMaxSpec,
)

Vector = NDArray[np.float64]
Plant = Callable[[RandomSource], RandomSource]
Sources = Callable[[int], RandomSource]
Collect = Callable[[int, Sequence[RandomSource]], list[Statistic]]

AUDITOR_SEED = 1
"""Seed of the auditor's own noise, which stands in for answers that a run did not ask for."""

SUBSETS = 10
CORNERS = np.eye(4)
MIDDLE = (CORNERS[0] + CORNERS[1]) / 2


def _tables(name: str, others: Sequence[Vector], left: Vector, right: Vector) -> Tables:
    return Tables(name, np.array([left, *others]), np.array([right, *others]), MIDDLE)


OPPOSITE = _tables("opposite corners", [MIDDLE] * 9, CORNERS[0], CORNERS[1])
"""The other nine rows lie between two corners; the row moves from one to the other: 2R at every projection."""

CLUSTER = _tables("leaving the cluster", [CORNERS[0]] * 9, CORNERS[0], CORNERS[1])
"""All rows share a corner, and one leaves it: the largest change of every radius score and count, and of the sum."""

INWARD = _tables("corner to middle", [MIDDLE] * 9, CORNERS[0], MIDDLE)
"""The row moves from a corner to where the others are: projections answer differently at every radius."""

TIE = _tables("breaking a tie", [MIDDLE] * 8 + [CORNERS[1]], CORNERS[0], np.array([0.0, 1 / 3, 1 / 3, 1 / 3]))
"""Scores move up by 1 for one candidate and down by 1 for the others: both directions of the noisy max at once."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the audit's table. planted: what is wrong on purpose, None for the honest code."""

    mechanism: str
    planted: str | None
    collect: Collect

    @property
    def name(self) -> str:
        return self.mechanism if self.planted is None else f"{self.mechanism}: {self.planted}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings of one case. A planted fault must be found; the honest code must not be."""

    mechanism: str
    planted: str | None
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def strongest(self) -> Finding:
        """The finding whose lower bound is largest, measured in its own claim."""
        return max(self.findings, key=lambda finding: finding.share)

    @property
    def above_claim(self) -> bool:
        return any(finding.exceeds for finding in self.findings)

    @property
    def as_expected(self) -> bool:
        return self.above_claim == (self.planted is not None)

    @property
    def words(self) -> str:
        if self.planted is None:
            return "ABOVE ITS CLAIM" if self.above_claim else "within its claim"
        return "found" if self.above_claim else "MISSED"


def honest(source: RandomSource) -> RandomSource:
    """Plants nothing."""
    return source


def _mechanism(
    name: str,
    spec: MechanismSpec,
    tables: Tables,
    planted: str | None = None,
    plant: Plant = honest,
    release: Release = release_token,
) -> Case:
    def collect(runs: int, sources: Sequence[RandomSource]) -> list[Statistic]:
        left, right = (
            [observe(spec, tables, on_left=on_left, source=plant(source), release=release) for _ in range(runs)]
            for on_left, source in zip((True, False), sources, strict=True)
        )
        return statistics_of(spec, tables, left, right, rng=np.random.default_rng(AUDITOR_SEED))

    return Case(f"{name}, {tables.name}", planted, collect)


def _loop(
    name: str,
    setting: Callable[[], LoopSetting],
    planted: str | None = None,
    plant: Plant = honest,
    patch: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Case:
    def collect(runs: int, sources: Sequence[RandomSource]) -> list[Statistic]:
        with patch():
            return loop_statistics(setting(), runs, sources, plant)

    return Case(name, planted, collect)


TANG = TangGaussianSpec(sigma=1.0)
NOISY_MAX = TangNoisyMaxSpec(epsilon0=2.0)
ANCHORED = AnchoredSpec(sigma1=0.7)
MEANS = AdaDPSynSpec(sigma0=6.0, sigma1=0.6, sigma2=3.0, margin=1.2)
"""Nearly all budget on the means; the wide margin lets most runs refine."""
MEANS_TWICE = AdaDPSynSpec(sigma0=6.0, sigma1=0.6, sigma2=3.0, margin=1.2, iterations=2, simplex="euclidean")
SEARCH = AdaDPSynSpec(sigma0=1.0, sigma1=0.8, sigma2=1.0, margin=1.5, target_fraction=1.0)
"""Budget on the radius search and the coverage count; t = M, so that a score moves by 2 - 2/M."""


def cases() -> Iterator[Case]:
    """All rows of the table: each mechanism as it is, then with the faults that it can have."""
    mean_noise = partial(MeanNoiseOnSum, subsets=SUBSETS)
    yield _mechanism("public-only", PublicOnlySpec(), OPPOSITE)
    yield _mechanism(
        "public-only", PublicOnlySpec(), OPPOSITE, "private mean for the public row", release=private_mean_as_public
    )
    yield _mechanism("tang-gaussian", TANG, OPPOSITE)
    yield _mechanism("tang-gaussian", TANG, OPPOSITE, "half the noise", HalfNoise)
    yield _mechanism("tang-gaussian", TANG, OPPOSITE, "noise of the mean on the sum", mean_noise)
    yield _mechanism("tang-noisy-max", NOISY_MAX, TIE)
    yield _mechanism("tang-noisy-max", NOISY_MAX, TIE, "half the noise", HalfNoise)
    for tables in (OPPOSITE, INWARD):
        yield _mechanism("anchored", ANCHORED, tables)
    yield _mechanism("anchored", ANCHORED, OPPOSITE, "half the noise", HalfNoise)
    yield _mechanism("anchored", ANCHORED, OPPOSITE, "noise of the mean on the sum", mean_noise)
    yield _mechanism("anchored", ANCHORED, INWARD, "one noise vector used twice", OneNoiseVector)
    yield _mechanism("adadpsyn", MEANS, OPPOSITE)
    yield _mechanism("adadpsyn", SEARCH, CLUSTER)
    yield _mechanism("adadpsyn, 2 iterations", MEANS_TWICE, OPPOSITE)
    yield _mechanism("adadpsyn", MEANS, OPPOSITE, "half the noise", HalfNoise)
    yield _mechanism("adadpsyn", SEARCH, CLUSTER, "half the noise", HalfNoise)
    yield _mechanism("adadpsyn", MEANS, OPPOSITE, "noise of the mean on the sum", mean_noise)
    yield _mechanism("adadpsyn", MEANS, OPPOSITE, "one noise vector used twice", OneNoiseVector)
    yield _loop("token loop, tang-gaussian, rate 1", vocabulary_setting)
    yield _loop(
        "token loop, tang-gaussian, rate 1",
        vocabulary_setting,
        "vocabulary from a private row",
        patch=vocabulary_from_a_private_row,
    )
    yield _loop("token loop, tang-noisy-max, rate 0.1, 12 tokens", repeated_draw_setting)
    yield _loop(
        "token loop, tang-noisy-max, rate 0.1, 12 tokens",
        repeated_draw_setting,
        "one draw reused for all tokens",
        OneDraw,
    )


def judge(case: Case, runs: int, sources: Sources) -> Verdict:
    """Run one case `runs` times on each side. sources: the random source of side 0 and of side 1."""
    started = time.perf_counter()
    statistics = case.collect(runs, [sources(0), sources(1)])
    findings = tuple(examine(statistic) for statistic in statistics)
    return Verdict(case.mechanism, case.planted, findings, time.perf_counter() - started)
