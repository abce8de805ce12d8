"""Audits of the whole token loop, over a scripted language model: what the released token ids alone give away.

Two tables of short rows differ in one row. The rows' words make the scripted model answer with the worst-case
vectors, and everything else is the real engine: prompts, draws, candidates, mechanism, events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit_bounds import Claim, GaussianClaim, LossClaim, Statistic
from dpicl_core import generation
from dpicl_core.accounting import composed_loss, epsilon_tight
from dpicl_core.candidates import candidate_ids, public_vector, replace_unusable
from dpicl_core.events import RunFinished
from dpicl_core.language_model.protocol import LanguageModel, ModelInfo, restricted_probabilities
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.randomness import RandomSource
from dpicl_core.specs import MechanismSpec, TangGaussianSpec, TangNoisyMaxSpec
from dpicl_core.subsets import Subsets
from dpicl_core.token_inputs import TokenInputs
from dpicl_core.values import Example, GenerationPlan, Pool, Price, Task, TokenPrompt

LABEL = "Note"
TASK = Task(
    name="audit",
    title="Audit",
    instruction="Write.",
    generation_label_header="Kind",
    generation_text_header="Text",
    icl_instruction="",
    icl_text_header="Text",
    icl_label_header="Kind",
    labels=(LABEL,),
)
LEFT_ROW, RIGHT_ROW, OTHER_ROW = "doctor", "patient", "clinic"
"""Texts of rows; the scripted model knows them by their one word."""

LEFT_TOKEN, RIGHT_TOKEN, LEFT_SECRET, RIGHT_SECRET = "food", "water", "house", "school"
"""What the model answers with; the two secrets are never among the public candidates."""

DELTA = 1e-4
"""Target delta for the accountant's grid; the profile is read at many epsilons."""

EPSILONS = np.arange(0.25, 6.0, 0.25)


class ScriptedTokenizer:
    """Seven words and one id for any other word; small and remembering, since the audit runs a million tokens."""

    prefix_ids: tuple[int, ...] = ()
    ending_ids: frozenset[int] = frozenset()
    forbidden_ids = frozenset({0})
    words = ("?", LEFT_ROW, RIGHT_ROW, OTHER_ROW, LEFT_TOKEN, RIGHT_TOKEN, LEFT_SECRET, RIGHT_SECRET)
    vocabulary_size = len(words)

    def encode(self, text: str) -> tuple[int, ...]:
        return _encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(f" {self.words[id_]}" for id_ in ids)


@cache
def _encode(text: str) -> tuple[int, ...]:
    words = ScriptedTokenizer.words
    return tuple(words.index(word) if word in words else 0 for word in text.split())


class ScriptedModel:
    """Answers by which row's word a prompt holds. answers: logits by word; public: those of a prompt with none.

    Words that are given no logit are out of reach; equal questions are computed once.
    """

    def __init__(self, answers: dict[str, dict[str, float]], public: dict[str, float]) -> None:
        self.tokenizer = ScriptedTokenizer()
        self.info = ModelInfo("scripted", "toy", (), "float64", "cpu", 0, 2048)
        self._public = self._logits(public)
        self._rows: dict[tuple[tuple[int | None, ...], tuple[int, ...]], NDArray[np.float64]] = {}
        self._answers = {self.id_of(word): self._logits(scores) for word, scores in answers.items()}

    def id_of(self, word: str) -> int:
        (only,) = self.tokenizer.encode(word)
        return only

    def _logits(self, scores: dict[str, float]) -> NDArray[np.float64]:
        logits = np.full(self.tokenizer.vocabulary_size, -60.0)
        for word, score in scores.items():
            logits[self.id_of(word)] = score
        return logits

    def _word_in(self, prompt: TokenPrompt) -> int | None:
        """Id of the first known row's word in the examples of a prompt."""
        return next((id_ for block in prompt.blocks[1:-1] for id_ in block.ids if id_ in self._answers), None)

    def public_logits(self, prompt: TokenPrompt) -> NDArray[np.float64]:
        word = self._word_in(prompt)
        return self._public if word is None else self._answers[word]

    def private_probabilities(self, prompts: Sequence[TokenPrompt], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        words = tuple(self._word_in(prompt) for prompt in prompts)
        asked = (words, tuple(ids.tolist()))
        if asked not in self._rows:
            logits = np.stack([self.public_logits(prompt)[ids] for prompt in prompts])
            self._rows[asked] = restricted_probabilities(logits)
        return self._rows[asked].copy()


@dataclass(frozen=True, slots=True)
class LoopSetting:
    """One plan over two pools that differ in their first row, with a scripted model and the claim for the run."""

    plan: GenerationPlan
    left: Pool
    right: Pool
    model: ScriptedModel
    claims: tuple[Claim, ...]

    @property
    def spec(self) -> MechanismSpec:
        return self.plan.mechanism


def _plan(spec: MechanismSpec, tokens: int) -> GenerationPlan:
    return GenerationPlan(TASK, (LABEL,), spec, subsets=2, per_subset=1, tokens=tokens, vocabulary=2, record_tokens=4)


def _pool(first_row: str, others: int) -> Pool:
    """The row that differs, and rows that are the same in both tables."""
    return Pool(LABEL, ((Example(LABEL, first_row),), *[(Example(LABEL, OTHER_ROW),)] * others))


@cache
def vocabulary_setting() -> LoopSetting:
    """One token, all rows drawn (rate 1), Gaussian sum: honest candidates are food and water, whatever the rows."""
    spec = TangGaussianSpec(sigma=1.0)
    even = {LEFT_TOKEN: 0.0, RIGHT_TOKEN: 0.0}
    answers = {
        LEFT_ROW: {LEFT_TOKEN: 0.0, LEFT_SECRET: 0.0},
        RIGHT_ROW: {RIGHT_TOKEN: 0.0, RIGHT_SECRET: 0.0},
        OTHER_ROW: even,
    }
    return LoopSetting(
        plan=_plan(spec, tokens=1),
        left=_pool(LEFT_ROW, 1),
        right=_pool(RIGHT_ROW, 1),
        model=ScriptedModel(answers, even),
        claims=(GaussianClaim(1 / spec.sigma),),
    )


@cache
def repeated_draw_setting() -> LoopSetting:
    """Twelve tokens, 2 of 20 rows drawn for each (rate 0.1), noisy max.

    All rows speak for water, but the left table's first row speaks for food: where it is drawn, the scores tie. The
    claim is the tight accountant's whole profile: a delta for each epsilon of the grid.
    """
    spec, tokens, units = TangNoisyMaxSpec(epsilon0=1.5), 12, 20
    water = {RIGHT_TOKEN: 0.0}
    answers = {LEFT_ROW: {LEFT_TOKEN: 0.0}, RIGHT_ROW: water, OTHER_ROW: water}
    plan = _plan(spec, tokens)
    loss = composed_loss(spec, sampling_rate=plan.units_per_token / units, composed_tokens=tokens, delta=DELTA)
    return LoopSetting(
        plan=plan,
        left=_pool(LEFT_ROW, units - 1),
        right=_pool(RIGHT_ROW, units - 1),
        model=ScriptedModel(answers, {LEFT_TOKEN: 0.0, RIGHT_TOKEN: 0.0}),
        claims=tuple(LossClaim(float(epsilon), loss.delta(float(epsilon))) for epsilon in EPSILONS),
    )


def released_tokens(setting: LoopSetting, pool: Pool, *, rng: RandomSource) -> tuple[int, ...]:
    """Token ids of the one demonstration of one run of the real loop."""
    plan = setting.plan
    rate, tokens = plan.units_per_token / len(pool), plan.composed_tokens(LABEL)
    epsilon = epsilon_tight(setting.spec, sampling_rate=rate, composed_tokens=tokens, delta=DELTA)
    price = Price(LABEL, setting.spec, len(pool), rate, tokens, DELTA, epsilon, epsilon)
    *_, last = generation.generate(plan, [price], {LABEL: pool}, setting.model, rng=rng)
    assert isinstance(last, RunFinished)
    return last.demonstrations[0].token_ids


def loop_statistics(
    setting: LoopSetting,
    runs: int,
    sources: Sequence[RandomSource],
    plant: Callable[[RandomSource], RandomSource],
) -> list[Statistic]:
    """How often each word was released, in each of `runs` runs on the left and on the right pool."""
    words = (LEFT_TOKEN, RIGHT_TOKEN, LEFT_SECRET, RIGHT_SECRET)
    sides: list[dict[str, NDArray[np.float64]]] = []
    for pool, source in zip((setting.left, setting.right), sources, strict=True):
        released = [released_tokens(setting, pool, rng=plant(source)) for _ in range(runs)]
        ids = {word: setting.model.id_of(word) for word in words}
        sides.append({word: np.array([float(run.count(ids[word])) for run in released]) for word in words})
    left, right = sides
    return [Statistic(f"times '{word}' was released", left[word], right[word], setting.claims) for word in words]


@contextmanager
def vocabulary_from_a_private_row() -> Iterator[None]:
    """Plant the public code's fault: candidates come from the reply to the first private prompt."""

    def faulty(
        plan: GenerationPlan,
        encoder: PromptEncoder,
        model: LanguageModel,
        label: str,
        released: Sequence[int],
        subsets: Subsets,
        *,
        rng: RandomSource,
    ) -> TokenInputs:
        prompts = [encoder.private(subset.examples, label, released) for subset in subsets.draw(rng=rng)]
        logits = model.public_logits(prompts[0])
        candidates = candidate_ids(logits, plan.vocabulary, model.tokenizer.forbidden_ids)
        public = public_vector(logits, candidates)
        rows, unusable = replace_unusable(model.private_probabilities(prompts, candidates), public)
        return TokenInputs(candidates, public, rows, unusable)

    with mock.patch.object(generation, "token_inputs", faulty):
        yield
