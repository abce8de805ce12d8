"""Several processes that each ask for a number of reservations at once, forked by a parent with the imports ready.

Prints how many were granted and refused, one line for each process.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from dpicl_core.errors import BudgetError
from dpicl_core.ledger import open_ledger, reserve


def ask(url, home, job):
    """One process's share; what it was granted and refused."""
    asset, mark, order, model, count = job
    ledger = open_ledger(url, home=Path(home))
    granted = refused = 0
    for _ in range(count):
        try:
            reserve(ledger, asset, mark, [order], model, actor="many")
            granted += 1
        except BudgetError:
            refused += 1
    return granted, refused


def child(url, home, job, start, answer):
    """Wait for the start signal, so that all ask at once, and write the answer into a pipe."""
    os.read(start, 1)
    os.write(answer, "{} {}\n".format(*ask(url, home, job)).encode())


def main(url, home, path, processes):
    job = pickle.loads(Path(path).read_bytes())  # noqa: S301 - written by the test itself
    (start, go), (answers, answer) = os.pipe(), os.pipe()
    children = []
    for _ in range(int(processes)):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child(url, home, job, start, answer)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    os.write(go, b"g" * len(children))
    os.close(answer)
    ended = [os.waitpid(pid, 0)[1] for pid in children]
    with os.fdopen(answers) as stream:
        sys.stdout.write(stream.read())
    sys.exit(max(ended) and 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
