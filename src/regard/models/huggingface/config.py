"""What can be priced of a config.json of transformers, from it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from regard.layers import Gelu, PostNorm, PreNorm
from regard.layers.shapes import HasShapes
from regard.models.encoder import EncoderConfig
from regard.models.gpt import GPTConfig, Tied, Untied
from regard.models.huggingface.shapes import BertShape, DecoderShape, ViTShape
from regard.models.vit import ViTConfig
from regard.pattern import Causal, Strided
from regard.sharing.sizes import pair

ROTARY_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


def read_config(data: Mapping[str, object], source: str = "config.json") -> tuple[HasShapes, str]:
    """(what `price` takes, what it is in words) of a config of transformers.

    >>> what, words = read_config({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    ...                            "n_layer": 12, "n_embd": 768, "n_head": 12})
    >>> what.width, words
    (768, 'gpt2, language-model head tied to the embedding')
    """
    family = data.get("model_type")
    readers: dict[object, Callable[[_Keys], tuple[HasShapes, str]]] = {
        "gpt2": _gpt2,
        "bert": _bert,
        "vit": _vit,
    }
    readers |= dict.fromkeys(ROTARY_FAMILIES, _decoder)
    if family not in readers:
        known = ", ".join(map(str, readers))
        raise ValueError(f"{source}: model_type must be one of {known}, got model_type={family!r}")
    return readers[family](_Keys(data, source))


@dataclass(frozen=True)
class _Keys:
    """The keys of a config, with one clear line for what is missing or no size."""

    data: Mapping[str, object]
    source: str

    def size(self, *names: str, default: int | None = None) -> int:
        for name in names:
            value = self.data.get(name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    raise ValueError(
                        f"{self.source}: {name} must be a positive integer, got {name}={value!r}"
                    )
                return value
        if default is None:
            raise ValueError(f"{self.source}: the key {' or '.join(names)} is missing")
        return default

    def flag(self, name: str, default: bool) -> bool:
        value = self.data.get(name)
        return default if value is None else bool(value)

    def sides(self, name: str) -> tuple[int, int]:
        value = self.data.get(name)
        if value is None:
            raise ValueError(f"{self.source}: the key {name} is missing")
        return pair(name, cast(int, value), 1)

    @property
    def present(self) -> set[str]:
        return {name for name, value in self.data.items() if value is not None}

    @property
    def architecture(self) -> str:
        names = self.data.get("architectures")
        return names[0] if isinstance(names, list) and names else ""

    @property
    def labels(self) -> int:
        named = self.data.get("id2label")
        return self.size("num_labels", default=len(named) if isinstance(named, Mapping) and named else 2)


def _gpt2(keys: _Keys) -> tuple[GPTConfig, str]:
    tied = keys.flag("tie_word_embeddings", True)
    config = GPTConfig(
        vocab=keys.size("vocab_size"),
        context=keys.size("n_positions", "n_ctx"),
        depth=keys.size("n_layer"),
        width=(width := keys.size("n_embd")),
        heads=keys.size("n_head"),
        block=PreNorm(feedforward=Gelu(hidden=keys.size("n_inner", default=4 * width), tanh=True)),
        head=Tied() if tied else Untied(bias=False),
    )
    return config, f"gpt2, language-model head {'tied to the embedding' if tied else 'of its own'}"


def _bert(keys: _Keys) -> tuple[BertShape, str]:
    backbone = EncoderConfig(
        vocab=keys.size("vocab_size"),
        context=keys.size("max_position_embeddings"),
        types=keys.size("type_vocab_size", default=2),
        depth=keys.size("num_hidden_layers"),
        width=keys.size("hidden_size"),
        heads=keys.size("num_attention_heads"),
        block=PostNorm(feedforward=Gelu(hidden=keys.size("intermediate_size"))),
    )
    if "MaskedLM" in keys.architecture or "PreTraining" in keys.architecture:
        words = "bert with its masked-LM head and no pooler (use BertModel for the backbone with its pooler)"
        return BertShape(backbone=backbone, head="masked-lm"), words
    if "Classification" in keys.architecture:
        shape = BertShape(backbone=backbone, head="classifier", labels=keys.labels)
        return shape, f"bert with its pooler and a classifier of {keys.labels}"
    return BertShape(backbone=backbone), "bert backbone with its pooler"


def _vit(keys: _Keys) -> tuple[ViTShape, str]:
    backbone = ViTConfig(
        image=keys.sides("image_size"),
        patch=keys.sides("patch_size"),
        channels=keys.size("num_channels", default=3),
        depth=keys.size("num_hidden_layers"),
        width=keys.size("hidden_size"),
        heads=keys.size("num_attention_heads"),
        block=PreNorm(feedforward=Gelu(hidden=keys.size("intermediate_size"))),
    )
    if "Classification" in keys.architecture:
        return ViTShape(backbone=backbone, labels=keys.labels), f"vit with a classifier of {keys.labels}"
    return ViTShape(backbone=backbone), "vit backbone with its pooler"


def _decoder(keys: _Keys) -> tuple[DecoderShape, str]:
    family = keys.data["model_type"]
    windowed = keys.flag("use_sliding_window", family == "mistral") and "sliding_window" in keys.present
    biased, tied = keys.flag("attention_bias", False), keys.flag("tie_word_embeddings", False)
    shape = DecoderShape(
        vocab=keys.size("vocab_size"),
        depth=keys.size("num_hidden_layers"),
        width=keys.size("hidden_size"),
        heads=(heads := keys.size("num_attention_heads")),
        kv_heads=keys.size("num_key_value_heads", default=heads),
        head_width=keys.size("head_dim") if "head_dim" in keys.present else None,
        hidden=keys.size("intermediate_size"),
        pattern=Strided(back=keys.size("sliding_window") - 1) if windowed else Causal(),
        tied=tied,
        qkv_bias=biased or family == "qwen2",
        out_bias=biased,
        feedforward_bias=keys.flag("mlp_bias", False),
        head_norm=family == "qwen3",
    )
    return shape, f"{family}-style decoder, head {'tied to the embedding' if tied else 'of its own'}"
