"""Two forms of attention from the lectures: self-attention without weights, and one pooled over time."""

import torch
from torch import Tensor


def self_attend(x: Tensor, scale: float = 1.0) -> Tensor:
    """Self-attention with queries = keys = values = x: y_i = Σ_j softmax_j(scale·x_i·x_j) x_j.

    `x (..., N, C)`; as in the lectures, nothing is learned and scores are not scaled unless asked.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> self_attend(x)
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])
    >>> self_attend(x, scale=0.0)  # equal scores: every output is the mean
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    if x.ndim < 2:
        raise ValueError(f"x needs at least two axes (positions, width), got x {tuple(x.shape)}")
    return torch.softmax(scale * (x @ x.mT), dim=-1) @ x


def pooled_attend(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, arrangement: str = "linear") -> Tensor:
    """The course sheet's attention: α_t = (1/√T) Σ_j (Q x_t)·(K x_j), y_t = Σ_j e^{α_j} V x_j / Σ_j e^{α_j}.

    Nothing on the right of the second formula depends on t: as the sheet prints it, y_t is the same for
    every t. Scores are divided by √T, T the length, and not by the root of a width.

    "plain" sums the T² products as written; "linear" takes the sum over j first, which the product allows:
    α_t = (Q x_t)·(K Σ_j x_j) / √T, in O(T). Both give the same values and gradients.

    `x (..., T, C)`, `W_q` and `W_k (D, C)`, `W_v (E, C)`; the result is (..., T, E).

    >>> x = torch.tensor([[1.0], [2.0], [3.0]])
    >>> W = torch.ones(1, 1)
    >>> pooled_attend(x, 0 * W, W, W).flatten()  # α = 0: the mean of the values
    tensor([2., 2., 2.])
    >>> pooled_attend(x, W, W, W).flatten()
    tensor([2.9678, 2.9678, 2.9678])
    >>> torch.allclose(pooled_attend(x, W, W, W), pooled_attend(x, W, W, W, arrangement="plain"))
    True
    """
    if arrangement not in ("linear", "plain"):
        raise ValueError(f"arrangement must be 'linear' or 'plain', got {arrangement=}")
    matrices = {"W_q": W_q, "W_k": W_k, "W_v": W_v}
    fits = x.ndim >= 2 and all(W.ndim == 2 and W.shape[1] == x.shape[-1] for W in matrices.values())
    if not fits or W_q.shape != W_k.shape:
        shapes = ", ".join(f"{name} {tuple(W.shape)}" for name, W in matrices.items())
        raise ValueError(
            f"need x (..., T, C), W_q and W_k (D, C), W_v (E, C), got x {tuple(x.shape)}, {shapes}"
        )
    T = x.shape[-2]
    q = x @ W_q.T  # ... T D
    if arrangement == "linear":
        alpha = (q @ (W_k @ x.sum(-2)[..., None]))[..., 0]
    else:
        alpha = (q @ (x @ W_k.T).mT).sum(-1)
    weights = torch.softmax(alpha / max(T, 1) ** 0.5, dim=-1)
    pooled = weights[..., None, :] @ (x @ W_v.T)  # ... 1 E
    return pooled.expand(*x.shape[:-1], W_v.shape[0]).contiguous()
