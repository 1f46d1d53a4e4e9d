"""`price`: what a config, a model or a layer costs, without building it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.cost.exchanging import LayerExchange, layer_exchanges, over
from regard.cost.modules import shape_of_module
from regard.cost.result import Cost
from regard.cost.setting import Setting
from regard.cost.tree import cost_of
from regard.layers.image_shapes import PatchShape
from regard.layers.letters import Number, is_letter, letter, size
from regard.layers.recurrent_shapes import GridRNNShape
from regard.layers.shapes import HasShapes, ImageShape, ModelShape, Shape
from regard.pattern import Pattern

if TYPE_CHECKING:
    from sympy import Symbol

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
UNSET = ("kv_heads", "head_width", "classes")  # sizes that a config may leave open, and a letter fill in


def price(  # noqa: PLR0913 - one keyword for each thing that is asked
    config_or_model: object,
    tokens: Number | str | None = None,
    batch: Number | str = 1,
    *,
    image: Number | str | Sequence[Number | str] | None = None,
    training: bool = False,
    decode: bool = False,
    dtype: torch.dtype = torch.float32,
    segments: Tensor | None = None,
    ranks: int = 1,
) -> Cost:
    """The exact cost of one forward pass, of a training step, or of decoding token by token.

    Takes a config or a shape (nothing is built), a model, or a layer. Sizes may be letters, and then the
    counts are formulas. `segments` (B, N), 0 and up, −1 for padding, count only pairs inside a segment.
    `exchanged_bytes` are what so many `ranks` send each other that share each sequence.

    >>> from regard.models import GPTConfig
    >>> cost = price(GPTConfig(vocab=50257, context=1024, depth=12, width=768, heads=12), tokens=1024)
    >>> cost.parameters, cost.pairs
    (124439808, 75571200)
    """
    if segments is not None:
        batch, tokens = _of_segments(segments, batch, tokens)
    setting = Setting(
        batch=size("batch", batch),
        tokens=None if tokens is None else size("tokens", tokens),
        image=None if image is None else _sides(image),
        training=training,
        decode=decode,
        each=torch.empty(0, dtype=dtype, device="meta").element_size(),
        segments=segments,
        over=over(ranks),
    )
    return PriceQuestion(config_or_model, setting).answer()


@dataclass(frozen=True)
class PriceQuestion:
    """What was asked of `price`, so that it can be asked again with letters."""

    what: object
    setting: Setting

    def answer(self) -> Cost:
        """The cost, with the question attached."""
        what, s = described(self.what), self.setting
        if s.training and s.decode:
            raise ValueError("training and decode exclude each other: a step trains on whole sequences")
        notices: tuple[str, ...] = ()
        shape = what.shapes() if isinstance(what, HasShapes) else what
        of_image = isinstance(what, GridRNNShape | PatchShape) or isinstance(shape, ImageShape)
        if of_image and s.tokens is not None and not is_letter(s.tokens):
            notices = ("tokens is ignored: a model of images takes its tokens from the image",)
            s = replace(s, tokens=None)
        if s.decode and not (isinstance(shape, ModelShape) and shape.writes):
            raise ValueError(f"decode is for models that write token by token, got {_name(self.what)}")
        if s.over is not None and not s.over.patterns:
            s = replace(s, over=s.over.of(what))
        cost = cost_of(shape, s)
        return replace(cost, notices=(*cost.notices, *notices), question=self)

    def formula(self, symbols: tuple[str | Symbol, ...]) -> Cost:
        """The same with letters in place of tokens, batch or fields."""
        what, setting = described(self.what), self.setting
        replaced: dict[str, Symbol] = {}
        kept: dict[str, Symbol] = {}
        sizes, of_pattern = _sizes_of(what), _pattern_letters(what)
        for name in [str(one) for one in symbols] or _default_letters(what, setting):
            field = next((f for f, short in LETTERS.items() if short == name), name)
            symbol = letter(LETTERS.get(field, field))
            if field in sizes:
                replaced[field] = symbol
            elif field in ("tokens", "batch"):
                setting = replace(setting, **{field: symbol})
            elif field in ("rows", "cols"):
                rows, cols = setting.image or (letter("R"), letter("C"))
                setting = replace(setting, image=(symbol, cols) if field == "rows" else (rows, symbol))
            elif name in of_pattern:
                kept[name] = symbol
            else:
                options = ", ".join(["n", "B", *sizes, *of_pattern])
                raise ValueError(f"no size is called {name!r}; letters can be: {options}")
        changed = replace(what, **replaced) if replaced else what  # type: ignore[type-var]
        if setting.over is not None:
            known = self.setting.tokens if isinstance(self.setting.tokens, int) else None
            setting = replace(setting, over=replace(setting.over.of(what), tokens=known))
        return PriceQuestion(changed, replace(setting, letters=kept)).answer()

    def exchanges(self) -> list[LayerExchange]:
        """What ranks that share each sequence exchange, for each pattern of the layers."""
        return layer_exchanges(described(self.what), self.setting)


def described(what: object) -> HasShapes | Shape:
    """The config of a model, the shape of a layer, or a ValueError that says what can be priced."""
    found = getattr(what, "config", None) if isinstance(what, nn.Module) else what
    if isinstance(found, HasShapes | Shape):
        return found
    shape = shape_of_module(what) if isinstance(what, nn.Module) else None
    if shape is None:
        raise ValueError(
            f"there is a rule for configs with shapes(), their models, layers and shapes, got {what!r:.200}"
        )
    return shape


def _name(what: object) -> str:
    config = getattr(what, "config", what) if isinstance(what, nn.Module) else what
    return type(config).__name__


def _sides(image: Number | str | Sequence[Number | str]) -> tuple[Number, Number]:
    rows, cols = image if isinstance(image, tuple | list) and len(image) == 2 else (image, image)
    return size("image", rows), size("image", cols)


def _of_segments(segments: Tensor, batch: Number | str, tokens: Number | str | None) -> tuple[int, int]:
    if segments.ndim != 2 or segments.is_floating_point():
        raise ValueError(f"segments must be integers (B, N), got {tuple(segments.shape)} {segments.dtype}")
    for name, given, found in (("batch", batch, segments.shape[0]), ("tokens", tokens, segments.shape[1])):
        if given not in (None, 1, found):
            raise ValueError(f"{name} must be that of segments, {found}, got {name}={given}")
    return segments.shape[0], segments.shape[1]


def _sizes_of(what: object) -> list[str]:
    """The fields that are sizes, which letters can replace."""
    if not is_dataclass(what):
        return []
    values = {f.name: getattr(what, f.name) for f in fields(what)}
    sizes = [name for name, value in values.items() if isinstance(value, int) and not isinstance(value, bool)]
    return list(dict.fromkeys([*sizes, *(name for name in UNSET if name in values)]))


def _pattern_letters(what: object) -> list[str]:
    pattern = getattr(what, "pattern", None)
    patterns: Sequence[Pattern] = getattr(what, "patterns", () if pattern is None else (pattern,))
    return list(
        dict.fromkeys(short for one in patterns for atom in one.atoms() for short in atom.letters.values())
    )


def _default_letters(what: HasShapes | Shape, s: Setting) -> list[str]:
    shape = what.shapes() if isinstance(what, HasShapes) else what
    image = shape if isinstance(shape, ImageShape) else None
    if isinstance(what, GridRNNShape) or (image is not None and image.size is None):
        return ["rows", "cols", "B"]
    return ["n", "B"] if s.tokens is not None or (image is not None and image.resizes) else ["B"]
