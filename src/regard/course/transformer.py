"""The transformer: attention moves information between tokens, the FFN thinks about each token alone."""

import torch
from torch import Tensor, nn

from regard.course.attention import Affine, MultiHeadedAttention, may_attend
from regard.errors import check_shape, check_sizes
from regard.pattern import Pattern


class FFN(nn.Sequential):
    """LayerNorm, Linear, GELU, Linear, on each token by itself.

    >>> FFN(dim=8, n_hidden=32)(torch.zeros(5, 7, 8)).shape
    torch.Size([5, 7, 8])
    """

    def __init__(self, dim: int, n_hidden: int) -> None:
        check_sizes(dim=dim, n_hidden=n_hidden)
        super().__init__(nn.LayerNorm(dim), Affine(dim, n_hidden), nn.GELU(), Affine(n_hidden, dim))
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        """Map (B,T,dim) to (B,T,dim)."""
        check_shape("x", x, "B", "T", self.dim)
        return super().forward(x)


class AttentionResidual(nn.Module):
    """One layer: add what attention found, then add what the FFN made of it.

    >>> layer = AttentionResidual(dim=8, attn_dim=4, mlp_dim=32, num_heads=2)
    >>> layer(torch.zeros(5, 7, 8), attn_mask=None)[1].shape
    torch.Size([5, 2, 7, 7])
    """

    def __init__(self, dim: int, attn_dim: int, mlp_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attn = MultiHeadedAttention(dim, attn_dim, num_heads)
        self.ffn = FFN(dim, mlp_dim)

    def forward(self, x: Tensor, attn_mask: Tensor | Pattern | None) -> tuple[Tensor, Tensor]:
        """Give the new tokens (B,T,dim) and the attention weights (B,H,T,T)."""
        found, alphas = self.attn(x, attn_mask)
        x = x + found
        return x + self.ffn(x), alphas


class Transformer(nn.Module):
    """A stack of layers, each with weights of its own.

    >>> transformer = Transformer(dim=8, attn_dim=4, mlp_dim=32, num_heads=2, num_layers=3)
    >>> x, alphas = transformer(torch.zeros(5, 7, 8), return_attn=True)
    >>> x.shape, alphas.shape
    (torch.Size([5, 7, 8]), torch.Size([5, 3, 2, 7, 7]))
    """

    def __init__(self, dim: int, attn_dim: int, mlp_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        check_sizes(num_layers=num_layers)
        self.dim = dim
        sizes = dim, attn_dim, mlp_dim, num_heads
        self.layers = nn.ModuleList(AttentionResidual(*sizes) for _ in range(num_layers))

    def forward(
        self, x: Tensor, attn_mask: Tensor | Pattern | None = None, return_attn: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Give the tokens (B,T,dim) and, if asked, the weights of every layer (B,L,H,T,T)."""
        check_shape("x", x, "B", "T", self.dim)
        allowed = may_attend(attn_mask, x)  # once here, rather than again in every head
        seen = []
        for layer in self.layers:
            x, alphas = layer(x, allowed)
            seen.append(alphas)
        return x, torch.stack(seen, dim=-4) if return_attn else None
