"""`evaluate membership` and `evaluate leakage`: what released texts give away about private rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from dpicl_core.cli.evaluate_inputs import (
    add_documents,
    declared,
    documents_from,
    measuring,
    pools_by_label,
    table_from,
    task_for,
)
from dpicl_core.cli.evaluate_text import AttackLine, LeakLine, Report, leakage_report, membership_report
from dpicl_core.cli.inputs import stage_printer
from dpicl_core.cli.parsing import positive, whole
from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.evaluation import (
    AttackOptions,
    Curve,
    attack_on_demonstrations,
    attack_on_real_rows,
    ceiling,
    leakage,
    open_view,
    proven_loss,
    set_of,
)
from dpicl_core.evaluation.leakage import NEAR_DUPLICATE_PERCENT
from dpicl_core.language_model import load_model
from dpicl_core.language_model.scoring import scorer_for
from dpicl_core.randomness import SecretRandomness

MEMBERSHIP_VIEW = "membership inference, not DP"
LEAKAGE_VIEW = "words shared with private rows, not DP"
REAL_PROMPTS = 100
"""As many as the papers' 5 demonstrations x 20 trials."""


def add_membership_options(parser: argparse.ArgumentParser) -> None:
    """Options of `membership`."""
    add_documents(parser, least=1)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table: the members")
    parser.add_argument("--test", type=Path, required=True, metavar="FILE", help="rows never used: the non-members")
    parser.add_argument("--trials", type=whole(1), default=20, help="trials for each demonstration")
    parser.add_argument("--rows", type=whole(1), default=50, help="members, and as many others, that one trial asks")
    parser.add_argument(
        "--real-prompts", type=whole(0), default=REAL_PROMPTS, help="prompts with a real row, for comparison; 0: none"
    )


def add_leakage_options(parser: argparse.ArgumentParser) -> None:
    """Options of `leakage`."""
    add_documents(parser, least=1)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table")
    parser.add_argument("--test", type=Path, metavar="FILE", help="rows never used: how much is shared by chance")
    parser.add_argument(
        "--near", type=positive, default=NEAR_DUPLICATE_PERCENT, metavar="PERCENT", help="likeness of a near duplicate"
    )


def membership(arguments: argparse.Namespace, console: Console) -> Report:
    """Attack the demonstrations of every file, and real rows in their place; add the proven ceiling."""
    documents = documents_from(arguments.demos)
    table, test = table_from(arguments, arguments.data), table_from(arguments, arguments.test)
    task = task_for(arguments, documents, table)
    table, test = declared(table, task), declared(test, task)
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    scorer = scorer_for(model)
    inside, outside = open_view(table, MEMBERSHIP_VIEW), open_view(test, MEMBERSHIP_VIEW)
    wanted: Sequence[str | None] = (None,) if task.open_labels else task.labels
    members, others = pools_by_label(inside.dataset, wanted), pools_by_label(outside.dataset, wanted)
    options = AttackOptions(arguments.trials, arguments.rows)
    rng = SecretRandomness()
    lines = []
    with measuring(console) as told:
        for kind, group in _by_kind(documents).items():
            pairs = [pair for document in group for pair in set_of(document).demonstrations]
            attack = attack_on_demonstrations(
                kind, task, pairs, members, others, scorer, options, rng=rng, progress=told
            )
            lines.append(AttackLine(attack, _highest_ceiling(group)))
        if arguments.real_prompts:
            attack = attack_on_real_rows(
                task, arguments.real_prompts, members, others, scorer, options, rng=rng, progress=told
            )
            lines.append(AttackLine(attack, None))
    return membership_report(lines, model=scorer.name, rows=arguments.rows)


def leaks(arguments: argparse.Namespace, console: Console) -> Report:
    """Compare every text with the private table, and with rows that were never used where there are some."""
    documents = documents_from(arguments.demos)
    table = open_view(table_from(arguments, arguments.data), LEAKAGE_VIEW)
    unused = None if arguments.test is None else open_view(table_from(arguments, arguments.test), LEAKAGE_VIEW)
    lines = []
    with measuring(console) as told:
        for document in documents:
            texts = [demonstration.text for demonstration in document.demonstrations]
            found = leakage(texts, table.dataset.examples, near_percent=arguments.near, progress=told)
            chance = None if unused is None else leakage(texts, unused.dataset.examples, near_percent=arguments.near)
            lines += [
                LeakLine(
                    kind=set_of(document).kind,
                    number=number + 1,
                    text=texts[number],
                    found=each,
                    line=None if each.longest_run.row is None else table.dataset.lines[each.longest_run.row],
                    chance=None if chance is None else chance[number],
                )
                for number, each in enumerate(found)
            ]
    return leakage_report(lines, rows=len(table.dataset), near_percent=arguments.near)


def _by_kind(documents: Sequence[DemonstrationsDocument]) -> dict[str, list[DemonstrationsDocument]]:
    groups: dict[str, list[DemonstrationsDocument]] = {}
    for document in documents:
        groups.setdefault(set_of(document).kind, []).append(document)
    return groups


def _highest_ceiling(documents: Sequence[DemonstrationsDocument]) -> Curve:
    return max((ceiling(proven_loss(document)) for document in documents), key=lambda curve: curve.area)
