"""A process that is killed again and again in the middle of one run, by its parent, which holds the imports ready.

Prints one line of JSON for every attempt: the tokens that its child had shown when it was killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from dpicl_core.charged_runs import resume
from dpicl_core.events import TokenReleased
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import open_ledger
from tests.support.ledgers import table


def child(url, home, run_id, pipe):
    """Resume the run and write each token that is shown into the pipe, as a screen would."""

    def show(event):
        if isinstance(event, TokenReleased):
            os.write(pipe, f"{event.demonstration} {event.position} {event.token_id}\n".encode())

    resume(run_id, table(), ToyModel(), ledger=open_ledger(url, home=home), on_event=show)


def attempt(url, home, run_id, new_tokens, delay_seconds):
    """One child, killed a random moment after it has shown some tokens; what it had shown."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            child(url, home, run_id, writer)
        finally:
            os._exit(0)
    os.close(writer)
    shown = b""
    while shown.count(b"\n") < new_tokens:
        part = os.read(reader, 65536)
        if not part:
            break
        shown += part
    time.sleep(delay_seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while part := os.read(reader, 65536):
        shown += part
    os.close(reader)
    return [[int(number) for number in line.split()] for line in shown.decode().splitlines()]


def main(url, home, run_id, kills):
    moment = random.SystemRandom()
    done = 0
    for _ in range(int(kills)):
        wanted = done + moment.randrange(4)
        shown = attempt(url, Path(home), run_id, wanted, moment.uniform(0, 0.05))
        done = len(shown) if shown else done
        print(json.dumps(shown), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
