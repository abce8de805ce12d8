import json
import shutil

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BloomConfig,
    Gemma2Config,
    GPT2Config,
    MixtralConfig,
    MptConfig,
    Qwen3Config,
    T5Config,
)

from dpicl_core.errors import ModelError
from dpicl_core.language_model import LanguageModel, load_model, loading
from dpicl_core.language_model.cache import file_sha256
from dpicl_core.language_model.refusals import context_limit, require_supported
from tests.language_model.gguf_file import write_tiny_gguf
from tests.language_model.tiny import change_config, joined, prompt, save_tiny_model, softmax, tiny_config, tiny_weights


def copied(folder, to):
    shutil.copytree(folder, to, dirs_exist_ok=True)
    return to


def test_a_folder_loads_with_its_facts(tiny_folder, tiny_model):
    model: LanguageModel = tiny_model
    info = model.info
    assert (info.name, info.source, info.dtype, info.device) == (tiny_folder.name, "folder", "float32", "cpu")
    assert info.max_context == 512
    assert info.parameters == 2 * 272 * 32 + 2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 64 + 2 * 32) + 32
    assert info.weights_sha256 == (file_sha256(tiny_folder / "model.safetensors"),)
    assert str(tiny_folder.parent) not in repr(info)
    assert model.tokenizer.vocabulary_size == 272
    assert model.tokenizer.prefix_ids == ()


def test_a_gguf_file_gives_the_same_numbers_as_the_folder(tiny_model, tmp_path):
    model = load_model(str(write_tiny_gguf(tmp_path / "small.gguf")), dtype="float32")
    assert (model.info.name, model.info.source) == ("small", "gguf")
    assert model.info.weights_sha256 == (file_sha256(tmp_path / "small.gguf"),)
    text = "What is it? <|endoftext|>"
    assert model.tokenizer.decode(model.tokenizer.encode(text)) == text
    rows = [prompt(tiny_model.tokenizer, "some text", widths=[20])]
    ids = np.arange(10, 200)
    found, expected = (each.private_probabilities(rows, ids) for each in (model, tiny_model))
    assert np.abs(found - expected).max() < 1e-5


def test_paths_that_hold_no_model_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF but not really")
    (tmp_path / "empty").mkdir()
    for path, words in (
        (tmp_path / "absent" / "deeper" / "still", "there is no model at"),
        (tmp_path / "absent.gguf", "there is no model at"),
        (tmp_path / "notes.txt", "must be a .gguf file"),
        (tmp_path / "empty", "holds no model"),
        (tmp_path / "broken.gguf", "could not be loaded"),
    ):
        with pytest.raises(ModelError, match=words):
            load_model(str(path))


def test_a_name_that_the_hub_does_not_give_is_refused(monkeypatch):
    import huggingface_hub

    def refuse(name, **options):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(ModelError, match="the hub gave no model of that name"):
        load_model("someone/some-model")


def test_a_hub_name_loads_from_the_files_that_the_hub_gives(monkeypatch, tiny_folder):
    import huggingface_hub

    asked = {}
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda name, **options: asked.update(options) or str(tiny_folder)
    )
    model = load_model("someone/some-model", dtype="float32")
    assert (model.info.name, model.info.source) == ("someone/some-model", "hub")
    assert not [pattern for pattern in asked["allow_patterns"] if pattern.endswith((".bin", ".py", ".pt"))]


def test_pickled_weights_are_refused(tiny_folder, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        load_model(str(folder))
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickled"):
        load_model(str(folder))


def test_an_adapter_is_refused(tiny_folder, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="adapter"):
        load_model(str(folder))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (T5Config(architectures=["T5ForConditionalGeneration"]), "encoder-decoder"),
        (BertConfig(architectures=["BertForMaskedLM"]), "not a causal language model"),
        (MixtralConfig(architectures=["MixtralForCausalLM"], num_local_experts=2), "mixture of experts"),
        (tiny_config(quantization_config={"quant_method": "fp8"}), "quantised"),
        (tiny_config(quantization_config={"quant_method": "bitsandbytes"}), "GGUF file"),
    ],
    ids=["encoder-decoder", "masked", "experts", "fp8", "8 bit"],
)
def test_kinds_whose_rows_are_not_independent_are_refused(tiny_folder, tmp_path, config, words):
    folder = copied(tiny_folder, tmp_path)
    (folder / "config.json").write_text(json.dumps(config.to_dict(), default=str))
    with pytest.raises(ModelError, match=words):
        load_model(str(folder))


def test_layers_that_carry_a_state_over_padding_are_refused():
    config = tiny_config()
    config.layer_types = ["linear_attention", "full_attention"]
    with pytest.raises(ModelError, match="run over padding"):
        require_supported(config, "some model")


def test_code_in_the_folder_is_not_run(tiny_folder, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    change_config(folder, model_type="own", auto_map={"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Model"})
    (folder / "own.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ModelError, match="could not be loaded"):
        load_model(str(folder))


def test_weights_that_are_not_finite_are_refused(tmp_path):
    def spoil(model):
        model.model.layers[1].mlp.up_proj.weight[3] = float("nan")

    with pytest.raises(ModelError, match="must be finite"):
        load_model(str(save_tiny_model(tmp_path, spoil)), dtype="float32")


def test_missing_weights_are_not_made_up(tiny_folder, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    change_config(folder, num_hidden_layers=3)
    with pytest.raises(ModelError, match="lacks 9 of the weights"):
        load_model(str(folder))


def test_a_model_that_ignores_positions_or_masks_is_refused(tiny_folder, monkeypatch):
    from transformers import LlamaForCausalLM

    honest = LlamaForCausalLM.forward
    monkeypatch.setattr(
        LlamaForCausalLM, "forward", lambda self, **given: honest(self, **(given | {"attention_mask": None}))
    )
    with pytest.raises(ModelError, match="must depend on its own prompt alone"):
        load_model(str(tiny_folder), dtype="float32")


def test_a_model_whose_rows_are_mixed_is_refused(tiny_folder, monkeypatch):
    from transformers import LlamaForCausalLM

    honest = LlamaForCausalLM.forward

    def mixing(self, **given):
        output = honest(self, **given)
        output.logits = output.logits + 1e-6 * output.logits.mean(dim=(0, 1))
        return output

    monkeypatch.setattr(LlamaForCausalLM, "forward", mixing)
    with pytest.raises(ModelError, match="must depend on its own prompt alone"):
        load_model(str(tiny_folder), dtype="float32")


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path):
    config = tiny_config(vocab_size=200)
    with pytest.raises(ModelError, match=r"the tokenizer has 5\d beyond"):
        load_model(str(save_tiny_model(tmp_path, config=config)))


def test_a_sharded_model_is_hashed_shard_by_shard(tmp_path):
    folder = save_tiny_model(tmp_path)
    tiny_weights().save_pretrained(folder, max_shard_size="40KB")
    (folder / "model.safetensors").unlink()
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert load_model(str(folder)).info.weights_sha256 == tuple(map(file_sha256, shards))


def test_a_tokenizer_that_changes_text_is_refused(tiny_folder, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": {"type": "Lowercase"}}))
    with pytest.raises(ModelError, match="give back the text"):
        load_model(str(folder))


SHAPE = {name: getattr(tiny_config(), name) for name in ("vocab_size", "hidden_size", "intermediate_size")}
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4, "eos_token_id": 0, "bos_token_id": 1, "pad_token_id": None}
GROUPED = SHAPE | LAYERS | {"num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512}
OLD = {"vocab_size": 272, "n_embd": 32, "n_layer": 2, "n_head": 4, "eos_token_id": 0, "bos_token_id": 1}


@pytest.mark.parametrize(
    ("config", "max_context"),
    [
        (Qwen3Config(**GROUPED), 512),
        (Gemma2Config(**GROUPED, sliding_window=300, query_pre_attn_scalar=8), 300),
        (GPT2Config(**OLD, n_positions=512), 512),
    ],
    ids=["plain", "capped scores and sliding layers", "learned positions"],
)
def test_other_families_give_the_librarys_own_numbers(tmp_path, config, max_context):
    model = load_model(str(save_tiny_model(tmp_path, config=config)), dtype="float32")
    assert model.info.max_context == max_context
    rows = [prompt(model.tokenizer, text, widths=[40]) for text in ("Label: some text here", "x")]
    ids = np.arange(10, 200)
    with torch.no_grad():
        logits = model._model(input_ids=torch.tensor([joined(rows[0])])).logits[0, -1].double().numpy()
    assert np.abs(model.private_probabilities(rows, ids)[0] - softmax(logits[ids])).max() < 1e-5


@pytest.mark.parametrize(
    "config",
    [
        MptConfig(vocab_size=272, d_model=32, n_layers=2, n_heads=4, eos_token_id=0),
        BloomConfig(vocab_size=272, hidden_size=32, n_layer=2, n_head=4, eos_token_id=0, bos_token_id=1),
    ],
    ids=["positions from columns", "positions from a 2-D mask"],
)
def test_families_that_ignore_explicit_positions_are_refused(tmp_path, config):
    with pytest.raises(ModelError, match=r"with and without padding|could not run a batch"):
        load_model(str(save_tiny_model(tmp_path, config=config)), dtype="float32")


@pytest.mark.parametrize(("name", "value"), [("device", "cuda:7"), ("device", "tpu"), ("dtype", "int8")])
def test_devices_and_types_that_are_not_there_are_refused(tiny_folder, name, value):
    with pytest.raises(ModelError, match=f"but is {value}"):
        load_model(str(tiny_folder), **{name: value})


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({}, 512),
        ({"sliding_window": 128}, 128),
        ({"sliding_window": 128, "use_sliding_window": False}, 512),
        ({"attention_chunk_size": 64}, 64),
        ({"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 256}}, 256),
        ({"rope_parameters": {"rope_type": "yarn", "original_max_position_embeddings": 256}}, 512),
    ],
)
def test_the_context_ends_before_anything_depends_on_the_true_length(changes, limit):
    config = tiny_config()
    for name, value in changes.items():
        setattr(config, name, value)
    assert context_limit(config) == limit


def test_loading_leaves_the_librarys_settings_and_the_output_alone(tiny_folder, capfd):
    from transformers.utils import logging

    before = (logging.get_verbosity(), logging.is_progress_bar_enabled())
    stages = []
    load_model(str(tiny_folder), progress=lambda stage, fraction: stages.append((stage, fraction)))
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")
    assert stages[0] == ("load", 0.0)
    assert stages[-1] == ("load", 1.0)


def test_ends_are_gathered_from_all_configurations():
    class Configuration:
        def __init__(self, named):
            self.eos_token_id = named

    assert loading.end_ids(Configuration(7), Configuration([3, 7]), Configuration(None), object()) == (3, 7)
