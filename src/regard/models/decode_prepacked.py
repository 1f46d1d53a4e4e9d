"""The decoding step on a CPU over weights laid out for few rows: copied once, read once per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import gelu

from regard.layers.feedforward import FeedForward, GatedFeedForward
from regard.models.decode import Affine, Decoder, affines, bias_of

if TYPE_CHECKING:
    from regard.models.gpt import GPT

PAYS_FROM = 32  # tokens; packing takes about as long as a dozen steps
LARGEST = 2**28  # weights in the model: beyond that a copy of them is a burden on memory


def no_prepacking(model: GPT, count: int) -> str | None:
    """Why the weights stay as they are for so many tokens, or None."""
    weight = model.embed.weight
    faults = [
        (weight.device.type != "cpu", "the weights are not on the CPU"),
        (weight.dtype != torch.float32, f"packing is for float32, got {weight.dtype}"),
        (count < PAYS_FROM, f"{count} tokens are too few for packing to pay"),
        (sum(x.numel() for x in model.parameters()) > LARGEST, "a copy of the weights takes too much memory"),
    ]
    return next((why for wrong, why in faults if wrong), None)


class PrepackedDecoder(Decoder):
    """The decoder whose products read copies of the weights, (in, out) or as oneDNN wants them.

    They are made by `fill`, so that every generation sees the weights of its beginning, and dropped by
    `release`.
    """

    def __init__(self, model: GPT, batch: int, capacity: int) -> None:
        super().__init__(model, batch, capacity)
        self.packs: dict[Affine, Tensor] = {}

    def fill(self, model: GPT, prompts: Sequence[Tensor], segments: Tensor | None) -> Tensor:
        """Read the prompts as every decoder does, and pack."""
        self.packs.clear()
        for layer in affines(model):
            self.packs[layer] = pack(layer.weight.detach(), self.batch)
        return super().fill(model, prompts, segments)

    def adopt(self, old: Decoder) -> None:
        """Take over the past and the packed weights of a decoder with less room."""
        super().adopt(old)
        assert isinstance(old, PrepackedDecoder)
        self.packs = old.packs

    def release(self) -> None:
        """Let the copies go."""
        self.packs = {}

    def _product(self, layer: Affine, x: Tensor) -> Tensor:
        return product(x, self.packs[layer], bias_of(layer))

    def _feed(self, feedforward: FeedForward | GatedFeedForward, x: Tensor) -> Tensor:
        if not isinstance(feedforward, FeedForward):
            return self._product(feedforward.down, feedforward.gated(self._product(feedforward.gate_up, x)))
        pack, way = self.packs[feedforward.up], feedforward.gelu.approximate
        if pack.is_mkldnn:
            h = _onednn(x, pack, feedforward.up.bias, "gelu", way)
        else:
            h = gelu(self._product(feedforward.up, x), approximate=way)
        return self._product(feedforward.down, h)


def pack(weight: Tensor, batch: int) -> Tensor:
    """A copy of a layer's weight (out, in) that a product with so many rows reads fastest."""
    if batch > 1 and torch.backends.mkldnn.is_available():  # for one row its calls cost more than they save
        return torch.ops.mkldnn._reorder_linear_weight.default(weight, batch)
    return weight.T.contiguous()


def product(x: Tensor, pack: Tensor, bias: Tensor | None) -> Tensor:
    """`linear(x, weight, bias)` for x (B,in) and a packed weight.

    >>> x, weight = torch.randn(3, 8), torch.randn(5, 8)
    >>> torch.allclose(product(x, pack(weight, batch=3), None), x @ weight.T, atol=1e-5)
    True
    """
    if pack.is_mkldnn:
        return _onednn(x, pack, bias, "none", "")
    return x @ pack if bias is None else torch.addmm(bias, x, pack)


def _onednn(x: Tensor, pack: Tensor, bias: Tensor | None, after: str, way: str) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise.default(x, pack, bias, after, [], way)
    return out
