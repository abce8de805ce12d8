"""Answers are scored as whole strings, and the fast way gives what asking token by token gives."""

from __future__ import annotations

import numpy as np
import pytest

from dpicl_core.errors import ModelError
from dpicl_core.language_model import ToyModel, load_model
from dpicl_core.language_model.scoring import StepwiseScorer, scorer_for
from dpicl_core.language_model.transformers_scoring import TransformersScorer
from dpicl_core.values import TokenBlock, TokenPrompt
from tests.language_model.tiny import save_tiny_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load_model(str(save_tiny_model(tmp_path_factory.mktemp("tiny"))), dtype="float32")


def asked(tokenizer):
    shared = (*tokenizer.prefix_ids, *tokenizer.encode("Say which.\n\nText: a b\nKind: cat\n\nText:"))
    queries = [tokenizer.encode(f" {text}\nKind:") for text in ("the cat was late", "no", "a dog and a man and food")]
    answers = [tokenizer.encode(f" {text}") for text in ("cat", "ca", "doghouse", "man of the house")]
    return shared, queries, [answers] * len(queries)


@pytest.mark.parametrize("closing", [False, True])
def test_all_answers_in_one_pass_score_as_each_token_asked_by_itself(tiny, closing):
    fast, slow = scorer_for(tiny), StepwiseScorer(tiny)
    assert isinstance(fast, TransformersScorer)
    shared, queries, answers = asked(tiny.tokenizer)
    wanted = slow.log_probabilities(shared, queries, answers, closing=closing)
    found = fast.log_probabilities(shared, queries, answers, closing=closing)
    np.testing.assert_allclose(found, wanted, atol=2e-4)
    assert wanted.std() > 0.5


def test_answers_may_differ_from_query_to_query(tiny):
    shared, queries, answers = asked(tiny.tokenizer)
    own = [[each[row], each[3 - row]] for row, each in enumerate(answers)]
    found = scorer_for(tiny).log_probabilities(shared, queries, own)
    whole = scorer_for(tiny).log_probabilities(shared, queries, answers)
    np.testing.assert_allclose(found, [[whole[row, row], whole[row, 3 - row]] for row in range(3)], atol=1e-4)


def test_greedy_answers_are_the_likeliest_tokens_one_by_one(tiny):
    shared, queries, _ = asked(tiny.tokenizer)
    assert scorer_for(tiny).greedy(shared, queries, 5) == StepwiseScorer(tiny).greedy(shared, queries, 5)


def test_the_shared_beginning_is_run_once_for_all_batches_and_answers(tiny):
    shared, queries, answers = asked(tiny.tokenizer)
    scorer = TransformersScorer(tiny)
    scorer._budget = len(shared) + 40  # one query in a batch
    told = []
    scorer.log_probabilities(shared, queries, answers, done=told.append)
    scorer.greedy(shared, queries, 3)
    assert told == [1, 2, 3]
    assert scorer.shared_passes == 1


def test_a_whole_answer_is_the_product_of_its_tokens_and_an_ending_counts_every_line_break():
    model = ToyModel()
    shared, queries, answers = asked(model.tokenizer)
    scorer = scorer_for(model)
    found = scorer.log_probabilities(shared, queries[:1], answers[:1], closing=True)[0, 0]
    everything = np.arange(model.tokenizer.vocabulary_size)
    text, product = (*shared, *queries[0]), 1.0
    for token in answers[0][0]:
        prompt = TokenPrompt((TokenBlock(text, len(text)),))
        product *= model.private_probabilities([prompt], everything)[0, token]
        text = (*text, token)
    last = model.private_probabilities([TokenPrompt((TokenBlock(text, len(text)),))], everything)[0]
    product *= last[sorted(model.tokenizer.ending_ids)].sum()
    assert np.exp(found) == pytest.approx(product)


def test_no_answer_gains_from_being_the_beginning_of_another_once_the_line_must_end():
    scorer = scorer_for(ToyModel())
    shared, queries, answers = asked(scorer.tokenizer)
    open_end = scorer.log_probabilities(shared, queries, answers)
    closed = scorer.log_probabilities(shared, queries, answers, closing=True)
    assert (open_end[:, 1] >= open_end[:, 0]).all()  # " ca" is where " cat" begins
    assert (closed < open_end).all()


def test_a_prompt_over_the_context_and_a_model_without_numbers_are_one_sentence(tiny):
    shared, queries, answers = asked(tiny.tokenizer)
    with pytest.raises(ModelError, match="at most 512 tokens"):
        scorer_for(tiny).log_probabilities(shared * 20, queries, answers)
    broken = StepwiseScorer(ToyModel(fails_on=lambda prompt: True))
    with pytest.raises(ModelError, match="must be finite"):
        broken.log_probabilities((5,), [(6,)], [[(7,)]])
    with pytest.raises(ModelError, match="same number of answers"):
        broken.log_probabilities((5,), [(6,), (6,)], [[(7,)], [(7,), (8,)]])
