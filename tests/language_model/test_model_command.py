import argparse
import json

import pytest

from dpicl_core.cli import model
from dpicl_core.language_model import default_model


@pytest.fixture
def command(tmp_path, monkeypatch, default_folder):
    """Runs `model ...` with the real cache."""

    def run(*options):
        parser = argparse.ArgumentParser()
        model.add_parser(parser.add_subparsers())
        arguments = parser.parse_args(["model", *options])
        return arguments.run(arguments)

    return run


def test_it_lists_the_model_its_licence_hashes_cache_and_device(command, capsys, default_folder):
    assert command() == 0
    shown = capsys.readouterr().out
    for words in ("SmolLM2-135M-Instruct (Apache-2.0), ready, 540 MB", str(default_folder / "LICENSE"), "devices: cpu"):
        assert words in shown
    assert all(file.sha256 in shown for file in default_model.default_model_status().files)


def test_json_is_one_object(command, capsys):
    assert command("--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["default_model"]["ready"]
    assert {"device", "dtype", "devices", "processor"} == set(facts["machine"])


def test_an_absent_model_is_listed_as_absent(command, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DPICL_MODEL_CACHE", str(tmp_path))
    assert command() == 0
    assert "not prepared; run with --fetch" in capsys.readouterr().out


def test_fetch_prepares_with_verification_and_shows_the_stages(command, capsys, monkeypatch):
    asked = {}

    def prepare(report, verify):
        asked["verify"] = verify
        report("download", 0.5)
        report("convert", 1.0)

    monkeypatch.setattr(model, "prepare_default_model", prepare)
    assert command("--fetch", "--json") == 0
    streams = capsys.readouterr()
    assert asked == {"verify": True}
    assert "convert" in streams.err
    json.loads(streams.out)
