"""`evaluate canaries` and `evaluate consensus`: unpaid runs whose texts are forgotten and whose measures are kept."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from dpicl_core.cli.evaluate_inputs import declared, measuring, plan_behind, private_table, table_from, task_for
from dpicl_core.cli.evaluate_text import Report, canary_report, consensus_report
from dpicl_core.cli.inputs import stage_printer
from dpicl_core.cli.parsing import number, positive, whole
from dpicl_core.cli.plan_options import (
    add_generation_options,
    add_sampling_options,
    add_setting_options,
    listed_names,
    with_settings,
)
from dpicl_core.data import Dataset
from dpicl_core.errors import ConfigError
from dpicl_core.evaluation import CanaryTask, ConsensusTask, OwnRun, PrivateTable
from dpicl_core.evaluation.canaries import RUNS
from dpicl_core.language_model import load_model
from dpicl_core.planning import MECHANISM_TEMPLATES, mechanism_named
from dpicl_core.runs import PrivacyRequest, request_for
from dpicl_core.specs import MechanismSpec
from dpicl_core.values import GenerationPlan


def add_canary_options(parser: argparse.ArgumentParser) -> None:
    """Options of `canaries`."""
    _add_run_options(parser, shots=1)
    parser.add_argument(
        "--mechanisms",
        default="adadpsyn,unprotected",
        metavar="A,B,...",
        help=f"mechanisms to try, of {', '.join(MECHANISM_TEMPLATES)}",
    )
    parser.add_argument("--runs", type=whole(1), default=RUNS, help="runs of each mechanism", dest="repeats")
    parser.add_argument(
        "--canary", metavar="WORDS", help="text of the planted row; default: made-up words that nobody writes"
    )


def add_consensus_options(parser: argparse.ArgumentParser) -> None:
    """Options of `consensus`."""
    _add_run_options(parser, shots=4)
    parser.add_argument(
        "--mechanism",
        choices=[name for name, spec in MECHANISM_TEMPLATES.items() if spec.reads_private_rows],
        default="tang-gaussian",
        help="whose run is followed; the paper's is tang-gaussian",
    )


def canaries(arguments: argparse.Namespace, console: Console) -> Report:
    """Plant one row, run every mechanism, count."""
    specs = [with_settings(mechanism_named(name), arguments) for name in listed_names(arguments.mechanisms)]
    if not specs:
        raise ConfigError("--mechanisms names none; give at least one, such as adadpsyn.")
    private, tried = _prepared(arguments, specs)
    measured = CanaryTask(tried, private, arguments.epsilon, arguments.repeats, arguments.canary)
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    with measuring(console) as told:
        return canary_report(measured.run(model, told))


def agree(arguments: argparse.Namespace, console: Console) -> Report:
    """Follow one run and measure the balls."""
    spec = with_settings(mechanism_named(arguments.mechanism), arguments)
    private, (followed,) = _prepared(arguments, [spec])
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    with measuring(console) as told:
        return consensus_report(ConsensusTask(followed, private, arguments.epsilon).run(model, told))


def _add_run_options(parser: argparse.ArgumentParser, *, shots: int) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the private table")
    parser.add_argument("--shots", type=whole(1), default=shots, help="demonstrations of a run")
    parser.add_argument("--epsilon", type=positive, default=4.0, help="what the noise is calibrated to")
    parser.add_argument("--delta", type=number, help="default: largest power of ten at or under 1/(10 rows)")
    parser.add_argument("--accept-delta", action="store_true", help="accept a delta above 1/n")
    parser.add_argument("--accountant", choices=("tight", "paper"), default="tight", help="accountant to calibrate by")
    add_setting_options(parser)
    add_sampling_options(parser, required=False)
    add_generation_options(parser)


def _prepared(arguments: argparse.Namespace, specs: Sequence[MechanismSpec]) -> tuple[PrivateTable, tuple[OwnRun, ...]]:
    """The table, and one run for each mechanism; nothing is opened yet."""
    table = table_from(arguments, arguments.data)
    task = task_for(arguments, (), table)
    table = declared(table, task)
    plans = [plan_behind(arguments, task, (), spec) for spec in specs]
    return private_table(table), tuple(OwnRun(plan, _request(arguments, table, plan)) for plan in plans)


def _request(arguments: argparse.Namespace, dataset: Dataset, plan: GenerationPlan) -> PrivacyRequest:
    """Epsilon where the mechanism has noise to calibrate."""
    request = request_for(
        dataset,
        arguments.epsilon,
        delta=arguments.delta,
        accept_delta=arguments.accept_delta,
        accountant=arguments.accountant,
    )
    return request if plan.mechanism.noise_multipliers() else replace(request, epsilon=None)
