"""Every class of every family that has a price, against transformers: parameters, and bytes of the cache."""

import itertools
import random
from importlib import import_module

import torch

from regard.cost import price
from regard.cost.built import built_parameters
from regard.layers.shapes import ImageShape
from regard.models.huggingface.config import read_config
from tests.hunt.found import Found

SIZES = {
    "vocab_size": 99, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 3,
    "num_attention_heads": 4, "max_position_embeddings": 40,
}  # fmt: skip
GROUPED = SIZES | {"num_key_value_heads": 2, "pad_token_id": 0}
ROUTED = GROUPED | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
LATENT = GROUPED | {
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_shared_experts": 1,
    "first_k_dense_replace": 1, "q_lora_rank": 20, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4, "v_head_dim": 6, "num_key_value_heads": 4, "n_group": 1, "topk_group": 1,
}  # fmt: skip
IMAGE = {
    "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 12, "patch_size": 4,
}  # fmt: skip
TINY: dict[str, dict[str, object]] = {
    "llama": GROUPED,
    "mistral": GROUPED | {"sliding_window": 5},
    "qwen2": GROUPED | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    "qwen3": GROUPED | {"head_dim": 16},
    "gemma": GROUPED | {"head_dim": 16},
    "gemma2": GROUPED | {"head_dim": 16, "sliding_window": 6},
    "gemma3_text": GROUPED | {"head_dim": 16, "sliding_window": 6},
    "phi": GROUPED,
    "phi3": GROUPED,
    "starcoder2": GROUPED,
    "mixtral": GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": ROUTED | {"shared_expert_intermediate_size": 40},
    "qwen3_moe": ROUTED | {"head_dim": 16},
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "gpt_neox": SIZES,
    "opt": {
        "vocab_size": 99, "hidden_size": 48, "ffn_dim": 72, "num_hidden_layers": 3,
        "num_attention_heads": 4, "max_position_embeddings": 40, "word_embed_proj_dim": 48,
    },
    "gpt2": {"vocab_size": 99, "n_positions": 40, "n_embd": 48, "n_layer": 3, "n_head": 4},
    "bert": SIZES,
    "roberta": SIZES,
    "distilbert": {
        "vocab_size": 99, "dim": 48, "hidden_dim": 72, "n_layers": 3, "n_heads": 4,
        "max_position_embeddings": 40,
    },
    "vit": IMAGE | {"intermediate_size": 72},
    "dinov2": IMAGE | {"mlp_ratio": 3},
}  # fmt: skip
# Sizes (vocabulary, width, hidden, depth, heads, heads of keys) as they are published, and more fields.
PUBLISHED: list[tuple[str, tuple[int, int, int, int, int, int], dict[str, object]]] = [
    ("llama", (128256, 4096, 14336, 32, 32, 8), {}),
    ("llama", (128256, 2048, 8192, 16, 32, 8), {"tie_word_embeddings": True, "head_dim": 64}),
    ("mistral", (32000, 4096, 14336, 32, 32, 8), {"sliding_window": 4096}),
    ("qwen2", (152064, 3584, 18944, 28, 28, 4), {"use_sliding_window": False, "max_window_layers": 28}),
    ("qwen3", (151936, 1024, 3072, 28, 16, 8), {"head_dim": 128, "tie_word_embeddings": True}),
    ("gemma", (256000, 2048, 16384, 18, 8, 1), {"head_dim": 256}),
    ("gemma2", (256000, 3584, 14336, 42, 16, 8), {"head_dim": 256, "sliding_window": 4096}),
    ("gemma3_text", (262144, 1152, 6912, 26, 4, 1), {"head_dim": 256, "sliding_window": 512}),
    ("phi", (51200, 2560, 10240, 32, 32, 32), {"partial_rotary_factor": 0.4}),
    ("phi3", (32064, 3072, 8192, 32, 32, 32), {"sliding_window": 2047}),
    ("starcoder2", (49152, 3072, 12288, 30, 24, 2), {"sliding_window": 4096}),
    ("mixtral", (32000, 4096, 14336, 32, 32, 8), {"num_local_experts": 8, "num_experts_per_tok": 2}),
    ("qwen3_moe", (151936, 2048, 6144, 48, 32, 4),
     {"head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}),
    ("qwen2_moe", (151936, 2048, 5632, 24, 16, 16),
     {"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
      "shared_expert_intermediate_size": 5632}),
    ("deepseek_v3", (129280, 7168, 18432, 61, 128, 128),
     {"n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
      "n_shared_experts": 1, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}),
    ("gpt_neox", (50304, 2048, 8192, 16, 8, 8), {}),
    ("bert", (30522, 768, 3072, 12, 12, 12), {"max_position_embeddings": 512}),
    ("roberta", (50265, 1024, 4096, 24, 16, 16), {"max_position_embeddings": 514, "type_vocab_size": 1}),
]  # fmt: skip
NAMES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
TEXTS = ("bert", "roberta", "distilbert", "vit", "dinov2")
LENGTHS = ((3, 2), (7, 9), (17, 6))  # of a prompt, and of what is written


def classes(family: str) -> list[str]:
    """The names of all models of a family in transformers."""
    import transformers

    config = transformers.CONFIG_MAPPING[family]
    module = import_module(config.__module__.replace("configuration_", "modeling_"))
    return [
        name
        for name in module.__all__
        if isinstance(kind := getattr(module, name), type)
        and issubclass(kind, transformers.PreTrainedModel)
        and not name.endswith("PreTrainedModel")
    ]


def published(family: str, sizes: tuple[int, ...], more: dict[str, object]) -> dict[str, object]:
    """The fields of a model that people have."""
    named = dict(zip((*NAMES, "num_key_value_heads"), sizes, strict=True))
    if family in ("gpt_neox", "bert", "roberta"):
        del named["num_key_value_heads"]
    return named | more


def parameters(found: Found, family: str, name: str | None, fields: dict[str, object] | None = None) -> None:
    """A class is refused by name, or has the parameters that transformers builds."""
    own = TINY[family] if fields is None else fields
    data = {"model_type": family, **own, **({} if name is None else {"architectures": [name]})}
    try:
        what, _ = read_config(data)
    except ValueError as error:
        found.add("refused", None if str(name) in str(error) else f"{name}: {error}")
        return
    ours = price(what, tokens=None if isinstance(what.shapes(), ImageShape) else 2).parameters
    try:
        theirs = built_parameters(data)
    except ValueError:
        found.add("not built by transformers")
        return
    found.add("parameters", None if ours == theirs else f"{family} {name}: {ours:,} against {theirs:,}")


def cache(found: Found, family: str, prompt: int, new: int) -> None:
    """The cache that a real generate leaves has the bytes that we say."""
    import transformers

    data = {"model_type": family, **TINY[family]}
    fields = {name: value for name, value in data.items() if name != "model_type"}
    config = transformers.CONFIG_MAPPING[family](**fields)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.arange(1, prompt + 1)[None]
    out = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=new, min_new_tokens=new,
        do_sample=False, return_dict_in_generate=True, pad_token_id=0, eos_token_id=None,
    )  # fmt: skip
    kept = [x for layer in out.past_key_values.layers for x in (layer.keys, layer.values)]
    theirs = sum(x.numel() * x.element_size() for x in kept)
    ours = price(read_config(data)[0], tokens=prompt + new - 1).cache_bytes
    fault = None if ours == theirs else f"{family} {prompt}+{new}: {ours:,} bytes against {theirs:,}"
    found.add("cache", fault)


def hunt(times: int, seed: int) -> Found:
    """All of them, or as many as are asked for, in another order for another seed."""
    import transformers

    transformers.logging.set_verbosity_error()
    found, writers = Found(), [family for family in TINY if family not in TEXTS]
    tries = [(parameters, (family, name)) for family in TINY for name in (None, *classes(family))]
    tries += [
        (parameters, (family, name, published(family, sizes, more)))
        for family, sizes, more in PUBLISHED
        for name in (None, *classes(family))
    ]
    tries += [(cache, (family, *sizes)) for family, sizes in itertools.product(writers, LENGTHS)]
    random.Random(seed).shuffle(tries)
    for check, given in tries[:times]:
        check(found, *given)
    return found
