"""From a name to a loaded, checked model: local folder, GGUF file, hub name, or the embedded default."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpicl_core.errors import DPICLError, ModelError
from dpicl_core.language_model.cache import Progress, file_sha256, read_json
from dpicl_core.language_model.plain_tokenizer import PlainTokenizer, prefix_of
from dpicl_core.language_model.precision import choose_device, choose_dtype
from dpicl_core.language_model.process_settings import no_garbage_collection, read_keys_once, settle
from dpicl_core.language_model.protocol import FileHash, LanguageModel, ModelInfo, ModelSource, Tokenizer
from dpicl_core.language_model.refusals import (
    context_limit,
    require_complete,
    require_files,
    require_loaded,
    require_supported,
)
from dpicl_core.language_model.sessions import DEFAULT_CACHE_BYTES

HUB_NAME = re.compile(r"[\w][\w.-]*(?:/[\w][\w.-]*)?")
HUB_FILES = ("*.json", "model*.safetensors", "*.model", "*.txt", "*.jinja")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model's files lie: a folder, and a GGUF file's name in it where that is what to load."""

    kind: ModelSource
    name: str
    folder: Path
    gguf: str | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Arguments of every `from_pretrained` call: nothing from the network, no code from the folder."""
        plain = {"local_files_only": True, "trust_remote_code": False}
        return plain | ({"gguf_file": self.gguf} if self.gguf else {})

    def weight_files(self) -> tuple[Path, ...]:
        if self.gguf:
            return (self.folder / self.gguf,)
        index = read_json(self.folder / "model.safetensors.index.json") or {}
        names = set(index.get("weight_map", {}).values()) or {"model.safetensors"}
        return tuple(sorted(self.folder / name for name in names))


def load_model(
    name_or_path: str | None = None,
    *,
    device: str | None = None,
    dtype: str | None = None,
    progress: Progress | None = None,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
) -> LanguageModel:
    """Load a causal language model and check it on public text.

    name_or_path: a folder with safetensors, a GGUF file, or a hub name; None is the embedded default, which is
    prepared first where needed. device: "cpu", "cuda", "cuda:N", "mps"; None chooses, over several GPUs where there
    are. dtype: "float32", "bfloat16", "float16"; None chooses. progress: told each stage and its fraction.
    cache_bytes: most memory for the states of rows that a run with fixed groups keeps; 0 keeps none.
    Raises ModelError where the model cannot be found, is of a refused kind, or fails a check.
    """
    report = progress or _no_progress
    settle()
    try:
        with no_garbage_collection():
            if name_or_path is None:
                from dpicl_core.language_model.default_model import load_default_model

                return load_default_model(device=device, dtype=dtype, progress=report, cache_bytes=cache_bytes)
            source = find_source(name_or_path)
            require_files(source.folder, source.gguf)
            return load_source(source, device=device, dtype=dtype, progress=report, cache_bytes=cache_bytes)
    except DPICLError:
        raise
    except Exception as error:  # the libraries raise anything; nothing private has been read yet
        raise ModelError(
            f"the model {name_or_path or 'default'} could not be loaded ({type(error).__name__}: {_one_line(error)}); "
            "check its files, or choose another model."
        ) from error


def find_source(name_or_path: str) -> Source:
    """The folder or GGUF file of that path, else the hub's files of that name (from the hub's cache when offline)."""
    path = Path(name_or_path).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(f"a model file must be a .gguf file, but is {path.name}; give its folder, or a GGUF file.")
        return Source("gguf", path.stem, path.parent, path.name)
    if path.is_dir():
        return Source("folder", path.resolve().name, path)
    if not HUB_NAME.fullmatch(name_or_path) or name_or_path.lower().endswith(".gguf"):
        raise ModelError(f"there is no model at {name_or_path}; give an existing folder, a GGUF file or a hub name.")
    return Source("hub", name_or_path, _hub_folder(name_or_path))


def _hub_folder(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(HUB_FILES)))
    except Exception as error:
        raise ModelError(
            f"there is no folder {name}, and the hub gave no model of that name ({type(error).__name__}); check the "
            "name, or download the model elsewhere and give its folder."
        ) from error


def load_source(
    source: Source,
    *,
    device: str | None,
    dtype: str | None,
    progress: Progress,
    tokenizer: Tokenizer | None = None,
    files: Sequence[FileHash] | None = None,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
) -> LanguageModel:
    """Load from local files alone and check; `tokenizer` and `files` where the caller knows them already."""
    progress("load", 0.0)
    with ThreadPoolExecutor(1) as pool:  # hashing leaves the interpreter free, so it costs no time of its own
        hashing = pool.submit(_hash_files, source.weight_files())
        model, chosen = _load_weights(source, device, dtype)
        progress("load", 0.7)
        tokenizer = tokenizer or _load_tokenizer(source, model)
        hashes = hashing.result()
    known = {file.name: file.sha256 for file in files or () if file.role == "weights"}
    if any(known.get(file.name, file.sha256) != file.sha256 for file in hashes):
        raise ModelError(
            f"the weights of {source.name} differ from what was prepared; run `python -m dpicl_core model --fetch`."
        )
    from dpicl_core.language_model.self_check import require_sound
    from dpicl_core.language_model.transformers_model import TransformersModel

    info = ModelInfo(
        name=source.name,
        source=source.kind,
        files=tuple(files) if files else hashes,
        dtype=chosen,
        device=str(model.get_input_embeddings().weight.device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_context=context_limit(model.config),
    )
    loaded = TransformersModel(model, tokenizer, info, cache_bytes=cache_bytes)
    require_sound(loaded)
    progress("load", 1.0)
    return loaded


def _load_weights(source: Source, device: str | None, dtype: str | None) -> tuple[Any, str]:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    place = choose_device(device)
    if place == "cpu":
        read_keys_once()
    chosen = choose_dtype(dtype, place)
    with quiet_transformers():
        if not source.gguf:
            require_supported(AutoConfig.from_pretrained(source.folder, **source.keywords), source.name)
        several = device in (None, "auto") and place == "cuda" and torch.cuda.device_count() > 1
        model, report = AutoModelForCausalLM.from_pretrained(
            source.folder,
            dtype=getattr(torch, chosen),
            use_safetensors=None if source.gguf else True,
            device_map="auto" if several else None,
            output_loading_info=True,
            **source.keywords,
        )
    require_supported(model.config, source.name)
    require_complete(report, source.name)
    require_loaded(model, source.name)
    if getattr(model.config.get_text_config(decoder=True), "attn_logit_softcapping", None):
        model.set_attn_implementation("eager")  # the other kind cannot cap its scores
    return (model if several else model.to(place)).eval(), chosen


def _load_tokenizer(source: Source, model: Any) -> PlainTokenizer:
    from transformers import AutoTokenizer

    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(source.folder, **source.keywords)
    specification, prefix_ids = tokenizer_facts(tokenizer)
    return PlainTokenizer(
        specification,
        prefix_ids=prefix_ids,
        end_ids=end_ids(tokenizer, model.config, model.generation_config),
        vocabulary_size=model.get_output_embeddings().weight.shape[0],
    )


def tokenizer_facts(tokenizer: Any) -> tuple[str, tuple[int, ...]]:
    """The tokenizer.json of a transformers tokenizer, and the control ids that it puts before a text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            "the tokenizer must be of the fast kind (tokenizer.json), but is not; convert it with transformers first."
        )
    return backend.to_str(), prefix_of(tokenizer("a").input_ids, tokenizer("a", add_special_tokens=False).input_ids)


def end_ids(*configurations: Any) -> tuple[int, ...]:
    """All end-of-text ids that a tokenizer and a model's configurations name, sorted."""
    found: set[int] = set()
    for configuration in configurations:
        named = getattr(configuration, "eos_token_id", None)
        found.update(named if isinstance(named, list) else [] if named is None else [named])
    return tuple(sorted(found))


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No bars and warnings of the library on this program's output; its settings are put back afterwards."""
    from transformers import modeling_gguf_pytorch_utils as gguf_reading
    from transformers.utils import logging

    level, bars, gguf_bar = logging.get_verbosity(), logging.is_progress_bar_enabled(), gguf_reading.tqdm
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    gguf_reading.tqdm = partial(gguf_bar, disable=True)  # this one bar listens to no setting
    try:
        yield
    finally:
        logging.set_verbosity(level)
        gguf_reading.tqdm = gguf_bar
        if bars:
            logging.enable_progress_bar()


def _hash_files(paths: Sequence[Path]) -> tuple[FileHash, ...]:
    return tuple(FileHash("weights", path.name, file_sha256(path), path.stat().st_size) for path in paths)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")


def _no_progress(stage: str, fraction: float) -> None:
    """Where nobody asked to be told."""
