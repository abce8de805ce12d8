"""A process that asks for a number of reservations and prints how many were granted and refused."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from dpicl_core.errors import BudgetError
from dpicl_core.ledger import open_ledger, reserve


def main(url, home, job):
    asset, mark, order, model, count = pickle.loads(Path(job).read_bytes())  # noqa: S301 - written by the test itself
    ledger = open_ledger(url, home=Path(home))
    granted = refused = 0
    for _ in range(count):
        try:
            reserve(ledger, asset, mark, [order], model, actor="many")
            granted += 1
        except BudgetError:
            refused += 1
    print(granted, refused)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
