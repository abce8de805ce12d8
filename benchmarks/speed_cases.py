"""What `benchmarks.speed` runs: shapes, pools of made-up rows, and the engine's two ways to compute one token."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpicl_core.language_model.transformers_model import TransformersModel
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import SeededRandomness
from dpicl_core.sampling import Grouping
from dpicl_core.specs import UnprotectedSpec
from dpicl_core.subsets import Subset, subsets_of
from dpicl_core.tasks import task_named
from dpicl_core.token_inputs import Asked, StepInputs, session_size
from dpicl_core.values import Example, GenerationPlan, Pool, TokenPrompt

WORDS = (
    "the a of and to in what is for on who when which film year city name company team first new last people work "
    "between country place house school under after large small early music south north river group play known born "
    "state game world season member family record water market"
)
WORDS_PER_ROW = {"agnews": (25, 60), "dbpedia": (25, 70), "trec": (6, 16), "mit_g": (10, 28)}
"""Fewest and most words of a made-up row, near the lengths of the tasks' own rows."""

ENGLISH = " the city of music and film is known for its river, first built in the early year of a new season"


@dataclass(frozen=True, slots=True)
class Case:
    """One shape over one pool. shots: demonstrations that draw from this pool; steps: tokens of a run that are made."""

    name: str
    plan: GenerationPlan = field(repr=False)
    rows: int
    steps: int

    @property
    def subsets(self) -> int:
        return self.plan.subsets


@dataclass(slots=True)
class Measured:
    """One token step of one variant: wall and processor seconds, token positions that the model was given."""

    seconds: float
    cpu_seconds: float
    tokens: int


def case_of(task: str, rows: int, *, shots: int = 1, steps: int | None = None, **settings: int) -> Case:
    """The task's own shape where nothing else is said; one label, so that all shots draw from one pool."""
    facts = task_named(task)
    plan = GenerationPlan(
        task=facts,
        target_labels=(facts.labels[0],) * shots,
        mechanism=UnprotectedSpec(),
        **{"subsets": facts.subsets, "per_subset": facts.per_subset, "tokens": facts.tokens, **settings},
        record_tokens=facts.record_tokens,
        min_tokens=1,
    )
    named = f"{task} M={plan.subsets} N={plan.per_subset} T={plan.tokens}" + (f", {shots} shots" if shots > 1 else "")
    return Case(named, plan, rows, min(steps or plan.tokens, plan.tokens))


def made_up_pool(case: Case) -> Pool:
    """Rows of words; the same ones each time."""
    source, label = random.Random(case.rows), case.plan.target_labels[0]
    low, high = WORDS_PER_ROW.get(case.plan.task.name, (10, 28))
    texts = (" ".join(source.choices(WORDS.split(), k=source.randint(low, high))) for _ in range(case.rows))
    return Pool(None if case.plan.task.open_labels else label, tuple((Example(label, text),) for text in texts))


def timed(work: Callable[[], int]) -> Measured:
    """Run once; `work` returns the token positions that it gave the model."""
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = work()
    return Measured(time.perf_counter() - wall, time.process_time() - cpu, tokens)


class EngineRun:
    """Variants (c) and (d): a run of the engine's own steps, its text given in advance; one call of step a token."""

    def __init__(self, case: Case, pool: Pool, model: TransformersModel, grouping: Grouping) -> None:
        plan = replace(case.plan, grouping=grouping)
        self._plan = plan
        self._rng = SeededRandomness(case.rows)
        self._subsets = subsets_of(plan, pool, rng=self._rng)
        self._pool = pool.label
        self._encoder = PromptEncoder(plan.task, model.tokenizer, plan.record_tokens)
        size = session_size(plan, self._encoder, {pool.label: len(pool)})
        self._inputs = StepInputs(plan, self._encoder, model, model.session(size))
        self._text = (model.tokenizer.encode(ENGLISH) * plan.tokens)[: plan.tokens]

    def text(self, position: int) -> tuple[int, ...]:
        """Released tokens before `position`."""
        return self._text[:position]

    def step(self, position: int) -> None:
        """All demonstrations' rows for the token at `position`."""
        asked = [
            Asked(number, label, self.text(position), self._pool, self._subsets)
            for number, label in enumerate(self._plan.target_labels)
        ]
        self._inputs.of(asked, rng=self._rng)

    def prompts(self, position: int) -> list[TokenPrompt]:
        """The prompts of one demonstration at `position`, from a draw of their own."""
        drawn: list[Subset] = self._subsets.draw(rng=SeededRandomness(position))
        label = self._plan.target_labels[0]
        return [self._encoder.private(subset.examples, label, self.text(position)) for subset in drawn]


class TokenCounter:
    """Counts the token positions that a model's forward passes are given."""

    def __init__(self, model: TransformersModel) -> None:
        self.tokens = 0
        call = model._call

        def counting(ids: NDArray[np.int64], *rest: Any) -> Any:
            self.tokens += ids.size
            return call(ids, *rest)

        model._call = counting  # type: ignore[method-assign]

    def during(self, work: Callable[[], None]) -> int:
        """Positions given while `work` runs."""
        before = self.tokens
        work()
        return self.tokens - before
