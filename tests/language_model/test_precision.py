import json

import pytest
import torch

from dpicl_core.errors import ModelError
from dpicl_core.language_model import describe_machine, precision


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPICL_MODEL_CACHE", str(tmp_path))
    return tmp_path


def with_seconds(monkeypatch, float32, bfloat16):
    asked = []

    def seconds(dtype):
        asked.append(dtype)
        return {torch.float32: float32, torch.bfloat16: bfloat16}[dtype]

    monkeypatch.setattr(precision, "_product_seconds", seconds)
    return asked


@pytest.mark.parametrize(
    ("bfloat16", "chosen"), [(0.1, "bfloat16"), (0.8, "bfloat16"), (0.9, "float32"), (3.0, "float32")]
)
def test_the_cpu_gets_bfloat16_only_where_it_is_clearly_faster(cache, monkeypatch, bfloat16, chosen):
    with_seconds(monkeypatch, 1.0, bfloat16)
    assert precision.choose_dtype(None, "cpu") == chosen


def test_one_measurement_is_kept_and_another_processor_is_measured_anew(cache, monkeypatch):
    asked = with_seconds(monkeypatch, 1.0, 0.1)
    assert [precision.fastest_cpu_dtype() for _ in range(3)] == ["bfloat16"] * 3
    assert len(asked) == 2
    (kept,) = cache.iterdir()
    assert json.loads(kept.read_text())["dtype"] == "bfloat16"
    monkeypatch.setattr(precision, "processor_name", lambda: "another")
    precision.fastest_cpu_dtype()
    assert len(asked) == 4


def test_a_spoilt_record_is_measured_anew_and_an_unwritable_cache_does_not_stop(cache, monkeypatch, tmp_path):
    asked = with_seconds(monkeypatch, 1.0, 2.0)
    precision.fastest_cpu_dtype()
    (kept,) = cache.iterdir()
    kept.write_text("{")
    assert precision.fastest_cpu_dtype() == "float32"
    assert len(asked) == 4
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPICL_MODEL_CACHE", str(tmp_path / "file" / "below"))
    assert precision.fastest_cpu_dtype() == "float32"


def test_the_measurement_itself_gives_times():
    assert 0 < precision._product_seconds(torch.float32) < 60


def test_what_is_asked_for_is_taken(cache):
    assert precision.choose_dtype("float16", "cpu") == "float16"
    assert precision.choose_device("cpu") == "cpu"
    with pytest.raises(ModelError, match="dtype must be one of"):
        precision.choose_dtype("float64", "cpu")


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "cpu:1", "cuda:x", "mps:5", "xla"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(ModelError, match=f"is {device}"):
        precision.choose_device(device)


def test_the_machine_is_described(cache, monkeypatch):
    with_seconds(monkeypatch, 1.0, 2.0)
    machine = describe_machine()
    assert "cpu" in machine.devices
    assert machine.dtype in precision.DTYPES
