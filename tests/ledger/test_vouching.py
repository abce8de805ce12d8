"""Rows that were changed by other means than the program are found before they are relied on."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa

from dpicl_core.charged_runs import pay, prepare_run, resume, run
from dpicl_core.errors import LedgerError
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import schema, verify_ledger
from dpicl_core.runs import request_for
from dpicl_core.sign_off import sign
from dpicl_core.vetting import Approve
from tests.support.ledgers import order_of, table
from tests.support.vetting import WHY, run_in

MODEL = ToyModel()


def ready(ledger):
    plan = order_of(shots=1, tokens=2, min_tokens=1).plan
    return prepare_run(table(), plan, request_for(table(), 0.5), ledger=ledger, actor="Ada")


def tampered(ledger, statement):
    """Plain SQL, as somebody would write who can open the database and has no secret."""
    with ledger.engine.connect() as connection:
        connection.execute(statement)
        connection.exec_driver_sql("COMMIT")


def changed(ledger, column, pattern, new):
    """The run's row with one number of a structured column exchanged."""
    with ledger.read() as connection:
        before = str(connection.execute(sa.select(column)).scalar_one())
    after = re.sub(pattern, new, before)
    assert after != before
    return schema.runs.update().values({column: after})


@pytest.mark.parametrize("what", ["prices", "plan", "charges"])
def test_a_paid_run_that_was_changed_does_not_go_on(ledger, what):
    paid = pay(ready(ledger), MODEL.info)[0]
    if what == "prices":
        tampered(ledger, changed(ledger, schema.runs.c.prices, r'"sigma":[0-9.e-]+', '"sigma":0.001'))
    elif what == "plan":
        tampered(ledger, changed(ledger, schema.runs.c.plan, r'"tokens":2', '"tokens":200'))
    else:
        tampered(ledger, schema.charges.update().values(epsilon=0.0))
    with pytest.raises(LedgerError, match="changed by other means"):
        resume(paid.run_id, table(), MODEL, ledger=ledger)
    with pytest.raises(LedgerError, match="changed by other means"):
        run(paid, MODEL)
    assert not verify_ledger(ledger).holds


@pytest.mark.parametrize("change", ["text", "removed", "events"])
def test_a_run_whose_texts_were_changed_is_not_signed(ledger, change):
    record = run_in(ledger)
    if change == "text":
        tampered(ledger, schema.tokens.update().values(text="another text"))
    elif change == "removed":
        last = sa.select(sa.func.max(schema.tokens.c.event)).scalar_subquery()
        tampered(ledger, schema.tokens.delete().where(schema.tokens.c.event == last))
    else:
        tampered(ledger, schema.runs.update().values(epsilon=0.0))
    with pytest.raises(LedgerError, match="changed by other means"):
        sign(ledger, record.run_id, [Approve()] * 3, reviewer="Grace", justification=WHY)


@pytest.mark.parametrize("change", ["cap", "charge", "asset of a run"])
def test_nothing_is_charged_to_an_asset_whose_cap_or_spending_was_changed(ledger, change):
    pay(ready(ledger), MODEL.info)
    second = ready(ledger)
    if change == "cap":
        tampered(ledger, schema.assets.update().values(epsilon=800.0))
    elif change == "charge":
        tampered(ledger, schema.charges.update().values(divergence=0.0))
    else:
        tampered(ledger, schema.charges.delete())
    with pytest.raises(LedgerError, match="changed by other means"):
        pay(second, MODEL.info)


def test_an_untouched_run_goes_on_and_is_signed(ledger):
    paid = pay(ready(ledger), MODEL.info)[0]
    record = run(paid, MODEL)
    signed = sign(ledger, record.run_id, [Approve()], reviewer="Grace", justification=WHY)
    assert signed.run == paid.run_id
    pay(ready(ledger), MODEL.info)
