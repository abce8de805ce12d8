"""What a run of a mechanism released, seen with the eyes of someone who knows both tables and all the code.

The strongest adversary records every noisy answer, feeds the same answers to the mechanism on the one table and on
the other, notes what each asked, and compares how well the answers fit. Later questions may depend on earlier
answers; the replay follows them wherever they lead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpicl_core.mechanisms import TokenOutcome, release_token
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import MechanismSpec

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Kind = Literal["number", "vector", "maximum"]
Release = Callable[..., TokenOutcome]


@dataclass(frozen=True, slots=True)
class Answer:
    """One noisy answer. scale: noise standard deviation that was asked for (for a maximum, its epsilon).

    asked: the exact value, known to the auditor alone; noisy: what was released. Both (n,), a number as (1,).
    """

    kind: Kind
    scale: float
    asked: Vector
    noisy: Vector


class PassingSource:
    """Hands everything on to another source; the base of recorders and of planted faults."""

    def __init__(self, inner: RandomSource) -> None:
        self.inner = inner

    @property
    def private(self) -> bool:
        return self.inner.private

    def draw(self, population: int, count: int) -> tuple[int, ...]:
        return self.inner.draw(population, count)

    def choose(self, population: int) -> int:
        return self.inner.choose(population)

    def uniform(self) -> float:
        return self.inner.uniform()

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        return self.inner.gaussian_vector(value, scale)

    def gaussian(self, value: float, scale: float) -> float:
        return self.inner.gaussian(value, scale)

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        return self.inner.noisy_max(scores, epsilon)


class Recorder(PassingSource):
    """Remembers every noisy answer of one run, in order."""

    def __init__(self, inner: RandomSource) -> None:
        super().__init__(inner)
        self.answers: list[Answer] = []

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        noisy = self.inner.gaussian_vector(value, scale)
        self.answers.append(Answer("vector", scale, value, noisy))
        return noisy

    def gaussian(self, value: float, scale: float) -> float:
        noisy = self.inner.gaussian(value, scale)
        self.answers.append(Answer("number", scale, np.array([value]), np.array([noisy])))
        return noisy

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        choice = self.inner.noisy_max(scores, epsilon)
        self.answers.append(Answer("maximum", epsilon, scores, np.array([choice])))
        return choice


class DivergedError(Exception):
    """The mechanism asked for something other than what the recorded answers belong to."""


class Replay:
    """Gives recorded answers whatever the value, and notes the values. It holds no chance of its own."""

    private = False

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = tuple(answers)
        self.asked: list[Vector] = []

    @property
    def complete(self) -> bool:
        return len(self.asked) == len(self._answers)

    def _next(self, kind: Kind, scale: float, value: Vector) -> Vector:
        if self.complete:
            raise DivergedError
        answer = self._answers[len(self.asked)]
        if (answer.kind, answer.scale, answer.asked.shape) != (kind, scale, value.shape):
            raise DivergedError
        self.asked.append(value)
        return answer.noisy

    def gaussian_vector(self, value: Vector, scale: float) -> Vector:
        return self._next("vector", scale, value)

    def gaussian(self, value: float, scale: float) -> float:
        return float(self._next("number", scale, np.array([value]))[0])

    def noisy_max(self, scores: Vector, epsilon: float) -> int:
        return int(self._next("maximum", epsilon, scores)[0])

    def draw(self, population: int, count: int) -> tuple[int, ...]:
        raise DivergedError

    def choose(self, population: int) -> int:
        raise DivergedError

    def uniform(self) -> float:
        raise DivergedError


@dataclass(frozen=True, slots=True)
class Tables:
    """Two neighbouring matrices (M, K) that differ in one row, and the public row (K,)."""

    name: str
    left: Matrix
    right: Matrix
    public: Vector


@dataclass(frozen=True, slots=True)
class Run:
    """One run. answers: those with Gaussian noise; asked: their exact values under the left and the right table.

    fits: whether each table can have led to this release at all: the same answers must lead the mechanism to the same
    questions, the same token and the same trace, whatever the table.
    """

    outcome: TokenOutcome
    answers: tuple[Answer, ...]
    asked: tuple[tuple[Vector, ...], tuple[Vector, ...]]
    fits: tuple[bool, bool]


def observe(spec: MechanismSpec, tables: Tables, *, on_left: bool, source: RandomSource, release: Release) -> Run:
    """Run the mechanism on one table, then replay its answers through it on the other.

    Replaying through its own table is not needed: the code is the same, so it asks what the run asked.
    """
    own, other = (tables.left, tables.right) if on_left else (tables.right, tables.left)
    recorder = Recorder(source)
    outcome = release(spec, own, tables.public, rng=recorder)
    replay = Replay(recorder.answers)
    try:
        fits = same_release(outcome, release(spec, other, tables.public, rng=replay)) and replay.complete
    except DivergedError:
        fits = False
    gaussian = [index for index, answer in enumerate(recorder.answers) if answer.kind != "maximum"]
    here = tuple(recorder.answers[index].asked for index in gaussian)
    there = tuple(replay.asked[index] for index in gaussian) if fits else here
    return Run(
        outcome,
        tuple(recorder.answers[index] for index in gaussian),
        (here, there) if on_left else (there, here),
        (True, fits) if on_left else (fits, True),
    )


def same_release(one: TokenOutcome, other: TokenOutcome) -> bool:
    """Whether two outcomes are equal to the last bit in everything that leaves."""
    if one.choice != other.choice or one.trace != other.trace or (one.vector is None) != (other.vector is None):
        return False
    return one.vector is None or other.vector is None or np.array_equal(one.vector, other.vector)


__all__ = ["Answer", "PassingSource", "Run", "Tables", "observe", "release_token", "same_release"]
