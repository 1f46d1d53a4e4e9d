"""From logits to the next token."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import check_int


def pick(
    logits: Tensor,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """One token per row (B,) from logits (B,V); temperature 0 takes the likeliest.

    >>> pick(torch.tensor([[0.0, 2.0, 1.0]])).tolist()
    [1]
    """
    check_sampling(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(dim=-1)
    kept = likeliest(logits.float() / temperature, top_k, top_p)
    return torch.multinomial(kept.softmax(dim=-1), 1, generator=generator)[:, 0]


def likeliest(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """The logits (B,V) with −inf outside the `top_k` best and outside the fewest that make up `top_p`.

    >>> likeliest(torch.tensor([[0.5, 0.3, 0.2]]).log(), None, top_p=0.6).exp()
    tensor([[0.5000, 0.3000, 0.0000]])
    """
    order = logits.argsort(dim=-1, descending=True, stable=True)
    ranked = logits.gather(-1, order)
    hidden = torch.zeros_like(ranked, dtype=torch.bool)
    if top_k is not None:
        hidden[:, top_k:] = True
    if top_p is not None:
        chances = ranked.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        hidden |= chances.cumsum(dim=-1) - chances >= top_p  # what came before suffices already
    return logits.masked_fill(hidden.gather(-1, order.argsort(dim=-1)), -torch.inf)


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Raise unless the three make sense."""
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be finite and at least 0, got {temperature=}")
    if top_k is not None:
        check_int("top_k", top_k, 1)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p=}")
