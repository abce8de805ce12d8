"""Kept states give what recomputing gives, and no bit of a row moves with what another row holds."""

import numpy as np
import pytest

from dpicl_core.errors import ModelError
from dpicl_core.language_model import load_model
from dpicl_core.language_model.sessions import PublicRequest, RowRequest, SessionSize
from dpicl_core.language_model.transformers_model import TransformersModel
from dpicl_core.values import TokenPrompt
from tests.language_model.tiny import block, byte_tokenizer, prompt, save_tiny_model

WIDTH = 24
GROUPS = 9
LONG = "a very long text that goes on and on until the cap of a record cuts it off somewhere, as caps do "
TEXTS = [f"How many {thing} are there{'?' * number}" for number, thing in enumerate(("cats", "days", "men") * 3)]
SCRIPT = ((0, 1, 2), (2, 3, 0), (4, 5, 6), (0, 7, 8), (1, 2, 3), (0, 4, 8))
"""Groups drawn at each token: some come back at once, some after a while."""


def prompts_of(tokenizer, texts, released, target="Text: What"):
    """One prompt of two examples for each group, with the text so far."""
    plain = [prompt(tokenizer, text, text[:9], widths=[WIDTH, WIDTH - 4], target=target) for text in texts]
    return [TokenPrompt((*whole.blocks[:-1], block((*whole.blocks[-1].ids, *released)))) for whole in plain]


def words(tokenizer, count):
    """Ids that stand for released tokens."""
    return tokenizer.encode(" one two three four five six seven eight nine ten eleven twelve")[:count]


def size_of(prompts, groups=GROUPS, rows=3):
    each, text = sum(prompts[0].widths[1:-1]), prompts[0].widths[-1] + 20
    return SessionSize(4 * text, groups * each, rows * each, 4 * rows * text)


def told(model, texts=TEXTS, *, script=SCRIPT, demonstrations=1, session=None):
    """Probabilities (M, K) of every token of every demonstration, asked through a session."""
    tokenizer = model.tokenizer
    ids = np.arange(20, 120)
    session = session or model.session(size_of(prompts_of(tokenizer, texts, ())))
    answers = []
    for position, drawn in enumerate(script):
        requests = []
        for number in range(demonstrations):
            rows = prompts_of(tokenizer, texts, words(tokenizer, position), f"Text: What{number or ''}")
            groups = [(group + number) % len(texts) for group in drawn]
            requests.append(RowRequest(number, tuple(rows[g] for g in groups), ids, tuple(groups)))
        answers.append(session.private_probabilities(requests))
    return answers


def anew(model, texts=TEXTS, *, script=SCRIPT, demonstrations=1):
    """The same, every prompt computed from its beginning by the model alone."""
    tokenizer, ids = model.tokenizer, np.arange(20, 120)
    return [
        [
            model.private_probabilities(
                [
                    prompts_of(tokenizer, texts, words(tokenizer, position), f"Text: What{number or ''}")[
                        (group + number) % len(texts)
                    ]
                    for group in drawn
                ],
                ids,
            )
            for number in range(demonstrations)
        ]
        for position, drawn in enumerate(script)
    ]


def largest_gap(found, expected):
    return max(np.abs(a - b).max() for x, y in zip(found, expected, strict=True) for a, b in zip(x, y, strict=True))


def test_kept_and_recomputed_probabilities_agree_to_a_ten_thousandth_in_float32(default_float32):
    asked = {"script": SCRIPT[:4], "demonstrations": 2}
    assert 0 < largest_gap(told(default_float32, **asked), anew(default_float32, **asked)) < 1e-4


def test_one_pass_over_all_demonstrations_agrees_with_one_call_each(default_float32):
    model, ids = default_float32, np.arange(20, 120)
    requests = [
        RowRequest(number, tuple(prompts_of(model.tokenizer, TEXTS, words(model.tokenizer, number + 1))), ids)
        for number in range(3)
    ]
    found = model.session(SessionSize(500)).private_probabilities(requests)
    expected = [model.private_probabilities(request.prompts, ids) for request in requests]
    assert largest_gap([found], [expected]) < 1e-4


def test_public_logits_from_kept_states_agree_with_whole_prompts(default_float32):
    model = default_float32
    session = model.session(SessionSize(500))
    for position in range(4):
        tails = [block((*model.tokenizer.encode(f"Text: What{n}"), *words(model.tokenizer, position))) for n in (1, 22)]
        prompts = [TokenPrompt((prompt(model.tokenizer).blocks[0], tail)) for tail in tails]
        found = session.public_logits([PublicRequest(number, each) for number, each in enumerate(prompts)])
        expected = [model.public_logits(each) for each in prompts]
        assert max(np.abs(a - b).max() for a, b in zip(found, expected, strict=True)) < 1e-3


def with_row(group, text):
    return [text if number == group else old for number, old in enumerate(TEXTS)]


@pytest.mark.parametrize("budget", [10_000, 200], ids=["one batch", "small batches"])
def test_other_rows_keep_every_bit_of_every_token_when_one_row_grows(default_model, budget):
    model = TransformersModel(default_model._model, default_model.tokenizer, default_model.info, token_budget=budget)
    script = SCRIPT[:4]
    before, after = (told(model, texts, script=script, demonstrations=2) for texts in (TEXTS, with_row(0, LONG)))
    moved = 0
    for position, drawn in enumerate(script):
        for number in range(2):
            for place, group in enumerate(drawn):
                same = np.array_equal(before[position][number][place], after[position][number][place])
                assert same == ((group + number) % GROUPS != 0)
                moved += not same
    assert moved == 4


def test_padding_is_never_seen_through_kept_states(default_model):
    other = default_model.with_padding(4321)
    assert largest_gap(told(default_model), told(other)) == 0


@pytest.mark.parametrize("room", [3, 4, 6])
def test_little_memory_costs_time_and_changes_nothing(tiny_model, room):
    """Room for so many prompts of the nine: groups are forgotten and computed again."""
    prompts = prompts_of(tiny_model.tokenizer, TEXTS, ())
    each = sum(prompts[0].widths[1:-1])
    small = TransformersModel(
        tiny_model._model,
        tiny_model.tokenizer,
        tiny_model.info,
        cache_bytes=room * each * tiny_model.token_bytes(prompts[0].blocks[0]),
    )
    session = small.session(size_of(prompts))
    assert largest_gap(told(small, session=session, demonstrations=2), anew(tiny_model, demonstrations=2)) < 1e-5
    assert session._states.row_capacity == room * each


def test_without_memory_nothing_is_kept_and_nothing_changes(tiny_model):
    bare = TransformersModel(tiny_model._model, tiny_model.tokenizer, tiny_model.info, cache_bytes=0)
    assert largest_gap(told(bare), anew(bare)) < 1e-5


def test_a_row_that_overflows_stays_alone_with_it_at_every_later_token_and_in_reused_memory(tmp_path):
    poison = "~"

    def break_one_token(model):
        model.model.embed_tokens.weight[byte_tokenizer().token_to_id(poison)] = float("inf")

    model = load_model(str(save_tiny_model(tmp_path, break_one_token)), dtype="float32")
    script = (*SCRIPT, (1, 2, 3), (4, 5, 6), (7, 8, 1), (2, 3, 4))
    prompts = prompts_of(model.tokenizer, TEXTS, ())
    tight = 3 * sum(prompts[0].widths[1:-1]) * model.token_bytes(prompts[0].blocks[0])
    for cache_bytes in (2**30, tight):
        small = TransformersModel(model._model, model.tokenizer, model.info, cache_bytes=cache_bytes)
        healthy, broken = (told(small, texts, script=script) for texts in (TEXTS, with_row(0, f"a {poison} row")))
        for drawn, (good,), (bad,) in zip(script, healthy, broken, strict=True):
            for place, group in enumerate(drawn):
                assert np.isnan(bad[place]).all() == (group == 0)
                assert group == 0 or np.array_equal(good[place], bad[place])


def test_what_a_row_gives_depends_on_no_bit_of_which_other_groups_were_drawn_with_it_or_before(default_model):
    """The proof of amplification exchanges one drawn group for another, which may be kept or not."""
    one = told(default_model, script=((0, 1, 2), (3, 4, 5), (0, 6, 1), (2, 6, 8)))
    assert default_model._keeps_states
    other = told(default_model, script=((7, 1, 2), (3, 4, 8), (0, 6, 7), (1, 6, 5)))
    for token, places in enumerate(((1, 2), (0, 1), (0, 1), (1,))):
        for place in places:
            assert np.array_equal(one[token][0][place], other[token][0][place])


def test_examples_are_computed_once_a_group_and_all_shapes_are_public_but_for_the_number_of_passes(
    tiny_model, monkeypatch
):
    shapes = []
    call = TransformersModel._call

    def note(self, ids, *rest):
        shapes.append(ids.shape)
        return call(self, ids, *rest)

    session = tiny_model.session(size_of(prompts_of(tiny_model.tokenizer, TEXTS, ())))
    told(tiny_model, script=SCRIPT[:1], session=session)
    monkeypatch.setattr(TransformersModel, "_call", note)
    rows = prompts_of(tiny_model.tokenizer, TEXTS, words(tiny_model.tokenizer, 1))
    text = rows[0].widths[-1]
    for drawn, passes in (((0, 1, 2), 0), ((0, 1, 3), 1), ((4, 5, 6), 1), ((1, 2, 3), 0)):
        shapes.clear()
        request = RowRequest(0, tuple(rows[group] for group in drawn), np.arange(20, 120), drawn)
        session.private_probabilities([request])
        assert shapes == [(256 // (2 * WIDTH - 4), 2 * WIDTH - 4)] * passes + [(3, text)]


def test_an_error_of_the_library_loses_its_content_in_a_session_too(tiny_model, monkeypatch):
    session = tiny_model.session(size_of(prompts_of(tiny_model.tokenizer, TEXTS, ())))

    def fail(self, ids, *rest):
        raise RuntimeError(f"private content {ids.tolist()}")

    monkeypatch.setattr(TransformersModel, "_call", fail)
    with pytest.raises(ModelError, match=r"could not run a batch of 3 x \d+ tokens \(RuntimeError\)") as caught:
        told(tiny_model, session=session)
    assert caught.value.__context__ is None
