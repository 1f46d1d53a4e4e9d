"""Models of transformers, priced from their config.json alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from regard.cost import blocks, dense, models
from regard.cost.result import Cost, Number, together, tree
from regard.cost.setting import Setting
from regard.cost.shapes import Shape
from regard.layers import Gelu, PostNorm, PreNorm, RMSNorm, Rotary, SwiGLU
from regard.models import EncoderConfig, GPTConfig, Tied, Untied, ViTConfig
from regard.pattern import Causal, Pattern, Strided
from regard.sharing.sizes import pair

HEADS = ("pooler", "masked-lm", "classifier")
ROTARY_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True, kw_only=True)
class BertShape(Shape):
    """BERT: the backbone with its pooler, with the masked-LM head (and no pooler), or with a classifier."""

    backbone: EncoderConfig
    head: str = "pooler"
    labels: Number = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head not in HEADS:
            raise ValueError(f"head must be one of {', '.join(HEADS)}, got head={self.head!r}")

    def cost(self, s: Setting) -> Cost:
        """Hidden states and one of three heads."""
        c = self.backbone
        rows, parts = s.batch * models.need_tokens(s), models.encoder_trunk(c, s)
        if self.head == "masked-lm":
            transform = together(
                linear=dense.linear(s, rows, c.width, c.width),
                gelu=blocks.elements("gelu", rows * c.width),
                norm=blocks.norm(s, c.block.norm, rows, c.width),
            )
            logits = dense.shared_product(s, rows, c.width, c.vocab) + dense.weights(s, c.vocab)
            logits += Cost(adds=rows * c.vocab)
            return tree([*parts, ("transform", transform), ("head (tied)", logits)])
        parts.append(("pooler", models.pooler(s, c.width)))
        if self.head == "classifier":
            parts += models.classifier(s, c.width, self.labels)
        return tree(parts)


@dataclass(frozen=True, kw_only=True)
class ViTShape(Shape):
    """ViT as transformers has it: the class token has a position too, and all tokens are normed last."""

    backbone: ViTConfig
    labels: Number | None = None  # None: the pooler, and no classifier
    of_images: ClassVar[bool] = True

    def cost(self, s: Setting) -> Cost:
        """Patches, positions, blocks, a norm, and the pooler or the classifier."""
        c = self.backbone
        (high, wide), (grid_rows, grid_cols) = pair("patch", c.patch, 1), c.grid
        patches = grid_rows * grid_cols
        taps, n = c.channels * high * wide, patches + 1
        embed = dense.linear(s, s.batch * patches, taps, c.width, first=True)
        placed = Cost(adds=s.batch * n * c.width) + dense.weights(s, (n + 1) * c.width)
        parts = [
            ("patches", embed),
            ("position", placed),
            *models.trunk(s, c, n),
            ("output_norm", blocks.norm(s, c.block.norm, s.batch * n, c.width)),
        ]
        if self.labels is None:
            return tree([*parts, ("pooler", models.pooler(s, c.width))])
        return tree([*parts, *models.classifier(s, c.width, self.labels)])


@dataclass(frozen=True, kw_only=True)
class DecoderShape(Shape):
    """A Llama-style decoder: RMS norms, rotary positions, grouped heads, a gated feed-forward, no biases."""

    vocab: Number
    depth: Number
    width: Number
    heads: Number
    kv_heads: Number | None = None
    head_width: Number | None = None
    hidden: Number = 1
    pattern: Pattern = Causal()  # noqa: RUF009 - a frozen value
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    feedforward_bias: bool = False
    head_norm: bool = False
    decodes: ClassVar[bool] = True

    def cost(self, s: Setting) -> Cost:
        """Embedding, blocks, logits at every position."""
        n = models.need_tokens(s)
        rows = s.batch * n
        normed = blocks.norm(s, RMSNorm(), rows, self.width)
        parts = [
            ("embed", blocks.embedding(s, rows, self.vocab, self.width)),
            (f"blocks ×{self.depth}", self._block(s, n, normed) * self.depth),
            ("output_norm", normed),
        ]
        if self.tied:
            parts.append(("head (tied)", dense.shared_product(s, rows, self.width, self.vocab)))
        else:
            parts.append(("head", dense.linear(s, rows, self.width, self.vocab, bias=False)))
        if s.training:
            parts.append(("loss", blocks.loss(s, rows, self.vocab)))
        return blocks.decoded(s, tree(parts))

    def _block(self, s: Setting, n: Number, normed: Cost) -> Cost:
        rows = s.batch * n
        plain = blocks.heads_of(self.width, self.heads, self.kv_heads, self.head_width)
        heads = blocks.Heads(
            plain.width,
            plain.heads,
            plain.kv_heads,
            plain.head_width,
            qkv_bias=self.qkv_bias,
            out_bias=self.out_bias,
            head_norm=self.head_norm,
        )
        residual = Cost(adds=rows * self.width) + dense.kept(s, rows * self.width)
        part = _Gated(self.hidden)
        return together(
            attention_norm=normed,
            attention=blocks.attention_layer(s, heads, self.pattern, Rotary(), n),
            attention_residual=residual,
            feedforward_norm=normed,
            feedforward=blocks.feedforward(s, part, rows, self.width, bias=self.feedforward_bias),
            feedforward_residual=residual,
        )


class _Gated(SwiGLU):
    """A gated feed-forward whose middle may be a letter."""

    def __init__(self, hidden: Number) -> None:
        object.__setattr__(self, "hidden", hidden)


def read_config(data: Mapping[str, Any], source: str = "config.json") -> tuple[Any, str]:
    """(what `price` takes, what it is in words) of a config of transformers.

    >>> what, words = read_config({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    ...                            "n_layer": 12, "n_embd": 768, "n_head": 12})
    >>> what.width, words
    (768, 'gpt2, language-model head tied to the embedding')
    """
    family = data.get("model_type")
    readers: dict[str, Callable[[_Keys], tuple[Any, str]]] = {"gpt2": _gpt2, "bert": _bert, "vit": _vit}
    readers |= dict.fromkeys(ROTARY_FAMILIES, _decoder)
    if family not in readers:
        known = ", ".join(readers)
        raise ValueError(f"{source}: model_type must be one of {known}, got model_type={family!r}")
    return readers[family](_Keys(data, source))


def read_file(path: Path) -> tuple[Any, str]:
    """The same from a config.json, or from a folder that holds one."""
    path = path / "config.json" if path.is_dir() else path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold an object, got a {type(data).__name__}")
    return read_config(data, str(path))


@dataclass(frozen=True)
class _Keys:
    """The keys of a config, with one clear line for what is missing or no size."""

    data: Mapping[str, Any]
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

    def get(self, name: str, default: Any = None) -> Any:
        value = self.data.get(name)
        return default if value is None else value

    @property
    def architecture(self) -> str:
        return (self.get("architectures") or [""])[0]

    @property
    def labels(self) -> int:
        named = self.get("id2label")
        return self.size("num_labels", default=len(named) if named else 2)


def _gpt2(keys: _Keys) -> tuple[GPTConfig, str]:
    tied = keys.get("tie_word_embeddings", True)
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
    image, patch = keys.get("image_size"), keys.get("patch_size")
    for name, value in (("image_size", image), ("patch_size", patch)):
        if value is None:
            raise ValueError(f"{keys.source}: the key {name} is missing")
    backbone = ViTConfig(
        image=pair("image_size", image, 1),
        patch=pair("patch_size", patch, 1),
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
    family = keys.get("model_type")
    window = keys.get("sliding_window") if keys.get("use_sliding_window", family == "mistral") else None
    biased = bool(keys.get("attention_bias", False))
    tied = bool(keys.get("tie_word_embeddings", False))
    shape = DecoderShape(
        vocab=keys.size("vocab_size"),
        depth=keys.size("num_hidden_layers"),
        width=keys.size("hidden_size"),
        heads=(heads := keys.size("num_attention_heads")),
        kv_heads=keys.size("num_key_value_heads", default=heads),
        head_width=None if keys.get("head_dim") is None else keys.size("head_dim"),
        hidden=keys.size("intermediate_size"),
        pattern=Causal() if window is None else Strided(back=keys.size("sliding_window") - 1),
        tied=tied,
        qkv_bias=biased or family == "qwen2",
        out_bias=biased,
        feedforward_bias=bool(keys.get("mlp_bias", False)),
        head_norm=family == "qwen3",
    )
    return shape, f"{family}-style decoder, head {'tied to the embedding' if tied else 'of its own'}"
