"""What a model is made of, as sizes alone: a tree of shapes, of which `regard.cost` has one rule per kind.

A shape says what is done to every token, or to every row of a batch where there are no tokens. Sizes may be
letters. Shapes add up, repeat, and stand as named parts of a tree; a config, and a shape that is made of
others, gives its tree by its one method `shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from regard.layers.letters import Number, size
from regard.layers.norms import LayerNorm, Norm


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What all shapes share: the fields in `sizes` are checked, and names among them become letters."""

    sizes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.sizes:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, size(name, value))

    def __add__(self, that: Shape) -> SumShape:
        return SumShape((self, that))

    def __mul__(self, times: Number) -> RepeatedShape:
        return RepeatedShape(self, times)


@runtime_checkable
class HasShapes(Protocol):
    """A config, or a shape that is made of others."""

    def shapes(self) -> Shape:
        """The tree of shapes."""


@dataclass(frozen=True)
class TreeShape(Shape):
    """Parts by name, one after another."""

    parts: tuple[tuple[str, Shape], ...]


def tree(parts: Mapping[str, Shape | None]) -> TreeShape:
    """The parts that are there."""
    return TreeShape(tuple((name, part) for name, part in parts.items() if part is not None))


@dataclass(frozen=True)
class SumShape(Shape):
    """Shapes one after another that are one part together."""

    terms: tuple[Shape, ...]


@dataclass(frozen=True)
class RepeatedShape(Shape):
    """The same over and over, or `beside` itself and so no deeper, each time with weights of its own."""

    shape: Shape
    times: Number
    beside: bool = False


@dataclass(frozen=True, kw_only=True)
class ExpertsShape(Shape):
    """As many experts, all alike but for their weights, of which a router sends each token to some."""

    shape: Shape
    count: Number
    chosen: Number


@dataclass(frozen=True)
class AgainShape(Shape):
    """What decoding does anew at every step to all tokens so far."""

    shape: Shape


@dataclass(frozen=True)
class PlainShape(Shape):
    """What is kept in plain numbers where other matrices are packed into fewer bits."""

    shape: Shape


@dataclass(frozen=True)
class PerRowShape(Shape):
    """What is done once for each row of the batch, to a pooled vector or a class token."""

    shape: Shape


@dataclass(frozen=True)
class ClassTokenShape(Shape):
    """What is done to one token more."""

    shape: Shape


@dataclass(frozen=True)
class FrozenShape(Shape):
    """What does not learn, so that nothing before or in it gets a gradient."""

    shape: Shape


@dataclass(frozen=True)
class ModelShape(Shape):
    """A whole model: its inputs are data, training adds a loss, and one that `writes` can be decoded."""

    tree: TreeShape
    loss: Shape | None = None
    writes: bool = False


@dataclass(frozen=True, kw_only=True)
class ImageShape(Shape):
    """What is done to the patches of an image, which are its tokens; `size=None` takes an image of any size.

    A model that `resizes` takes other images too, and as many patches as a formula asks for; `class_token`
    counts the tokens that are no patches.
    """

    shape: Shape
    size: tuple[int, int] | None
    patch: tuple[int, int] = (1, 1)
    resizes: bool = False
    class_token: int = 0


@dataclass(frozen=True, kw_only=True)
class GridShape(Shape):
    """What is done to the places of a grid, which is another than the image's."""

    shape: Shape
    grid: tuple[int, int]


def classifier(parts: Mapping[str, Shape | None], width: Number, classes: Number | None) -> ModelShape:
    """Parts that leave one vector per row, and the linear head on it; without classes the vector itself."""
    outputs = width if classes is None else classes
    head = {"head": PerRowShape(LinearShape(inputs=width, outputs=outputs))} if classes is not None else {}
    output = {"output": PerRowShape(MovedShape(width=outputs))}
    loss = None if classes is None else PerRowShape(LossShape(classes=classes))
    return ModelShape(tree({**parts, **head, **output}), loss)


@dataclass(frozen=True, kw_only=True)
class LinearShape(Shape):
    """A Linear on every token, or on every row of the batch where no tokens are given.

    The matrix of a `tied` one is another layer's weight. Where it stands for several side by side, `split`
    are the outputs of each.
    """

    inputs: Number
    outputs: Number
    bias: bool = True
    tied: bool = False
    split: tuple[Number, ...] = ()
    sizes: ClassVar = ("inputs", "outputs")


@dataclass(frozen=True, kw_only=True)
class NormShape(Shape):
    """A norm on every token."""

    width: Number
    norm: Norm = LayerNorm()  # noqa: RUF009 - a frozen value
    sizes: ClassVar = ("width",)


@dataclass(frozen=True, kw_only=True)
class EmbeddingShape(Shape):
    """A table of token vectors."""

    vocab: Number
    width: Number
    sizes: ClassVar = ("vocab", "width")


@dataclass(frozen=True, kw_only=True)
class TableShape(Shape):
    """A trained vector per position, up to `rows`; more are refused where `limit` names their number."""

    rows: Number
    width: Number
    limit: str | None = None


@dataclass(frozen=True, kw_only=True)
class PatchTableShape(Shape):
    """A trained vector per patch of `places`, added, stretched where there are others; and a class token."""

    places: int
    width: Number
    class_token: bool


@dataclass(frozen=True, kw_only=True)
class WeightsShape(Shape):
    """Weights without work of their own; those that are not even read are only held."""

    count: Number
    read: bool = True


@dataclass(frozen=True, kw_only=True)
class ElementwiseShape(Shape):
    """Multiplies, adds and elements of a kind per token, and how many numbers of theirs are kept."""

    multiplies: Number = 0
    adds: Number = 0
    kind: str | None = None
    elements: Number = 0
    kept: Number = 0


def added(width: Number, *, kept: bool = True) -> ElementwiseShape:
    """One add per number: a residual, a position."""
    return ElementwiseShape(adds=width, kept=width if kept else 0)


def function(kind: str, width: Number, *, kept: bool = False) -> ElementwiseShape:
    """One function per number: an activation, a maximum."""
    return ElementwiseShape(kind=kind, elements=width, kept=width if kept else 0)


@dataclass(frozen=True, kw_only=True)
class MeanShape(Shape):
    """The mean over all tokens that are no padding."""

    width: Number


@dataclass(frozen=True, kw_only=True)
class MovedShape(Shape):
    """Numbers per token that come in or go out; `each` are their bytes where they are no results."""

    width: Number
    each: int | None = None


@dataclass(frozen=True, kw_only=True)
class LossShape(Shape):
    """Cross-entropy over so many classes, on every token or every row."""

    classes: Number
    sizes: ClassVar = ("classes",)
