import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from dpicl_core.errors import ModelError
from dpicl_core.language_model import default_tokenizer
from dpicl_core.language_model.plain_tokenizer import ROUND_TRIP_TEXTS, PlainTokenizer, prefix_of
from tests.language_model.tiny import TOOL, VOCABULARY, byte_tokenizer


def plain(backend, vocabulary_size=VOCABULARY, **changes):
    settings = {"prefix_ids": (), "end_ids": (0,), "vocabulary_size": vocabulary_size} | changes
    return PlainTokenizer(backend.to_str(), **settings)


def spaced_tokenizer(**metaspace):
    """In the manner of sentencepiece: words carry a leading mark, other bytes are tokens such as <0x0A>."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *map(chr, range(33, 127))]
    pieces += ["▁a", "re", "▁There", "There"]
    merges = [("▁", "a"), ("r", "e")]
    backend = Tokenizer(
        models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=merges, unk_token="<unk>", byte_fallback=True)
    )
    if metaspace:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(**metaspace)
    else:
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    return backend


@pytest.fixture(scope="module")
def smol(default_folder):
    return default_tokenizer()


# The vocabulary lacks the bytes of some control characters and of planes from U+40000 on, where no character lives.
@settings(max_examples=200)
@given(text=st.text(st.characters(codec="utf-8", max_codepoint=0x3FFFF, exclude_categories=["Cc"])))
def test_any_text_comes_back_whole_from_the_default_tokenizer(smol, text):
    assert smol.decode(smol.encode(text)) == text


@given(texts=st.lists(st.sampled_from(["<|im_end|>", "<|im_start|>", "<repo_name>", "<|", "im_end", "|>", " ", "x"])))
def test_control_text_is_split_as_plain_text(smol, texts):
    text = "".join(texts)
    ids = smol.encode(text)
    assert min(ids, default=17) > 16
    assert smol.decode(ids) == text


def test_all_control_tokens_of_the_default_model_are_ends_or_forbidden(smol):
    assert set(range(17)) == {id_ for id_ in range(17) if id_ in smol.ending_ids | smol.forbidden_ids}
    assert {0, 2} == {id_ for id_ in range(17) if id_ in smol.ending_ids}
    assert smol.decode(range(17)) == ""
    assert smol.prefix_ids == ()


def test_every_id_that_may_be_released_has_clean_text(smol):
    for id_ in set(range(smol.vocabulary_size)) - smol.forbidden_ids - smol.ending_ids:
        text = smol.decode((id_,))
        assert text
        assert "\ufffd" not in text
        assert len(text.splitlines()) == 1
    assert len(smol.forbidden_ids) < 0.01 * smol.vocabulary_size


def test_ids_that_end_hold_a_line_break_or_are_ends_of_text(smol):
    for id_ in smol.ending_ids - {0, 2}:
        text = smol.decode((id_,))
        assert len((text + "x").splitlines()) > 1
    assert smol.encode("\n")[0] in smol.ending_ids


def test_pieces_join_to_the_text_of_the_whole(smol):
    ids = smol.encode("What is the capital, of France in 1999?")
    assert "".join(smol.decode((id_,)) for id_ in ids) == smol.decode(ids)


def test_digits_are_cut_off_one_by_one_as_the_model_was_trained(smol):
    assert [smol.decode((id_,)) for id_ in smol.encode("a  12")] == ["a", "  ", "1", "2"]


def test_text_that_is_no_unicode_does_not_raise(smol):
    assert smol.decode(smol.encode("a\ud800b")) == "a?b"


def test_a_control_token_marked_as_an_ordinary_one_is_still_one():
    tokenizer = plain(byte_tokenizer())
    tool = byte_tokenizer().token_to_id(TOOL)
    assert tool in tokenizer.forbidden_ids
    assert tool not in tokenizer.encode(f"call {TOOL} now")
    assert tokenizer.decode(tokenizer.encode(f"call {TOOL} now")) == f"call {TOOL} now"


def test_an_added_token_of_ordinary_text_keeps_its_id():
    backend = byte_tokenizer()
    backend.add_tokens([AddedToken("  ", normalized=False)])
    tokenizer = plain(backend)
    assert backend.token_to_id("  ") in tokenizer.encode("a  b")
    assert tokenizer.decode((backend.token_to_id("  "),)) == "  "


def test_rows_of_the_output_matrix_without_a_token_are_forbidden():
    size = byte_tokenizer().get_vocab_size()
    assert set(range(size, VOCABULARY)) <= plain(byte_tokenizer()).forbidden_ids


@pytest.mark.parametrize("metaspace", [{}, {"prepend_scheme": "first"}, {"prepend_scheme": "always"}])
def test_no_space_is_put_before_a_text_and_none_is_lost_after_it(metaspace):
    tokenizer = plain(spaced_tokenizer(**metaspace), 400, end_ids=(2,), prefix_ids=(1,))
    for text in (*ROUND_TRIP_TEXTS, "There", " There", "</s> is text", "<0x0A> too"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    newline = spaced_tokenizer().token_to_id("<0x0A>")
    assert newline in tokenizer.ending_ids
    assert spaced_tokenizer().token_to_id("<0xE4>") in tokenizer.forbidden_ids
    assert tokenizer.decode((spaced_tokenizer().token_to_id("▁There"),)) == " There"


def test_the_beginning_of_text_is_taken_from_the_tokenizer_and_is_one_at_most():
    assert prefix_of([1, 7, 8], [7, 8]) == (1,)
    assert prefix_of([7, 8, 2], [7, 8]) == ()
    assert prefix_of([3, 1, 7], [7]) == (3, 1)
    with pytest.raises(ModelError, match="at most 1 control token"):
        plain(byte_tokenizer(), prefix_ids=(0, 1))


def test_a_tokenizer_that_changes_text_is_refused():
    backend = byte_tokenizer()
    backend.normalizer = normalizers.Lowercase()
    with pytest.raises(ModelError, match="give back the text"):
        plain(backend)


def test_a_tokenizer_that_must_write_a_control_token_is_refused():
    specification = json.loads(byte_tokenizer().to_str())
    specification["added_tokens"] = []
    specification["model"]["ignore_merges"] = True
    specification["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    specification["decoder"] = None
    with pytest.raises(ModelError):
        PlainTokenizer(json.dumps(specification), prefix_ids=(), end_ids=(0,), vocabulary_size=VOCABULARY)


def test_the_named_ends_and_the_well_known_ends_both_end():
    tokenizer = plain(byte_tokenizer(), end_ids=(1,))
    assert {0, 1} <= tokenizer.ending_ids
