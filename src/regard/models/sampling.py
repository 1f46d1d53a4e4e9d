"""From logits to the next token."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor

from regard.errors import check_int

COLDEST = torch.finfo(torch.float32).tiny  # a smaller temperature would be 0 to a float32
Ids = int | Collection[int]


class SamplingOptions(TypedDict, total=False):
    """The fields of `Sampling` as keywords."""

    temperature: float
    top_k: int | None
    top_p: float | None
    stop: Ids
    ban: Ids


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen: temperature 0 takes the likeliest, one in `ban` never comes, `stop` ends a row.

    `top_k` draws from so many likeliest, `top_p` from the fewest that make up that share.

    >>> Sampling(temperature=0.5, ban=[3, 1, 3])
    Sampling(temperature=0.5, top_k=None, top_p=None, stop=(), ban=(1, 3))
    >>> Sampling(temperature=1.0, top_p=0.0)
    Traceback (most recent call last):
        ...
    ValueError: top_p must be above 0 and at most 1, got top_p=0.0
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    stop: Ids = ()
    ban: Ids = ()

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be finite and at least 0, got temperature={self.temperature}")
        if self.top_k is not None:
            check_int("top_k", self.top_k, 1)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got top_p={self.top_p}")
        for name in ("stop", "ban"):
            object.__setattr__(self, name, _once(getattr(self, name)))

    @property
    def greedy(self) -> bool:
        """Whether nothing is left to chance."""
        return self.temperature == 0

    def check(self, vocab: int) -> None:
        """Raise unless a vocabulary of this size has all the tokens that are named, and one that may come.

        >>> Sampling(stop=999).check(vocab=5)
        Traceback (most recent call last):
            ...
        ValueError: stop must hold tokens from 0 to 4, got stop=999
        """
        for name in ("stop", "ban"):
            found = _once(getattr(self, name))
            if found and not 0 <= found[0] <= found[-1] < vocab:
                shown = ", ".join(map(str, found))
                raise ValueError(f"{name} must hold tokens from 0 to {vocab - 1}, got {name}={shown}")
        if len(_once(self.ban)) >= vocab:
            raise ValueError(f"ban must leave a token to choose, got all {vocab}")

    def pick(self, logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One token per row (B,) from logits (B,V).

        >>> Sampling().pick(torch.tensor([[0.0, 2.0, 1.0]])).tolist()
        [1]
        """
        return race(logits, self, None if self.greedy else noise_like(logits, generator))


def _once(tokens: Ids) -> tuple[int, ...]:
    """Each token once and in order."""
    return tuple(sorted({tokens} if isinstance(tokens, int) else set(tokens)))


def race(logits: Tensor, how: Sampling, noise: Tensor | None) -> Tensor:
    """The token (B,) that arrives first when each arrives after noise / chance, the noise exponential.

    >>> race(torch.tensor([[0.0, 2.0, 1.0]]), Sampling(ban=1), None).tolist()
    [2]
    """
    if how.ban:
        logits = logits.clone()
        for token in _once(how.ban):  # few; and no table of theirs has to travel while a graph is recorded
            logits[:, token] = -torch.inf
    if noise is None:
        return logits.argmax(dim=-1)
    # Against the best, which stays 0 at every temperature: no quotient overflows.
    behind = logits.float() - logits.float().amax(dim=-1, keepdim=True)
    kept = likeliest(behind / max(how.temperature, COLDEST), how.top_k, how.top_p)
    return (kept.softmax(dim=-1) / noise).argmax(dim=-1)


def noise_like(logits: Tensor, generator: torch.Generator | None) -> Tensor:
    """Exponential noise (B,V) in float32, drawn where the generator lives."""
    device = logits.device if generator is None else generator.device
    drawn = torch.empty(logits.shape, dtype=torch.float32, device=device).exponential_(generator=generator)
    return drawn.to(logits.device)


def likeliest(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """The logits (B,V) with −inf outside the `top_k` best and outside the fewest that make up `top_p`.

    >>> likeliest(torch.tensor([[0.5, 0.3, 0.2]]).log(), None, top_p=0.6).exp()
    tensor([[0.5000, 0.3000, 0.0000]])
    """
    top_p = None if top_p == 1 else top_p  # a sum of rounded chances may reach 1 before the last
    if top_k is None and top_p is None:
        return logits
    order = logits.argsort(dim=-1, descending=True, stable=True)
    ranked = logits.gather(-1, order)
    hidden = torch.zeros_like(ranked, dtype=torch.bool)
    if top_k is not None:
        hidden[:, top_k:] = True
    if top_p is not None:
        chances = ranked.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        hidden |= chances.cumsum(dim=-1) - chances >= top_p  # what came before suffices already
    return logits.masked_fill(hidden.gather(-1, order.argsort(dim=-1)), -torch.inf)
