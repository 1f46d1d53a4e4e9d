"""The one check that everything here rests on: what was priced is what ran."""

from typing import Any

import torch
from torch import Tensor, nn

from regard.cost import Cost, executed, price

FORWARD = ("multiplies", "adds", "pairs", "macs", "product_adds")
MATRIX = ("macs", "product_adds", "pairs")


def counts(cost: Cost, names: tuple[str, ...]) -> dict[str, int]:
    return {name: getattr(cost, name) for name in names}


def agree(model: nn.Module, *inputs: Any, segments: Tensor | None = None, **asked: Any) -> None:
    """Price and execution, forward and with the gradient; nothing may stay uncounted."""
    keywords = {} if segments is None else {"segments": segments}
    ran = executed(model, *inputs, **keywords)
    priced = price(model, segments=segments, **asked)
    assert ran.uncounted == {}
    assert counts(ran, FORWARD) == counts(priced, FORWARD)
    assert sum(weight.numel() for weight in model.parameters()) == priced.parameters

    def step() -> None:
        out = model(*inputs, **keywords)
        (out[0] if isinstance(out, tuple) else out).sum().backward()

    ran = executed(step)
    priced = price(model, segments=segments, training=True, **asked)
    assert ran.uncounted == {}
    assert counts(ran, MATRIX) == counts(priced, MATRIX)


def tokens(batch: int, length: int, vocab: int = 50) -> Tensor:
    return torch.randint(vocab, (batch, length), generator=torch.Generator().manual_seed(0))


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).requires_grad_()
