"""One block, and the four ways to assemble it: PreNorm, PostNorm, Parallel and the course's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.layers.attention import Attention
from regard.layers.attention_shapes import AttentionShape
from regard.layers.cache import LayerPast
from regard.layers.dropout import drop
from regard.layers.feedforward import FeedForwardPart, Gelu
from regard.layers.letters import Number
from regard.layers.norms import LayerNorm, LayerScale, Norm
from regard.layers.projections import Projections
from regard.layers.shapes import ElementwiseShape, NormShape, Shape, TreeShape, WeightsShape, added, tree
from regard.layers.tracing import Trace
from regard.values import Terse, unsaid

Branch = Callable[[Tensor], Tensor]
Norms = tuple[nn.Module, nn.Module]


@dataclass(frozen=True, repr=False)
class _Parts(Terse):
    """What every assembly is made of, and where it has norms besides the one of the feed-forward.

    `after` is done to what a branch gives, before it is added: another norm (Gemma 2's sandwich) or a
    `LayerScale` (DINOv2).
    """

    norm: Norm = LayerNorm()  # noqa: RUF009 - a frozen value
    feedforward: FeedForwardPart = Gelu()  # noqa: RUF009 - a frozen value
    projections: Projections = unsaid(Projections())  # noqa: RUF009 - a frozen value
    after: Norm | LayerScale | None = unsaid(None)  # noqa: RUF009 - a field
    norms_input: ClassVar[bool] = False
    norms_output: ClassVar[bool] = True
    norms_attention: ClassVar[bool] = True
    in_turn: ClassVar[bool] = True  # the feed-forward reads what attention has added

    def join(self, x: Tensor, branch: Branch, norm: nn.Module) -> Tensor:
        """Add what a branch makes of the normed tokens; a norm that is not there is the identity."""
        return x + branch(norm(x))

    def run(self, x: Tensor, attention: Branch, feedforward: Branch, norms: Norms) -> Tensor:
        """Both branches, one after the other."""
        return self.join(self.join(x, attention, norms[0]), feedforward, norms[1])

    def shape(self, attention: AttentionShape, feedforward: Shape | None = None) -> TreeShape:
        """The sizes of a block: attention and feed-forward, each with its norm and added to what came in."""
        width = attention.width
        normed, residual = NormShape(width=width, norm=self.norm), added(width)
        after = None if self.after is None else _after_shape(self.after, width)
        return tree(
            {
                "attention_norm": normed if self.norms_attention else None,
                "attention": attention,
                "attention_after": after,
                "attention_residual": residual,
                "feedforward_norm": normed,
                "feedforward": feedforward or self.feedforward.shape(width),
                "feedforward_after": after,
                "feedforward_residual": residual,
            }
        )


def _after_shape(after: Norm | LayerScale, width: Number) -> Shape:
    if isinstance(after, LayerScale):
        return WeightsShape(count=width) + ElementwiseShape(multiplies=width, kept=width)
    return NormShape(width=width, norm=after)


@dataclass(frozen=True, repr=False)
class PreNorm(_Parts):
    """x + attention(norm(x)), then x + feedforward(norm(x)); a last norm ends the model (GPT-2, ViT)."""


@dataclass(frozen=True, repr=False)
class PostNorm(_Parts):
    """norm(x + attention(x)), then norm(x + feedforward(x)); the inputs are normed first (BERT)."""

    norms_input: ClassVar[bool] = True
    norms_output: ClassVar[bool] = False

    def join(self, x: Tensor, branch: Branch, norm: nn.Module) -> Tensor:
        """Add what a branch makes of the tokens, and norm the sum."""
        return norm(x + branch(x))


@dataclass(frozen=True, repr=False)
class Parallel(_Parts):
    """x + attention(norm(x)) + feedforward(norm(x)), each with a norm of its own; a last norm (GPT-NeoX)."""

    in_turn: ClassVar[bool] = False

    def run(self, x: Tensor, attention: Branch, feedforward: Branch, norms: Norms) -> Tensor:
        """Both branches of the same tokens."""
        return feedforward(norms[1](x)) + attention(norms[0](x)) + x


@dataclass(frozen=True, repr=False)
class CourseBlock(_Parts):
    """x + attention(x), then x + feedforward(norm(x)): no norm before attention; a last norm follows."""

    norms_attention: ClassVar[bool] = False


Assembly = PreNorm | PostNorm | Parallel | CourseBlock


class TransformerBlock(nn.Module):
    """Attention moves information between tokens, the feed-forward works on each alone.

    >>> TransformerBlock(Attention(48, heads=6), PreNorm())(torch.zeros(5, 7, 48)).shape
    torch.Size([5, 7, 48])
    """

    def __init__(self, attention: Attention, assembly: Assembly, *, dropout: float = 0.0) -> None:
        super().__init__()
        check_dropout(dropout)
        width = attention.out.out_features
        self.assembly, self.dropout = assembly, dropout
        after = assembly.after
        self.attention_norm = assembly.norm.build(width) if assembly.norms_attention else nn.Identity()
        self.attention = attention
        self.attention_after = nn.Identity() if after is None else after.build(width)
        self.feedforward_norm = assembly.norm.build(width)
        self.feedforward = assembly.feedforward.build(width)
        self.feedforward_after = nn.Identity() if after is None else after.build(width)

    @property
    def norms(self) -> Norms:
        """The norms of attention and of the feed-forward."""
        return self.attention_norm, self.feedforward_norm

    def forward(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: LayerPast | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N,C) to (B,N,C). Branches are dropped out in training, never with a cache."""
        share = self.dropout if self.training and cache is None else 0.0
        inside = None if trace is None else trace.inside("attention")

        def attention(x: Tensor) -> Tensor:
            out = self.attention(x, segments=segments, cache=cache, trace=inside)
            return drop(self.attention_after(out), share, generator)

        def feedforward(x: Tensor) -> Tensor:
            return drop(self.feedforward_after(self.feedforward(x)), share, generator)

        x = self.assembly.run(x, attention, feedforward, self.norms)
        if trace is not None:
            trace.record("output", x)
        return x

    def first(self, x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Token 0 (B,1,C) of what full attention and then the feed-forward give, and no more.

        Compiled, what is cut off here is never computed.
        """
        share = self.dropout if self.training else 0.0

        def attention(x: Tensor) -> Tensor:
            return drop(self.attention_after(self.attention.first_row(x)), share, generator)

        def feedforward(x: Tensor) -> Tensor:
            return drop(self.feedforward_after(self.feedforward(x)), share, generator)

        x = self.assembly.join(x, attention, self.attention_norm)[:, :1]
        return self.assembly.join(x, feedforward, self.feedforward_norm)


def check_dropout(dropout: float) -> None:
    """Raise unless it is a share below 1."""
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout=}")
