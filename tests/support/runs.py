"""Runs on the toy model, with real secret randomness, for tests of documents, commands and jobs."""

from __future__ import annotations

from functools import cache

from dpicl_core import charged_runs
from dpicl_core.charged_runs import AssetChoice, ReadyRun
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.runs import PreparedRun, PrivacyRequest, RunRecord
from tests.support.ledgers import table
from tests.support.tables import ANIMALS, animal_pools, animal_rows


def _plan_and_request(mechanism, epsilon, settings):
    plan = plan_for(settings.pop("task", ANIMALS), mechanism, **{"shots": 3, **settings})
    return plan, PrivacyRequest(epsilon if plan.mechanism.reads_private_rows else None, 1e-3)


def prepared_run(mechanism="tang-gaussian", epsilon=3.0, **settings) -> PreparedRun:
    """A priced run of the free loop on 60 made-up rows, paid for by nobody; settings go to plan_for."""
    plan, request = _plan_and_request(mechanism, epsilon, settings)
    pools = animal_pools(animal_rows())
    prices = price_plan(
        plan, {label: len(pool) for label, pool in pools.items()}, delta=request.delta, epsilon=request.epsilon
    )
    return PreparedRun(plan, request, prices, pools)


def ready_run(mechanism="tang-gaussian", epsilon=3.0, *, rows=None, cap=None, **settings) -> ReadyRun:
    """The same as it is made everywhere: from the ledger of the test's own home folder, asset `animals`.

    cap: of the asset, where this run makes it; None for the product's default.
    """
    plan, request = _plan_and_request(mechanism, epsilon, settings)
    dataset = table(animal_rows() if rows is None else rows)
    return charged_runs.prepare_run(dataset, plan, request, asset=None if cap is None else AssetChoice(cap=cap))


@cache
def finished_run(mechanism="tang-gaussian") -> RunRecord:
    """A finished and paid private run; the same record each time within a session."""
    return charged_runs.run(ready_run(mechanism), ToyModel())
