"""Several runs of one table, paid for in one step, each then a run that goes on from its first token."""

from __future__ import annotations

from collections.abc import Sequence

from dpicl_core.charged_runs.interrupted import ResumableRun
from dpicl_core.charged_runs.preparing import ReadyRun, pay
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.ledger.tokens import stored_run


def pay_together(ready: Sequence[ReadyRun], model: ModelInfo) -> tuple[ResumableRun, ...]:
    """Pay for all of them in one transaction, or for none, and hand each back as it stands then: paid, nothing drawn.

    From here on a process that dies loses nothing: each run is in the ledger and can be gone on with. model: the one
    that will make the runs; another one is refused then. Raises as `pay`.
    """
    paid = pay(ready, model)
    with ready[0].ledger.read() as connection:
        stored = [stored_run(connection, run.run_id) for run in paid]
    return tuple(
        ResumableRun(run, each.asset.name, before.dataset, before.ledger, before.actor)
        for run, each, before in zip(stored, paid, ready, strict=True)
    )
