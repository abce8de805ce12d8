"""Groups fixed for a run: the draws, the price, the file, the ledger and the command line all say the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpicl_core import accounting, charged_runs
from dpicl_core.data import read_dataset
from dpicl_core.documents import DemonstrationsDocument, canonical_hash
from dpicl_core.errors import ConfigError
from dpicl_core.events import TokenReleased
from dpicl_core.export import document_bytes, document_for
from dpicl_core.generation import generate
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger.plans import plan_from_text, plan_to_text
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.runs import PrivacyRequest
from dpicl_core.sampling import Grouping, sampling_rate
from dpicl_core.specs import TangGaussianSpec
from dpicl_core.subsets import FixedGroups, FreshSubsets, subsets_of
from dpicl_core.values import Example, Pool
from dpicl_core.verification import read_document, verify
from tests.support.sources import RecordingRandomness
from tests.support.tables import ANIMALS, animal_pools, animal_rows

FIXED = Grouping.FIXED
REQUEST = PrivacyRequest(3.0, 1e-3)


def pool(units, rows_each=1):
    return Pool("cat", tuple(tuple(Example("cat", f"{u}:{r}") for r in range(rows_each)) for u in range(units)))


def plan_of(**settings):
    return plan_for(ANIMALS, "tang-gaussian", **{"shots": 2, "grouping": FIXED, **settings})


def table(rows=121):
    lines = [f"{('cat', 'dog')[i % 2]},the pet number {i} was late for food\n" for i in range(rows)]
    return read_dataset(("label,text\n" + "".join(lines)).encode(), name="pets.csv")


def document_of(plan):
    record = charged_runs.run(charged_runs.prepare_run(table(), plan, REQUEST), ToyModel())
    return json.loads(document_bytes(document_for(record)))


def read(content, *, rehash=False):
    if rehash:
        content = {**content, "sha256": canonical_hash(content)}
    return read_document(json.dumps(content).encode())


def test_a_partition_holds_whole_groups_of_different_units_and_leaves_the_remainder_out():
    groups = FixedGroups(plan_of(subsets=3, per_subset=4), pool(23), rng=RecordingRandomness(1))
    seen = {}
    for token in range(40):
        drawn = groups.draw(rng=RecordingRandomness(token))
        assert len({subset.group for subset in drawn}) == 3
        for subset in drawn:
            assert seen.setdefault(subset.group, subset.examples) == subset.examples
    texts = [row.text for examples in seen.values() for row in examples]
    assert len(groups) == len(seen) == 5
    assert len(texts) == len(set(texts)) == 20


def test_every_run_puts_other_rows_together_and_leaves_others_out():
    groups = [FixedGroups(plan_of(subsets=2, per_subset=4), pool(22), rng=RecordingRandomness(seed)) for seed in (1, 2)]
    rows = [
        {frozenset(row.text for row in subset.examples) for subset in each.draw(rng=RecordingRandomness(0))}
        for each in groups
    ]
    assert rows[0] != rows[1]


def test_a_persons_row_is_drawn_once_for_the_run():
    groups = FixedGroups(plan_of(subsets=4, per_subset=2), pool(8, rows_each=6), rng=RecordingRandomness(3))
    rows = [
        frozenset(row.text for s in groups.draw(rng=RecordingRandomness(n)) for row in s.examples) for n in range(5)
    ]
    assert len(set(rows)) == 1
    assert {text.split(":")[0] for text in rows[0]} == {str(unit) for unit in range(8)}
    assert len({text.split(":")[1] for text in rows[0]}) > 1


def test_the_plan_decides_which_draws_are_made():
    assert isinstance(subsets_of(plan_of(), pool(20), rng=RecordingRandomness(1)), FixedGroups)
    fresh = plan_of(grouping=Grouping.FRESH)
    assert isinstance(subsets_of(fresh, pool(20), rng=RecordingRandomness(1)), FreshSubsets)


def test_a_run_draws_groups_afresh_at_every_token_and_one_partition_a_pool():
    plan, pools, rng = plan_of(shots=4), animal_pools(animal_rows(61)), RecordingRandomness(5)
    prices = price_plan(plan, {label: len(each) for label, each in pools.items()}, delta=1e-3)
    events = list(generate(plan, prices, pools, ToyModel(), rng=rng))
    tokens = sum(isinstance(event, TokenReleased) for event in events)
    partition_draws, token_draws = rng.draws[:2], rng.draws[2:]
    assert [len(draw) for draw in partition_draws] == [30, 30]
    assert len(token_draws) == tokens
    assert all(len(set(draw)) == plan.subsets and max(draw) < 15 for draw in token_draws)
    assert len(set(token_draws)) > tokens / 2


def test_a_resumed_run_draws_a_new_partition_and_keeps_its_tokens():
    plan, pools = plan_of(shots=1), animal_pools(animal_rows(60))
    prices = price_plan(plan, {label: len(each) for label, each in pools.items()}, delta=1e-3)
    first = RecordingRandomness(1)
    kept = [e for e in generate(plan, prices, pools, ToyModel(), rng=first) if isinstance(e, TokenReleased)][:3]
    second = RecordingRandomness(2)
    again = list(generate(plan, prices, pools, ToyModel(), rng=second, released=kept))
    assert [e for e in again if isinstance(e, TokenReleased)][:3] == kept
    assert len(second.draws[0]) == len(first.draws[0]) == 30
    assert second.draws[0] != first.draws[0]


@pytest.mark.parametrize(("units", "rate"), [(60, 4 / 30), (61, 4 / 30), (86, 4 / 43), (8, 1.0), (9, 1.0)])
def test_fixed_groups_are_priced_at_m_over_whole_groups(units, rate):
    plan = plan_of(shots=1, targets=["cat"])
    (price,) = price_plan(plan, {"cat": units}, delta=1e-3, epsilon=2.0)
    assert price.sampling_rate == plan.sampling_rate(units) == rate
    loss = accounting.epsilon_tight(price.mechanism, sampling_rate=rate, composed_tokens=6, delta=1e-3)
    assert price.epsilon_tight == loss
    assert 1.99 < loss <= 2.0


def test_left_over_rows_make_fixed_groups_a_little_dearer_and_whole_groups_cost_the_same():
    def costs(units, grouping):
        plan = plan_for(ANIMALS, TangGaussianSpec(1.0), shots=1, targets=["cat"], grouping=grouping)
        return price_plan(plan, {"cat": units}, delta=1e-3)[0].epsilon_tight

    assert costs(61, FIXED) > costs(61, Grouping.FRESH)
    assert costs(60, FIXED) == costs(60, Grouping.FRESH)


def test_declared_bounds_are_divided_into_whole_groups():
    bounds = {"cat": 41, "dog": 50}
    prices = price_plan(plan_of(label_bounds=bounds), {}, delta=1e-3, epsilon=2.0)
    assert [price.sampling_rate for price in prices] == [4 / 20, 4 / 25]
    assert [price.pool_units for price in prices] == [41, 50]
    fresh = price_plan(plan_of(label_bounds=bounds, grouping=Grouping.FRESH), {}, delta=1e-3, epsilon=2.0)
    assert prices[0].mechanism.sigma > fresh[0].mechanism.sigma


def test_a_run_refuses_the_price_of_the_other_way_to_draw():
    plan, pools = plan_of(), animal_pools(animal_rows(61))
    units = {label: len(each) for label, each in pools.items()}
    for paid, made in ((replace(plan, grouping=Grouping.FRESH), plan), (plan, replace(plan, grouping=Grouping.FRESH))):
        prices = price_plan(paid, {"cat": 31, "dog": 30}, delta=1e-3)
        assert units == {"cat": 31, "dog": 30}
        with pytest.raises(ConfigError, match="made for another plan"):
            next(generate(made, prices, pools, ToyModel(), rng=RecordingRandomness(1)))


def test_a_pool_smaller_than_a_draw_is_refused_with_the_numbers():
    with pytest.raises(ConfigError, match="draws 8 units, but the pool has 7"):
        sampling_rate(7, 8, 2)
    with pytest.raises(ConfigError, match="not whole groups of 3"):
        sampling_rate(60, 8, 3)


def test_the_file_says_which_way_was_drawn_and_verifies():
    content = document_of(plan_of())
    assert content["plan"]["grouping"] == "fixed"
    assert [each["sampling_rate"] for each in content["pools"]] == [4 / 30, 4 / 30]  # 61 and 60 rows
    assert verify(read(content)).problems == ()


def test_a_file_of_fixed_groups_that_claims_the_price_of_fresh_subsets_is_found():
    content = document_of(plan_of())
    content["plan"]["grouping"] = "fresh"
    problems = verify(read(content, rehash=True)).problems
    assert any("sampling rate" in problem and "M*N/units" in problem for problem in problems)
    content["plan"]["grouping"] = "fixed"
    content["pools"][0]["sampling_rate"] = 8 / 61
    assert any("M/floor(units/N)" in problem for problem in verify(read(content, rehash=True)).problems)


def test_a_file_under_label_changes_with_fixed_groups_verifies():
    content = document_of(plan_of(label_bounds={"cat": 51, "dog": 41}))
    assert [each["sampling_rate"] for each in content["pools"]] == [4 / 25, 4 / 20]
    assert verify(read(content)).problems == ()


def test_a_file_from_before_there_was_grouping_is_of_fresh_subsets_and_keeps_its_hash():
    content = document_of(plan_of(grouping=Grouping.FRESH))
    del content["plan"]["grouping"]
    content["sha256"] = canonical_hash(content)
    verdict = verify(read(content))
    assert verdict.problems == ()
    assert verdict.document.plan.grouping == "fresh"
    assert json.loads(document_bytes(verdict.document)) == content
    assert "grouping" not in DemonstrationsDocument.model_json_schema()["$defs"]["PlanPart"]["required"]


def test_the_ledgers_text_of_a_plan_keeps_the_grouping_and_old_texts_are_of_fresh_subsets():
    assert plan_from_text(plan_to_text(plan_of())) == plan_of()
    old = json.loads(plan_to_text(plan_of(grouping=Grouping.FRESH)))
    del old["grouping"]
    assert plan_from_text(json.dumps(old)) == plan_of(grouping=Grouping.FRESH)


def test_the_command_line_prices_both_ways(capsys):
    from dpicl_core.__main__ import main

    found = {}
    for grouping in Grouping:
        arguments = "account --pool 61 --subsets 4 --per-subset 2 --tokens 6 --mechanism tang-gaussian --sigma 1 --json"
        assert main([*arguments.split(), "--grouping", grouping.value]) == 0
        found[grouping] = json.loads(capsys.readouterr().out)
    assert found[Grouping.FRESH]["sampling_rate"] == 8 / 61
    assert found[FIXED]["sampling_rate"] == 4 / 30
    assert found[FIXED]["epsilon"]["tight"] > found[Grouping.FRESH]["epsilon"]["tight"]
