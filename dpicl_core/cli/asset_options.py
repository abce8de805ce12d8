"""Options that say which data asset a file belongs to, and what is signed for a new one."""

from __future__ import annotations

import argparse

from dpicl_core.charged_runs import AssetChoice, ReadyRun
from dpicl_core.cli.parsing import positive
from dpicl_core.ledger import DEFAULT_CAP_EPSILON


def add_asset_options(parser: argparse.ArgumentParser) -> None:
    """Asset, cap, owner, rule. All may be left out: the ledger recognises a file that it knows."""
    group = parser.add_argument_group(
        "ledger (a known file is charged to its asset; a new one becomes an asset with these terms, for good)"
    )
    group.add_argument("--asset", metavar="NAME", help="asset of the file; default for a new one: the file's name")
    group.add_argument(
        "--cap",
        type=positive,
        metavar="EPSILON",
        help=f"cap over all runs of a new asset; default {DEFAULT_CAP_EPSILON:g}",
    )
    group.add_argument(
        "--asset-delta",
        type=positive,
        metavar="DELTA",
        help="delta over all runs of a new asset; default: the rule of --delta",
    )
    group.add_argument(
        "--owner", metavar="NAME", help="who answers for a new asset; default: the operating-system user"
    )
    group.add_argument(
        "--rule",
        choices=("renyi", "sum"),
        help="how a new asset adds up runs that are chosen one after the other; default renyi, which allows more",
    )
    group.add_argument(
        "--override-reason",
        metavar="WORDS",
        help="charge to --asset although rows are shared with another asset; the reason is recorded under your name",
    )


def asset_choice_from(arguments: argparse.Namespace) -> AssetChoice:
    """What the options say."""
    return AssetChoice(
        name=arguments.asset,
        owner=arguments.owner,
        cap=arguments.cap,
        delta=arguments.asset_delta,
        rule=arguments.rule,
        override_reason=arguments.override_reason,
        accept_delta=arguments.accept_delta,
    )


def charged_to(ready: ReadyRun) -> str:
    """One sentence: which asset pays, and what was signed for it."""
    asset = ready.asset
    kind = "new asset" if ready.is_new else "asset"
    rule = f"Renyi filter at order {asset.order:g}" if asset.order is not None else "plain sum"
    return (
        f"It is charged to {kind} {asset.name} of {asset.owner}: cap epsilon {asset.epsilon:g} at delta "
        f"{asset.delta:g} over all runs, {rule}."
    )
