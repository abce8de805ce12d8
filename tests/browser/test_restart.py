"""A server that dies in the middle of a run: what it showed is stored, and a new one goes on from there."""

from __future__ import annotations

import json

import psutil

from dpicl_core.charged_runs import tokens_at_most
from dpicl_core.ledger import asset_reports, open_ledger, run_lines, stored_run, verify_ledger
from tests.browser.support import (
    button,
    closed,
    opened,
    plan_run,
    press,
    served,
    start,
    to_plan,
    words,
)
from tests.browser.test_isolation import read, table
from tests.browser.test_run_as_a_job import download, wait_for_tokens
from tests.support.tables import animal_rows


def test_a_server_killed_in_the_middle_of_a_run_goes_on_after_a_restart_at_no_cost(browser, tmp_path):
    path = table(tmp_path, "animals.csv", [(row.label, row.text) for row in animal_rows()])
    with served(tmp_path, "slow") as server:
        page = opened(browser, server.url)
        read(page, path, "cat\ndog")
        to_plan(page)
        plan_run(page, {"M, groups": 4, "N, rows": 2, "T_max": 40, "How many": 2})
        start(page)
        wait_for_tokens(page, 9)
        seen = [page.locator(f".st-key-draft_{index} pre, .st-key-draft_{index} .stText").last for index in range(2)]
        seen = [" ".join(part.inner_text().split()) for part in seen]
        [child] = psutil.Process(server.process.pid).children()
        server.process.kill()
        gone, _ = psutil.wait_procs([child], timeout=30)
        assert gone, "the process that runs the model outlived its server"
        page.context.close()
    ledger = open_ledger(home=server.home)
    with ledger.read() as connection:
        [line] = run_lines(connection)
        before = stored_run(connection, line.id)
        cost = [report.epsilon_spent for report in asset_reports(connection)]
    assert line.state == "stopped"
    assert before.reason == "the server of the screens was gone"
    texts = {token.demonstration: " ".join(token.text.split()) for token in before.tokens}
    assert all(texts[index].startswith(text) for index, text in enumerate(seen))
    with served(tmp_path, "slow") as server:
        page = opened(browser, server.url)
        read(page, path, "cat\ndog")
        page.get_by_role("link", name="3 Generate").click()
        at, most = len(before.tokens), tokens_at_most(before)
        page.get_by_text(f"A run of this table was interrupted at token {at} of {most}.").wait_for()
        press(page, "Go on")
        page.locator(".st-key-run_status").wait_for()
        button(page, "Download the JSON").wait_for(timeout=120_000)
        document = json.loads(download(page))
        assert line.id in words(page)
        closed(page)
    assert document["run"] == line.id
    made = [part["text"] for part in document["demonstrations"]]
    assert all(" ".join(text.split()).startswith(texts[index]) for index, text in enumerate(made))
    with ledger.read() as connection:
        after = stored_run(connection, line.id)
        assert [report.epsilon_spent for report in asset_reports(connection)] == cost
        assert [known.exports for known in run_lines(connection)] == [1]
    assert after.state == "finished"
    assert after.tokens[: len(before.tokens)] == before.tokens
    assert verify_ledger(ledger).holds
    ledger.engine.dispose()
