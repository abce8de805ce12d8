"""Kinds of models that are refused, each with one sentence: what it is, why it cannot serve, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpicl_core.errors import ModelError

PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
EXPERT_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "n_experts")
EXPERT_MODULE = re.compile(r"(?:Experts?|Router|MoE|Moe|MoeBlock|MoeLayer|MoeMLP|TopKGate)$")
STATEFUL_LAYERS = ("linear_attention", "mamba", "conv", "recurrent", "hybrid")
LENGTH_DEPENDENT_ROPE = ("dynamic", "longrope")


def require_files(folder: Path, gguf: str | None) -> None:
    """Raise ModelError unless the folder holds a whole model in safetensors (or a GGUF file is named)."""
    if gguf:
        return
    name = folder.name
    if (folder / "adapter_config.json").exists():
        raise ModelError(f"{name} holds an adapter, not a whole model; merge it into its base model and save that.")
    if not (folder / "config.json").exists():
        raise ModelError(f"the folder {name} holds no model (no config.json); give a folder with one, or a GGUF file.")
    if not any(folder.glob("*.safetensors")):
        if any(path for pattern in PICKLED for path in folder.glob(pattern)):
            raise ModelError(
                f"the weights in {name} are pickled, which can run any code when opened; convert them to safetensors."
            )
        raise ModelError(f"the folder {name} holds no weights (no .safetensors file); give a whole model.")


def require_supported(config: Any, name: str) -> None:
    """Raise ModelError where a configuration says that rows of a batch or padding would not be independent."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    text = config.get_text_config(decoder=True)
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(f"{name} is an encoder-decoder model; choose a causal (decoder-only) one.")
    causal = {
        known
        for names in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
        for known in (names if isinstance(names, tuple | list) else (names,))
    }
    architectures = getattr(config, "architectures", None) or []
    if architectures and not causal & set(architectures):
        raise ModelError(f"{name} ({architectures[0]}) is not a causal language model; choose one that is.")
    quantised = getattr(config, "quantization_config", None)
    method = quantised.get("quant_method") if isinstance(quantised, dict) else getattr(quantised, "quant_method", None)
    if quantised is not None and str(getattr(method, "value", method)) != "gguf":
        raise ModelError(
            f"{name} is quantised ({method}), and quantised arithmetic can let one row change the numbers of another; "
            "use the full-precision model, or a GGUF file of it, which is expanded when loaded."
        )
    for part in (config, text):
        if any(_count(part, attribute) > 1 for attribute in EXPERT_COUNTS):
            raise ModelError(_experts(name))
    stateful = [kind for kind in getattr(text, "layer_types", None) or [] if kind.startswith(STATEFUL_LAYERS)]
    if stateful:
        raise ModelError(
            f"{name} has layers of the kind {stateful[0]}, which run over padding; choose a model of attention alone."
        )


def require_loaded(model: Any, name: str) -> None:
    """Raise ModelError where the built model has expert layers, or attention that takes no explicit mask."""
    if any(EXPERT_MODULE.search(type(module).__name__) for module in model.modules()):
        raise ModelError(_experts(name))
    attention = getattr(model.config, "_attn_implementation", None)
    if attention not in ("sdpa", "eager"):
        raise ModelError(
            f"attention must be of the kind sdpa or eager, but {name} asks for {attention}; change its config.json."
        )
    read, written = (part.weight.shape[0] for part in (model.get_input_embeddings(), model.get_output_embeddings()))
    if read < written:
        raise ModelError(
            f"{name} must be able to read each of the {written} tokens that it can write, but reads {read}; "
            "choose another model."
        )


def require_complete(report: Any, name: str) -> None:
    """Raise ModelError where weights were missing from the files: the library fills them with random numbers."""
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{name} lacks {len(missing)} of the weights that its configuration needs, such as {missing[0]}; "
            "get its files again."
        )


def context_limit(config: Any) -> int:
    """Tokens that a prompt may hold, padding counted, so that no rule of the model depends on the true length.

    Beside the trained length: sliding or chunked attention must never begin to slide (an explicit mask replaces the
    model's own), and frequencies that change with the longest row of a batch (dynamic and long rope) must never
    change.
    """
    text = config.get_text_config(decoder=True)
    limits = [_count(text, name) for name in ("max_position_embeddings", "n_positions", "max_sequence_length")]
    if getattr(text, "use_sliding_window", True):
        limits.append(_count(text, "sliding_window"))
    limits.append(_count(text, "attention_chunk_size"))
    limits += [_count(rope, "original_max_position_embeddings") for rope in _changing_ropes(text)]
    known = [limit for limit in limits if limit > 0]
    return min(known) if known else 2048


def _changing_ropes(text: Any) -> Iterator[dict[str, Any]]:
    parameters = getattr(text, "rope_parameters", None) or {}
    for rope in (parameters, *parameters.values()):
        if isinstance(rope, dict) and rope.get("rope_type") in LENGTH_DEPENDENT_ROPE:
            yield rope


def _count(holder: Any, name: str) -> int:
    value = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
    return value if isinstance(value, int) else 0


def _experts(name: str) -> str:
    return (
        f"{name} is a mixture of experts, where the rows of a batch share an expert's work and so change each other's "
        "numbers; choose a dense model."
    )
