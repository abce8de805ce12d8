"""Written CSV: no cell can run as a formula, it reads back, and a failed write leaves nothing behind."""

from __future__ import annotations

import csv

import pytest

from dpicl_core.data import neutralise_cell, read_dataset, write_neutralised_csv
from dpicl_core.errors import ExportError


@pytest.mark.parametrize(
    "cell", ["=1+1", "+b", "-1+2", "@cmd", "\t=x", "\r=x", "\n=x", "  =x", "\u00a0@x", "＝1", "－1", "|calc", "%x"]
)
def test_formula_starts_are_neutralised(cell):
    assert neutralise_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "a=1", "1-2", "x", "'=1", "é", "a\n=b"])
def test_other_cells_are_unchanged(cell):
    assert neutralise_cell(cell) == cell


def test_a_written_file_reads_back_with_its_formulas_neutralised(tmp_path):
    path = tmp_path / "out.csv"
    write_neutralised_csv(path, ["label", "text"], [['=HYPERLINK("x")', "-1+2"], ["ok", 'a, "b"\nc;d']])
    dataset = read_dataset(path)
    assert [(e.label, e.text) for e in dataset.examples] == [
        ('\'=HYPERLINK("x")', "'-1+2"),
        ("ok", 'a, "b"\nc;d'),
    ]
    assert all(line.startswith('"') for line in path.read_text(encoding="utf-8").splitlines()[:2])
    with path.open(encoding="utf-8", newline="") as opened:
        assert len(list(csv.reader(opened))) == 3


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(ExportError, match="row 2 has 1 cells"):
        write_neutralised_csv(path, ["label", "text"], [["a", "b"], ["secret"]])
    with pytest.raises(ExportError, match="surrogate"):
        write_neutralised_csv(path, ["label"], [["\ud800"]])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ExportError):
        write_neutralised_csv(tmp_path / "none" / "out.csv", ["a"], [])
