"""The commands end to end on the sample table and the embedded default model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dpicl_core.__main__ import main

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample_messages.csv"
SHORT = ["--data", str(SAMPLE), "--task", "sample", "--epsilon", "4", "--shots", "2", "--subsets", "3"]
SHORT += ["--tokens", "5", "--min-tokens", "3"]


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    path = tmp_path_factory.mktemp("demos") / "demos.json"
    assert main(["generate", *SHORT, "--out", str(path)]) == 0
    return path


def test_generate_writes_demonstrations_that_verify(demos, capsys):
    assert main(["verify", str(demos)]) == 0
    words = capsys.readouterr().out
    assert words.startswith("The file holds: 2 demonstrations by anchored")
    assert "differential privacy" in words
    content = json.loads(demos.read_bytes())
    assert all(d["text"] and "\n" not in d["text"] for d in content["demonstrations"])
    assert content["model"]["name"]
    assert all(len(file["sha256"]) == 64 for file in content["model"]["files"])


def test_no_private_row_and_no_path_stands_in_what_was_written(demos):
    text = demos.read_text(encoding="utf-8")
    rows = [line.split(",", 1)[1] for line in SAMPLE.read_text(encoding="utf-8").splitlines()[1:]]
    assert not any(row.strip('"') in text for row in rows if len(row.split()) >= 8)
    assert str(demos.parent) not in text
    assert str(Path.home()) not in text


def test_a_changed_byte_is_reported_with_status_two(demos, tmp_path, capsys):
    changed = tmp_path / "changed.json"
    changed.write_text(demos.read_text().replace('"label": "Appointment"', '"label": "Appointments"'))
    assert main(["verify", str(changed)]) == 2
    assert "changed after it was written" in capsys.readouterr().err


def test_export_gives_a_prompt_and_messages(demos, tmp_path, capsys):
    assert main(["export", str(demos)]) == 0
    assert capsys.readouterr().out.endswith("Message: {query}\nTopic:\n")
    out = tmp_path / "messages.jsonl"
    assert main(["export", str(demos), "--format", "jsonl", "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 2


def test_compare_states_that_each_spends_and_keeps_what_was_bought(tmp_path, capsys):
    mechanisms = "adadpsyn,tang-gaussian,anchored,public-only,unprotected"
    options = ["--tokens", "4", "--mechanisms", mechanisms, "--out", str(tmp_path), "--cap", "30"]
    assert main(["compare", *SHORT, *options, "--real-rows"]) == 0
    printed = capsys.readouterr()
    assert "Every mechanism spends by itself; together epsilon" in printed.err
    assert printed.out.count("  unprotected [internal, not DP, never exported]: ") == 2
    rows = {line.split(",", 1)[1].strip('"') for line in SAMPLE.read_text(encoding="utf-8").splitlines()[1:]}
    real = [line.split(": ", 1)[1] for line in printed.out.splitlines() if line.startswith("  real row [internal")]
    assert len(real) == 2
    assert set(real) <= rows
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["adadpsyn.json", "anchored.json", "public-only.json", "tang-gaussian.json"]
    for path in tmp_path.iterdir():
        assert main(["verify", str(path)]) == 0
        assert not any(row in path.read_text(encoding="utf-8") for row in real)


def test_rehearse_reads_no_table_and_proposes_a_schedule(capsys):
    options = ["--task", "sample", "--pool", "400", "--rows", "2400", "--shots", "1", "--tokens", "5", "--subsets", "3"]
    assert main(["rehearse", *options, "--min-tokens", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] >= 2
    assert {f["mechanism"] for f in found["forecasts"]} == {"adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored"}
    assert all(0 <= f["unchanged"]["low"] <= f["unchanged"]["high"] <= 1 for f in found["forecasts"])
    assert found["proposed_schedule"]
    assert found["recommendation"]["mechanism"] in {f["mechanism"] for f in found["forecasts"]}
    assert f"At epsilon {found['recommendation']['epsilon']:g}, " in found["sentences"][0]


def test_tasks_and_model_list_what_there_is(capsys):
    assert main(["tasks"]) == 0
    assert "trec: TREC questions" in capsys.readouterr().out
    assert main(["tasks", "--json"]) == 0
    assert {json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()} >= {"agnews", "mit_g", "sample"}
    assert main(["model", "--json"]) == 0
    json.loads(capsys.readouterr().out)


def test_the_python_example_of_the_readme_runs(tmp_path):
    readme = SAMPLE.parents[1] / "README.md"
    code = readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    code = code.replace("shots=2", "shots=1, tokens=6, subsets=3").replace("demos.json", str(tmp_path / "demos.json"))
    subprocess.run([sys.executable, "-c", code], check=True, cwd=SAMPLE.parents[1], timeout=300)
    assert json.loads((tmp_path / "demos.json").read_bytes())["demonstrations"][0]["text"]
