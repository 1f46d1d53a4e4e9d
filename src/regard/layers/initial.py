"""The first weights of a model, drawn from one generator."""

import torch
from torch import nn

from regard.layers.norms import ComponentScale, OnePlusNorm

SPREAD = 0.02  # the standard deviation of GPT-2, BERT and ViT


@torch.no_grad()
def initialise(model: nn.Module, depth: int, generator: torch.Generator | None = None) -> None:
    """Set every parameter: biases 0, norms 1, patches by their fan-in, all others normal.

    What is added to the residual stream `2·depth` times starts smaller by the root of that.

    >>> from regard.layers.feedforward import Gelu
    >>> model = Gelu().build(8)
    >>> initialise(model, depth=2, generator=torch.Generator().manual_seed(0))
    >>> float(model.up.bias.detach().abs().max())
    0.0
    """
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight.zero_()
        elif weight.ndim == 1:
            weight.fill_(1.0)
        elif weight.ndim == 4:
            weight.normal_(0.0, weight[0].numel() ** -0.5, generator=generator)
        else:
            branch_end = name.endswith((".attention.out.weight", ".feedforward.down.weight"))
            weight.normal_(0.0, SPREAD / (2 * depth) ** 0.5 if branch_end else SPREAD, generator=generator)
    for module in model.modules():
        if isinstance(module, OnePlusNorm | ComponentScale):
            module.begin()
