import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpicl_core.errors import ModelError
from dpicl_core.language_model import LanguageModel, Tokenizer, ToyModel, ToyTokenizer
from tests.language_model.tiny import block, prompt

TOKENIZER = ToyTokenizer()


@given(st.text())
def test_text_comes_back_whole(text):
    text = text.encode("utf-8", "replace").decode()
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_control_text_is_plain_text():
    assert min(TOKENIZER.encode("<|end|><|begin|><|pad|>")) >= 3


def test_every_id_that_may_be_released_has_clean_text_and_a_hundred_remain():
    allowed = set(range(TOKENIZER.vocabulary_size)) - TOKENIZER.forbidden_ids
    texts = [TOKENIZER.decode((id_,)) for id_ in sorted(allowed - TOKENIZER.ending_ids)]
    assert len(texts) >= 100
    assert all(text and "\ufffd" not in text and "\n" not in text for text in texts)
    assert not TOKENIZER.forbidden_ids & TOKENIZER.ending_ids


def test_rows_do_not_depend_on_each_other_and_the_observer_sees_every_row():
    seen = []
    model: LanguageModel = ToyModel(observer=lambda asked, prompts: seen.append((asked, len(prompts))))
    tokenizer: Tokenizer = model.tokenizer
    rows = [prompt(tokenizer, text, widths=[40]) for text in ("the patient", "a film of the year", "x")]
    ids = np.arange(50, 340)
    together = model.private_probabilities(rows, ids)
    alone = np.concatenate([model.private_probabilities([row], ids) for row in rows])
    assert np.array_equal(together, alone)
    assert seen == [("private", 3), ("private", 1), ("private", 1), ("private", 1)]
    assert len({row.tobytes() for row in together}) == 3


def test_a_failing_row_is_nan():
    model = ToyModel(fails_on=lambda asked: 77 in asked.blocks[1].ids)
    good, bad = (prompt(model.tokenizer, "", widths=[3]) for _ in range(2))
    bad = type(bad)((bad.blocks[0], block((77,), 3), bad.blocks[2]))
    result = model.private_probabilities([good, bad], np.arange(3, 10))
    assert np.isfinite(result[0]).all()
    assert np.isnan(result[1]).all()


def test_a_prompt_beyond_the_context_is_refused():
    with pytest.raises(ModelError, match="at most 10 tokens"):
        ToyModel(max_context=10).public_logits(prompt(TOKENIZER, "some text"))
