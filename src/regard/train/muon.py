"""Muon: momentum of a matrix, made orthogonal by a few products, so that every direction learns alike.

Written from Jordan et al. 2024 (the iteration) and Liu et al. 2025 (the size of the step). Matrices of one
shape are handled as one batch, so that a model takes a few large kernels instead of many small ones.
"""

from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor, nn

# p(s) = a·s + b·s³ + c·s⁵ sends singular values from (0, 1] near 1 when applied five times.
COEFFICIENTS, ROUNDS = (3.4445, -4.7750, 2.0315), 5


def orthogonal(x: Tensor) -> Tensor:
    """Matrices (K,m,n) with their singular values brought near 1, in bfloat16 on a GPU.

    >>> turned = orthogonal(torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0)))
    >>> bool(((torch.linalg.svdvals(turned) - 1).abs() < 0.4).all())
    True
    """
    a, b, c = COEFFICIENTS
    wide = x.shape[1] <= x.shape[2]
    y = (x if wide else x.transpose(1, 2)).to(torch.bfloat16 if x.is_cuda else x.dtype)
    y = y / (y.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = torch.bmm(y, y.transpose(1, 2))
        y = torch.baddbmm(y, torch.baddbmm(square, square, square, beta=b, alpha=c), y, beta=a)
    return (y if wide else y.transpose(1, 2)).to(x.dtype)


class MuonMatrices(torch.optim.Optimizer):
    """Muon over named matrices, one batch for each shape."""

    def __init__(self, weights: dict[str, nn.Parameter], *, lr: float, momentum: float, decay: float) -> None:
        device = next(iter(weights.values())).device
        group = {"params": list(weights.values()), "names": list(weights), "base": lr}
        super().__init__([group], {"lr": torch.tensor(lr, device=device)})
        self.momentum, self.decay = momentum, decay
        self.alike: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
        for weight in weights.values():
            self.alike[tuple(weight.shape)].append(weight)
            self.state[weight]["momentum"] = torch.zeros_like(weight)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step, with Nesterov's look ahead."""
        assert closure is None
        lr = self.param_groups[0]["lr"]
        for (rows, cols), weights in self.alike.items():
            grads = [weight.grad for weight in weights if weight.grad is not None]
            assert len(grads) == len(weights)
            memory = [self.state[weight]["momentum"] for weight in weights]
            torch._foreach_lerp_(memory, grads, 1 - self.momentum)
            ahead = torch._foreach_lerp(grads, memory, self.momentum)
            # A turn of m×n has entries of root mean square 1/√max(m,n); Adam's steps have about 0.2.
            turned = orthogonal(torch.stack(ahead)) * (0.2 * max(rows, cols) ** 0.5)
            torch._foreach_mul_(weights, 1 - lr * self.decay)
            torch._foreach_add_(weights, list((turned * -lr).unbind()))
