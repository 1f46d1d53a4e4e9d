"""Attention: every token looks at the tokens it may attend to, and takes a weighted mean of them."""

import math

import torch
from torch import Tensor, nn

from regard.errors import check_shape, check_sizes
from regard.pattern import Pattern


class Affine(nn.Linear):
    """A linear map with a bias; weights without one, as students write them, load too: it is then zero."""

    def _load_from_state_dict(self, weights: dict[str, Tensor], prefix: str, *how: object) -> None:
        if f"{prefix}weight" in weights:
            weights.setdefault(f"{prefix}bias", torch.zeros(self.out_features))
        super()._load_from_state_dict(weights, prefix, *how)


def may_attend(attn_mask: Tensor | Pattern | None, x: Tensor) -> Tensor | None:
    """The mask for `x` (B,T,dim) as booleans on its device, (T,T) or (B,T,T); None: all pairs may attend."""
    if attn_mask is None:
        return None
    *B, T, _ = x.shape
    mask = attn_mask.dense(T) if isinstance(attn_mask, Pattern) else attn_mask
    shapes = dict.fromkeys([(T, T), (1, T, T), (*B, T, T)])
    if (got := tuple(mask.shape)) not in shapes:
        raise ValueError(f"attn_mask must have shape {' or '.join(map(str, shapes))}, got {got}")
    mask = mask[0] if mask.shape[:-2] == (1,) else mask  # one mask for all, or for the only one
    if mask.dtype != torch.bool and len(wrong := mask[(mask != 0) & (mask != 1)]) > 0:
        raise ValueError(f"attn_mask must hold only 1 (may attend) and 0, got {wrong[0].item()}")
    return mask.to(x.device) == 1


def masked_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Softmax along each row over the allowed keys alone; a row without any becomes zeros."""
    if allowed is None:
        return scores.softmax(dim=-1)
    # The lowest finite number and not -inf: a row of nothing but -inf has the softmax NaN.
    scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    # Only rows without any key change here: in all others the masked weights are zero already.
    return scores.softmax(dim=-1).masked_fill(~allowed, 0.0)


class AttentionHead(nn.Module):
    """One head: each token asks with its query, is found by its key and answers with its value.

    >>> out, alpha = AttentionHead(dim=8, n_hidden=4)(torch.zeros(5, 3, 8), attn_mask=torch.ones(3, 3).tril())
    >>> alpha[0].detach()  # equal tokens get equal weights
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.3333, 0.3333, 0.3333]])
    """

    def __init__(self, dim: int, n_hidden: int) -> None:
        super().__init__()
        check_sizes(dim=dim, n_hidden=n_hidden)
        self.dim, self.n_hidden = dim, n_hidden
        self.W_Q = Affine(dim, n_hidden)
        self.W_K = Affine(dim, n_hidden)
        self.W_V = Affine(dim, n_hidden)

    def forward(self, x: Tensor, attn_mask: Tensor | Pattern | None = None) -> tuple[Tensor, Tensor]:
        """Give the output (B,T,n_hidden) and the weights (B,T,T), a row per query; `x` may come without B."""
        check_shape("x", x, "B", "T", self.dim)
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)  # B T n_hidden
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.n_hidden)  # B T T
        alpha = masked_softmax(scores, may_attend(attn_mask, x))
        return alpha @ v, alpha


class MultiHeadedAttention(nn.Module):
    """Several heads of width `n_hidden` side by side, brought back to width `dim` by W_O.

    >>> out, alphas = MultiHeadedAttention(dim=8, n_hidden=4, num_heads=3)(torch.zeros(5, 7, 8))
    >>> out.shape, alphas.shape
    (torch.Size([5, 7, 8]), torch.Size([5, 3, 7, 7]))
    """

    def __init__(self, dim: int, n_hidden: int, num_heads: int) -> None:
        super().__init__()
        check_sizes(num_heads=num_heads)
        self.heads = nn.ModuleList(AttentionHead(dim, n_hidden) for _ in range(num_heads))
        self.W_O = Affine(num_heads * n_hidden, dim)

    def forward(self, x: Tensor, attn_mask: Tensor | Pattern | None = None) -> tuple[Tensor, Tensor]:
        """Give the mixed outputs (B,T,dim) and the weights of all heads (B,H,T,T)."""
        outs, alphas = zip(*(head(x, attn_mask) for head in self.heads), strict=True)
        return self.W_O(torch.cat(outs, dim=-1)), torch.stack(alphas, dim=-3)
