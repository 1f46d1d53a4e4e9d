"""The first weights of a model, drawn from one generator."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from regard.layers.norms import ComponentScale, OnePlusNorm

DRAWS = {"normal_", "uniform_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "trunc_normal_"}
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


@contextmanager
def without_memory() -> Iterator[None]:
    """What is built inside has shapes alone, on the device "meta", and draws nothing.

    torch would load its compiler in order to draw numbers that are nowhere.

    >>> with without_memory():
    ...     nn.Linear(2, 3).weight.device
    device(type='meta')
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Leaves out what fills a tensor by chance."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tensor = args[0] if args else kwargs.get("tensor")
        if getattr(func, "__name__", "") in DRAWS and isinstance(tensor, torch.Tensor) and tensor.is_meta:
            return tensor
        return func(*args, **kwargs)
