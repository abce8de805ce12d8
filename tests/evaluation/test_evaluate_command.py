"""`evaluate` end to end on the sample table with a tiny model of random weights: what is printed, written, recorded."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dpicl_core.__main__ import build_parser, main
from dpicl_core.ledger import events_of, open_ledger
from tests.language_model.tiny import save_tiny_model, tiny_config

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample_messages.csv"
SHORT = ["--tokens", "4", "--min-tokens", "2", "--subsets", "2", "--per-subset", "1", "--record-tokens", "24"]
MEASURES = {
    "accuracy": "in-context accuracy, not DP",
    "membership": "membership inference, not DP",
    "leakage": "words shared with private rows, not DP",
    "canaries": "canaries planted in unpaid runs, not DP",
    "consensus": "consensus of private next-token vectors, not DP",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tiny model, the sample split in two, and the demonstrations of one run on the first part."""
    folder = tmp_path_factory.mktemp("made")
    save_tiny_model(folder / "model", config=tiny_config(max_position_embeddings=2048))
    with SAMPLE.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream))
    for name, part in (("private.csv", rows[:300]), ("test.csv", rows[300:330])):
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *part])
    model = ["--model", str(folder / "model"), "--quiet"]
    start = ["generate", "--data", str(folder / "private.csv"), "--task", "sample", "--epsilon", "4", "--shots", "2"]
    assert main([*start, *SHORT, *model, "--out", str(folder / "demos.json")]) == 0
    return folder


def evaluated(made, measure, *options, out=None):
    files = ["--data", str(made / "private.csv")]
    end = ["--quiet"] if measure == "leakage" else ["--model", str(made / "model"), "--quiet"]
    return main(["evaluate", measure, *options, *files, *end, *([] if out is None else ["--out", str(out)])])


def calls(made):
    demos, test = str(made / "demos.json"), ["--test", str(made / "test.csv")]
    return {
        "accuracy": [demos, *test, "--limit", "6", "--query-tokens", "24", "--seeds", "2", *SHORT],
        "membership": [demos, *test, "--trials", "2", "--rows", "3", "--real-prompts", "2"],
        "leakage": [demos, *test],
        "canaries": ["--task", "sample", "--runs", "2", "--mechanisms", "tang-gaussian,unprotected", *SHORT],
        "consensus": ["--task", "sample", "--shots", "2", *SHORT],
    }


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_prints_writes_and_is_recorded_and_says_that_it_is_internal(made, measure, tmp_path, capsys):
    out = tmp_path / "result.json"
    assert evaluated(made, measure, *calls(made)[measure], out=out) == 0
    printed = capsys.readouterr().out
    assert "[internal, not DP]" in printed.splitlines()[0]
    content = json.loads(out.read_bytes())
    assert (content["protection"], content["measure"]) == ("internal, not DP", measure)
    with open_ledger().read() as connection:
        seen = [event.details["view"] for event in events_of(connection) if event.kind == "internal-view"]
    assert set(seen) == {MEASURES[measure]}
    assert len(seen) == (2 if "--test" in calls(made)[measure] else 1)  # one for each table
    check = {"accuracy": check_accuracy, "membership": check_membership, "leakage": check_leakage}
    check.get(measure, lambda *_: None)(content, printed)


def check_accuracy(content, printed):
    assert [each["kind"] for each in content["sets"]] == [
        "anchored epsilon 4 (tight)",
        "0-shot",
        "public-only",
        "real-rows",
        "noise-free",
    ]
    assert [each["raw"]["count"] for each in content["sets"]] == [1, 1, 1, 2, 2]
    assert content["sets"][0]["raw"]["low"] is None
    assert content["sets"][3]["raw"]["low"] is not None
    assert "one seed gives no interval" in printed


def check_membership(content, printed):
    attack, real = content["attacks"]
    assert 0.5 < attack["ceiling"]["area"] < 1
    assert real["ceiling"] is None
    assert (attack["trials"], real["trials"]) == (4, 2)


def check_leakage(content, printed):
    assert [each["text"] for each in content["texts"]] == [1, 2]
    assert all(each["longest_run_words_by_chance"] is not None for each in content["texts"])


def test_no_private_row_stands_in_a_file_of_results(made, tmp_path):
    rows = [line.split(",", 1)[1].strip('"') for line in (made / "private.csv").read_text().splitlines()[1:]]
    for measure in ("accuracy", "leakage"):
        evaluated(made, measure, *calls(made)[measure], out=tmp_path / measure)
        assert not any(row in (tmp_path / measure).read_text() for row in rows if len(row.split()) > 3)


@pytest.mark.parametrize(
    ("measure", "options", "words"),
    [
        ("accuracy", ["--test", "test.csv", "--task", "sample", "--sets", "best"], "choose among 0-shot"),
        ("accuracy", ["demos.json", "--test", "test.csv", "--task", "sample"], "bring their task"),
        ("membership", ["demos.json", "--test", "none.csv"], "none.csv"),
        ("leakage", ["test.csv"], "not strict JSON"),
        ("consensus", ["--mechanism", "public-only"], "invalid choice"),
    ],
)
def test_wrong_input_is_one_sentence_and_opens_nothing(made, measure, options, words, monkeypatch, capsys):
    monkeypatch.chdir(made)
    try:
        status = evaluated(made, measure, *options)
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    with open_ledger().read() as connection:
        assert not [event for event in events_of(connection) if event.kind == "internal-view"]


def test_sets_from_private_rows_need_the_private_table(made, monkeypatch, capsys):
    monkeypatch.chdir(made)
    assert main(["evaluate", "accuracy", "--test", "test.csv", "--task", "sample", "--sets", "real-rows"]) == 2
    assert "give the table with --data" in capsys.readouterr().err


def test_help_explains_every_option_of_every_measure():
    (measures,) = build_parser()._subparsers._group_actions[0].choices["evaluate"]._subparsers._group_actions
    assert set(measures.choices) == set(MEASURES)
    for parser in measures.choices.values():
        assert [action.option_strings for action in parser._actions if not action.help] == []
