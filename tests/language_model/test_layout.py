import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.errors import ModelError
from dpicl_core.language_model.layout import hidden_keys, lay_out, micro_batches, shared_width
from dpicl_core.values import TokenPrompt
from tests.language_model.tiny import block

LENGTHS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=4)


def rows_of(lengths):
    padded = tuple(block(range(10, 10 + real), real + pads) for real, pads in lengths)
    return [(*padded, block((5, 6)))]


@given(LENGTHS)
def test_real_tokens_keep_their_order_and_are_numbered_without_gaps(lengths):
    (blocks,) = rows = rows_of(lengths)
    layout = lay_out(rows, pad_id=99)
    real = layout.real[0]
    assert layout.ids[0, real].tolist() == [id_ for part in blocks for id_ in part.ids]
    assert layout.positions[0, real].tolist() == list(range(real.sum()))
    assert (layout.ids[0, ~real] == 99).all()
    assert real[-1]
    assert (layout.positions >= 0).all()


@given(LENGTHS, st.integers(0, 2))
def test_a_query_sees_real_tokens_up_to_itself_and_itself(lengths, start):
    layout = lay_out(rows_of(lengths))
    real = layout.real[0]
    hidden = hidden_keys(layout.real, start)[0]
    for query in range(start, len(real)):
        for key in range(len(real)):
            seen = key == query or (key < query and real[key])
            assert hidden[query - start, key] == (not seen)


def test_the_first_block_is_shared_unless_it_is_the_only_one():
    several = TokenPrompt((block((1, 2, 3)), block((4,))))
    assert shared_width([several, several]) == 3
    assert shared_width([TokenPrompt((block((1, 2)),))]) == 0
    with pytest.raises(ModelError, match="same public text"):
        shared_width([several, TokenPrompt((block((9, 2, 3)), block((4,))))])


@given(st.integers(1, 50), st.integers(1, 300), st.integers(1, 1000))
def test_micro_batches_cover_the_rows_in_order_within_the_budget(rows, width, budget):
    slices = micro_batches(rows, width, budget)
    assert [row for part in slices for row in range(rows)[part]] == list(range(rows))
    assert all((part.stop - part.start) * width <= max(budget, width) for part in slices)


def test_shapes_and_masks_of_two_layouts_differ_only_in_the_row_that_differs():
    short, full = rows_of([(1, 3)])[0], rows_of([(4, 0)])[0]
    one, other = lay_out([short, short]), lay_out([short, full])
    assert one.ids.shape == other.ids.shape
    assert np.array_equal(hidden_keys(one.real, 0)[0], hidden_keys(other.real, 0)[0])
