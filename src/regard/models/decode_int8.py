"""Decoding over int8 weights, a scale for each channel: a quarter of float32's bytes are read, half of
bfloat16's."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.models.decode import Affine, Decoder, affines, bias_of
from regard.models.decode_fused import FEW, FusedDecoder, no_fused
from regard.models.quantise import to_int8

if TYPE_CHECKING:
    from regard.models.gpt import GPT

WHOLE = 32  # torch 2.13's bfloat16 product reads so many numbers at once, and beyond the end of shorter rows


def no_int8(model: GPT, batch: int = 1) -> str | None:
    """Why so many rows of a model cannot be decoded so, or None; on a GPU it is our kernels that do it."""
    weight = model.embed.weight
    if weight.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return f"int8 weights go with float32, bfloat16 and float16, got {weight.dtype}"
    if weight.device.type == "cpu":
        return None
    if not weight.is_cuda:
        return f"products with int8 weights are for CPU and CUDA so far, got weights on {weight.device}"
    if batch > FEW:
        return f"products with int8 weights are for up to {FEW} rows on a GPU, got {batch}"
    return no_fused(model)


def rounded(model: GPT) -> GPT:
    """A copy whose matrices hold what int8 leaves of them: what `impl="int8"` computes, by definition.

    These are the matrices that every token reads whole: those of the blocks and of the logits. A table that
    is looked up keeps its numbers, unless it also makes the logits.

    >>> from regard.models import GPT, GPTConfig
    >>> model = GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2))
    >>> weight = rounded(model).blocks[0].attention.qkv.weight
    >>> len(weight[0].div(weight[0].abs().max() / 127).round().unique()) <= 255
    True
    """
    twin = deepcopy(model)
    with torch.no_grad():
        for layer in affines(twin):
            whole, scale = to_int8(layer.weight)
            layer.weight.copy_(whole.float() * scale[:, None])
    return twin


class Int8Decoder(Decoder):
    """The decoder whose products read int8 weights; prompts are read with the same weights, rounded.

    They are made by `fill`, so that every generation sees the weights of its beginning, and dropped by
    `release`.
    """

    def __init__(self, model: GPT, batch: int, capacity: int) -> None:
        super().__init__(model, batch, capacity)
        self.tied = self.head is self.embed
        self.packs: dict[Affine, tuple[Tensor, Tensor]] = {}

    def fill(self, model: GPT, prompts: Sequence[Tensor], segments: Tensor | None) -> Tensor:
        """Read the prompts as every decoder does, and round."""
        self.packs = {layer: to_int8(layer.weight) for layer in affines(model)}
        twin = rounded(model)
        if self.tied:
            self.embed = twin.embed
        return super().fill(twin, prompts, segments)

    def adopt(self, old: Decoder) -> None:
        """Take over the past and the rounded weights of a decoder with less room."""
        super().adopt(old)
        assert isinstance(old, Int8Decoder)
        self.packs, self.embed = old.packs, old.embed

    def release(self) -> None:
        """Let the rounded weights go."""
        self.packs = {}
        if self.tied:
            assert isinstance(self.head, torch.nn.Embedding)
            self.embed = self.head

    def _product(self, layer: Affine, x: Tensor) -> Tensor:
        return int8_product(x, *self.packs[layer], bias_of(layer))


class Int8FusedDecoder(FusedDecoder):
    """The same over our kernels: recorded steps read the rounded weights where they were when recorded.

    So they stay where they are, and `fill` writes those of the generation's beginning there.
    """

    def __init__(self, model: GPT, batch: int, capacity: int) -> None:
        self.packs = {layer: to_int8(layer.weight) for layer in affines(model)}
        super().__init__(model, batch, capacity, many=False)
        self.tied = self.head is self.embed
        if self.tied:
            self.embed = deepcopy(model.embed).requires_grad_(False)

    def fill(self, model: GPT, prompts: Sequence[Tensor], segments: Tensor | None) -> Tensor:
        """Read the prompts as every decoder does, and round."""
        for layer, pack in self.packs.items():
            for mine, new in zip(pack, to_int8(layer.weight), strict=True):
                mine.copy_(new)
        twin = rounded(model)
        if self.tied:
            self.embed.weight.copy_(twin.embed.weight)
        return super().fill(twin, prompts, segments)

    def adopt(self, old: Decoder) -> None:
        """Take over the past and the rounded weights of a decoder with less room."""
        super().adopt(old)
        assert isinstance(old, Int8FusedDecoder)
        for pack, was in zip(self.packs.values(), old.packs.values(), strict=True):
            for mine, theirs in zip(pack, was, strict=True):
                mine.copy_(theirs)
        if self.tied:
            self.embed.weight.copy_(old.embed.weight)

    def _read(self, layer: Affine) -> tuple[Tensor, Tensor | None]:
        return self.packs[layer]


def int8_product(x: Tensor, whole: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
    """`linear(x, weight, bias)` for x (B,in), the weight as `to_int8` gives it.

    >>> x, weight = torch.randn(3, 8), torch.randn(5, 8)
    >>> whole, scale = to_int8(weight)
    >>> torch.allclose(int8_product(x, whole, scale, None), x @ (whole * scale[:, None]).T, atol=1e-5)
    True
    """
    x, scale = x.contiguous(), scale.to(x.dtype)
    if x.dtype == torch.bfloat16 and x.shape[1] % WHOLE:
        out = (x @ whole.to(x.dtype).T) * scale
    else:
        out = torch.ops.aten._weight_int8pack_mm.default(x, whole, scale)
    return out if bias is None else out + bias
