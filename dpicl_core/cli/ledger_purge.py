"""`ledger purge`: end an asset for good and remove what the ledger holds of its rows and persons."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.errors import ConfigError
from dpicl_core.ledger import asset_named, open_ledger, purge_asset, user_name


def add_parser(commands: Any) -> None:
    """Add the command to those of `ledger`."""
    help_text = "end an asset for good and remove what is private of it; its budget does not come back"
    parser = commands.add_parser(
        "purge",
        help=help_text,
        description="End an asset for good: no run is ever charged to it again. Removed are the secret labels of its "
        "persons and their hashes, every row's link to its label, the hash of each file's rows in order and those of "
        "rows under three words. One keyed hash of every longer row and of each file's bytes stays, because without "
        "them the same table could be registered anew with a fresh cap. "
        "Backups made before still hold all of it.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("name", metavar="ASSET", help="name of the asset")
    parser.add_argument("--confirm", required=True, metavar="ASSET", help="the name once more; nothing is taken back")
    parser.add_argument("--reason", required=True, metavar="WORDS", help="recorded under your name")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Purge, and say what went and what stays."""
    if arguments.confirm != arguments.name:
        raise ConfigError(f"--confirm must repeat the asset's name, {arguments.name}; nothing was changed.")
    ledger = open_ledger()
    with ledger.read() as connection:
        asset = asset_named(connection, arguments.name)
    if asset is None:
        raise ConfigError(f"the ledger has no asset {arguments.name}; list all with `ledger list`.")
    facts = purge_asset(ledger, asset, actor=user_name(), reason=arguments.reason)
    sys.stdout.write(f"asset {asset.name} is ended for good. {facts.words()}\n")
    return 0
