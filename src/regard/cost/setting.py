"""What a price is asked for: how many tokens, how many rows of a batch, training or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from regard.cost.exchanging import OverRanks
from regard.layers.letters import Number, is_letter, largest

if TYPE_CHECKING:
    from sympy import Symbol


class StoredMatrix(Protocol):
    """How the matrix of a Linear is kept, scales and all."""

    def matrix_bytes(self, inputs: Number, outputs: Number) -> Number:
        """The bytes of one, without its bias."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The sizes around a shape; numbers may be letters."""

    batch: Number = 1
    tokens: Number | None = None
    image: tuple[Number, Number] | None = None
    training: bool = False
    decode: bool = False
    each: int = 4  # bytes of one number
    dtype: str = "float32"  # what such a number is called
    stored: StoredMatrix | None = None  # how matrices are kept, where they are not such numbers
    segments: Tensor | None = None
    letters: Mapping[str, Symbol] = field(default_factory=dict)  # pattern fields left open, by their letter
    over: OverRanks | None = None  # the ranks that share each sequence, where there are several
    inputs_learn: bool = True  # what comes in needs a gradient: it is no data, and something before it learns

    @property
    def rows(self) -> Number:
        """How many vectors there are: the tokens of all rows, or the rows where there are no tokens."""
        return self.batch if self.tokens is None else self.batch * self.tokens

    @property
    def steps(self) -> Number:
        """How many times in sequence all weights are read: decoding writes one token after another."""
        return self.need_tokens() if self.decode else 1

    def need_tokens(self) -> Number:
        """How many tokens, or a ValueError that asks for them."""
        if self.tokens is None:
            raise ValueError("tokens must be given for a model of sequences, such as tokens=1024")
        return self.tokens

    def need_image(self) -> tuple[Number, Number]:
        """The image (rows, cols), or a ValueError that asks for it."""
        if self.image is None:
            raise ValueError("image must be given for a layer over a grid, such as image=(28, 28)")
        return self.image


def less_one(count: Number, *, maybe_none: bool = False) -> Number:
    """The adds that summing `count` terms takes; letters stand for one and up, unless there `maybe_none`."""
    if not is_letter(count):
        return max(count - 1, 0)
    return largest(count - 1, 0) if maybe_none else count - 1
