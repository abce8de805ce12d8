"""A tiny random Llama with a byte-level tokenizer: real files of every kind, without a network."""

import json

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from dpicl_core.values import TokenBlock, TokenPrompt

END, BEGIN, TOOL = "<|endoftext|>", "<s>", "<|tool|>"
VOCABULARY = 272
"""Rows of the output matrix; more than the tokenizer has tokens, as in padded published models."""


def byte_tokenizer():
    tokens = [END, BEGIN, *bytes_to_unicode().values()]
    backend = Tokenizer(models.BPE(vocab={token: id_ for id_, token in enumerate(tokens)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([END, BEGIN])
    backend.add_tokens([TOOL])  # spelt like a control token, but not marked as one
    return backend


def tiny_config(**changes):
    settings = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "eos_token_id": 0,
        "bos_token_id": 1,
        "initializer_range": 0.3,
    }
    return LlamaConfig(**(settings | changes))


def tiny_weights(config=None):
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return AutoModelForCausalLM.from_config(config or tiny_config()).eval()


def save_tiny_model(folder, change=None, config=None):
    """Save a model (of `config`, else the tiny Llama), its weights changed by `change(model)`, and its tokenizer."""
    model = tiny_weights(config)
    if change:
        with torch.no_grad():
            change(model)
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer(), eos_token=END, bos_token=BEGIN).save_pretrained(folder)
    return folder


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def block(ids, width=None):
    return TokenBlock(tuple(ids), len(ids) if width is None else width)


def prompt(tokenizer, *texts, widths=(), target="Text: What"):
    """Instruction, then the texts padded to the widths (their own length where none is given), then the target."""
    encoded = [tokenizer.encode(text) for text in texts]
    widths = widths or [len(ids) for ids in encoded]
    instruction = tokenizer.prefix_ids + tokenizer.encode("Given a label, write a question.\n\n")
    shown = [block(ids[:width], width) for ids, width in zip(encoded, widths, strict=True)]
    return TokenPrompt((block(instruction), *shown, block(tokenizer.encode(target))))


def joined(prompts):
    """All ids of one prompt in order, without padding."""
    return [id_ for part in prompts.blocks for id_ in part.ids]


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()
