import traceback

import numpy as np
import pytest
import torch

from dpicl_core.errors import ModelError
from dpicl_core.language_model import load_model
from dpicl_core.language_model.transformers_model import TransformersModel
from dpicl_core.values import TokenPrompt
from tests.language_model.tiny import block, byte_tokenizer, joined, prompt, save_tiny_model, softmax, tiny_weights

TEXTS = (
    ("Label: Place\nText: Where is the Eiffel tower?\n\n", "Label: Person\nText: Who wrote Faust?\n\n"),
    (
        "Label: Number\nText: How many days has a leap year, and which month is longer?\n\n",
        "Label: Place\nText: Where?\n\n",
    ),
    ("Label: Entity\nText: What is a quark?\n\n", "Label: Abbreviation\nText: What does NASA stand for?\n\n"),
)


def unpadded_logits(model, whole):
    """The library's own forward pass over one prompt without padding, mask or positions."""
    with torch.no_grad():
        return model._model(input_ids=torch.tensor([joined(whole)])).logits[0, -1].double().numpy()


def rows_of(model, width=40):
    return [prompt(model.tokenizer, *pair, widths=[width, width + 5]) for pair in TEXTS]


def test_float32_equals_the_plain_library_without_padding(default_float32):
    rows = rows_of(default_float32)
    expected = [unpadded_logits(default_float32, row) for row in rows]
    ids = np.sort(np.argsort(-expected[0])[:100])
    found = default_float32.private_probabilities(rows, ids)
    assert found.dtype == np.float64
    assert np.abs(found - [softmax(logits[ids]) for logits in expected]).max() < 1e-4
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-12


def test_bfloat16_is_close_to_the_plain_library(default_model):
    rows = rows_of(default_model)
    logits = unpadded_logits(default_model, rows[0])
    ids = np.sort(np.argsort(-logits)[:100])
    assert np.linalg.norm(default_model.private_probabilities(rows, ids)[0] - softmax(logits[ids])) < 0.05


def test_public_logits_cover_the_vocabulary_and_equal_the_plain_library(default_float32):
    whole = prompt(default_float32.tokenizer)
    logits = default_float32.public_logits(whole)
    assert logits.shape == (default_float32.tokenizer.vocabulary_size,)
    assert np.abs(softmax(logits) - softmax(unpadded_logits(default_float32, whole))).max() < 1e-4


def test_blocks_and_one_block_mean_the_same(tiny_model):
    blocks = prompt(tiny_model.tokenizer, *TEXTS[0], widths=[60, 60])
    whole = TokenPrompt((block(joined(blocks)),))
    assert np.allclose(tiny_model.public_logits(blocks), tiny_model.public_logits(whole), atol=1e-4)


def test_the_kept_instruction_gives_the_same_bits_and_changes_with_the_instruction(tiny_model):
    fresh = tiny_model.with_padding(0)
    first, second = (
        TokenPrompt((block(tiny_model.tokenizer.encode(text)), block(tiny_model.tokenizer.encode("Text:"))))
        for text in ("One instruction.", "Other instruction")
    )
    answers = [fresh.public_logits(each) for each in (first, first, second, first)]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[3])
    assert np.array_equal(answers[2], tiny_model.with_padding(0).public_logits(second))
    assert not np.allclose(answers[0], answers[2])


def test_an_empty_instruction_and_empty_examples_work(tiny_model):
    empty = TokenPrompt((block((), 0), block((), 4), block(tiny_model.tokenizer.encode("Text:"))))
    whole = TokenPrompt((block(tiny_model.tokenizer.encode("Text:")),))
    assert np.allclose(tiny_model.public_logits(empty), tiny_model.public_logits(whole), atol=1e-4)


def test_a_row_that_overflows_is_nan_and_moves_no_bit_of_the_others(tmp_path):
    poison = "~"

    def break_one_token(model):
        model.model.embed_tokens.weight[byte_tokenizer().token_to_id(poison)] = float("inf")

    model = load_model(str(save_tiny_model(tmp_path, break_one_token)), dtype="float32")
    rows = [prompt(model.tokenizer, text, widths=[20]) for text in ("some text", "a fine row", "another")]
    broken = [*rows[:1], prompt(model.tokenizer, f"a {poison} row", widths=[20]), *rows[2:]]
    ids = np.arange(30, 130)
    before, after = model.private_probabilities(rows, ids), model.private_probabilities(broken, ids)
    assert np.isnan(after[1]).all()
    assert np.array_equal(before[[0, 2]], after[[0, 2]])
    with pytest.raises(ModelError, match="must be finite"):
        model.public_logits(broken[1])


def test_an_error_of_the_library_loses_its_content(tiny_model, monkeypatch):
    def fail(**arguments):
        raise RuntimeError(f"private content {arguments['input_ids'].tolist()}")

    broken = TransformersModel(tiny_weights(), tiny_model.tokenizer, tiny_model.info)
    monkeypatch.setattr(broken._model, "forward", fail)
    with pytest.raises(ModelError, match=r"could not run a batch of 1 x \d+ tokens \(RuntimeError\)") as caught:
        broken.private_probabilities([prompt(tiny_model.tokenizer, "secret", widths=[9])], np.arange(5))
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "private content" not in "".join(traceback.format_exception(error))


def test_prompts_beyond_the_context_and_unequal_widths_are_refused(tiny_model):
    tokenizer = tiny_model.tokenizer
    with pytest.raises(ModelError, match="at most 512 tokens"):
        tiny_model.public_logits(prompt(tokenizer, "x", widths=[600]))
    with pytest.raises(ModelError, match="at most 512 tokens"):
        tiny_model.private_probabilities([prompt(tokenizer, "x", widths=[600])], np.arange(5))
    unequal = [prompt(tokenizer, "x", widths=[width]) for width in (5, 6)]
    with pytest.raises(ModelError, match="same block widths"):
        tiny_model.private_probabilities(unequal, np.arange(5))
    with pytest.raises(ModelError, match="candidate ids must lie within 0 to 271"):
        tiny_model.private_probabilities(unequal[:1], np.array([272]))


def test_neither_prompts_nor_models_show_their_content(tiny_model):
    shown = repr(prompt(tiny_model.tokenizer, "x" * 20)) + repr(tiny_model)
    assert str(tiny_model.tokenizer.encode("xxx"))[1:-1] not in shown
