"""Finished runs on the toy model, with real secret randomness, for tests of documents and commands."""

from __future__ import annotations

from functools import cache

from dpicl_core.language_model import ToyModel
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.randomness import SecretRandomness
from dpicl_core.runs import PreparedRun, PrivacyRequest, RunRecord, run
from tests.support.tables import ANIMALS, animal_pools, animal_rows


def prepared_run(mechanism="tang-gaussian", epsilon=3.0, **settings) -> PreparedRun:
    """A priced run on 60 made-up rows; settings go to plan_for."""
    plan = plan_for(settings.pop("task", ANIMALS), mechanism, **{"shots": 3, **settings})
    pools = animal_pools(animal_rows())
    request = PrivacyRequest(epsilon if plan.mechanism.reads_private_rows else None, 1e-3)
    prices = price_plan(
        plan, {label: len(pool) for label, pool in pools.items()}, delta=request.delta, epsilon=request.epsilon
    )
    return PreparedRun(plan, request, prices, pools)


@cache
def finished_run(mechanism="tang-gaussian") -> RunRecord:
    """A finished private run; the same record each time within a session."""
    return run(prepared_run(mechanism), ToyModel(), rng=SecretRandomness())
