import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.errors import ModelError
from dpicl_core.language_model import restricted_probabilities
from dpicl_core.language_model.protocol import common_widths, require_context, require_ids
from dpicl_core.values import TokenBlock, TokenPrompt

LOGITS = st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=30)


@given(LOGITS)
def test_rows_add_to_one_and_match_the_definition(logits):
    row = restricted_probabilities(np.array([logits]))[0]
    shifted = np.exp(np.array(logits, dtype=np.longdouble) - max(logits))
    assert abs(row.sum() - 1) < 1e-12
    assert np.allclose(row, (shifted / shifted.sum()).astype(float), atol=1e-12)


@given(LOGITS, st.floats(-1e3, 1e3))
def test_a_constant_added_to_the_logits_changes_nothing(logits, constant):
    before, after = (restricted_probabilities(np.array([row])) for row in (logits, [x + constant for x in logits]))
    assert np.allclose(before, after, atol=1e-9)


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_becomes_nan_and_moves_no_bit_of_the_others(broken):
    logits = np.array([[1.0, 2.0, 3.0], [1.0, broken, 3.0], [0.5, 0.0, -1.0]])
    whole = restricted_probabilities(logits)
    assert np.isnan(whole[1]).all()
    logits[1] = 0.0
    assert np.array_equal(whole[[0, 2]], restricted_probabilities(logits)[[0, 2]])


def test_prompts_of_different_widths_are_refused():
    short, long = (TokenPrompt((TokenBlock((1,), width), TokenBlock((1,), 1))) for width in (2, 3))
    assert common_widths([short, short]) == (2, 1)
    for wrong in ([short, long], []):
        with pytest.raises(ModelError):
            common_widths(wrong)


def test_too_long_a_prompt_is_refused_with_bound_and_value():
    require_context(8, 8)
    with pytest.raises(ModelError, match=r"at most 8 tokens.*is 9"):
        require_context(9, 8)


@pytest.mark.parametrize("ids", [[], [-1], [10], [0.5], [[1]]])
def test_ids_out_of_range_are_refused(ids):
    with pytest.raises(ModelError):
        require_ids(np.array(ids), 10)
