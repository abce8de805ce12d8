"""The switches of the privacy model reach the price, the draws, the file and its verification."""

from __future__ import annotations

import json

import pytest

from dpicl_core import accounting, charged_runs
from dpicl_core.data import read_dataset
from dpicl_core.errors import ConfigError, DataError
from dpicl_core.export import document_bytes, document_for
from dpicl_core.language_model import ToyModel
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.runs import PrivacyRequest, prepare_run, request_for, run
from dpicl_core.sampling import Grouping
from dpicl_core.values import NeighbouringRelation, PrivacyUnit
from dpicl_core.verification import read_document, verify
from tests.support.sources import RecordingRandomness
from tests.support.tables import ANIMALS

FRESH = {"grouping": Grouping.FRESH}


def table(rows=120, persons=0):
    header = "label,text,who\n" if persons else "label,text\n"
    lines = []
    for i in range(rows):
        who = f",p{i % persons}" if persons else ""
        lines.append(f"{('cat', 'dog')[i % 2]},the pet number {i} was late for food{who}\n")
    content = (header + "".join(lines)).encode()
    return read_dataset(content, name="pets.csv", person_column="who" if persons else None)


def test_when_labels_may_change_only_declared_bounds_enter_the_price():
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, label_bounds={"cat": 40, "dog": 50})
    first = price_plan(plan, {"cat": 60, "dog": 60}, delta=1e-3, epsilon=2)
    second = price_plan(plan, {"cat": 1000, "dog": 999}, delta=1e-3, epsilon=2)
    assert first == second
    assert [price.pool_units for price in first] == [40, 50]
    assert [price.sampling_rate for price in first] == [8 / 40, 8 / 50]


def test_when_labels_may_change_no_private_count_is_told_even_where_nothing_is_read_or_all_is_refused():
    bounds = {"cat": 40, "dog": 50}
    plan = plan_for(ANIMALS, "public-only", shots=2, label_bounds=bounds)
    record = run(prepare_run(table(), plan, PrivacyRequest(None, 1e-3)), ToyModel())
    assert [(price.label, price.pool_units) for price in record.prices] == [("cat", 40), ("dog", 50)]
    plan = plan_for(ANIMALS, "anchored", shots=2, label_bounds=bounds)
    with pytest.raises(DataError, match="declared lower bound of 40") as refused:
        prepare_run(table(rows=10), plan, PrivacyRequest(3.0, 1e-3))
    assert " 5 " not in str(refused.value)


def test_a_label_change_costs_more_than_a_replacement_within_the_label():
    fixed = plan_for(ANIMALS, "tang-gaussian", shots=2)
    changing = plan_for(ANIMALS, "tang-gaussian", shots=2, label_bounds={"cat": 60, "dog": 60})
    pools = {"cat": 60, "dog": 60}
    alone = price_plan(fixed, pools, delta=1e-3)[0].epsilon_tight
    pair = price_plan(changing, pools, delta=1e-3)[0].epsilon_tight
    both = accounting.epsilon_tight(fixed.mechanism, sampling_rate=8 / 60, composed_tokens=12, delta=1e-3)
    assert pair > alone
    assert pair == pytest.approx(both, rel=1e-3)


def test_a_file_made_under_label_changes_says_so_and_verifies():
    dataset = table()
    plan = plan_for(ANIMALS, "anchored", shots=2, label_bounds={"cat": 50, "dog": 40})
    record = charged_runs.run(charged_runs.prepare_run(dataset, plan, PrivacyRequest(3.0, 1e-3)), ToyModel())
    content = document_bytes(document_for(record))
    parsed = json.loads(content)
    assert parsed["guarantee"]["neighbouring_relation"] == NeighbouringRelation.REPLACE_ONE_ANY.value
    assert "by any other" in parsed["guarantee"]["sentence"]
    assert [pool["units"] for pool in parsed["pools"]] == [50, 40]
    assert 2.95 < parsed["guarantee"]["epsilon"]["tight"] <= 3.0
    assert verify(read_document(content)).problems == ()


def test_a_declared_bound_that_the_table_does_not_reach_is_refused_before_anything_is_drawn():
    plan = plan_for(ANIMALS, "anchored", shots=2, label_bounds={"cat": 61, "dog": 40})
    with pytest.raises(DataError, match="lower bound of 61"):
        prepare_run(table(), plan, PrivacyRequest(3.0, 1e-3))
    with pytest.raises(ConfigError, match="one token draws 8"):
        plan_for(ANIMALS, "anchored", shots=2, label_bounds={"cat": 7, "dog": 40})


def test_persons_are_sampled_and_counted_instead_of_rows():
    dataset = table(rows=240, persons=60)
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, unit=PrivacyUnit.PERSON, subsets=3, per_subset=2, **FRESH)
    request = request_for(dataset, 3.0)
    prepared = prepare_run(dataset, plan, request)
    persons = {label: len(pool) for label, pool in prepared.pools.items()}
    assert sum(persons.values()) == 60
    assert [price.sampling_rate for price in prepared.prices] == [6 / persons["cat"], 6 / persons["dog"]]
    assert request.delta == 1e-3  # largest power of ten at or under 1/600
    rng = RecordingRandomness(1)
    run(prepared, ToyModel(), rng=rng)
    assert all(len(set(draw)) == 6 for draw in rng.draws)


def test_every_person_belongs_to_one_pool_and_keeps_only_rows_of_its_label():
    rows = "".join(f"{('cat', 'dog')[i % 2]},the pet {i} was late,p{i % 15}\n" for i in range(120))
    dataset = read_dataset(("label,text,who\n" + rows).encode(), person_column="who")
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, unit=PrivacyUnit.PERSON, subsets=2, per_subset=1)
    seen = set()
    for _ in range(6):
        prepared = prepare_run(dataset, plan, PrivacyRequest(8.0, 1e-2))
        pools = prepared.pools
        assert len(pools["cat"]) + len(pools["dog"]) == 15
        for label, pool in pools.items():
            assert all(row.label == label for unit in pool.units for row in unit)
            assert all(len(unit) == 4 for unit in pool.units)
        seen.add(tuple(unit[0].text for unit in pools["cat"].units))
    assert len(seen) > 1  # the assignment is a secret draw, new for every run until the ledger keeps it


def test_person_names_never_reach_a_prompt_or_the_file():
    dataset = table(rows=240, persons=60)
    plan = plan_for(ANIMALS, "tang-gaussian", shots=1, unit=PrivacyUnit.PERSON, subsets=3, per_subset=2)
    texts = []
    model = ToyModel(
        observer=lambda kind, prompts: texts.extend(
            model.tokenizer.decode([i for block in prompt.blocks for i in block.ids]) for prompt in prompts
        )
    )
    record = charged_runs.run(charged_runs.prepare_run(dataset, plan, request_for(dataset, 3.0)), model)
    assert not any("p12" in text or "who" in text.lower().split() for text in texts if "pet" in text)
    assert json.loads(document_bytes(document_for(record)))["guarantee"]["unit"] == "person"
