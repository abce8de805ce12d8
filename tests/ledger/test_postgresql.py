"""What only a database server can do to a ledger; collected where DPICL_TEST_DATABASE_URL names one.

A full disk on the server shows as any failed write does: the transaction is lost with its session. So the session is
killed, by the server itself, inside the transaction that stores a token.
"""

from __future__ import annotations

import psycopg
import pytest
import sqlalchemy as sa

from dpicl_core.charged_runs import pay, prepare_run, resume, run
from dpicl_core.errors import LedgerError
from dpicl_core.events import TokenReleased
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import open_ledger, stored_run, verify_ledger
from dpicl_core.planning import plan_for
from dpicl_core.runs import request_for
from tests.support.ledgers import table
from tests.support.tables import ANIMALS


@pytest.mark.parametrize("moment", ["before_cursor_execute", "commit"])
def test_a_server_that_kills_the_session_inside_a_token_stops_the_run_in_words_and_it_goes_on_later(
    database, home, moment
):
    ledger = open_ledger(database, home=home)
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, tokens=10, min_tokens=10)
    paid = pay(prepare_run(table(), plan, request_for(table(), 1.0), ledger=ledger), ToyModel().info)[0]
    shown = []

    def show(event):
        if isinstance(event, TokenReleased):
            shown.append(event)
            if len(shown) == 3:
                sa.event.listen(ledger.engine, moment, cut)

    def cut(connection, _cursor=None, statement="INSERT INTO tokens", *_others):
        """Before the token is written, or between its write and its commit."""
        if statement.startswith("INSERT INTO tokens"):
            address = ledger.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
            with psycopg.connect(address, autocommit=True) as other:
                pid = connection.connection.driver_connection.info.backend_pid
                other.execute("SELECT pg_terminate_backend(%s)", [pid])

    try:
        with pytest.raises(LedgerError) as stopped:
            run(paid, ToyModel(), on_event=show)
    finally:
        sa.event.remove(ledger.engine, moment, cut)
    words = str(stopped.value)
    assert words.startswith("the ledger's database refused")
    assert "Nothing that was not stored was shown." in words
    assert "INSERT" not in words
    with ledger.read() as connection:
        stored = stored_run(connection, paid.run_id)
    assert len(shown) == 3
    assert stored.tokens == tuple(shown)
    assert verify_ledger(ledger).holds
    record = resume(paid.run_id, table(), ToyModel(), ledger=ledger)
    assert [len(d.token_ids) for d in record.demonstrations] == [10] * 2
    ledger.engine.dispose()
