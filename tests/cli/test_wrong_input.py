"""Wrong input ends with one sentence on standard error and exit status 2: no traceback, no private text."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dpicl_core import __main__ as command_line
from dpicl_core import files

SECRET = "Ottilie Quackenbush has shingles"
ACCOUNT = ["account", "--pool", "835", "--subsets", "20", "--per-subset", "2", "--tokens", "15"]


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "notes.csv"
    rows = [f"{('Number', 'Location')[i % 2]},{SECRET} number {i}" for i in range(100)]
    path.write_text("label,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def generate(table, *options):
    labels = ["--label", "Number", "--label", "Location"]
    shape = ["--subsets", "4", "--per-subset", "2", "--tokens", "3", "--shots", "1"]
    out = str(table.parent / "out.json")
    return ["generate", "--data", str(table), "--out", out, *labels, *shape, *options]


def outcome(arguments, capsys):
    try:
        status = command_line.main(arguments)
    except SystemExit as stop:
        status = stop.code
    return status, capsys.readouterr().err


def assert_one_sentence(status, errors):
    assert status == 2
    lines = errors.strip().splitlines()
    assert len(lines) == 1, errors
    assert lines[0].startswith("error: ")
    assert "Traceback" not in errors
    assert SECRET[:10] not in errors


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1,5", "four", ""])
def test_an_epsilon_that_is_no_number_above_zero_is_refused(table, epsilon, capsys):
    assert_one_sentence(*outcome(generate(table, "--epsilon", epsilon), capsys))
    assert_one_sentence(*outcome([*ACCOUNT, "--epsilon", epsilon], capsys))


@pytest.mark.parametrize("delta", ["0", "-1e-5", "1", "0.5", "nan", "0.011"])
def test_a_delta_of_zero_or_above_one_over_n_is_refused(table, delta, capsys):
    status, errors = outcome(generate(table, "--epsilon", "4", "--delta", delta), capsys)
    assert_one_sentence(status, errors)
    assert_one_sentence(*outcome([*ACCOUNT, "--epsilon", "4", "--delta", delta], capsys))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "4", "--text-column", "nosuch"], "nosuch"),
        (["--epsilon", "4", "--label-column", "nosuch"], "nosuch"),
        (["--epsilon", "4", "--subsets", "1"], "at least 2"),
        (["--epsilon", "4", "--subsets", "60"], "50"),
        (["--epsilon", "4", "--shots", "0"], "at least 1"),
        (["--epsilon", "4", "--tokens", "0"], "at least 1"),
        (["--epsilon", "4", "--target-label", "Nowhere"], "not declared"),
        (["--epsilon", "4", "--task", "trec"], "own labels"),
        (["--epsilon", "4", "--mechanism", "adadpsyn", "--sigma0", "1"], "missing"),
        (["--epsilon", "4", "--sigma", "1"], "does not belong"),
        (["--epsilon", "4", "--mechanism", "adadpsyn", "--noise-split", "0.5,0.5"], "three shares"),
        (["--epsilon", "4", "--noise-split", "0.1,0.8,0.1"], "belongs to adadpsyn"),
        (["--epsilon", "4", "--iterations", "2"], "belongs to adadpsyn"),
        (["--epsilon", "4", "--mechanism", "adadpsyn", "--schedule", "0.3,0.1"], "belongs to anchored"),
        (["--epsilon", "4", "--labels-may-change"], "--label-rows"),
        (["--epsilon", "4", "--labels-may-change", "--label-rows", "Number"], "LABEL=120"),
        (["--epsilon", "4", "--mechanism", "nosuch"], "invalid choice"),
        (["--epsilon", "4", "--mechanism", "unprotected"], "invalid choice"),
        (["--epsilon", "4", "--mechanism", "tang-noisy-max", "--selection", "sample"], "no vector"),
        (["--epsilon", "4", "--temperature", "0.5"], "--selection sample"),
        ([], "--epsilon is missing"),
        (["--epsilon", "4", "--nosuch"], "unrecognized"),
    ],
)
def test_options_that_cannot_work_are_refused_with_what_to_do(table, options, words, capsys):
    status, errors = outcome(generate(table, *options), capsys)
    assert_one_sentence(status, errors)
    assert words in errors


def test_a_row_with_an_undeclared_label_is_refused_without_quoting_it(table, capsys):
    table.write_text(table.read_text() + f"{SECRET},a text\n")
    assert_one_sentence(*outcome(generate(table, "--epsilon", "4"), capsys))


@pytest.mark.parametrize("content", ["", "label,text\n", "label,text\n ,  \n"])
def test_an_empty_table_is_refused(table, content, capsys):
    table.write_text(content)
    assert_one_sentence(*outcome(generate(table, "--epsilon", "4"), capsys))


def test_a_table_that_is_not_there_is_refused(table, capsys):
    arguments = generate(table.parent / "nosuch.csv", "--epsilon", "4")
    assert_one_sentence(*outcome(arguments, capsys))


@pytest.mark.parametrize("kind", ["empty folder", "text file"])
def test_a_model_that_is_none_is_refused_by_name(table, kind, tmp_path, capsys):
    model = tmp_path / "model"
    if kind == "empty folder":
        model.mkdir()
    else:
        model.write_text("no model")
    assert_one_sentence(*outcome(generate(table, "--epsilon", "4", "--model", str(model)), capsys))


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_spent(table, capsys, monkeypatch):
    called = []
    monkeypatch.setattr("dpicl_core.cli.generate.pay", lambda *a, **k: called.append(1))
    arguments = generate(table, "--epsilon", "4")
    for out in (table.parent / "no" / "such" / "folder.json", table.parent):
        arguments[arguments.index("--out") + 1] = str(out)
        assert_one_sentence(*outcome(arguments, capsys))
    assert called == []


def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, capsys):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(files.ExportError, match="No space left"):
        files.write_atomically(tmp_path / "demos.json", b"content")
    assert list(tmp_path.iterdir()) == []


def test_an_unexpected_fault_shows_its_kind_and_not_its_message(table, monkeypatch, capsys):
    def broken(*arguments, **settings):
        raise KeyError(SECRET)

    monkeypatch.setattr("dpicl_core.cli.inputs.read_dataset", broken)
    status, errors = outcome(generate(table, "--epsilon", "4"), capsys)
    assert_one_sentence(status, errors)
    assert "KeyError" in errors


@pytest.mark.parametrize(
    "options",
    [
        ["--pool", "30"],
        ["--rows", "10"],
        ["--sigma0", "10"],
        ["--sigma0", "10", "--sigma1", "1", "--sigma2", "5", "--epsilon", "4"],
        [],
        ["--epsilon", "4", "--accountant", "both"],
        ["--subsets", "1", "--epsilon", "4"],
        ["--subsets", "x", "--epsilon", "4"],
    ],
)
def test_a_plan_that_cannot_be_priced_is_refused(options, capsys):
    assert_one_sentence(*outcome([*ACCOUNT, *options], capsys))


def test_help_explains_every_option_of_every_command(capsys):
    for command in command_line.COMMANDS:
        name = command.__name__.rpartition(".")[2]
        with pytest.raises(SystemExit) as stop:
            command_line.main([name, "--help"])
        assert stop.value.code == 0
    for action_list in command_line.build_parser()._subparsers._group_actions[0].choices.values():
        assert [action.option_strings for action in action_list._actions if not action.help] == []
