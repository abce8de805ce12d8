"""The bookkeeping of kept states: addresses, what goes first, how rows are put together, when keeping pays."""

import ctypes
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.errors import ModelError
from dpicl_core.language_model import process_settings
from dpicl_core.language_model.kept_rows import KeptRow, text_inputs
from dpicl_core.language_model.kept_session import example_pass_rows, worthwhile_capacity
from dpicl_core.language_model.row_states import DISCARD, EMPTY, RESERVED, StateBook
from dpicl_core.language_model.sessions import SessionSize, open_session
from dpicl_core.language_model.toy import ToyModel, ToyTokenizer
from dpicl_core.planning import plan_for
from dpicl_core.prompt_tokens import PromptEncoder
from dpicl_core.sampling import Grouping
from dpicl_core.token_inputs import session_size
from tests.support.tables import ANIMALS

STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40)


@given(STEPS, st.integers(RESERVED + 4, 30))
def test_no_address_belongs_to_two_entries_and_none_is_lost(steps, capacity):
    book, order = StateBook(capacity), []
    for name, count in steps:
        already = len(book.find(name))
        if already + count > capacity - RESERVED:
            with pytest.raises(ModelError, match="raise --cache-bytes"):
                book.extend(name, count, keep=set(range(6)))
            return
        grown = book.extend(name, count, keep=())
        order = [*(known for known in order if known != name), name]
        assert len(grown) == already + count
        held = [book.find(known) for known in order if known in book]
        addresses = [address for part in held for address in part]
        assert len(addresses) == len(set(addresses)) == capacity - RESERVED - book.free_tokens
        assert min([*addresses, RESERVED]) == RESERVED


def test_the_least_recently_used_goes_first_and_kept_names_stay():
    book = StateBook(RESERVED + 6)
    for name in "abc":
        book.extend(name, 2, keep=())
    book.find("a")
    book.extend("d", 2, keep={"b"})
    assert [name in book for name in "abcd"] == [True, True, False, True]
    book.extend("e", 2, keep=())
    assert [name in book for name in "abcde"] == [True, False, False, True, True]
    with pytest.raises(ModelError, match="need 1 positions more"):
        book.extend("f", 1, keep={"a", "d", "e"})


def test_a_row_that_is_less_behind_repeats_itself_and_throws_the_repetitions_away():
    rows = [
        KeptRow(np.array([True, False]), np.array([10, 11]), (5, 6, 7), np.array([20, 21, 22]), 3),
        KeptRow(np.array([True, True]), np.array([12, 13]), (8, 9), np.array([23, 24]), 1),
    ]
    inputs = text_inputs(np.array([2, 3]), rows)
    assert inputs.ids.tolist() == [[5, 6, 7], [9, 9, 9]]
    assert inputs.positions.tolist() == [[3, 4, 5], [5, 5, 5]]
    assert inputs.write.tolist() == [[20, 21, 22], [DISCARD, DISCARD, 24]]
    assert inputs.read.tolist() == [[2, 3, 10, 11, 20, 21, 22], [2, 3, 12, 13, 23, 24, EMPTY]]
    shown = (~inputs.hidden).astype(int).tolist()
    assert shown[0] == [[1, 1, 1, 0, 1, 0, 0], [1, 1, 1, 0, 1, 1, 0], [1, 1, 1, 0, 1, 1, 1]]
    assert shown[1] == [[1, 1, 1, 1, 1, 1, 0]] * 3


def test_rows_are_kept_only_where_that_pays_and_fits():
    size = SessionSize(10, rows_tokens=1000, step_tokens=100, saved_share=0.5)
    assert worthwhile_capacity(size, 10_000) == 1000
    assert worthwhile_capacity(size, 700) == 700
    assert worthwhile_capacity(size, 500) == 0  # 0.5 * 0.5 is less than 0.3
    assert worthwhile_capacity(size, 99) == 0
    assert worthwhile_capacity(SessionSize(10), 10_000) == 0
    assert worthwhile_capacity(SessionSize(10, rows_tokens=1000, step_tokens=100, saved_share=0.29), 10_000) == 0


@pytest.mark.parametrize(("targets", "units"), [(["cat"], 16), (["cat", "cat", "dog"], 24), (["cat"], 400)])
def test_the_share_that_keeping_saves_is_what_a_simulation_of_the_draws_finds(targets, units):
    plan = plan_for(ANIMALS, "tang-gaussian", shots=len(targets), targets=targets, tokens=20, grouping=Grouping.FIXED)
    encoder = PromptEncoder(plan.task, ToyTokenizer(), plan.record_tokens)
    size = session_size(plan, encoder, dict.fromkeys(("cat", "dog"), units))
    source, examples = np.random.default_rng(1), plan.per_subset * encoder.example_width
    again = once = missing = 0
    for _ in range(200):
        known = set()
        for token in range(plan.tokens):
            for label in targets:
                for group in source.permutation(units // plan.per_subset)[: plan.subsets]:
                    length = encoder.text_width(label) + token
                    again += examples + length
                    once += length + (0 if (label, group) in known else examples)
                    known.add((label, group))
        missing += len(known)
    assert size.saved_share == pytest.approx(1 - once / again, abs=0.01)
    assert size.missing_rows == pytest.approx(missing / 200 / plan.tokens, rel=0.05)


def test_a_pass_over_examples_has_one_shape_for_the_whole_run():
    assert example_pass_rows(SessionSize(0, missing_rows=60.0), 80) == 15
    assert example_pass_rows(SessionSize(0, missing_rows=900.0), 80) == 25
    assert example_pass_rows(SessionSize(0, missing_rows=2.0), 80) == 3
    assert example_pass_rows(SessionSize(0, missing_rows=2.0), 5000) == 1


def test_fresh_subsets_keep_no_row():
    plan = plan_for(ANIMALS, "tang-gaussian", shots=2, grouping=Grouping.FRESH)
    size = session_size(plan, PromptEncoder(plan.task, ToyTokenizer(), plan.record_tokens), {"cat": 30, "dog": 30})
    assert size.rows_tokens == 0
    assert size.public_tokens > 2 * plan.tokens


def test_a_model_without_sessions_is_asked_prompt_by_prompt():
    assert open_session(ToyModel(), SessionSize(10)) is None


def test_process_settings_leave_what_a_person_set(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("TRANSFORMERS_SDPA_FORCE_GQA", "0")
    process_settings.settle()
    process_settings.read_keys_once()
    assert (os.environ["OMP_WAIT_POLICY"], os.environ["TRANSFORMERS_SDPA_FORCE_GQA"]) == ("ACTIVE", "0")


def test_a_c_library_without_the_setting_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    process_settings.keep_freed_memory()
