"""Measures of released texts as tasks: the command line does them in its own process, the screens in the child.

Each is a frozen dataclass of public settings, released texts and tables that open themselves only once that is
recorded. Its `run` tells how far it is of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dpicl_core.charged_runs.internal_view import InternalView
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import DataError
from dpicl_core.evaluation import work
from dpicl_core.evaluation.accuracy import Accuracy, AccuracyOptions, accuracy_of
from dpicl_core.evaluation.leakage import NEAR_DUPLICATE_PERCENT, TextLeakage, leakage
from dpicl_core.evaluation.membership import (
    AttackOptions,
    attack_on_demonstrations,
    attack_on_real_rows,
    proven_loss,
)
from dpicl_core.evaluation.private_table import (
    ACCURACY_VIEW,
    LEAKAGE_VIEW,
    MEMBERSHIP_VIEW,
    PrivateTable,
    pools_by_label,
    set_apart,
    strangers,
)
from dpicl_core.evaluation.results import (
    AccuracyResult,
    AttackLine,
    LeakageResult,
    LeakLine,
    MembershipResult,
    SetLine,
)
from dpicl_core.evaluation.roc import Curve, ceiling
from dpicl_core.evaluation.sets import (
    NOISE_FREE,
    PUBLIC_ONLY,
    ZERO_SHOT,
    DemonstrationSet,
    reference_sets,
    set_of,
    unpaid_plan,
)
from dpicl_core.evaluation.spreads import evenly_spaced
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.language_model.scoring import scorer_for
from dpicl_core.randomness import SecretRandomness
from dpicl_core.runs import check_context
from dpicl_core.values import GenerationPlan, Task

Progress = Callable[[str, float], None]

ASKED_ROWS = 60
"""Rows that a set is asked on the screens: enough to tell 0.5 from 0.7, and quick."""

SEEDS = 3
REAL_PROMPTS = 100
"""As many as the papers' 5 demonstrations x 20 trials."""


@dataclass(frozen=True, slots=True)
class AccuracyTask:
    """In-context accuracy of every document, and of sets that are made here, on the same rows.

    plan: of the sets that are made. references: names of REFERENCE_SETS. seeds: draws of each. limit: rows asked, None
    for all. held_out: rows never used; without it, rows of the private table are set apart, at least one and at most a
    quarter of it. One of the two tables is needed, and the private one for sets of private rows.
    """

    task: Task
    documents: tuple[DemonstrationsDocument, ...] = field(repr=False)
    plan: GenerationPlan
    references: tuple[str, ...]
    private: PrivateTable | None
    held_out: PrivateTable | None
    seeds: int = SEEDS
    limit: int | None = ASKED_ROWS
    options: AccuracyOptions = field(default_factory=AccuracyOptions)

    def run(self, model: LanguageModel, tell: Progress) -> AccuracyResult:
        """Make the sets, ask the model, average over seeds."""
        scorer = scorer_for(model)
        if self.references:
            check_context(self.plan, model)
        asked, source = self._opened()
        queries = evenly_spaced(asked.dataset.examples, self.limit)
        *making, answering = work.portions(tell, self._works(len(queries)))
        sets = [set_of(document) for document in self.documents]
        for name, told in zip(self.references, making, strict=True):
            sets += reference_sets(name, self.plan, self.seeds, source, model, progress=told)
        results: dict[str, list[tuple[DemonstrationSet, Accuracy]]] = {}
        for each, told in zip(sets, work.portions(answering, [1.0] * len(sets)), strict=True):
            found = accuracy_of(self.task, each.demonstrations, queries, scorer, self.options, progress=told)
            results.setdefault(each.kind, []).append((each, found))
        lines = tuple(
            SetLine.of(kind, [found for _, found in pairs], internal=pairs[0][0].internal)
            for kind, pairs in results.items()
        )
        return AccuracyResult(lines, scorer.name, len(queries), self.task.open_labels, self.held_out is not None)

    def seconds(self, pace: float | None) -> float:
        """A guess from public numbers; pace as in work.seconds."""
        return work.seconds(sum(self._works(ASKED_ROWS if self.limit is None else self.limit)), pace)

    def _opened(self) -> tuple[InternalView, InternalView]:
        """Rows to ask about, and the rows that sets are made of; each view is recorded before a row is read."""
        asked = None if self.held_out is None else self.held_out.open(ACCURACY_VIEW)
        if self.private is None:
            if asked is None:
                raise DataError("accuracy needs rows to ask about; give a held-out table or the private one.")
            return asked, asked
        source = self.private.open(ACCURACY_VIEW)
        if asked is not None:
            return asked, source
        return set_apart(source, len(source.dataset) if self.limit is None else self.limit)

    def _works(self, queries: int) -> list[float]:
        """Of making each reference, and of asking all sets."""
        making = [self._draws(name) * self._one(name) for name in self.references]
        sets = len(self.documents) + sum(map(self._draws, self.references))
        return [*making, sets * work.asking(queries, self.plan.record_tokens)]

    def _draws(self, name: str) -> int:
        alike = name == ZERO_SHOT or (name == PUBLIC_ONLY and not self.plan.selection.sample)
        return 1 if alike else self.seeds

    def _one(self, name: str) -> float:
        return work.generating(unpaid_plan(name, self.plan)) if name in (PUBLIC_ONLY, NOISE_FREE) else 0.0


@dataclass(frozen=True, slots=True)
class MembershipTask:
    """The attack of both papers on every document, on real rows in their place, and the proven ceilings.

    Documents of one kind are attacked together, and the highest of their ceilings stands for them. real_prompts: how
    many prompts with a real row; 0 for none.
    """

    task: Task
    documents: tuple[DemonstrationsDocument, ...] = field(repr=False)
    private: PrivateTable
    held_out: PrivateTable
    options: AttackOptions = field(default_factory=AttackOptions)
    real_prompts: int = REAL_PROMPTS

    def run(self, model: LanguageModel, tell: Progress) -> MembershipResult:
        """Attack; held-out rows whose text stands in the private table too are nobody's outsiders and left out."""
        scorer = scorer_for(model)
        inside, given = self.private.open(MEMBERSHIP_VIEW), self.held_out.open(MEMBERSHIP_VIEW)
        outside = strangers(given, inside)
        wanted: Sequence[str | None] = (None,) if self.task.open_labels else self.task.labels
        members, others = pools_by_label(inside.dataset, wanted), pools_by_label(outside.dataset, wanted)
        rng = SecretRandomness()
        *tellers, real_teller = work.portions(tell, self._works())
        lines = []
        for (kind, group), told in zip(self._by_kind().items(), tellers, strict=True):
            pairs = [pair for document in group for pair in set_of(document).demonstrations]
            attack = attack_on_demonstrations(
                kind, self.task, pairs, members, others, scorer, self.options, rng=rng, progress=told
            )
            lines.append(AttackLine(attack, highest_ceiling(group)))
        if self.real_prompts:
            attack = attack_on_real_rows(
                self.task, self.real_prompts, members, others, scorer, self.options, rng=rng, progress=real_teller
            )
            lines.append(AttackLine(attack, None))
        left_out = len(given.dataset) - len(outside.dataset)
        return MembershipResult(tuple(lines), scorer.name, self.options.rows, left_out)

    def seconds(self, pace: float | None) -> float:
        """A guess from public numbers; pace as in work.seconds."""
        return work.seconds(sum(self._works()), pace)

    def _works(self) -> list[float]:
        """Of attacking each kind, and real rows."""
        length = self.documents[0].plan.record_tokens
        each = 2 * self.options.trials * self.options.rows
        texts = [sum(len(document.demonstrations) for document in group) for group in self._by_kind().values()]
        kinds = [work.asking(each * many, length) for many in texts]
        return [*kinds, self.real_prompts * work.asking(self.options.rows + 1, length)]

    def _by_kind(self) -> dict[str, list[DemonstrationsDocument]]:
        groups: dict[str, list[DemonstrationsDocument]] = {}
        for document in self.documents:
            groups.setdefault(set_of(document).kind, []).append(document)
        return groups


@dataclass(frozen=True, slots=True)
class LeakageTask:
    """Words, duplicates and personal data that each text shares with the private table; no model is asked.

    held_out: rows never used, which say how much of it is chance; None leaves that open.
    """

    documents: tuple[DemonstrationsDocument, ...] = field(repr=False)
    private: PrivateTable
    held_out: PrivateTable | None = None
    near_percent: float = NEAR_DUPLICATE_PERCENT

    def run(self, model: LanguageModel | None, tell: Progress) -> LeakageResult:
        """Compare every text with all rows."""
        table = self.private.open(LEAKAGE_VIEW).dataset
        unused = None if self.held_out is None else self.held_out.open(LEAKAGE_VIEW).dataset
        lines = []
        for document, told in zip(self.documents, work.portions(tell, [1.0] * len(self.documents)), strict=True):
            texts = [demonstration.text for demonstration in document.demonstrations]
            first, second = work.portions(told, [float(len(table)), 0.0 if unused is None else float(len(unused))])
            found = leakage(texts, table.examples, near_percent=self.near_percent, progress=first)
            chance: Sequence[TextLeakage | None] = [None] * len(texts)
            if unused is not None:
                chance = leakage(texts, unused.examples, near_percent=self.near_percent, progress=second)
            lines += [
                LeakLine(
                    kind=set_of(document).kind,
                    number=number,
                    text=text,
                    found=each,
                    line=None if each.longest_run.row is None else table.lines[each.longest_run.row],
                    chance=by_chance,
                )
                for number, (text, each, by_chance) in enumerate(zip(texts, found, chance, strict=True), start=1)
            ]
        return LeakageResult(tuple(lines), len(table), self.near_percent)


def highest_ceiling(documents: Sequence[DemonstrationsDocument]) -> Curve:
    """Of all ROC curves that the documents' composed losses allow, the one with the largest area."""
    return max((ceiling(proven_loss(document)) for document in documents), key=lambda curve: curve.area)
