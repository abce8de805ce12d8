"""Charge first: all or nothing, exact at the cap, per label, by both rules, by many processes at once."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from dpicl_core.errors import BudgetError
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import (
    OverTheCapError,
    fingerprint,
    open_ledger,
    reserve,
    schema,
    smaller_plans,
    standing,
    verify_ledger,
)
from dpicl_core.ledger.costs import Standing, cost_parts, for_every_label, labels_over
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.values import Example, PrivacyUnit
from tests.support.ledgers import DELTA, cap_for, cost_of, long_rows, order_of, registered, table, terms
from tests.support.tables import ANIMALS

ROOT = Path(__file__).resolve().parents[2]
MODEL = ToyModel().info


def spend(ledger, asset, order, dataset=None, count=1):
    mark = fingerprint(dataset or table(), ledger.identity)
    return reserve(ledger, asset, mark, [order] * count, MODEL, actor="Ada")


def position(ledger, asset):
    with ledger.read() as connection:
        return standing(connection, asset)


def test_exactly_as_many_runs_are_granted_as_the_cap_pays_for(ledger):
    order = order_of()
    asset = registered(ledger, terms(epsilon=cap_for(3, order) * (1 + 1e-9)), table())
    for _ in range(3):
        spend(ledger, asset, order)
    with pytest.raises(BudgetError):
        spend(ledger, asset, order)
    assert position(ledger, asset).share_spent == pytest.approx(1)
    assert verify_ledger(ledger).holds


def test_under_the_plain_sum_a_run_of_epsilon_zero_still_takes_its_delta(ledger):
    quiet = order_of()
    free = replace(quiet, prices=tuple(replace(price, epsilon_tight=0.0) for price in quiet.prices))
    asset = registered(ledger, terms(rule="sum", delta=3 * DELTA), table())
    for used in (1, 2, 3):
        spend(ledger, asset, free)
        assert position(ledger, asset).share_spent == pytest.approx(used / 3)
    with pytest.raises(BudgetError, match="Of delta, 0 is left") as refused:
        spend(ledger, asset, free)
    assert not refused.value.options


def test_several_runs_are_paid_together_or_not_at_all(ledger):
    order = order_of()
    asset = registered(ledger, terms(epsilon=cap_for(2.5, order)), table())
    with pytest.raises(BudgetError, match="these 3 runs together"):
        spend(ledger, asset, order, count=3)
    assert position(ledger, asset).worst_spent == 0
    assert len(spend(ledger, asset, order, count=2)) == 2


def test_a_run_of_one_label_leaves_the_other_labels_budget_alone(ledger):
    cats = order_of(shots=1)
    asset = registered(ledger, terms(), table())
    spend(ledger, asset, cats)
    found = position(ledger, asset)
    assert found.spent("cat") == pytest.approx(cost_of(asset, cats))
    assert found.spent("dog") == 0


def test_a_run_over_all_rows_adds_to_every_label(ledger):
    task = replace(ANIMALS, open_labels=True)
    plan = plan_for(task, order_of().plan.mechanism, shots=1, targets=["cat"])
    prices = price_plan(plan, {None: 60}, delta=DELTA, epsilon=1.0)
    asset = registered(ledger, terms(), table())
    spend(ledger, asset, replace(order_of(), plan=plan, prices=prices))
    found = position(ledger, asset)
    assert found.spent("cat") == found.spent("dog") > 0


def test_where_labels_may_change_every_label_pays_for_the_two_dearest(ledger):
    plan = plan_for(ANIMALS, "tang-gaussian", shots=3, label_bounds={"cat": 25, "dog": 20})
    prices = price_plan(plan, {}, delta=DELTA, epsilon=1.0)
    asset = registered(ledger, terms(), table())
    spend(ledger, asset, replace(order_of(), plan=plan, prices=prices))
    found = position(ledger, asset)
    both = sum(part.cost for part in cost_parts(asset, plan, prices))
    assert found.spent("cat") == found.spent("dog") == pytest.approx(both)
    assert sum(part.epsilon for part in cost_parts(asset, plan, prices)) == max(p.epsilon_tight for p in prices)


def test_a_row_that_changed_its_label_makes_the_run_everybodys(ledger):
    asset = registered(ledger, terms(), table())
    rows = long_rows()
    moved = [Example("dog", rows[0].text), *rows[1:]]
    paid = spend(ledger, asset, order_of(shots=1), table(moved))[0]
    assert paid.paid_by_all.startswith("some rows may belong to another label")
    found = position(ledger, asset)
    assert found.spent("dog") == found.spent("cat") > 0
    spend(ledger, asset, order_of(shots=1), table(moved))
    assert position(ledger, asset).spent("dog") == 2 * found.spent("dog")


def test_a_second_labelling_of_the_same_rows_does_not_open_a_second_budget(ledger):
    asset = registered(ledger, terms(), table())
    other = [Example({"cat": "red", "dog": "blue"}[row.label], row.text) for row in long_rows()]
    task = replace(ANIMALS, labels=("red", "blue"))
    plan = plan_for(task, order_of().plan.mechanism, shots=1)
    prices = price_plan(plan, {"red": 30, "blue": 30}, delta=DELTA, epsilon=1.0)
    spend(ledger, asset, replace(order_of(), plan=plan, prices=prices), table(other, declared=("red", "blue")))
    assert position(ledger, asset).spent("cat") > 0
    assert set(position(ledger, asset).labels()) == {"cat", "dog"}


def test_the_plain_sum_adds_epsilons_and_deltas(ledger):
    order = order_of()
    price = max(p.epsilon_tight for p in order.prices)
    asset = registered(ledger, terms(rule="sum", epsilon=100.0, delta=2.5 * DELTA), table())
    spend(ledger, asset, order)
    assert position(ledger, asset).epsilon_spent == pytest.approx(price)
    spend(ledger, asset, order)
    with pytest.raises(BudgetError, match="Of delta"):
        spend(ledger, asset, order)


def test_a_refusal_says_what_is_left_and_the_plans_it_offers_are_granted(ledger):
    order = order_of(shots=4)
    asset = registered(ledger, terms(epsilon=cap_for(1.6, order)), table())
    spend(ledger, asset, order)
    with pytest.raises(OverTheCapError, match=r"spent \d+% of it.*would fit: --shots 2 with --epsilon") as refused:
        spend(ledger, asset, order)
    asked = {option.setting: option for option in refused.value.options}
    assert set(asked) == {"shots", "tokens", "epsilon"}
    for changed, too_much in (
        (order_of(shots=2, epsilon=asked["shots"].epsilon), order_of(shots=2)),
        (order_of(shots=4, tokens=3, epsilon=asked["tokens"].epsilon), order_of(shots=4, tokens=3)),
        (order_of(shots=4, epsilon=asked["epsilon"].largest), order_of(shots=4)),
    ):
        assert labels_over(position(ledger, asset), cost_parts(asset, changed.plan, changed.prices)) == []
        # fewer tokens at the same epsilon only get less noise
        assert labels_over(position(ledger, asset), cost_parts(asset, too_much.plan, too_much.prices))


def test_the_plans_that_are_offered_where_the_noise_is_given_by_hand_are_granted_and_no_larger_ones(ledger):
    order = order_of(shots=4)
    asset = registered(ledger, terms(epsilon=cap_for(1.6, order)), table())
    spend(ledger, asset, order)
    parts = cost_parts(asset, order.plan, order.prices)
    offered = {option.setting: option.largest for option in smaller_plans(position(ledger, asset), order.plan, parts)}
    assert set(offered) == {"shots", "tokens", "epsilon"}
    for changed in (
        order_of(shots=4, epsilon=offered["epsilon"]),
        _same_noise(order, shots=offered["shots"]),
        _same_noise(order, tokens=offered["tokens"]),
    ):
        cost = cost_parts(asset, changed.plan, changed.prices)
        assert labels_over(position(ledger, asset), cost) == []
    for larger in (_same_noise(order, shots=offered["shots"] + 1), _same_noise(order, tokens=offered["tokens"] + 1)):
        assert labels_over(position(ledger, asset), cost_parts(asset, larger.plan, larger.prices))


def _same_noise(order, **changes):
    plan = order.plan
    shots, tokens = int(changes.get("shots", len(plan.target_labels))), int(changes.get("tokens", plan.tokens))
    smaller = replace(plan, target_labels=plan.target_labels[:shots], tokens=tokens, min_tokens=1)
    prices = tuple(
        replace(price, composed_tokens=smaller.composed_tokens(price.label))
        for price in order.prices
        if price.label in smaller.target_labels
    )
    return replace(order, plan=smaller, prices=prices)


def test_a_run_whose_id_was_chosen_beforehand_is_paid_once(ledger):
    order = replace(order_of(), run_id="0" * 31 + "1")
    asset = registered(ledger, terms(), table())
    assert [paid.run_id for paid in spend(ledger, asset, order)] == [order.run_id]
    spent = position(ledger, asset).worst_spent
    with pytest.raises(BudgetError, match="paid already"):
        spend(ledger, asset, order)
    assert position(ledger, asset).worst_spent == spent


def test_public_runs_cost_nothing_even_when_everything_is_spent(ledger):
    order = order_of()
    asset = registered(ledger, terms(epsilon=cap_for(1.0001, order)), table())
    spend(ledger, asset, order)
    assert spend(ledger, asset, order_of(mechanism="public-only"))
    with ledger.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.runs)).scalar() == 2


def test_everybodys_part_is_the_dearest_of_the_labels():
    order = order_of(shots=3)
    asset = replace(_fake_asset(), order=3.0)
    parts = cost_parts(asset, order.plan, order.prices)
    (shared,) = for_every_label(parts)
    assert shared.label is None
    assert shared.cost == max(part.cost for part in parts)
    assert labels_over(Standing(asset), parts) == []


def _fake_asset():
    from dpicl_core.ledger.assets import proposed

    return proposed(terms(unit=PrivacyUnit.ROW))


def test_two_hundred_reservations_from_eight_processes_for_a_cap_of_twenty_end_with_twenty(database, home, tmp_path):
    ledger = open_ledger(database, home=home)
    order = order_of()
    asset = registered(ledger, terms(epsilon=cap_for(20.5, order)), table())
    job = tmp_path / "job.pickle"
    job.write_bytes(pickle.dumps((asset, fingerprint(table(), ledger.identity), order, MODEL, 25)))
    command = [sys.executable, "-m", "tests.support.reserve_many", database, str(home), str(job), "8"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=True).stdout
    answers = [line.split() for line in printed.splitlines()]
    assert len(answers) == 8
    assert sum(int(granted) for granted, _ in answers) == 20
    assert sum(int(refused) for _, refused in answers) == 180
    with ledger.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.runs)).scalar() == 20
    assert verify_ledger(ledger).holds
    ledger.engine.dispose()
