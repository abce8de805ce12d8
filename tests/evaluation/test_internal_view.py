"""Opening a view is recorded before anything is seen, and what is made behind it can never leave."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpicl_core
from dpicl_core import charged_runs
from dpicl_core.errors import DataError, ExportError
from dpicl_core.evaluation import canary_text, open_view, plant_and_count, reference_sets
from dpicl_core.export import document_for
from dpicl_core.language_model import ToyModel
from dpicl_core.ledger import events_of, open_ledger
from dpicl_core.planning import plan_for
from dpicl_core.randomness import SeededRandomness
from dpicl_core.runs import PrivacyRequest
from dpicl_core.sign_off import vettable_run
from dpicl_core.values import Example
from tests.support.ledgers import table
from tests.support.runs import ready_run
from tests.support.tables import ANIMALS, animal_rows

FREE = PrivacyRequest(None, 1e-3)


def views():
    with open_ledger().read() as connection:
        return [event for event in events_of(connection) if event.kind == "internal-view"]


def plan(mechanism="unprotected", **settings):
    return plan_for(ANIMALS, mechanism, **{"shots": 2, "tokens": 5, **settings})


def test_a_view_is_recorded_once_on_the_asset_of_the_table_and_a_signed_file_will_say_so():
    record = charged_runs.run(ready_run(), ToyModel())
    view = open_view(table(animal_rows()), "membership inference, not DP")
    for _ in range(2):
        view.run(plan(), FREE, ToyModel())
    view.random_rows(plan())
    (event,) = views()
    assert event.details == {"view": "membership inference, not DP"}
    opened = vettable_run(open_ledger(), record.run_id).views
    assert [part.view for part in opened] == ["membership inference, not DP"]


def test_a_view_of_a_table_that_no_asset_knows_is_recorded_too_and_holds_no_row():
    open_view(table(animal_rows()), "leakage, not DP")
    (event,) = views()
    assert event.asset_id is None
    assert "number" not in str(event.details)


def test_runs_behind_a_view_are_never_exported_whatever_their_mechanism():
    view = open_view(table(animal_rows()), "test, not DP")
    for mechanism, request in (("unprotected", FREE), ("tang-gaussian", PrivacyRequest(3.0, 1e-3))):
        with pytest.raises(ExportError, match="not private"):
            document_for(view.run(plan(mechanism), request, ToyModel()))


def test_nothing_but_opening_makes_a_view():
    root = Path(dpicl_core.__file__).parent
    makers = [
        path.name
        for path in (*root.rglob("*.py"), *(root.parent / "pages").rglob("*.py"))
        if "InternalView(" in path.read_text(encoding="utf-8")
    ]
    assert makers == ["internal_view.py"]


def test_real_rows_are_drawn_one_for_each_label_and_none_twice_while_there_are_others():
    rows = animal_rows(8)
    view = open_view(table(rows), "test, not DP")
    drawn = view.random_rows(plan(shots=8))
    assert [row.label for row in drawn] == ["cat", "dog"] * 4
    assert set(drawn) == set(rows)
    assert len(view.random_rows(plan(shots=10))) == 10  # more than there are: some come again
    with pytest.raises(DataError, match="no row in the table"):
        open_view(table([row for row in rows if row.label == "cat"]), "test, not DP").random_rows(plan())


def test_sets_beside_the_files_are_what_their_names_say():
    view, model = open_view(table(animal_rows()), "test, not DP"), ToyModel()
    (nothing,) = reference_sets("0-shot", plan(), 3, view, model)
    (public,) = reference_sets("public-only", plan(), 3, view, model)
    real = reference_sets("real-rows", plan(), 3, view, model)
    free = reference_sets("noise-free", plan(), 2, view, model)
    assert nothing.demonstrations == ()
    assert [label for _, label in public.demonstrations] == ["cat", "dog"]
    assert not public.internal and not nothing.internal  # noqa: PT018
    texts = {row.text for row in animal_rows()}
    assert len(real) == 3
    assert all(text in texts for each in real for text, _ in each.demonstrations)
    assert len(free) == 2
    assert all(each.internal for each in (*real, *free))


def test_a_canary_is_made_of_words_that_nobody_wrote():
    rows = animal_rows()
    words = canary_text(rows, rng=SeededRandomness(3)).split()
    assert len(set(words)) == 8
    assert not set(words) & {word for row in rows for word in row.text.split()}


def test_without_protection_a_planted_word_comes_out_and_from_the_public_prompt_it_cannot():
    # the toy model repeats words of its prompt, and all prompts hold the row where the label's pool is the prompts'
    rows = [Example("cat", "the cat was late for food")] * 4 + [Example("dog", "the dog was late for food")] * 4
    view = open_view(table(rows), "canaries, not DP")
    few = plan(subsets=2, per_subset=2, tokens=6)
    found = plant_and_count(view, few, FREE, ToyModel(), "clinic pain doctor patient", runs=6)
    assert (found.runs, found.mechanism) == (6, "unprotected")
    assert 1 <= found.runs_with_words <= 6
    assert found.words_out >= found.runs_with_words
    public = plant_and_count(view, plan("public-only", tokens=6), FREE, ToyModel(), "zovubi tarefo", runs=2)
    assert (public.runs_with_words, public.words_out, public.longest_run) == (0, 0, 0)
    with pytest.raises(DataError, match="stands in the table already"):
        plant_and_count(view, few, FREE, ToyModel(), "late food", runs=1)
