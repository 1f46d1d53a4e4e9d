"""Decoders of transformers, by family: what each says of itself in a config.json, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from regard.layers import Gelu, LayerNorm, PreNorm
from regard.models.gpt import GPTConfig, Tied, Untied
from regard.models.huggingface.blocks import BlockStyle, Experts, Latent
from regard.models.huggingface.keys import Keys
from regard.models.huggingface.shapes import DecoderShape
from regard.models.huggingface.storage import read_storage
from regard.pattern import Causal, Pattern, Strided

ACTIVATIONS = {
    "silu": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "relu": "relu",
}
# What a class puts on the decoder, by the end of its name; those of sequences before those of nothing.
HEADS = {
    "LMHeadModel": "language",
    "ForCausalLM": "language",
    "ForSequenceClassification": "sequence",
    "ForTokenClassification": "token",
    "ForQuestionAnswering": "question",
    "Model": "none",
}
WORDS = {
    "none": "no head",
    "sequence": "a classifier of sequences",
    "token": "a classifier of tokens",
    "question": "the first and last word of an answer",
}
PLAIN = BlockStyle(norm=LayerNorm(), gated=False, activation="gelu", qkv_bias=True, out_bias=True,
                   feedforward_bias=True)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DecoderKind:
    """What a family does where its config says nothing; None: the key is needed, or follows from others."""

    style: BlockStyle = BlockStyle()  # noqa: RUF009 - a frozen value
    kv_as_heads: bool = False  # a missing num_key_value_heads is the number of heads
    head_width: int | None = None  # of a missing head_dim; None: width / heads
    own_head_width: bool = True  # it reads head_dim at all
    tied: bool = False
    head_norm: bool = False
    biases: str = "none"  # of attention: none, asked (attention_bias), qkv
    mlp_bias: bool = False  # it reads mlp_bias
    activation: str = "hidden_act"
    windows: str = "none"  # none, all, asked (use_sliding_window), typed (layer_types alone)
    full_every: int = 0  # of typed layers: each so-manieth sees everything
    embed_scaled: bool = False
    head_bias: bool = False
    classes: tuple[str, ...] = ()  # how the names of its classes begin


GEMMA = BlockStyle(activation="gelu")
FAMILIES = {
    "llama": DecoderKind(classes=("Llama",), kv_as_heads=True, biases="asked", mlp_bias=True),
    "mistral": DecoderKind(classes=("Mistral",), windows="all"),
    "qwen2": DecoderKind(classes=("Qwen2",), biases="qkv", windows="asked", own_head_width=False),
    "qwen3": DecoderKind(classes=("Qwen3",), biases="asked", windows="asked", head_width=128, head_norm=True),
    "gemma": DecoderKind(
        classes=("Gemma",), style=GEMMA, tied=True, biases="asked", head_width=256, embed_scaled=True
    ),
    "gemma2": DecoderKind(
        classes=("Gemma2",),
        style=replace(GEMMA, norms=4),
        tied=True,
        biases="asked",
        head_width=256,
        embed_scaled=True,
        activation="hidden_activation",
        windows="typed",
        full_every=2,
    ),
    "gemma3_text": DecoderKind(
        classes=("Gemma3Text", "Gemma3"),
        style=replace(GEMMA, norms=4),
        tied=True,
        biases="asked",
        head_width=256,
        embed_scaled=True,
        activation="hidden_activation",
        windows="typed",
        full_every=6,
        head_norm=True,
    ),
    "phi": DecoderKind(
        classes=("Phi",),
        style=replace(PLAIN, norms=1),
        kv_as_heads=True,
        own_head_width=False,
        head_bias=True,
    ),
    "phi3": DecoderKind(
        classes=("Phi3",), style=BlockStyle(fused=True), kv_as_heads=True, windows="all", own_head_width=False
    ),
    "starcoder2": DecoderKind(
        classes=("Starcoder2",),
        style=replace(PLAIN, turned=Fraction(1)),
        windows="all",
        tied=True,
        own_head_width=False,
    ),
    "mixtral": DecoderKind(classes=("Mixtral",), windows="all"),
    "qwen2_moe": DecoderKind(classes=("Qwen2Moe",), biases="qkv", windows="asked", own_head_width=False),
    "qwen3_moe": DecoderKind(classes=("Qwen3Moe",), biases="asked", windows="asked", head_norm=True),
    "deepseek_v2": DecoderKind(classes=("DeepseekV2",), kv_as_heads=True, biases="asked", mlp_bias=True),
    "deepseek_v3": DecoderKind(classes=("DeepseekV3",), kv_as_heads=True, biases="asked"),
}
ALIKE = ("phi3", "mixtral", "qwen3_moe", "mistral", "starcoder2")  # their layers have one window or none
EXPERTS = ("mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3")


def read_decoder(keys: Keys) -> tuple[DecoderShape, str]:
    """A decoder like Llama."""
    name = str(keys.data["model_type"])
    family = FAMILIES[name]
    depth, width = keys.size("num_hidden_layers"), keys.size("hidden_size")
    heads, biased = keys.size("num_attention_heads"), _bias(keys, family)
    kv_missing = heads if family.kv_as_heads or keys.named("num_key_value_heads") else None
    given = keys.maybe("head_dim") if family.own_head_width else None
    style = replace(
        family.style,
        activation=_activation(keys, family.activation, family.style.activation),
        qkv_bias=family.style.qkv_bias or biased != "none",
        out_bias=family.style.out_bias or biased == "all",
        feedforward_bias=family.style.feedforward_bias or (family.mlp_bias and keys.flag("mlp_bias", False)),
        turned=_turned(keys, 0.5 if name == "phi" else 1.0),
        softcap=name == "gemma2" and keys.number("attn_logit_softcapping", 50.0) is not None,
    )
    if name == "starcoder2":
        keys.only("use_bias", True)
        keys.only("norm_type", "layer_norm")
        keys.only("mlp_type", "default")
    if name.startswith("gemma"):
        keys.only("use_bidirectional_attention", False)
    if name == "gemma3_text":
        keys.only("attn_logit_softcapping")
        keys.only("final_logit_softcapping")
    head, tied = keys.head(HEADS, "language", family.classes), keys.flag("tie_word_embeddings", family.tied)
    experts, sparse = _experts(keys, name, depth)
    shape = DecoderShape(
        vocab=keys.size("vocab_size"),
        depth=depth,
        width=width,
        heads=heads,
        kv_heads=keys.size("num_key_value_heads", default=kv_missing),
        head_width=family.head_width if given is None else given,
        hidden=keys.size("intermediate_size"),
        pattern=_patterns(keys, family, depth),
        tied=tied,
        head_norm=_head_norm(keys, name, family),
        style=style,
        experts=experts,
        sparse=sparse,
        latent=_latent(keys) if name.startswith("deepseek") else None,
        embed_scaled=family.embed_scaled,
        head=head,
        labels=keys.labels,
        head_bias=family.head_bias,
        head_capped=name == "gemma2" and keys.number("final_logit_softcapping", 30.0) is not None,
        storage=read_storage(keys, packs=True),
    )
    if shape.storage is not None and shape.storage.packed is not None and experts is not None:
        raise ValueError(f"{keys.source}: packed weights of experts have no price here")
    own = f"head {'tied to the embedding' if tied else 'of its own'}"
    return shape, f"{name}-style decoder, {WORDS.get(head, own)}"


def _activation(keys: Keys, name: str, default: str) -> str:
    value = keys.word(name, keys.word("hidden_activation", default) if name == "hidden_act" else default)
    if value not in ACTIVATIONS:
        raise ValueError(f"{keys.source}: {name} must be one of {', '.join(ACTIVATIONS)}, got {value!r}")
    return ACTIVATIONS[value]


def _bias(keys: Keys, family: DecoderKind) -> str:
    if family.biases == "asked":
        return "all" if keys.flag("attention_bias", False) else "none"
    if family.biases == "qkv":
        return "qkv" if keys.flag("qkv_bias", True) or keys.data["model_type"] == "qwen2" else "none"
    keys.get("attention_bias")  # which such a family does not read
    return "none"


def _head_norm(keys: Keys, name: str, family: DecoderKind) -> bool | LayerNorm:
    return LayerNorm() if name == "phi" and keys.flag("qk_layernorm", False) else family.head_norm


def _turned(keys: Keys, default: float) -> Fraction:
    inner = keys.get("rope_parameters")
    told = inner.get("partial_rotary_factor") if isinstance(inner, Mapping) else None
    part = keys.number("partial_rotary_factor", default if told is None else told)
    part = keys.number("rotary_pct", part)
    return Fraction(str(default if part is None else part))


def _patterns(keys: Keys, family: DecoderKind, depth: int) -> Pattern | tuple[Pattern, ...]:
    """What each block sees: the window of those that slide, else everything before."""
    types = keys.get("layer_types")
    known = ("full_attention", "sliding_attention")
    if types is not None and (
        not isinstance(types, list) or len(types) != depth or any(one not in known for one in types)
    ):
        raise ValueError(
            f"{keys.source}: layer_types must be {depth} of {' and '.join(known)}, got {types!r:.80}"
        )
    every = keys.size("sliding_window_pattern", "_sliding_window_pattern", default=max(family.full_every, 1))
    first = keys.size("max_window_layers", default=28, least=0) if family.windows == "asked" else 0
    used = family.windows != "none" and (family.windows != "asked" or keys.flag("use_sliding_window", False))
    if not used:
        keys.get("sliding_window")
        return Causal()
    if not keys.named("sliding_window") and keys.data["model_type"] not in ("phi3", "mixtral", "starcoder2"):
        raise ValueError(f"{keys.source}: the key sliding_window is missing")
    window = keys.maybe("sliding_window")
    if window is None:
        return Causal()
    if types is None:
        types = ["sliding_attention"] * depth
        if family.windows == "asked" and keys.data["model_type"] == "qwen2_moe":
            types = [known[(i + 1) % 2 and i < first] for i in range(depth)]
        elif family.windows == "asked" and keys.data["model_type"] != "qwen3_moe":
            types = [known[i >= first] for i in range(depth)]
        elif family.windows == "typed":
            types = [known[(i + 1) % every != 0] for i in range(depth)]
    elif (
        keys.data["model_type"] in ("phi3", "mixtral", "qwen3_moe", "mistral", "starcoder2")
        and len(set(types)) > 1
    ):
        raise ValueError(
            f"{keys.source}: layers of several types of a {keys.data['model_type']} have no price"
        )
    band = Strided(back=window - 1)
    found = tuple(band if one == "sliding_attention" else Causal() for one in types)
    return found[0] if len(set(found)) == 1 else found


def _experts(keys: Keys, name: str, depth: int) -> tuple[Experts | None, tuple[bool, ...] | None]:
    if name not in EXPERTS:
        return None, None
    chosen = keys.size("num_experts_per_tok")
    if name == "mixtral":
        count = keys.size("num_local_experts")
        return Experts(count=count, chosen=chosen, hidden=keys.size("intermediate_size")), None
    hidden = keys.size("moe_intermediate_size")
    if name.startswith("deepseek"):
        keys.only("moe_layer_freq", 1)
        shared = keys.size("n_shared_experts", default=0, least=0) * hidden
        found = Experts(count=keys.size("n_routed_experts"), chosen=chosen, hidden=hidden, shared=shared)
        dense = keys.size("first_k_dense_replace", least=0)
        return found, tuple(i >= dense for i in range(depth))
    count = keys.size("num_experts", "num_local_experts")
    shared = keys.size("shared_expert_intermediate_size") if name == "qwen2_moe" else 0
    found = Experts(count=count, chosen=chosen, hidden=hidden, shared=shared, gated=shared > 0)
    step, dense_ones = keys.size("decoder_sparse_step", default=1), keys.get("mlp_only_layers")
    only = dense_ones if isinstance(dense_ones, list) else []
    sparse = tuple(i not in only and (i + 1) % step == 0 for i in range(depth))
    return found, None if all(sparse) else sparse


def _latent(keys: Keys) -> Latent:
    keys.get("qk_head_dim")
    return Latent(
        queries=keys.maybe("q_lora_rank"),
        keys=keys.size("kv_lora_rank"),
        plain=keys.size("qk_nope_head_dim"),
        turned=keys.size("qk_rope_head_dim"),
        values=keys.size("v_head_dim"),
    )


def read_gpt2(keys: Keys) -> tuple[GPTConfig | DecoderShape, str]:
    """GPT-2: with its language-model head it is our own."""
    keys.only("add_cross_attention", False)
    keys.only("scale_attn_weights", True)
    keys.only("scale_attn_by_inverse_layer_idx", False)
    tied = keys.flag("tie_word_embeddings", True)
    head, storage = keys.head(HEADS, "language", ["GPT2"]), read_storage(keys, packs=False)
    vocab, depth = keys.size("vocab_size"), keys.size("n_layer")
    width, heads = keys.size("n_embd"), keys.size("n_head")
    context, hidden = keys.size("n_positions", "n_ctx"), keys.size("n_inner", default=4 * width)
    keys.only("activation_function", *(name for name in ACTIVATIONS if name.startswith("gelu")))
    if head == "language" and storage.dtype.itemsize == 4:
        block = PreNorm(feedforward=Gelu(hidden=hidden, tanh=True))
        config = GPTConfig(
            vocab=vocab, context=context, depth=depth, width=width, heads=heads, block=block,
            head=Tied() if tied else Untied(bias=False),
        )  # fmt: skip
        return config, f"gpt2, language-model head {'tied to the embedding' if tied else 'of its own'}"
    style = replace(PLAIN, turned=Fraction(0))
    shape = DecoderShape(
        vocab=vocab, depth=depth, width=width, heads=heads, hidden=hidden, learned=context, style=style,
        tied=tied, head=head, labels=keys.labels, storage=storage,
    )  # fmt: skip
    return shape, f"gpt2, {WORDS.get(head, 'language-model head')}"


def read_neox(keys: Keys) -> tuple[DecoderShape, str]:
    """GPT-NeoX: two norms, whether its parts stand side by side or not."""
    biased, tied = keys.flag("attention_bias", True), keys.flag("tie_word_embeddings", False)
    keys.flag("use_parallel_residual", True)
    keys.only("is_decoder", False, True)
    style = replace(
        PLAIN, fused=True, activation=_activation(keys, "hidden_act", "gelu"), qkv_bias=biased,
        out_bias=biased, turned=_turned(keys, 0.25),
    )  # fmt: skip
    shape = DecoderShape(
        vocab=keys.size("vocab_size"),
        depth=keys.size("num_hidden_layers"),
        width=keys.size("hidden_size"),
        heads=keys.size("num_attention_heads"),
        hidden=keys.size("intermediate_size"),
        style=style,
        tied=tied,
        head=(head := keys.head(HEADS, "language", ["GPTNeoX"])),
        labels=keys.labels,
        storage=read_storage(keys, packs=True),
    )
    return shape, f"gpt_neox, {WORDS.get(head, 'language-model head')}"


def read_opt(keys: Keys) -> tuple[DecoderShape, str]:
    """OPT with the norm before each part; its table of positions has two rows more than it uses."""
    width = keys.size("hidden_size")
    for name, known in (
        ("do_layer_norm_before", True), ("_remove_final_layer_norm", False), ("enable_bias", True),
        ("layer_norm_elementwise_affine", True), ("word_embed_proj_dim", width),
    ):  # fmt: skip
        keys.only(name, known)
    style = replace(PLAIN, turned=Fraction(0), activation=_activation(keys, "activation_function", "relu"))
    shape = DecoderShape(
        vocab=keys.size("vocab_size"),
        depth=keys.size("num_hidden_layers"),
        width=width,
        heads=keys.size("num_attention_heads"),
        hidden=keys.size("ffn_dim"),
        learned=keys.size("max_position_embeddings") + 2,
        style=style,
        tied=keys.flag("tie_word_embeddings", True),
        head=(head := keys.head(HEADS, "language", ["OPT"])),
        labels=keys.labels,
        storage=read_storage(keys, packs=True),
    )
    return shape, f"opt, {WORDS.get(head, 'language-model head')}"
