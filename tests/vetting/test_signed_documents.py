"""The signed document: every decision stands in it, what was rejected does not, and verify finds each contradiction."""

from __future__ import annotations

import copy
import hashlib
import json

import pytest

from dpicl_core.documents import canonical_hash
from dpicl_core.errors import ExportError
from dpicl_core.export import document_bytes, document_for
from dpicl_core.formats import render
from dpicl_core.verification import plain_words, read_document, verify
from dpicl_core.vetting import Approve, Edit, Reject, vetted
from tests.support.runs import finished_run
from tests.support.vetting import DECISIONS, VIEW, WHY, sign_off

INFORMED = "informed by private data, not covered by the guarantee"


def released(mechanism="tang-gaussian"):
    return document_for(finished_run(mechanism))


def signed(decisions=DECISIONS, **settings):
    return vetted(released(), decisions, sign_off(**settings))


def reread(content, *, rehash=True):
    if rehash:
        content["sha256"] = canonical_hash(content)
    return read_document(json.dumps(content).encode())


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("mechanism", ["adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "public-only"])
def test_a_signed_file_verifies_after_a_round_trip(mechanism):
    written = document_bytes(vetted(released(mechanism), DECISIONS, sign_off()))
    verdict = verify(read_document(written))
    assert verdict.problems == ()
    assert document_bytes(verdict.document) == written


def test_a_file_that_nobody_signed_has_the_bytes_and_hash_that_it_had_before_there_was_vetting():
    content = json.loads(document_bytes(released()))
    assert "vetting" not in content
    covered = {key: value for key, value in content.items() if key != "sha256"}
    plain = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert content["sha256"] == hashlib.sha256(plain).hexdigest()
    assert "Nobody has signed it" in plain_words(verify(reread(content)))


def test_what_was_approved_or_edited_stays_and_what_was_rejected_goes_but_its_cost_stays():
    before, after = released(), signed()
    first, second, third = before.demonstrations
    assert [shown.text for shown in after.demonstrations] == [first.text, "A cat slept on the sill."]
    assert [(part.decision, part.reason) for part in after.vetting.decisions] == [
        ("approved", None),
        ("rejected", "it says nothing"),
        ("edited", "shorter"),
    ]
    hashes = [part.released_sha256 for part in after.vetting.decisions]
    assert hashes == [sha256(first.text), sha256(second.text), sha256(third.text)]
    assert second.text not in document_bytes(after).decode()
    assert after.guarantee.epsilon == before.guarantee.epsilon
    assert after.pools == before.pools
    assert after.plan == before.plan


def test_the_formats_hold_the_edited_text_and_not_the_rejected_one():
    before, after = released(), signed()
    for name in ("prompt", "jsonl"):
        text = render(after, name)
        assert "A cat slept on the sill." in text
        assert before.demonstrations[1].text not in text


def test_the_selection_is_marked_where_something_internal_was_opened_before():
    clean, informed = signed(), signed(views=[VIEW])
    assert clean.vetting.selection.startswith("from the released texts")
    assert clean.guarantee.sentence.endswith("for all texts in this file together and for ever.")
    assert f'"selection": "{INFORMED}"' in document_bytes(informed).decode()
    assert "for all texts that the run released (not for the choice among them" in informed.guarantee.sentence
    assert set(clean.guarantee.not_covered) < set(informed.guarantee.not_covered)
    words = plain_words(verify(informed))
    assert f"selection: {INFORMED}" in words
    assert "Grace Hopper" in words
    assert WHY in words


@pytest.mark.parametrize(
    ("decisions", "settings", "sentence"),
    [
        (DECISIONS[:2], {}, "2 have a decision"),
        ((Approve(), Reject("  "), Approve()), {}, "reason why demonstration 2 is rejected is missing"),
        ((Approve(), Approve(), Edit(" ")), {}, "the edited text of demonstration 3 is missing"),
        ((Reject("a"), Reject("b"), Reject("c")), {}, "nothing to sign"),
        (DECISIONS, {"reviewer": " "}, "the reviewer's name is missing"),
        (DECISIONS, {"justification": ""}, "the justification of epsilon is missing"),
        (DECISIONS, {"justification": "x" * 601}, "600 characters at most, but has 601"),
    ],
)
def test_what_is_missing_for_a_signature_is_told_in_one_sentence(decisions, settings, sentence):
    with pytest.raises(ExportError, match=sentence) as caught:
        signed(decisions, **settings)
    assert "\n" not in str(caught.value)


def test_an_edit_that_changes_nothing_an_empty_approval_and_a_second_signature_are_refused():
    text = released().demonstrations[0].text
    with pytest.raises(ExportError, match="changes nothing"):
        signed((Edit(text), *DECISIONS[1:]))
    demonstrations = [shown.model_copy(update={"text": ""}) for shown in released().demonstrations]
    with pytest.raises(ExportError, match="demonstration 1 is empty"):
        vetted(released().model_copy(update={"demonstrations": demonstrations}), DECISIONS, sign_off())
    with pytest.raises(ExportError, match="signed already"):
        vetted(signed(), DECISIONS[:2], sign_off())


def test_words_of_a_person_stand_on_one_line_without_control_characters():
    document = signed((Approve(), Reject("one\ntwo\x07"), Edit("first\nsecond")), reviewer="Ada\tL.\x1b[31m")
    assert document.vetting.reviewer == "Ada L.[31m"
    assert document.vetting.decisions[1].reason == "one two"
    assert document.demonstrations[1].text == "first second"


def change(path, value):
    def apply(content):
        *parents, last = path
        for key in parents:
            content = content[key]
        content[last] = value

    return apply


@pytest.mark.parametrize(
    ("apply", "words"),
    [
        (change(("demonstrations", 0, "text"), "another"), "marked as approved, but its text is not"),
        (change(("vetting", "decisions", 2, "decision"), "approved"), "demonstration 3 is marked as approved"),
        (change(("vetting", "decisions", 0, "decision"), "edited"), "marked as edited, but its text is the released"),
        (change(("vetting", "decisions", 1, "decision"), "approved"), "exactly the demonstrations"),
        (change(("vetting", "decisions", 1, "reason"), " "), "rejected without a reason"),
        (change(("vetting", "decisions", 1, "demonstration"), 5), "do not count"),
        (change(("vetting", "decisions", 0, "label"), "dog"), "not about the demonstrations"),
        (change(("vetting", "selection"), INFORMED), "selection is not stated"),
        (change(("vetting", "internal_views"), [{"at": "x", "view": "y"}]), "selection is not stated"),
        (lambda content: content["guarantee"]["not_covered"].pop(), "choice leaves uncovered"),
        (lambda content: content["demonstrations"].pop(), "exactly the demonstrations"),
    ],
)
def test_every_contradiction_between_decisions_and_texts_is_found_even_under_a_fresh_hash(apply, words):
    content = copy.deepcopy(json.loads(document_bytes(signed())))
    apply(content)
    assert any(words in problem for problem in verify(reread(content)).problems)


def test_an_informed_selection_cannot_keep_the_whole_promise():
    content = json.loads(document_bytes(signed(views=[VIEW])))
    content["guarantee"]["sentence"] = signed().guarantee.sentence
    assert "the guarantee in words does not say what the numbers say" in verify(reread(content)).problems


def test_a_changed_name_under_the_old_hash_is_found():
    content = json.loads(document_bytes(signed()))
    content["vetting"]["reviewer"] = "Somebody Else"
    assert "changed after it was written" in verify(reread(content, rehash=False)).problems[0]
