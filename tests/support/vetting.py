"""Signed documents and finished runs in a ledger, on the toy model, for tests of vetting."""

from __future__ import annotations

from dpicl_core.charged_runs import prepare_run, run
from dpicl_core.documents import BudgetPart, ViewPart
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import plan_for
from dpicl_core.runs import RunRecord, request_for
from dpicl_core.vetting import Approve, Edit, Reject, SignOff
from tests.support.ledgers import table
from tests.support.tables import ANIMALS

WHY = "A small table; the texts leave the house once."
BUDGET = BudgetPart(asset="animals", epsilon=8.0, delta=1e-3, rule="renyi", epsilon_spent=3.0, share_left=0.9)
VIEW = ViewPart(at="2026-01-02T03:04:05.000+00:00", view="cluster picture")
DECISIONS = (Approve(), Reject("it says nothing"), Edit("A cat slept on the sill.", "shorter"))


def sign_off(*, views=(), reviewer="Grace Hopper", justification=WHY) -> SignOff:
    return SignOff(reviewer, "2026-01-03T00:00:00.000+00:00", justification, tuple(views), BUDGET)


def run_in(ledger, *, mechanism="tang-gaussian", shots=3, epsilon=1.0, tokens=6, **settings) -> RunRecord:
    """A finished run of the ledger on 60 made-up rows, with real secret randomness."""
    dataset = settings.pop("dataset", None) or table()
    plan = plan_for(ANIMALS, mechanism, shots=shots, tokens=tokens, **settings)
    request = request_for(dataset, epsilon if plan.mechanism.reads_private_rows else None)
    return run(prepare_run(dataset, plan, request, ledger=ledger, actor="Ada"), ToyModel())
