"""`price`: what a config, a model or a layer costs, without building it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from regard.pattern import Atom, Pattern

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
SETTINGS = ("tokens", "batch", "rows", "cols")
UNSET = ("kv_heads", "head_width", "classes")  # sizes that a config may leave open, and a letter fill in


def price(  # noqa: PLR0913 - one keyword for each thing that is asked
    config_or_model: object,
    tokens: Number | str | None = None,
    batch: Number | str = 1,
    *,
    image: Number | str | Sequence[Number | str] | None = None,
    training: bool = False,
    decode: bool = False,
    dtype: torch.dtype | None = None,
    segments: Tensor | None = None,
    ranks: int = 1,
) -> Cost:
    """The exact cost of one forward pass, of a training step, or of decoding token by token.

    Takes a config or a shape (nothing is built), a model, or a layer. Sizes may be letters, and then the
    counts are formulas. `dtype=None` counts bytes in the config's own type, float32 where it has none.
    `segments` (B, N), 0 and up, −1 for padding, count only pairs inside a segment.
    `exchanged_bytes` are what so many `ranks` send each other that share each sequence.

    >>> from regard.models import GPTConfig
    >>> cost = price(GPTConfig(vocab=50257, context=1024, depth=12, width=768, heads=12), tokens=1024)
    >>> cost.parameters, cost.pairs
    (124439808, 75571200)
    """
    if segments is not None:
        batch, tokens = _of_segments(segments, batch, tokens)
    storage = getattr(described(config_or_model), "storage", None)
    kind = dtype or (torch.float32 if storage is None else storage.dtype)
    setting = Setting(
        batch=size("batch", batch),
        tokens=None if tokens is None else size("tokens", tokens),
        image=None if image is None else _sides(image),
        training=training,
        decode=decode,
        each=kind.itemsize,
        dtype=str(kind).removeprefix("torch."),
        stored=None if storage is None else storage.packed,
        segments=segments,
        over=over(ranks),
    )
    return PriceQuestion(config_or_model, setting).answer()


@dataclass(frozen=True)
class PriceQuestion:
    """What was asked of `price`, so that it can be said, and asked again with letters."""

    what: object
    setting: Setting

    def answer(self) -> Cost:
        """The cost, with the question attached."""
        what, s = described(self.what), self.setting
        if s.training and s.decode:
            raise ValueError("training and decode exclude each other: a step trains on whole sequences")
        if s.training and s.stored is not None:
            raise ValueError(f"training is in plain numbers, got a model whose weights are {s.stored}")
        notices: tuple[str, ...] = ()
        shape = what.shapes() if isinstance(what, HasShapes) else what
        if self._of_image and s.tokens is not None and not is_letter(s.tokens):
            notices = ("tokens is ignored: a model of images takes its tokens from the image",)
            s = replace(s, tokens=None)
        if s.decode and not (isinstance(shape, ModelShape) and shape.writes):
            raise ValueError(f"decode is for models that write token by token, got {_name(self.what)}")
        if s.over is not None and not s.over.patterns:
            s = replace(s, over=s.over.of(what))
        cost = cost_of(shape, s)
        return replace(cost, notices=(*cost.notices, *notices), question=replace(self, setting=s))

    @property
    def _of_image(self) -> bool:
        what = described(self.what)
        shape = what.shapes() if isinstance(what, HasShapes) else what
        return isinstance(what, GridRNNShape | PatchShape) or isinstance(shape, ImageShape)

    def letters(self) -> list[str]:
        """Everything that a formula can leave open, by the names of the fields."""
        what, s = described(self.what), self.setting
        sizes = _sizes_of(what)
        if s.segments is not None:
            return sizes  # they fix how many tokens there are, and who sees whom
        settings = ["batch"] if s.tokens is None else ["batch", "tokens"]
        return [*settings, *_grid_letters(what), *sizes, *_pattern_letters(what)]

    def formula(self, symbols: tuple[str | Symbol, ...]) -> Cost:
        """The same with letters in place of tokens, batch or fields."""
        what, setting = described(self.what), self.setting
        replaced: dict[str, Symbol] = {}
        kept: dict[str, Symbol] = {}
        sizes, known = _sizes_of(what), self.letters()
        for name in [str(one) for one in symbols] or _default_letters(what, setting):
            field = next((f for f, short in LETTERS.items() if short == name), name)
            symbol = letter(LETTERS.get(field, field))
            if field in sizes:
                replaced[field] = symbol
            elif field in SETTINGS and setting.segments is not None:
                raise ValueError(f"{field} is no letter where segments are given, which fix it")
            elif field in ("tokens", "batch"):
                setting = replace(setting, **{field: symbol})
            elif field in ("rows", "cols"):
                rows, cols = setting.image or (letter("R"), letter("C"))
                setting = replace(setting, image=(symbol, cols) if field == "rows" else (rows, symbol))
            elif name in known:
                _check_one_value(what, name)
                kept[name] = symbol
            else:
                options = ", ".join(LETTERS.get(one, one) if one in SETTINGS else one for one in known)
                raise ValueError(f"no size is called {name!r}; letters can be: {options}")
        changed = replace(what, **replaced) if replaced else what  # type: ignore[type-var]
        if setting.over is not None:
            asked = self.setting.tokens if isinstance(self.setting.tokens, int) else None
            setting = replace(setting, over=replace(setting.over.of(what), tokens=asked))
        return PriceQuestion(changed, replace(setting, letters=kept)).answer()

    def exchanges(self) -> list[LayerExchange]:
        """What ranks that share each sequence exchange, for each pattern of the layers."""
        return layer_exchanges(described(self.what), self.setting)

    def as_dict(self) -> dict[str, object]:
        """For how much this price is, as JSON can hold it."""
        s = self.setting
        image = None if s.image is None else [_plain(side) for side in s.image]
        sizes = {"tokens": _plain(s.tokens), "image": image}
        given = {name: value for name, value in sizes.items() if value is not None}
        packed = {} if s.stored is None else {"weights": str(s.stored)}
        mode = "training" if s.training else "decode" if s.decode else "forward"
        return given | {"batch": _plain(s.batch), "dtype": s.dtype, **packed, "mode": mode}

    def __str__(self) -> str:
        """For how much this price is, in one line."""
        asked = self.as_dict()
        image = asked.get("image", ())
        assert isinstance(image, list | tuple)
        words = {
            "tokens": f"{_shown(asked.get('tokens'))} tokens",
            "image": f"images of {'×'.join(map(_shown, image))}",
            "batch": f"batch {_shown(asked['batch'])}",
            "dtype": asked["dtype"],
            "weights": f"weights {asked.get('weights')}",
        }
        modes = {"training": "a training step", "decode": "decoding token by token"}
        told = [str(word) for name, word in words.items() if name in asked]
        return f"{modes.get(str(asked['mode']), 'a forward pass')}: {', '.join(told)}"


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


def _atoms_of(what: object) -> list[Atom]:
    """The distinct single values of all patterns that a model's layers apply."""
    given = getattr(what, "patterns", getattr(what, "pattern", ()))
    patterns: Iterable[Pattern] = (given,) if isinstance(given, Pattern) else given
    return list(dict.fromkeys(atom for one in patterns for atom in one.atoms()))


def _pattern_letters(what: object) -> list[str]:
    return list(dict.fromkeys(short for atom in _atoms_of(what) for short in atom.letters.values()))


def _check_one_value(what: object, short: str) -> None:
    """Raise where a letter would stand for several numbers."""
    fields = [(atom, name) for atom in _atoms_of(what) for name, own in atom.letters.items() if own == short]
    if len({getattr(atom, name) for atom, name in fields}) > 1:
        told = ", ".join(str(atom) for atom, _ in fields)
        raise ValueError(f"{short} would stand for different numbers of {told}")


def _grid_letters(what: HasShapes | Shape) -> list[str]:
    shape = what.shapes() if isinstance(what, HasShapes) else what
    free = isinstance(what, GridRNNShape) or (isinstance(shape, ImageShape) and shape.size is None)
    return ["rows", "cols"] if free else []


def _default_letters(what: HasShapes | Shape, s: Setting) -> list[str]:
    if grid := _grid_letters(what):
        return [*grid, "B"]
    shape = what.shapes() if isinstance(what, HasShapes) else what
    image = shape if isinstance(shape, ImageShape) else None
    if s.tokens is None and not (image is not None and image.resizes):
        return ["B"]
    return ["n", "B"]


def _plain(value: Number | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else str(value)


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
