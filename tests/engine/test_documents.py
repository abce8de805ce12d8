"""The demonstrations file: strict, complete, and checkable by a stranger."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from dpicl_core.documents import DemonstrationsDocument, canonical_hash
from dpicl_core.errors import ExportError
from dpicl_core.export import document_bytes, document_for, guarantee_sentence, write_document
from dpicl_core.formats import render
from dpicl_core.language_model import ToyModel
from dpicl_core.randomness import SeededRandomness
from dpicl_core.runs import run
from dpicl_core.values import NeighbouringRelation
from dpicl_core.verification import read_document, verify
from tests.support.runs import finished_run, prepared_run

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "demonstrations.schema.json"
MECHANISMS = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "public-only")


def content_of(mechanism="tang-gaussian"):
    return json.loads(document_bytes(document_for(finished_run(mechanism))))


def rewritten(content, *, rehash=True):
    content = copy.deepcopy(content)
    if rehash:
        content["sha256"] = canonical_hash(content)
    return read_document(json.dumps(content).encode())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_file_that_was_written_verifies_after_a_round_trip(mechanism):
    written = document_bytes(document_for(finished_run(mechanism)))
    verdict = verify(read_document(written))
    assert verdict.problems == ()
    assert document_bytes(verdict.document) == written


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_file_states_the_guarantee_and_every_parameter(mechanism):
    content = content_of(mechanism)
    guarantee = content["guarantee"]
    assert guarantee["epsilon"]["tight"] <= (guarantee["epsilon_requested"] or 0.0)
    assert guarantee["unit"] == "row"
    assert guarantee["neighbouring_relation"] == "replace-one-same-label"
    assert content["private"] is True
    assert {pool["label"] for pool in content["pools"]} == {"cat", "dog"}
    assert content["plan"]["target_labels"] == ["cat", "dog", "cat"]
    assert [pool["composed_tokens"] for pool in content["pools"]] == [12, 6]
    assert set(content["versions"]) >= {"dpicl", "python", "opendp", "dp-accounting", "numpy"}
    assert content["prompts"]["generation"].startswith("Given a kind, write a sentence about it.\n\n")


def test_no_private_row_stands_in_the_file():
    text = document_bytes(document_for(finished_run("tang-gaussian"))).decode()
    assert "was late for food" not in text


def test_a_changed_byte_is_found_by_the_hash():
    content = content_of()
    content["demonstrations"][0]["text"] += "x"
    problems = verify(rewritten(content, rehash=False)).problems
    assert len(problems) == 1
    assert "changed after it was written" in problems[0]


def test_a_changed_epsilon_is_found_even_under_a_fresh_hash():
    content = content_of()
    content["guarantee"]["epsilon"]["tight"] = 0.5
    problems = verify(rewritten(content)).problems
    assert any("the guarantee states epsilon 0.5" in problem for problem in problems)


def test_a_parameter_that_does_not_give_the_epsilon_is_found_even_under_a_fresh_hash():
    content = content_of()
    pool = content["pools"][0]
    pool["parameters"]["sigma"] /= 2
    pool["noise_multipliers"]["sigma"] /= 2
    pool["sigma_eff"] /= 2
    problems = verify(rewritten(content)).problems
    assert any("the parameters give epsilon" in problem and "too little" in problem for problem in problems)


def test_the_three_findings_have_sentences_of_their_own():
    base = content_of()
    seen = []
    for change in ("byte", "epsilon", "parameter"):
        content = copy.deepcopy(base)
        if change == "byte":
            content["demonstrations"][0]["text"] += "x"
        elif change == "epsilon":
            content["guarantee"]["epsilon"]["tight"] /= 2
        else:
            content["pools"][0]["parameters"]["sigma"] /= 2
        seen.append(verify(rewritten(content, rehash=change != "byte")).problems[0][:25])
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["plan"].update(tokens=99),
        lambda c: c["pools"][0].update(composed_tokens=1),
        lambda c: c["pools"][0].update(units=10_000),
        lambda c: c["demonstrations"].append(c["demonstrations"][0]),
        lambda c: c["pools"][0].update(sampling_rate=0.001),
        lambda c: c["guarantee"].update(sentence="All is well."),
        lambda c: c["guarantee"].update(neighbouring_relation="replace-one-any"),
        lambda c: c["pools"].pop(),
        lambda c: c["mechanism"].update(name="anchored"),
        lambda c: c["guarantee"].update(delta=1e-9),
    ],
)
def test_every_way_to_claim_more_than_was_paid_for_is_found(change):
    content = content_of()
    change(content)
    assert verify(rewritten(content)).problems


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": "dpicl-demonstrations", "format": "x"}',
        b'{"format": NaN}',
        b"[" * 100_000,
        b'{"format": "something-else"}',
    ],
)
def test_what_is_no_demonstrations_file_is_refused_in_one_sentence(content):
    with pytest.raises(ExportError) as caught:
        read_document(content)
    assert "\n" not in str(caught.value)


def test_a_seeded_run_is_never_exported():
    record = run(prepared_run(), ToyModel(), rng=SeededRandomness(1))
    assert not record.private
    with pytest.raises(ExportError, match="not private"):
        document_for(record)


def test_a_run_that_no_ledger_paid_for_is_never_exported_unless_it_read_no_private_row():
    with pytest.raises(ExportError, match="in no ledger"):
        document_for(run(prepared_run(), ToyModel()))
    assert document_for(run(prepared_run("public-only"), ToyModel())).run is None


def test_an_unprotected_run_is_never_exported():
    record = run(prepared_run("unprotected"), ToyModel())
    with pytest.raises(ExportError, match="not private"):
        document_for(record)


def test_equal_runs_give_equal_bytes_and_no_half_written_file_is_left(tmp_path):
    document = document_for(finished_run())
    path = tmp_path / "demos.json"
    write_document(document, path)
    assert path.read_bytes() == document_bytes(document)
    with pytest.raises(ExportError, match="could not be written"):
        write_document(document, tmp_path / "missing" / "demos.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["demos.json"]


def test_epsilon_in_the_sentence_is_rounded_up_never_down():
    sentence = guarantee_sentence(1.23401, 1e-5, "row", NeighbouringRelation.REPLACE_ONE_SAME_LABEL)
    assert "(1.235, 1e-05)" in sentence
    assert "another with the same label" in sentence
    assert "(2, 1e-05)" in guarantee_sentence(2.0, 1e-5, "row", NeighbouringRelation.REPLACE_ONE_ANY)


def test_the_schema_file_in_the_docs_is_the_schema_of_the_code():
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == DemonstrationsDocument.model_json_schema()


def test_the_prompt_and_message_formats_keep_labels_byte_for_byte():
    document = document_for(finished_run())
    prompt = render(document, "prompt")
    assert prompt.startswith("Say which kind.\n\nSentence: ")
    assert prompt.endswith("Sentence: {query}\nKind:\n")
    assert prompt.count("\nKind: ") == len(document.demonstrations)
    lines = [json.loads(line) for line in render(document, "jsonl").splitlines()]
    assert [line["messages"][-1]["content"] for line in lines] == ["cat", "dog", "cat"]
    assert [line["messages"][-2]["content"] for line in lines] == [d.text for d in document.demonstrations]
