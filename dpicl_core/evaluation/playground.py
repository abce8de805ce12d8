"""A query typed by a person, answered with each set of demonstrations in the prompt, by a model on this machine.

It reads released texts and the query, no private row; unless real rows are asked for beside them, which is recorded
and internal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import work
from dpicl_core.evaluation.accuracy import ANSWER_TOKENS, calibrated, content_free_shares, label_shares
from dpicl_core.evaluation.in_context import answer_space, query_ids, shared_ids
from dpicl_core.evaluation.private_table import PLAYGROUND_VIEW, PrivateTable
from dpicl_core.evaluation.sets import REAL_ROWS, DemonstrationSet, reference_sets
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.language_model.scoring import Scorer, scorer_for
from dpicl_core.texts import demonstration_text
from dpicl_core.values import GenerationPlan, Task

LONGEST_QUERY = 4000
"""Characters."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class LabelShare:
    """Probability of a label among the declared ones, and the same divided by the model's bias (contextual calibration,
    Zhao et al. 2021)."""

    label: str
    raw: float
    calibrated: float


@dataclass(frozen=True, slots=True)
class PlaygroundAnswer:
    """What a set made of the query. shares: of every label, likeliest first by the raw share; empty for open labels and
    for models that give text alone. text: the greedy answer, or the likeliest label."""

    kind: str
    internal: bool
    shares: tuple[LabelShare, ...]
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PlaygroundTask:
    """One query for every set. plan and private: to draw real rows as one more set; None for none."""

    task: Task
    sets: tuple[DemonstrationSet, ...]
    query: str = field(repr=False)
    plan: GenerationPlan | None = None
    private: PrivateTable | None = None

    def run(self, model: LanguageModel, tell: Progress) -> tuple[PlaygroundAnswer, ...]:
        """The answers, in the order of the sets, the one with real rows last."""
        require_query(self.query)
        scorer = scorer_for(model)
        sets = list(self.sets)
        if self.private is not None and self.plan is not None:
            sets += reference_sets(REAL_ROWS, self.plan, 1, self.private.open(PLAYGROUND_VIEW), model)
        answers = []
        for each, told in zip(sets, work.portions(tell, [1.0] * len(sets)), strict=True):
            told("asking the model", 0.0)
            answers.append(answered(self.task, each, self.query, scorer))
        return tuple(answers)


def require_query(query: str) -> None:
    """Raise ConfigError for a blank or an overlong query."""
    if not query.strip():
        raise ConfigError("the query is blank; type a text to answer.")
    if len(query) > LONGEST_QUERY:
        raise ConfigError(f"a query may be {LONGEST_QUERY} characters long, but has {len(query)}; shorten it.")


def answered(task: Task, shown: DemonstrationSet, query: str, scorer: Scorer) -> PlaygroundAnswer:
    """One query with one set: a share for every fixed label, or the greedy text where labels are open."""
    shared = shared_ids(task, scorer.tokenizer, shown.demonstrations)
    asked = [query_ids(task, scorer.tokenizer, query)]
    if task.open_labels:
        (answer,) = scorer.greedy(shared, asked, ANSWER_TOKENS)
        return PlaygroundAnswer(shown.kind, shown.internal, (), demonstration_text(answer, scorer.tokenizer))
    space = answer_space(task, scorer.tokenizer)
    raw = label_shares(scorer.log_probabilities(shared, asked, [space.ids], closing=space.closing))
    fair = calibrated(raw, content_free_shares(task, shown.demonstrations, scorer, space))
    found = [LabelShare(*each) for each in zip(space.labels, map(float, raw[0]), map(float, fair[0]), strict=True)]
    ordered = tuple(sorted(found, key=lambda share: -share.raw))
    return PlaygroundAnswer(shown.kind, shown.internal, ordered, ordered[0].label)
