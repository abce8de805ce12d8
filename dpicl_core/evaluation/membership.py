"""Membership inference as in both papers: does the true label's probability give away whose row made the prompt?

One demonstration stands in the prompt; the score of a row is the probability that the model gives its true label
(Duan et al. 2023; Gao et al. 2024, Table 18; Tang et al. 2023, appendix F). Members are rows of the private table,
others are held-out rows. Only rows that the demonstration could have been made from are asked: those of its own label,
or all where labels are open. Where members and others are not alike for other reasons, the area is not 1/2 even
without any leak.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dpicl_core.accounting import composed_loss, label_change_charges, worst_loss
from dpicl_core.accounting.risk import PrivacyProfile
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import DataError
from dpicl_core.evaluation.accuracy import label_shares
from dpicl_core.evaluation.in_context import AnswerSpace, answer_space, label_ids, query_ids, shared_ids
from dpicl_core.evaluation.roc import Curve, curve_of_scores, mean_curve
from dpicl_core.evaluation.spreads import Bounded, bootstrap_mean
from dpicl_core.language_model.scoring import Done, Scorer
from dpicl_core.randomness import RandomSource
from dpicl_core.values import Example, Pool, Task
from dpicl_core.verification import labels_may_change, spec_from

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class AttackOptions:
    """trials: for each demonstration. rows: members, and as many others, that one trial asks."""

    trials: int = 20
    rows: int = 50


@dataclass(frozen=True, slots=True)
class Attack:
    """kind: of the prompt's demonstration. area: mean over trials, with a bootstrap interval over demonstrations and
    trials (too narrow for fewer than about five demonstrations). curve: true-positive rates averaged over trials.
    trials: in all. areas: of each trial, by demonstration."""

    kind: str
    area: Bounded
    curve: Curve = field(repr=False)
    trials: int
    areas: tuple[tuple[float, ...], ...] = field(repr=False)


def attack_on_demonstrations(
    kind: str,
    task: Task,
    demonstrations: Sequence[tuple[str, str]],
    members: Mapping[str | None, Pool],
    others: Mapping[str | None, Pool],
    scorer: Scorer,
    options: AttackOptions,
    *,
    rng: RandomSource,
    progress: Progress | None = None,
) -> Attack:
    """Each demonstration by itself in the prompt, `trials` times against fresh members and others.

    members, others: by label, or under None where labels are open. Raises DataError where a label has no row.
    """
    if not demonstrations:
        raise DataError("no demonstration has a text, so there is nothing to attack; make the run again.")
    curves: list[list[Curve]] = []
    for number, pair in enumerate(demonstrations):
        label = None if task.open_labels else pair[1]
        inside, outside = _rows_of(members, label), _rows_of(others, label)
        drawn = [
            (_indices(inside, options.rows, rng), _indices(outside, options.rows, rng)) for _ in range(options.trials)
        ]

        def told(half: int, share: float, number: int = number) -> None:
            if progress is not None:
                progress(f"attack on {kind}", (number + (half + share) / 2) / len(demonstrations))

        members_drawn = [index for first, _ in drawn for index in first]
        others_drawn = [index for _, second in drawn for index in second]
        mine = _scores_of(inside, members_drawn, task, pair, scorer, partial(told, 0))
        theirs = _scores_of(outside, others_drawn, task, pair, scorer, partial(told, 1))
        trials = [curve_of_scores([mine[i] for i in first], [theirs[i] for i in second]) for first, second in drawn]
        curves.append(trials)
    return _attack(kind, curves)


def attack_on_real_rows(
    task: Task,
    prompts: int,
    members: Mapping[str | None, Pool],
    others: Mapping[str | None, Pool],
    scorer: Scorer,
    options: AttackOptions,
    *,
    rng: RandomSource,
    progress: Progress | None = None,
) -> Attack:
    """A real row in the prompt, `prompts` times another one; the row itself is the member, held-out rows the others."""
    labels = [label for label in members if len(members[label]) and label in others]
    if not labels:
        raise DataError("no label has rows in both tables; give a held-out table of the same task.")
    curves = []
    for number in range(prompts):
        if progress is not None:
            progress("attack on real rows", number / prompts)
        label = labels[number % len(labels)]
        row = _drawn(_rows_of(members, label), 1, rng)[0]
        outside = _drawn(_rows_of(others, label), options.rows, rng)
        scores = true_label_scores(task, ((row.text, row.label),), [row, *outside], scorer)
        curves.append([curve_of_scores(scores[:1], scores[1:])])
    return _attack("real rows", curves)


def true_label_scores(
    task: Task,
    demonstrations: Sequence[tuple[str, str]],
    rows: Sequence[Example],
    scorer: Scorer,
    *,
    done: Done | None = None,
) -> list[float]:
    """For each row the probability of its true label given the prompt.

    Fixed labels: its share among the declared labels. Open labels: of the label's whole string and the line's end.
    """
    shared = shared_ids(task, scorer.tokenizer, demonstrations)
    asked = [query_ids(task, scorer.tokenizer, row.text) for row in rows]
    if task.open_labels:
        own = [[label_ids(scorer.tokenizer, row.label)] for row in rows]
        return [float(p) for p in np.exp(scorer.log_probabilities(shared, asked, own, closing=True, done=done)[:, 0])]
    space: AnswerSpace = answer_space(task, scorer.tokenizer)
    logs = scorer.log_probabilities(shared, asked, [space.ids] * len(rows), closing=space.closing, done=done)
    shares = label_shares(logs)
    return [float(shares[number, space.labels.index(row.label)]) for number, row in enumerate(rows)]


def proven_loss(document: DemonstrationsDocument) -> PrivacyProfile | None:
    """The composed privacy loss of the document's most expensive pool, or pair of labels; None without protection.

    Raises ConfigError or ExportError where the document's parameters are not valid.
    """
    delta = document.guarantee.delta
    specs = {pool.label: spec_from(document.mechanism.name, pool.parameters) for pool in document.pools}
    if any(spec.reads_private_rows and not spec.noise_multipliers() for spec in specs.values()):
        return None
    if labels_may_change(document):
        charges = label_change_charges(
            {str(label): spec for label, spec in specs.items()},
            lower_bounds={str(pool.label): pool.units for pool in document.pools},
            units_per_token=document.plan.subsets * document.plan.per_subset,
            composed_tokens={str(pool.label): pool.composed_tokens for pool in document.pools},
            group_size=document.plan.per_subset if document.plan.grouping == "fixed" else None,
        )
        return worst_loss(charges, delta=delta)
    worst = max(document.pools, key=lambda pool: pool.epsilon.tight)
    return composed_loss(
        specs[worst.label],
        sampling_rate=worst.sampling_rate,
        composed_tokens=worst.composed_tokens,
        delta=delta,
    )


def _attack(kind: str, curves: Sequence[Sequence[Curve]]) -> Attack:
    flat = [curve for trials in curves for curve in trials]
    areas = tuple(tuple(curve.area for curve in trials) for trials in curves)
    return Attack(kind, bootstrap_mean(areas), mean_curve(flat), len(flat), areas)


def _rows_of(pools: Mapping[str | None, Pool], label: str | None) -> Pool:
    pool = pools.get(label)
    if pool is None or not len(pool):
        raise DataError(
            "a demonstration's label has no row in one of the tables, so there is nobody to tell apart; give a "
            "held-out table with rows of every target label."
        )
    return pool


def _scores_of(
    pool: Pool,
    indices: Sequence[int],
    task: Task,
    demonstration: tuple[str, str],
    scorer: Scorer,
    told: Callable[[float], None],
) -> dict[int, float]:
    """Score of every unit that some trial drew; each is asked once."""
    once = list(dict.fromkeys(indices))
    told(0.0)
    rows = [pool.units[index][0] for index in once]
    scores = true_label_scores(task, (demonstration,), rows, scorer, done=lambda count: told(count / len(once)))
    return dict(zip(once, scores, strict=True))


def _indices(pool: Pool, count: int, rng: RandomSource) -> tuple[int, ...]:
    return rng.draw(len(pool), min(count, len(pool)))


def _drawn(pool: Pool, count: int, rng: RandomSource) -> list[Example]:
    return [pool.units[index][0] for index in _indices(pool, count, rng)]
