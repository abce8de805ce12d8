"""`rehearse`: what each mechanism's noise would change, on pseudo-records; spends nothing."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from rich.console import Console

from dpicl_core.cli.inputs import add_model_options, add_task_options, plan_from, stage_printer, task_from
from dpicl_core.cli.parsing import HelpFormatter, number, numbers, whole
from dpicl_core.cli.plan_options import (
    add_generation_options,
    add_sampling_options,
    add_setting_options,
    listed_names,
    with_settings,
)
from dpicl_core.errors import ConfigError
from dpicl_core.language_model import load_model
from dpicl_core.planning import mechanism_named
from dpicl_core.rehearsal import (
    Interval,
    Progress,
    Rehearsal,
    RehearsalRequest,
    noise_for,
    recommend,
    rehearse,
    schedule_sentence,
    sentences,
)
from dpicl_core.values import delta_by_rule

DEFAULT_MECHANISMS = "adadpsyn,tang-gaussian,tang-noisy-max,anchored"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "rehearse",
        help="predict what the noise would change, on pseudo-records; spends nothing",
        description="Let the model write pseudo-records from the instruction alone, run every mechanism on them, and "
        "report what its noise changes. Reads no private row and spends nothing.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--pool", type=whole(1), required=True, help="rows that one target label draws from")
    parser.add_argument("--rows", type=whole(1), help="rows of the whole table, for delta's rule; default: the pool")
    parser.add_argument("--delta", type=number, help="default: largest power of ten at or under 1/(10 rows)")
    parser.add_argument("--epsilons", type=numbers, default=(1.0, 4.0), metavar="A,B", help="privacy losses to try")
    parser.add_argument("--accountant", choices=("tight", "paper"), default="tight", help="accountant to calibrate by")
    parser.add_argument("--mechanisms", default=DEFAULT_MECHANISMS, metavar="A,B,...", help="mechanisms to rehearse")
    parser.add_argument("--shots", type=whole(1), default=2, help="demonstrations to rehearse")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_model_options(parser)
    add_task_options(parser)
    add_setting_options(parser)
    add_sampling_options(parser, required=False)
    add_generation_options(parser)
    parser.set_defaults(run=run, selection="argmax", temperature=None, top_p=None)
    parser.set_defaults(person_column=None, labels_may_change=False, label_rows=[])


def run(arguments: argparse.Namespace) -> int:
    """Rehearse and print the forecasts."""
    rows = arguments.rows or arguments.pool
    delta = delta_by_rule(rows, arguments.delta)
    names = listed_names(arguments.mechanisms)
    specs = [with_settings(mechanism_named(name), arguments) for name in names]
    if not specs or not all(spec.noise_multipliers() for spec in specs):
        raise ConfigError(f"--mechanisms must name mechanisms with noise, such as {DEFAULT_MECHANISMS}.")
    task = task_from(
        arguments,
        text_column=arguments.text_column or "text",
        label_column=arguments.label_column or "label",
    )
    plan = plan_from(arguments, task, specs[0])
    console = Console(stderr=True, quiet=arguments.quiet)
    epsilons = tuple(sorted(set(arguments.epsilons)))
    request = RehearsalRequest(
        plan=plan,
        mechanisms=tuple(specs),
        epsilons=epsilons,
        pool_units=tuple((label, arguments.pool) for label in plan.pool_labels()),
        delta=delta,
        at=epsilons[(len(epsilons) - 1) // 2],
        accountant=arguments.accountant,
    )
    noise = noise_for(request)  # a plan that cannot be priced is refused here, before the model is loaded
    model = load_model(arguments.model, progress=stage_printer(console))
    found, _ = rehearse(request, model, noise=noise, progress=_stages(console))
    sys.stdout.write(_json(found) if arguments.json else rehearsal_text(found))
    return 0


def _stages(console: Console) -> Progress:
    """Prints each stage of the rehearsal once."""
    seen: set[str] = set()

    def show(stage: str, fraction: float) -> None:
        if stage not in seen:
            seen.add(stage)
            console.print(f"{stage} ...", highlight=False, markup=False)

    return show


def _json(found: Rehearsal) -> str:
    """What was found, with the recommendation and its sentences beside it."""
    advice = recommend(found)
    content = asdict(found) | {"recommendation": asdict(advice), "sentences": sentences(found, advice)}
    return json.dumps(content, allow_nan=False) + "\n"


def rehearsal_text(result: Rehearsal) -> str:
    """The forecasts as a table, with 95% intervals over steps."""
    lines = [
        f"rehearsed on {result.steps} tokens of pseudo-records; no private row was read and nothing was spent",
        f"{'mechanism':<16}{'epsilon':>8}{'sigma':>8}  {'unchanged':<18}{'relative prob.':<18}{'total variation':<18}",
    ]
    for forecast in result.forecasts:
        sigma = "-" if forecast.sigma_eff is None else f"{forecast.sigma_eff:.3f}"
        lines.append(
            f"{forecast.mechanism:<16}{forecast.epsilon:>8g}{sigma:>8}  {_cell(forecast.unchanged):<18}"
            f"{_cell(forecast.relative_probability):<18}{_cell(forecast.total_variation):<18}"
        )
    schedule = ",".join(f"{radius:g}" for radius in result.proposed_schedule)
    lines += [
        f"without any row, the public prompt alone makes the same choice in {_cell(result.public_unchanged)} of tokens",
        f"proposed for anchored: --schedule {schedule}",
        "",
        *sentences(result, recommend(result)),
        schedule_sentence(result),
    ]
    return "\n".join(lines) + "\n"


def _cell(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.mean:.2f} ({interval.low:.2f}-{interval.high:.2f})"
