"""The tiny model as a GGUF file, in the layout of llama.cpp."""

import gguf
from transformers.convert_slow_tokenizer import bytes_to_unicode

from tests.language_model.tiny import BEGIN, END, VOCABULARY, tiny_weights


def write_tiny_gguf(path):
    model = tiny_weights()
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    _add_tokenizer(writer)
    for name, tensor in model.state_dict().items():
        writer.add_tensor(_gguf_name(name), _reordered(name, tensor, config).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer):
    tokens = [END, BEGIN, *bytes_to_unicode().values(), "!!"]
    tokens += [f"<|unused_{number}|>" for number in range(len(tokens), VOCABULARY)]
    kinds = [3, 3, *([1] * 257), *([5] * (VOCABULARY - 259))]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["! !"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)


def _gguf_name(name):
    for own, theirs in (
        ("model.embed_tokens", "token_embd"),
        ("model.norm", "output_norm"),
        ("lm_head", "output"),
        ("model.layers.", "blk."),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
    ):
        name = name.replace(own, theirs)
    return name


def _reordered(name, tensor, config):
    """llama.cpp keeps the two halves of a rotated head interleaved."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    count = next((number for part, number in heads.items() if part in name), None)
    if count is None:
        return tensor
    rows, columns = tensor.shape
    return tensor.reshape(count, 2, rows // count // 2, columns).swapaxes(1, 2).reshape(rows, columns).contiguous()
