"""What GPT, ViT and Encoder share: the norms around a stack of blocks, and weights set from one generator."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.layers import Assembly, Cache, Position, Stack, Trace, drop, initialise
from regard.layers.attention import check_heads
from regard.layers.block import check_dropout
from regard.pattern import Pattern


class Trunk(nn.Module):
    """The part of a model between its embedding and its head."""

    def __init__(
        self,
        patterns: Sequence[Pattern],
        block: Assembly,
        *,
        width: int,
        heads: int,
        kv_heads: int | None = None,
        head_width: int | None = None,
        position: Position | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.input_norm = block.norm.build(width) if block.norms_input else nn.Identity()
        self.blocks = Stack(
            patterns,
            block,
            dropout=dropout,
            width=width,
            heads=heads,
            kv_heads=kv_heads,
            head_width=head_width,
            position=position,
        )
        self.output_norm = block.norm.build(width) if block.norms_output else nn.Identity()

    def run(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map embedded tokens (B,N,C) to (B,N,C), before the last norm."""
        x = self.enter(x, cache=cache, generator=generator)
        inside = None if trace is None else trace.inside("blocks")
        if trace is not None:
            trace.record("embedding", x)
        return self.blocks(x, segments=segments, cache=cache, trace=inside, generator=generator)

    def enter(
        self, x: Tensor, *, cache: Cache | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """The embedded tokens as the first block gets them."""
        share = self.dropout if self.training and cache is None else 0.0
        x = drop(self.input_norm(x), share, generator)
        if torch.is_autocast_enabled(x.device.type):
            # A float32 sum of bfloat16 branches would double the traffic of every norm and residual.
            x = x.to(torch.get_autocast_dtype(x.device.type))
        return x

    def fill(self, device: torch.device, generator: torch.Generator | None) -> None:
        """Give a model that was built without memory its weights."""
        self.to_empty(device=device)
        initialise(self, depth=max(1, len(self.blocks)), generator=generator)


def check_trunk(
    width: int,
    heads: int,
    head_width: int | None,
    block: Assembly,
    *,
    dropout: float,
    kv_heads: int | None = None,
    position: Position | None = None,
) -> None:
    """Raise unless these fields of a config fit together."""
    check_heads(width, heads, kv_heads, head_width, position)
    check_dropout(dropout)
    check_part("block", block, Assembly)


def check_part(name: str, value: object, kind: object) -> None:
    """Raise unless `value` is one of the values of a union."""
    if not isinstance(value, kind):  # type: ignore[arg-type]
        raise ValueError(f"{name} must be one of {kind}, got {name}={value!r}".replace("regard.layers.", ""))


def check_tokens(name: str, tokens: Tensor, shape: tuple[int, ...] | None = None) -> None:
    """Raise unless these are integers (B,N), of this shape where one is given."""
    if tokens.ndim != 2 or tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise ValueError(f"{name} must be integers (B, N), got {tuple(tokens.shape)} {tokens.dtype}")
    if shape is not None and tokens.shape != shape:
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {tuple(tokens.shape)}")


def mean_pool(x: Tensor, segments: Tensor | None = None) -> Tensor:
    """The mean (B,C) over the tokens (B,N,C) that are no padding; zeros where all are.

    >>> mean_pool(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[0, 0, -1]])).tolist()
    [[3.0]]
    """
    if segments is None:
        return x.mean(dim=1)
    real = (segments >= 0).to(x.dtype)[..., None]  # B N 1
    return (x * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
