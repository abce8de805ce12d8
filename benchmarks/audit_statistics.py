"""Numbers that tell two tables apart, one row per run: each answer alone, all together, and what is released.

Every statistic is a function of what a run released (and of noise that the auditor adds alone), so that the price of
the release bounds what it may tell, by post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit_bounds import Claim, GaussianClaim, LossClaim, Statistic
from benchmarks.audit_transcripts import Kind, Run, Tables
from dpicl_core.events import StopReason
from dpicl_core.specs import AdaDPSynSpec, AnchoredSpec, MechanismSpec, TangGaussianSpec, TangNoisyMaxSpec

Vector = NDArray[np.float64]
Entry = tuple[str, float, Claim]
"""Name, value in one run, and claim of one statistic."""

STOP_REASONS: tuple[StopReason, ...] = ("radius", "coverage", "iterations", "single")

NO_SHIFT = 1e-9
"""Standardised difference below which a question counts as not telling the tables apart."""


@dataclass(frozen=True, slots=True)
class Question:
    """One Gaussian query of a token, in the order in which the mechanism asks. multiplier: its priced noise."""

    name: str
    kind: Kind
    multiplier: float


def questions_of(spec: MechanismSpec) -> tuple[Question, ...]:
    """All questions of one token that the spec prices, in order; a run that stops early asks the first ones only."""
    if isinstance(spec, TangGaussianSpec):
        return (Question("sum", "vector", spec.sigma),)
    if isinstance(spec, AnchoredSpec):
        return tuple(Question(f"sum {i + 1}", "vector", spec.sigma1) for i in range(len(spec.schedule)))
    if isinstance(spec, AdaDPSynSpec):
        radius = [Question(f"radius score {i + 1}", "number", spec.sigma0) for i in range(spec.radius_comparisons)]
        refinements: list[Question] = []
        for i in range(spec.iterations):
            refinements.append(Question(f"coverage count {i + 1}", "number", spec.sigma2))
            refinements.append(Question(f"sum {i + 2}", "vector", spec.sigma1))
        return (*radius, Question("sum 1", "vector", spec.sigma1), *refinements)
    return ()


def whole_claim(spec: MechanismSpec) -> Claim:
    """What the accountant prices one token at, on the drawn rows."""
    if not spec.reads_private_rows:
        return LossClaim(0.0)
    if isinstance(spec, TangNoisyMaxSpec):
        return LossClaim(spec.epsilon0)
    assert spec.sigma_eff is not None, f"{spec.name} claims nothing"
    return GaussianClaim(1 / spec.sigma_eff)


def statistics_of(
    spec: MechanismSpec, tables: Tables, left: Sequence[Run], right: Sequence[Run], *, rng: np.random.Generator
) -> list[Statistic]:
    """All statistics of these runs. rng: the auditor's own noise, for answers that a run did not ask for."""
    questions = questions_of(spec)
    whole = whole_claim(spec)
    named: dict[str, Claim] = {}
    rows: tuple[list[list[float]], list[list[float]]] = ([], [])
    for runs, side in zip((left, right), rows, strict=True):
        for run in runs:
            entries = [*_answers(questions, run, whole, rng), *_released(spec, tables, run, whole)]
            named = {name: claim for name, _, claim in entries}
            side.append([value for _, value, _ in entries])
    on_left, on_right = np.array(rows[0]).T, np.array(rows[1]).T
    return [Statistic(name, on_left[i], on_right[i], (claim,)) for i, (name, claim) in enumerate(named.items())]


def _answers(questions: Sequence[Question], run: Run, whole: Claim, rng: np.random.Generator) -> Iterator[Entry]:
    """Each answer along the difference of the tables, pairs of answers, and the likelihood of all answers.

    An answer along the difference is standard normal under the left table and moved by at most 1/multiplier under the
    right one, given all earlier answers; where it was not asked for, fresh noise stands in, as the price assumes.
    """
    misfit_left = [_standardised(run, i, 0) for i in range(len(run.answers))]
    misfit_right = [_standardised(run, i, 1) for i in range(len(run.answers))]
    latest: dict[Kind, int] = {}
    for i, question in enumerate(questions):
        projection = float(rng.standard_normal())
        if i < len(run.answers):
            shift = misfit_right[i] - misfit_left[i]
            length = float(np.linalg.norm(shift))
            if length > NO_SHIFT:
                projection = float(misfit_left[i] @ shift) / length
        yield f"{question.name}, along the difference", projection, GaussianClaim(1 / question.multiplier)
    for i, question in enumerate(questions):
        # A noise value used twice makes two misfits equal under the true table and, in general, under no other.
        before = latest.get(question.kind)
        latest[question.kind] = i
        if before is not None:
            gap = 0.0
            if i < len(run.answers):
                gap = _gap(misfit_right, before, i) - _gap(misfit_left, before, i)
            yield f"{questions[before].name} against {question.name}, their noise", gap, whole
    if questions:
        log_ratio = sum(float(b @ b - a @ a) / 2 for a, b in zip(misfit_left, misfit_right, strict=True))
        if not run.fits[1]:
            log_ratio = math.inf
        elif not run.fits[0]:
            log_ratio = -math.inf
        yield "likelihood of all answers", log_ratio, whole


def _standardised(run: Run, index: int, table: int) -> Vector:
    answer = run.answers[index]
    return np.asarray((answer.noisy - run.asked[table][index]) / answer.scale, dtype=np.float64)


def _gap(misfits: Sequence[Vector], one: int, other: int) -> float:
    return float(np.linalg.norm(misfits[one] - misfits[other]))


def _released(spec: MechanismSpec, tables: Tables, run: Run, whole: Claim) -> Iterator[Entry]:
    """The token, the trace and the released vector; also whether the other table could have led to them."""
    outcome = run.outcome
    for index in range(tables.left.shape[1]):
        yield f"token {index} released", float(outcome.choice == index), whole
    yield "release that one table cannot give", float(run.fits[0]) - float(run.fits[1]), whole
    if outcome.vector is not None:
        difference = tables.left.sum(axis=0) - tables.right.sum(axis=0)
        yield "released vector, along the difference", float(outcome.vector @ difference), whole
    trace = outcome.trace
    if isinstance(spec, AdaDPSynSpec):
        assert trace.good_radius is not None
        priced = GaussianClaim(math.sqrt(spec.radius_comparisons) / spec.sigma0)
        yield "released radius r", trace.good_radius, priced
        yield "number of means", float(len(trace.steps)), whole
        yield "why it stopped", float(STOP_REASONS.index(trace.stopped_by)), whole
        yield "last radius R", trace.steps[-1].radius, whole
