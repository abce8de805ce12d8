"""`data`: the report of a table as JSON and in words, and refusals as errors of the engine."""

from __future__ import annotations

import argparse
import io
import json
import sys

import pytest

from dpicl_core.cli import data as command
from dpicl_core.errors import ConfigError, DataError

TABLE = "who,label,text\np,a,one\nq,b,two words\np,=x=y,three\nr,a,\n"


@pytest.fixture
def report(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)

    def run(*options, file=path, as_json=True):
        parser = argparse.ArgumentParser()
        command.add_parser(parser.add_subparsers())
        arguments = parser.parse_args(["data", str(file), *options, *(["--json"] if as_json else [])])
        assert arguments.run(arguments) == 0
        out = capsys.readouterr().out
        return json.loads(out) if as_json else out

    return run


def test_the_report_tells_how_the_table_was_read(report):
    found = report()
    assert found["rows"] == 3
    assert found["labels"] == ["=x=y", "a", "b"]
    assert found["columns"] == ["who", "label", "text"]
    assert (found["encoding"], found["encoding_words"]) == ("utf-8", "UTF-8 (no byte-order mark)")
    assert (found["delimiter"], found["delimiter_words"]) == (",", "comma")
    assert (found["dropped"], found["dropped_lines"]) == (1, [{"line": 5, "reason": "blank text"}])
    assert (found["persons"], found["flagged"], found["flagged_by"]) == (None, 0, "bytes")
    assert found["suggestion"] is None
    assert "person-like-column" not in [warning["code"] for warning in found["warnings"]]
    assert {"code", "level", "sentence", "count", "lines"} == set(found["warnings"][0])


def test_persons_labels_and_sizes_are_reported_when_asked_for(report):
    found = report(
        *("--person-column", "who", "--label", "a", "--label", "b", "--merge", "=x=y=b"),
        *("--subsets", "2", "--per-subset", "1"),
    )
    assert found["persons"] == 2
    assert found["label_rows"] == {"a": 1, "b": 2}
    assert "small-labels" in [warning["code"] for warning in found["warnings"]]
    assert report("--label", "a", "--label", "b", "--leave-out", "=x=y")["dropped"] == 2


def test_rows_over_the_cap_are_flagged(report, monkeypatch):
    monkeypatch.setattr(command, "_token_counter", lambda: lambda text: len(text.split()))
    found = report("--record-tokens", "2")
    assert (found["flagged"], found["flagged_lines"], found["flagged_by"]) == (1, [3], "tokens")


def test_the_report_in_words_says_the_same(report):
    out = report(as_json=False)
    assert "3 rows, 3 labels" in out
    assert "UTF-8 (no byte-order mark), comma" in out
    assert "line 5" in out


@pytest.mark.parametrize(
    "options",
    [
        ["--subsets", "2"],
        ["--merge", "b=a"],
        ["--leave-out", "b"],
        ["--label", "a", "--merge", "b"],
        ["--label", "a", "--merge", "=a"],
    ],
)
def test_options_that_do_not_fit_together_are_refused(report, options):
    with pytest.raises(ConfigError):
        report(*options)


def test_refusals_are_errors_of_the_engine(report, tmp_path):
    with pytest.raises(DataError):
        report(file=tmp_path / "none.csv")
    with pytest.raises(DataError):
        report("--label", "a")


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    assert command._progress_printer() is None

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    show = command._progress_printer()
    for step in range(1001):
        show(step / 1000)
    shown = terminal.getvalue()
    assert shown.startswith("\rreading:   0%")
    assert shown.endswith("100%\n")
    assert shown.count("\r") <= 22


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_report_survives_a_console_without_unicode(options, tmp_path, monkeypatch):
    path = tmp_path / "other.csv"
    path.write_text("label,text\nשלום,one\nb,two\n", encoding="utf-8")
    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", console)
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["data", str(path), *options])
    assert arguments.run(arguments) == 0
    console.flush()
    assert b"\\u05e9" in console.buffer.getvalue()
