"""What one generation asks for, and the decoder that it borrows: memory and graphs serve the next one too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from regard.models.sampling import Sampling

if TYPE_CHECKING:  # the model asks for decoders; here it is known by its type alone
    from regard.models.gpt import GPT

GROWS_BY = 1024  # tokens for which an unbounded cache gets room ahead of need


@dataclass(frozen=True, eq=False)
class Request:
    """Up to `count` tokens after prompts, one (T,) per row, until every row has met one of the `stops`."""

    model: GPT
    prompts: Sequence[Tensor]
    count: int
    how: Sampling
    stops: Tensor
    segments: Tensor | None
    generator: torch.Generator | None

    @property
    def batch(self) -> int:
        """How many rows there are."""
        return len(self.prompts)

    @property
    def longest(self) -> int:
        """The tokens of the longest prompt."""
        return max(map(len, self.prompts))


class Borrowed(Protocol):
    """A decoder, or one with its graphs: what is kept between two generations."""

    def release(self) -> None:
        """Let go what serves one generation only."""


D = TypeVar("D", bound=Borrowed)


@dataclass
class Loan(Generic[D]):
    """A decoder in use; a larger one may take its place."""

    decoder: D


class DecoderStore:
    """The latest decoder of each model, for as long as the model lives.

    Taking one out and putting one back are single steps, so that of two threads one gets it and the other
    makes its own.
    """

    def __init__(self) -> None:
        self.latest: WeakKeyDictionary[GPT, Borrowed] = WeakKeyDictionary()

    def take(self, model: GPT, kind: type[D]) -> D | None:
        """The model's latest decoder where it is of just this kind; nobody else gets it meanwhile."""
        found = self.latest.pop(model, None)
        return found if isinstance(found, kind) and type(found) is kind else None

    @contextmanager
    def lend(self, model: GPT, decoder: D) -> Iterator[Loan[D]]:
        """A decoder in use: the model's next generation gets it, unless something failed."""
        loan = Loan(decoder)
        try:
            yield loan
        except GeneratorExit:  # whoever read the stream has had enough, and the decoder is as good as before
            self._put_back(model, loan.decoder)
            raise
        self._put_back(model, loan.decoder)

    def _put_back(self, model: GPT, decoder: Borrowed) -> None:
        decoder.release()
        self.latest[model] = decoder


DECODERS = DecoderStore()
