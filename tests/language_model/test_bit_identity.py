"""No bit of a row moves with what another row holds, whatever its length, in every precision.

The rule protects the proof: a neighbouring data set changes one row of P and not the others.
"""

import numpy as np
import pytest

from dpicl_core.language_model.transformers_model import TransformersModel
from tests.language_model.tiny import prompt

IDS = np.arange(1000, 1100)
ROWS = 4
WIDTH = 20
WORDS = (
    " one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " * 3
)
TEXTS = [f"Label: Number\nText: How many {thing} are there?\n" for thing in ("cats", "days", "old ships", "men")]


@pytest.fixture(scope="module", params=[10_000, 120], ids=["one batch", "two rows a batch"])
def model(request, default_model):
    return TransformersModel(
        default_model._model, default_model.tokenizer, default_model.info, token_budget=request.param
    )


def rows_with(tokenizer, changed, length):
    """ROWS prompts of two examples; in row `changed` both grow to `length` tokens."""
    texts = [[text, text] for text in TEXTS]
    if changed is not None:
        grown = tokenizer.decode(tokenizer.encode(WORDS)[:length])
        texts[changed] = [grown, grown]
    return [prompt(tokenizer, *pair, widths=[WIDTH, WIDTH]) for pair in texts]


def test_other_rows_keep_every_bit_when_one_row_grows(model):
    before = model.private_probabilities(rows_with(model.tokenizer, None, 0), IDS)
    for changed, length in ((0, 1), (2, WIDTH - 1), (ROWS - 1, WIDTH)):
        after = model.private_probabilities(rows_with(model.tokenizer, changed, length), IDS)
        others = [row for row in range(ROWS) if row != changed]
        assert np.array_equal(before[others], after[others])
        assert not np.array_equal(before[changed], after[changed])


def test_full_rows_go_the_same_way_as_padded_ones(model):
    tokenizer = model.tokenizer
    full = tokenizer.decode(tokenizer.encode(WORDS)[:WIDTH])
    other = tokenizer.decode(tokenizer.encode(WORDS)[WIDTH : 2 * WIDTH])
    all_full = [prompt(tokenizer, full, other, widths=[WIDTH, WIDTH])] * ROWS
    one_short = [*all_full[:-1], prompt(tokenizer, "x", other, widths=[WIDTH, WIDTH])]
    before, after = (model.private_probabilities(rows, IDS) for rows in (all_full, one_short))
    assert {len(block.ids) - block.width for row in all_full for block in row.blocks} == {0}
    assert np.array_equal(before[:-1], after[:-1])


def test_padding_is_never_seen(model):
    rows = rows_with(model.tokenizer, None, 0)
    other = model.with_padding(4321)
    assert np.array_equal(model.private_probabilities(rows, IDS), other.private_probabilities(rows, IDS))


def test_asking_again_gives_the_same_bits(model):
    rows = rows_with(model.tokenizer, None, 0)
    assert np.array_equal(model.private_probabilities(rows, IDS), model.private_probabilities(rows, IDS))
