"""How a kernel is started: on the tensors' device, and after its first time without asking the compiler."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

MOST = 4096  # variants remembered; a new one costs a search, and only a new kind a compilation


class Kernel:
    """A kernel by its name, whose compiled variants are kept by what they were compiled for.

    Triton finds out at every launch whether a variant fits: which numbers are one or divisible by 16, which
    pointers are aligned. Of a launch whose numbers are known to be the same and whose pointers are aligned
    the answer is known too, and most of the time of a small problem is saved.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self.variants: dict[Hashable, Any] = {}

    @cached_property
    def function(self) -> Any:
        """The kernel as Triton made it."""
        return getattr(import_module(f"regard.attention.triton.{self.module}"), self.name)

    def start(
        self,
        programs: int,
        arguments: tuple,
        options: dict[str, int],
        key: Hashable,
        tensors: Sequence[Tensor],
    ) -> None:
        """Start so many programs. Equal keys mean equal programs, numbers and types; of the tensors that are
        pointed at, all but `tensors` are known to be aligned."""
        device = tensors[0].device
        if device.type != "cuda":
            self.function[(programs,)](*arguments, **options)
        elif device.index == torch._C._cuda_getDevice():
            self._start(programs, arguments, options, key, tensors, device.index)
        else:
            with torch.cuda.device(device):
                self._start(programs, arguments, options, key, tensors, device.index)

    def _start(
        self,
        programs: int,
        arguments: tuple,
        options: dict[str, int],
        key: Hashable,
        tensors: Sequence[Tensor],
        device: int,
    ) -> None:
        places = 0
        for x in tensors:
            places |= x.data_ptr()
        if places % 16:
            self.function[(programs,)](*arguments, **options)
            return
        variant = self.variants.get(key)
        if variant is None:
            if len(self.variants) >= MOST:
                self.variants.clear()
            self.variants[key] = self.function[(programs,)](*arguments, **options)[programs, 1, 1]
            return
        variant(*arguments, stream=torch._C._cuda_getCurrentRawStream(device))
