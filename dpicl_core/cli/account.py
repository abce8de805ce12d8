"""`account`: the price of a plan, from public numbers alone."""

from __future__ import annotations

import argparse
import json
import sys

from dpicl_core.cli.parsing import HelpFormatter, whole
from dpicl_core.cli.plan_options import (
    add_mechanism_options,
    add_privacy_options,
    add_sampling_options,
    mechanism_from,
)
from dpicl_core.errors import ConfigError
from dpicl_core.rounding import rounded_up
from dpicl_core.sampling import Grouping, sampling_rate
from dpicl_core.values import Price, PrivacyTarget, delta_by_rule

MECHANISM_NAMES = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "account",
        help="price a plan without touching data",
        description="Price a plan from public numbers alone: give noise multipliers to learn epsilon, or --epsilon to "
        "learn the noise. No data is read.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--pool", type=whole(1), required=True, help="rows that the target label may draw from")
    parser.add_argument("--rows", type=whole(1), help="rows of the whole table, for delta's rule; default: the pool")
    parser.add_argument(
        "--uses", type=whole(1), default=1, help="demonstrations drawn from this pool (all shots, for open labels)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_sampling_options(parser, required=True)
    add_privacy_options(parser)
    add_mechanism_options(parser, names=MECHANISM_NAMES)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the price."""
    spec, by_hand = mechanism_from(arguments)
    if not by_hand and arguments.epsilon is None:
        raise ConfigError("neither --epsilon nor noise multipliers are given; give one of them.")
    drawn = arguments.subsets * arguments.per_subset
    if drawn > arguments.pool:
        raise ConfigError(
            f"subsets * per-subset is {drawn}, but the pool has {arguments.pool} rows; lower --subsets or --per-subset."
        )
    rows = arguments.rows or arguments.pool
    if rows < arguments.pool:
        raise ConfigError(
            f"--rows is {rows}, but the pool alone has {arguments.pool}; give the rows of the whole table."
        )
    delta = delta_by_rule(rows, arguments.delta, accepted=arguments.accept_delta)
    composed = arguments.tokens * arguments.uses
    group_size = arguments.per_subset if Grouping(arguments.grouping) is Grouping.FIXED else None

    from dpicl_core import accounting

    if arguments.epsilon is not None:
        PrivacyTarget(arguments.epsilon, delta)
        spec = accounting.calibrate(
            spec,
            sampling_rate=sampling_rate(arguments.pool, drawn, group_size),
            composed_tokens=composed,
            delta=delta,
            epsilon=arguments.epsilon,
            accountant=arguments.accountant,
        )
    price = accounting.price(
        spec,
        label=None,
        pool_units=arguments.pool,
        units_per_token=drawn,
        composed_tokens=composed,
        delta=delta,
        group_size=group_size,
    )
    sys.stdout.write(json.dumps(price_report(price), allow_nan=False) + "\n" if arguments.json else _sentences(price))
    return 0


def price_report(price: Price) -> dict[str, object]:
    """The price as strict JSON values; sigma_eff is null where no Gaussian dominates."""
    return {
        "sigma_eff": price.mechanism.sigma_eff,
        "noise_multipliers": price.mechanism.noise_multipliers(),
        "sampling_rate": price.sampling_rate,
        "composed_tokens": price.composed_tokens,
        "delta": price.delta,
        "epsilon": {"paper": price.epsilon_paper, "tight": price.epsilon_tight},
    }


def _sentences(price: Price) -> str:
    noise = ", ".join(f"{name} {value:.4g}" for name, value in price.mechanism.noise_multipliers().items())
    effective = "none" if price.mechanism.sigma_eff is None else f"{price.mechanism.sigma_eff:.4g}"
    return (
        f"epsilon {rounded_up(price.epsilon_tight, 4)} by the tight accountant, "
        f"{rounded_up(price.epsilon_paper, 4)} by the paper's\n"
        f"delta {price.delta:g}\n"
        f"noise multipliers: {noise} (effective for one token: {effective})\n"
        f"sampling rate {price.sampling_rate:.4g}, {price.composed_tokens} tokens composed\n"
    )
