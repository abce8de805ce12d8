"""Accuracy on a model whose answers are written down, and the numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpicl_core import prompts
from dpicl_core.errors import ConfigError, DataError
from dpicl_core.evaluation import AccuracyOptions, accuracy_of, spread
from dpicl_core.evaluation.accuracy import CONTENT_FREE, folded, matches
from dpicl_core.evaluation.in_context import answer_space, label_ids, query_ids, shared_ids
from dpicl_core.evaluation.spreads import bootstrap_mean, evenly_spaced
from dpicl_core.language_model import ToyModel, ToyTokenizer, default_tokenizer
from dpicl_core.language_model.scoring import scorer_for
from dpicl_core.tasks import TASKS
from dpicl_core.values import Example
from tests.evaluation.fake_scorer import FakeScorer, query_of
from tests.support.tables import ANIMALS

SHOTS = (("the cat sat", "cat"), ("the dog ran", "dog"))
QUERIES = [Example("cat", "one"), Example("cat", "two"), Example("dog", "three"), Example("dog", "four")]
CAT = {"one": 0.9, "two": 0.7, "three": 0.6, "four": 0.2}
"""Probability of cat; the model is biased towards it, as its answers without content show."""


def says(prompt, answer):
    share = CAT.get(query_of(prompt), 0.65)
    return 0.1 * (share if answer == "cat" else 1 - share)  # a tenth of all mass goes to the labels


def test_raw_accuracy_is_the_share_of_queries_whose_likeliest_label_is_right():
    found = accuracy_of(ANIMALS, SHOTS, QUERIES, FakeScorer(says))
    assert found.raw == 0.75  # one, two and four are right, three is called a cat
    assert found.queries == 4


def test_calibration_divides_by_the_mean_of_answers_without_content():
    # bias (0.65, 0.35): three has 0.6/0.65 = 0.92 for cat and 0.4/0.35 = 1.14 for dog, so it becomes right; two keeps
    # 0.7/0.65 = 1.08 against 0.3/0.35 = 0.86
    scorer = FakeScorer(says)
    assert accuracy_of(ANIMALS, SHOTS, QUERIES, scorer).calibrated == 1.0
    assert [query_of(prompt) for prompt in scorer.asked[-3:]] == list(CONTENT_FREE)


def test_the_bias_is_the_mean_over_the_three_inputs_of_shares_among_labels():
    def uneven(prompt, answer):
        query = query_of(prompt)
        if query in CAT:
            return says(prompt, answer)
        share, mass = {"N/A": (0.2, 0.001), "": (0.2, 0.5), "[MASK]": (0.9, 0.2)}[query]
        return mass * (share if answer == "cat" else 1 - share)

    # mean share of cat (0.2 + 0.2 + 0.9) / 3 = 0.433, whatever mass the labels have together; three then stays a cat
    assert accuracy_of(ANIMALS, SHOTS, QUERIES, FakeScorer(uneven)).calibrated == 0.75


def test_calibration_can_be_left_out_and_progress_reaches_the_end():
    told = []
    found = accuracy_of(
        ANIMALS,
        (),
        QUERIES,
        FakeScorer(says),
        AccuracyOptions(calibrate=False),
        progress=lambda stage, fraction: told.append(fraction),
    )
    assert found.calibrated is None
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_the_model_sees_the_in_context_prompt_to_the_letter():
    scorer = FakeScorer(says)
    accuracy_of(ANIMALS, SHOTS, QUERIES, scorer)
    assert scorer.asked[0] == prompts.icl_prompt(ANIMALS, SHOTS, "one")


def test_ids_cut_into_parts_are_those_of_the_whole_prompt_and_long_queries_lose_their_end():
    tokenizer = ToyTokenizer()
    for query in ("one good dog", "", "[MASK]", "ends with a stop."):
        whole = (*tokenizer.prefix_ids, *tokenizer.encode(prompts.icl_prompt(ANIMALS, SHOTS, query)))
        assert (*shared_ids(ANIMALS, tokenizer, SHOTS), *query_ids(ANIMALS, tokenizer, query)) == whole
    cut = tokenizer.decode(query_ids(ANIMALS, tokenizer, "xyz " * 100_000, most=8))
    assert cut == " xyz xyz\nKind:"


def test_the_default_models_tokens_are_cut_where_the_parts_of_a_prompt_meet():
    tokenizer = default_tokenizer()
    for task in (task for name, task in TASKS.items() if name != "sample"):
        for query in ("One good day, they said.", "", "[MASK]", "a line\nand another"):
            prompt = prompts.icl_prompt(task, SHOTS, query)
            whole = (*tokenizer.prefix_ids, *tokenizer.encode(prompt))
            assert (*shared_ids(task, tokenizer, SHOTS), *query_ids(task, tokenizer, query)) == whole
            for label in task.labels:
                assert (*whole, *label_ids(tokenizer, label)) == (
                    *tokenizer.prefix_ids,
                    *tokenizer.encode(f"{prompt} {label}"),
                )


def test_open_answers_match_exactly_or_folded():
    task = replace(ANIMALS, open_labels=True)
    replies = {"one": " cat\nand more", "two": " Cat.\n", "three": " dogs\n", "four": " dog"}
    scorer = FakeScorer(replies=lambda prompt: replies[query_of(prompt)])
    exact = accuracy_of(task, SHOTS, QUERIES, scorer)
    assert (exact.raw, exact.calibrated) == (0.5, None)
    assert accuracy_of(task, SHOTS, QUERIES, scorer, AccuracyOptions(fold=True)).raw == 0.75
    assert matches(" a  b ", "a b", fold=False)
    assert folded("Film-Noir, “Ärger”!") == "film noir ärger"


def test_labels_that_begin_alike_are_closed_and_equal_ones_are_refused():
    tokenizer = ToyTokenizer()
    assert not answer_space(ANIMALS, tokenizer).closing
    assert answer_space(replace(ANIMALS, labels=("art", "art school")), tokenizer).closing
    with pytest.raises(ConfigError, match="read the same in a prompt"):
        answer_space(replace(ANIMALS, labels=("big cat", "big  cat")), tokenizer)


def test_undeclared_labels_and_empty_tables_are_one_sentence_without_a_word_of_a_row():
    with pytest.raises(DataError, match="1 of 2 rows") as caught:
        accuracy_of(ANIMALS, (), [Example("cat", "one"), Example("secretlabel", "secrettext")], FakeScorer(says))
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="no row to evaluate on"):
        accuracy_of(ANIMALS, (), [], FakeScorer(says))


def test_a_real_model_is_asked_the_same_way():
    found = accuracy_of(ANIMALS, SHOTS, [Example("cat", "the cat"), Example("dog", "the dog")], scorer_for(ToyModel()))
    assert found.raw in (0.0, 0.5, 1.0)


def test_intervals_over_seeds_are_students_and_one_seed_has_none():
    found = spread([0.5, 0.6, 0.7])
    # s = 0.1, t(0.975, 2) = 4.302653: 0.6 -+ 4.302653 * 0.1 / sqrt(3)
    assert (found.mean, found.deviation) == pytest.approx((0.6, 0.1))
    assert (found.low, found.high) == pytest.approx((0.351586, 0.848414), abs=1e-6)
    assert spread([0.4]).low is None
    assert spread([0.0, 1.0]).low == 0.0  # a share is never below 0
    with pytest.raises(ConfigError):
        spread([])


def test_bootstrap_draws_demonstrations_first_and_never_leaves_the_values():
    assert bootstrap_mean([[0.5]]).low is None
    same = bootstrap_mean([[0.4, 0.4], [0.4]])
    assert (same.value, same.low, same.high) == pytest.approx((0.4, 0.4, 0.4))
    wide = bootstrap_mean([[0.0], [1.0]])
    assert (wide.value, wide.low, wide.high) == (0.5, 0.0, 1.0)
    # with groups drawn first, two groups of a hundred equal trials are no surer than two trials
    assert bootstrap_mean([[0.0] * 100, [1.0] * 100]) == wide


def test_held_out_rows_are_spread_over_the_table():
    assert evenly_spaced(range(10), 5) == (0, 2, 4, 6, 8)
    assert evenly_spaced(range(3), None) == (0, 1, 2)
    assert evenly_spaced(range(3), 9) == (0, 1, 2)
