"""The main job on real benchmark tables with the real default model, through the command line."""

from __future__ import annotations

import json

import pytest

from dpicl_core.__main__ import main
from dpicl_core.verification import read_document, verify


@pytest.mark.parametrize(
    ("task", "mechanism"),
    [("trec", "adadpsyn"), ("trec", "tang-gaussian"), ("mit_g", "adadpsyn"), ("mit_g", "anchored")],
)
def test_demonstrations_come_out_of_a_real_table_and_verify(task, mechanism, shared, tmp_path, capsys):
    out = tmp_path / "demos.json"
    table = shared / "data" / task / "train.csv"
    options = ["--task", task, "--mechanism", mechanism, "--epsilon", "4", "--shots", "2", "--subsets", "8"]
    options += ["--tokens", "4", "--min-tokens", "2", "--quiet"]
    assert main(["generate", "--data", str(table), *options, "--out", str(out)]) == 0
    content = out.read_bytes()
    assert verify(read_document(content)).problems == ()
    parsed = json.loads(content)
    assert len(parsed["demonstrations"]) == 2
    assert all(d["text"] for d in parsed["demonstrations"])
    assert 3.96 <= parsed["guarantee"]["epsilon"]["tight"] <= 4
    assert parsed["guarantee"]["delta"] == 1e-5


def test_the_rate_of_a_rare_label_is_its_own(shared, tmp_path):
    out = tmp_path / "demos.json"
    table = shared / "data" / "trec" / "train.csv"
    options = ["--task", "trec", "--epsilon", "8", "--cap", "20", "--shots", "1", "--tokens", "3", "--min-tokens", "1"]
    target = ["--target-label", "Abbreviation", "--quiet"]
    assert main(["generate", "--data", str(table), *options, *target, "--out", str(out)]) == 0
    pool = json.loads(out.read_bytes())["pools"][0]
    assert pool["units"] == 86
    assert pool["sampling_rate"] == pytest.approx(40 / 86)
