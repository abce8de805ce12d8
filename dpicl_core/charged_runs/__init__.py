"""The one way to make a run: find the file's asset, pay, generate with every token stored before it is shown, record.

Command line, notebook and app all come through here:

    ready = prepare_run(dataset, plan, request)     # finds or proposes the asset, prices, refuses what cannot be paid
    record = run(ready, model)                      # pays, then draws; every token is committed before it is shown

An interrupted run is taken up again by `resume`, from its stored tokens and with fresh draws, or ended by
`close_partial`; either way it is paid once.
"""

from dpicl_core.charged_runs.interrupted import (
    Belonging,
    InterruptedRun,
    ResumableRun,
    belonging,
    interrupted_runs,
    likely_assignment,
    refreshed,
    settle,
    tokens_at_most,
)
from dpicl_core.charged_runs.preparing import AssetChoice, PaidRun, ReadyRun, check_together, pay, prepare_run
from dpicl_core.charged_runs.running import (
    close_partial,
    internal_run,
    resume,
    reveal_random_rows,
    run,
    stored_record,
)
from dpicl_core.charged_runs.together import pay_together

__all__ = [
    "AssetChoice",
    "Belonging",
    "InterruptedRun",
    "PaidRun",
    "ReadyRun",
    "ResumableRun",
    "belonging",
    "check_together",
    "close_partial",
    "internal_run",
    "interrupted_runs",
    "likely_assignment",
    "pay",
    "pay_together",
    "prepare_run",
    "refreshed",
    "resume",
    "reveal_random_rows",
    "run",
    "settle",
    "stored_record",
    "tokens_at_most",
]
