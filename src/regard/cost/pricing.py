"""`price`: what a config, a model or a layer costs, without building it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.cost import blocks, models
from regard.cost.course import COURSE
from regard.cost.modules import block_parts, shape_of_module
from regard.cost.result import Cost, changed
from regard.cost.setting import Setting, is_symbolic, number, symbol
from regard.cost.shapes import GridRNNShape, Shape
from regard.course import PatchEmbed, VisionTransformer
from regard.layers import Block
from regard.models import (
    BERTGRUConfig,
    ConvNetConfig,
    EncoderConfig,
    GPTConfig,
    GridCompletionConfig,
    GridRNNConfig,
    GRUConfig,
    MLPConfig,
    ViTConfig,
)

Rule = Callable[[Any, Setting], Cost]
RULES: dict[type, Rule] = {
    GPTConfig: models.gpt,
    EncoderConfig: models.encoder,
    ViTConfig: models.vit,
    ConvNetConfig: models.convnet,
    MLPConfig: models.mlp,
    GridRNNConfig: models.grid_classifier,
    GridCompletionConfig: models.grid_completion,
    GRUConfig: models.gru_classifier,
    BERTGRUConfig: models.bert_gru,
}
IMAGES = (
    *(ViTConfig, ConvNetConfig, MLPConfig, GridRNNConfig, GridCompletionConfig),
    *(VisionTransformer, PatchEmbed),
)
# The lectures' letters for the sizes of a config; any other field is its own letter.
LETTERS = {
    "tokens": "n",
    "batch": "B",
    "width": "d",
    "depth": "L",
    "heads": "H",
    "kv_heads": "G",
    "head_width": "D",
    "vocab": "V",
    "hidden": "h",
    "channels": "c",
    "classes": "K",
    "rows": "R",
    "cols": "C",
}


def price(
    config_or_model: Any,
    tokens: Any = None,
    batch: Any = 1,
    *,
    image: Any = None,
    training: bool = False,
    decode: bool = False,
    dtype: torch.dtype = torch.float32,
    segments: Tensor | None = None,
) -> Cost:
    """The exact cost of one forward pass, of a training step, or of decoding token by token.

    Takes a config or a shape (nothing is built), a model, or a layer. Sizes may be letters, and then the
    counts are formulas. `segments` (B, N), 0 and up, −1 for padding, count only pairs inside a segment.

    >>> from regard.models import GPTConfig
    >>> cost = price(GPTConfig(vocab=50257, context=1024, depth=12, width=768, heads=12), tokens=1024)
    >>> cost.parameters, cost.pairs
    (124439808, 75571200)
    """
    if segments is not None:
        batch, tokens = _of_segments(segments, batch, tokens)
    setting = Setting(
        batch=number("batch", batch),
        tokens=None if tokens is None else number("tokens", tokens),
        image=None if image is None else _sides(image),
        training=training,
        decode=decode,
        each=torch.empty(0, dtype=dtype, device="meta").element_size(),
        segments=segments,
    )
    return Question(config_or_model, setting).answer()


@dataclass(frozen=True)
class Question:
    """What was asked of `price`, so that it can be asked again with letters."""

    what: Any
    setting: Setting

    def answer(self) -> Cost:
        """The cost, with the question attached."""
        s, notices = self.setting, []
        what = getattr(self.what, "config", self.what) if isinstance(self.what, nn.Module) else self.what
        if of_images(_kind(what)) and s.tokens is not None and not is_symbolic(s.tokens):
            notices.append("tokens is ignored: a model of images takes its tokens from the image")
            s = replace(s, tokens=None)
        if s.training and s.decode:
            raise ValueError("training and decode exclude each other: a step trains on whole sequences")
        if s.decode and not isinstance(_kind(what), GPTConfig) and not hasattr(what, "decodes"):
            raise ValueError(f"decode is for models that write token by token, got {type(what).__name__}")
        cost = rule_of(what)(what, s)
        return changed(cost, notices=(*cost.notices, *notices), question=self)

    def formula(self, symbols: tuple[Any, ...]) -> Cost:
        """The same with letters in place of tokens, batch or fields."""
        what = getattr(self.what, "config", self.what) if isinstance(self.what, nn.Module) else self.what
        what = (shape_of_module(what) or what) if isinstance(what, nn.Module) else what
        names = [str(one) for one in symbols] or _default_letters(what, self.setting)
        setting, replaced, letters = self.setting, {}, {}
        known = _letters_of(what)
        for name in names:
            field = next((f for f, letter in LETTERS.items() if letter == name), name)
            letter = symbol(LETTERS.get(field, field))
            if field in known:
                replaced[field] = letter
            elif field in ("tokens", "batch"):
                setting = replace(setting, **{field: letter})
            elif field in ("rows", "cols"):
                rows, cols = setting.image or getattr(what, "grid", None) or (symbol("R"), symbol("C"))
                sides = (letter, cols) if field == "rows" else (rows, letter)
                setting = replace(setting, image=sides)
            elif name in _pattern_letters(what):
                letters[name] = letter
            else:
                options = ["n", "B", *known, *_pattern_letters(what)]
                raise ValueError(f"no size is called {name!r}; letters can be: {', '.join(options)}")
        setting = replace(setting, letters=letters)
        view = Fields(what, replaced) if replaced else what
        return Question(view, setting).answer()


class Fields:
    """A config in which some fields are letters; everything else is read from the config itself."""

    def __init__(self, config: Any, replaced: dict[str, Any]) -> None:
        self._config, self._replaced = config, replaced

    def __getattr__(self, name: str) -> Any:
        replaced = self.__dict__["_replaced"]
        return replaced[name] if name in replaced else getattr(self.__dict__["_config"], name)


def rule_of(what: Any) -> Rule:  # noqa: PLR0911 - a list of cases
    """The rule that prices this, or a ValueError that says what can be priced."""
    inner = _kind(what)
    if isinstance(inner, Shape):
        if what is not inner:  # letters go into a shape itself
            filled = replace(inner, **what._replaced)
            return lambda _, s: filled.cost(s)
        return lambda shape, s: shape.cost(s)
    if type(inner) in RULES:
        return RULES[type(inner)]
    if hasattr(inner, "cost"):
        return lambda one, s: one.cost(s)
    if type(inner) in COURSE:
        return COURSE[type(inner)]
    if isinstance(inner, Block):
        assembly, shape = block_parts(inner)
        heads = blocks.heads_of(shape.width, shape.heads, shape.kv_heads, shape.head_width)
        return lambda _, s: blocks.block(
            s, assembly, heads, shape.pattern, shape.position, models.need_tokens(s)
        )
    found = shape_of_module(inner) if isinstance(inner, nn.Module) else None
    if found is not None:
        return lambda _, s: found.cost(s)
    kinds = ", ".join(kind.__name__ for kind in RULES)
    raise ValueError(f"there is a rule for {kinds}, their models, layers and shapes, got {inner!r:.200}")


def of_images(what: Any) -> bool:
    """Whether tokens follow from the image, so that none can be asked for."""
    return isinstance(what, IMAGES) or getattr(what, "of_images", False)


def _kind(what: Any) -> Any:
    return what._config if isinstance(what, Fields) else what


def _sides(image: Any) -> tuple[Any, Any]:
    rows, cols = image if isinstance(image, tuple | list) and len(image) == 2 else (image, image)
    return number("image", rows), number("image", cols)


def _of_segments(segments: Tensor, batch: Any, tokens: Any) -> tuple[int, int]:
    if segments.ndim != 2 or segments.is_floating_point():
        raise ValueError(f"segments must be integers (B, N), got {tuple(segments.shape)} {segments.dtype}")
    for name, given, found in (("batch", batch, segments.shape[0]), ("tokens", tokens, segments.shape[1])):
        if given not in (None, 1, found):
            raise ValueError(f"{name} must be that of segments, {found}, got {name}={given}")
    return segments.shape[0], segments.shape[1]


def _letters_of(what: Any) -> list[str]:
    """The fields that are sizes."""
    if not is_dataclass(what):
        return []
    values = {f.name: getattr(what, f.name) for f in fields(what)}
    sizes = [name for name, value in values.items() if isinstance(value, int) and not isinstance(value, bool)]
    optional = [name for name in ("kv_heads", "head_width", "classes") if name in values]
    return list(dict.fromkeys([*sizes, *optional]))


def _pattern_letters(what: Any) -> list[str]:
    pattern = getattr(what, "pattern", None)
    patterns = getattr(what, "patterns", (pattern,) if pattern is not None else ())
    return list(
        dict.fromkeys(letter for one in patterns for atom in one.atoms() for letter in atom.letters.values())
    )


def _default_letters(what: Any, s: Setting) -> list[str]:
    if isinstance(what, GridRNNConfig | GridCompletionConfig | GridRNNShape):
        return ["rows", "cols", "B"]
    return ["n", "B"] if s.tokens is not None or isinstance(what, ViTConfig) else ["B"]
