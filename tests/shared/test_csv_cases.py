"""The 24 tables of ../shared/cases/csv are read, or refused, as their list of right answers states."""

from __future__ import annotations

import csv
import io
import json

import pytest

from dpicl_core import __main__ as entrance
from dpicl_core.cli import data as command
from dpicl_core.data import flatten_text, pool_for, read_dataset, write_neutralised_csv
from dpicl_core.errors import DataError
from dpicl_core.values import PrivacyUnit

CASES = (
    *("canary.csv", "codes_as_labels.csv", "control_tokens.csv", "cp1252.csv", "duplicate_header.csv", "empty.csv"),
    *("empty_cells.csv", "formula_cells.csv", "header_only.csv", "huge_cell.csv", "labels_verbatim.csv"),
    *("missing_words.csv", "multiline_cells.csv", "nul_byte.csv", "one_column.csv", "person_column.csv"),
    *("semicolons.csv", "stray_quotes.csv", "tabs.tsv", "undecodable.csv", "unquoted_comma.csv", "utf16le_bom.csv"),
    *("utf8_bom.csv", "utf8_plain.csv"),
)
OPTIONS = {"person_column.csv": ("--person-column", "patient")}
ENCODINGS = {
    "utf8_plain.csv": "utf-8",
    "utf8_bom.csv": "utf-8-sig",
    "utf16le_bom.csv": "utf-16-le",
    "cp1252.csv": "windows-1252",
}


@pytest.fixture
def folder(shared):
    return shared / "cases" / "csv"


@pytest.fixture
def expected(folder):
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """(exit status, standard output, standard error) of `data FILE ... --json`."""
    monkeypatch.setattr(entrance, "COMMANDS", (command,))

    def call(name, *options):
        status = entrance.main(["data", str(folder / name), *OPTIONS.get(name, ()), *options, "--json"])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_every_case_is_listed_here(folder, expected):
    assert set(expected) == set(CASES) == {path.name for path in folder.iterdir()} - {"expected.json"}


@pytest.mark.parametrize("name", CASES)
def test_a_case_comes_out_as_stated(name, expected, run):
    status, out, err = run(name)
    right = expected[name]
    if status == 2:
        assert {"refused", "refused_or_whole", "choice_required"} & set(right)
        assert out == ""
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return
    assert not {"refused", "choice_required"} & set(right)
    found = json.loads(out)
    for key in ("rows", "labels", "columns", "dropped", "flagged", "persons"):
        if key in right:
            assert found[key] == right[key], key
    assert len(found["dropped_lines"]) == found["dropped"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stray_quotes.csv", "line 5"),
        ("unquoted_comma.csv", "line 2"),
        ("nul_byte.csv", "line 2"),
        ("undecodable.csv", "byte 18"),
        ("one_column.csv", "one column"),
        ("header_only.csv", "no row"),
        ("empty.csv", "empty"),
        ("duplicate_header.csv", "label or label#2"),
    ],
)
def test_a_refusal_names_the_place(name, words, run):
    status, _, err = run(name)
    assert status == 2
    assert words in err


def test_the_chosen_one_of_two_columns_is_read(run):
    status, out, _ = run("duplicate_header.csv", "--label-column", "label#2")
    assert status == 0
    assert json.loads(out)["labels"] == ["x", "y"]


@pytest.mark.parametrize("name", ENCODINGS)
def test_one_table_in_four_encodings_is_the_same_table(name, folder, run):
    assert json.loads(run(name)[1])["encoding"] == ENCODINGS[name]
    assert read_dataset(folder / name).examples == read_dataset(folder / "utf8_plain.csv").examples


def test_cells_are_verbatim(folder):
    for name in ("missing_words.csv", "labels_verbatim.csv", "codes_as_labels.csv", "control_tokens.csv"):
        with (folder / name).open(encoding="utf-8", newline="") as opened:
            rows = list(csv.reader(opened))[1:]
        assert [[e.label, e.text] for e in read_dataset(folder / name).examples] == rows


def test_dropped_rows_are_named(run):
    lines = json.loads(run("empty_cells.csv")[1])["dropped_lines"]
    assert [(row["line"], row["reason"]) for row in lines] == [(3, "blank label"), (4, "blank text"), (5, "blank text")]


def test_the_long_row_is_flagged_with_and_without_a_tokenizer(run, monkeypatch):
    assert json.loads(run("huge_cell.csv")[1])["flagged_lines"] == [9]
    monkeypatch.setattr(command, "_token_counter", lambda: lambda text: -(-len(text) // 4))
    found = json.loads(run("huge_cell.csv", "--record-tokens", "64")[1])
    assert (found["flagged_lines"], found["flagged_by"]) == ([9], "tokens")


def test_persons_are_units(folder):
    dataset = read_dataset(folder / "person_column.csv", person_column="patient")
    pool = pool_for(dataset, None, PrivacyUnit.PERSON)
    assert [len(unit) for unit in pool.units] == [8] * 5


def test_line_ends_inside_cells_are_flattened_for_prompts(folder):
    for example in read_dataset(folder / "multiline_cells.csv").examples:
        assert "\n\n" in example.text
        assert "\n" not in flatten_text(example.text)


def test_formulas_are_kept_when_read_and_neutralised_when_written(folder, tmp_path):
    dataset = read_dataset(folder / "formula_cells.csv")
    write_neutralised_csv(tmp_path / "out.csv", ["label", "text"], [(e.label, e.text) for e in dataset.examples])
    rows = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"), newline="")))
    assert rows[1] == ['\'=HYPERLINK("x")', "'-1+2"]
    assert not [cell for row in rows for cell in row if cell[0] in "=+-@"]


def test_refusals_quote_no_cell(folder):
    for name in ("stray_quotes.csv", "unquoted_comma.csv", "nul_byte.csv", "one_column.csv"):
        with pytest.raises(DataError) as caught:
            read_dataset(folder / name)
        assert not [word for word in ("row 3", "won 3", "abc", "The cat", "sentence") if word in str(caught.value)]


def test_the_benchmark_tables_are_read_whole(shared):
    sizes = {"trec": 5452, "mit_g": 2953, "mit_d": 1561, "agnews": 13591, "dbpedia": 9862, "banking77": 10003}
    for name, rows in sizes.items():
        dataset = read_dataset(shared / "data" / name / "train.csv")
        assert len(dataset) + len(dataset.dropped) == rows, name
