"""In what numbers the weights of a config.json are kept: its own type, or packed into fewer bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from regard.layers.letters import Number
from regard.models.huggingface.keys import Keys

KEPT_PLAIN: tuple[object, ...] = (["lm_head"], [], None)


@dataclass(frozen=True)
class Packed:
    """So many bits for a weight, and scales for groups of them; the head and tables stay plain."""

    method: str
    bits: int
    group: int  # −1: one for every column
    indexed: bool = False  # GPTQ: a group's number for every input
    double: bool = False  # bitsandbytes: the scales are packed too

    def matrix_bytes(self, inputs: Number, outputs: Number) -> Number:
        """Weights, zeros and scales as each method writes them.

        >>> Packed("awq", 4, 128).matrix_bytes(256, 64)
        8512
        """
        count = inputs * outputs
        if self.method == "fp8":
            return count + self._blocks(inputs) * self._blocks(outputs) * 4
        if self.method == "bitsandbytes" and self.bits == 8:
            return count + outputs * 4
        if self.method == "bitsandbytes":
            blocks = -(-count // self.group)
            return -(-count // 2) + (blocks + -(-blocks // 256) * 4 + 4 if self.double else blocks * 4)
        groups = 1 if self.group == -1 else self._blocks(inputs)
        zeros_and_scales = groups * outputs * self.bits // 8 + groups * outputs * 2
        return count * self.bits // 8 + zeros_and_scales + (inputs * 4 if self.indexed else 0)

    def _blocks(self, size: Number) -> Number:
        if size % self.group:
            raise ValueError(f"weights in {self} need sizes that {self.group} divides, got {size}")
        return size // self.group

    def __str__(self) -> str:
        return f"{self.method} of {self.bits} bits"


@dataclass(frozen=True)
class Storage:
    """The type of plain numbers, and how matrices are packed, if they are."""

    dtype: torch.dtype = torch.float32
    packed: Packed | None = None


def read_storage(keys: Keys, *, packs: bool) -> Storage:
    """What a config says of its weights; a way of packing that we do not know is refused by name."""
    name = keys.word("dtype", keys.word("torch_dtype", "float32")).removeprefix("torch.")
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"{keys.source}: dtype must be a floating type of torch, got dtype={name!r}")
    told = keys.get("quantization_config")
    if told is None:
        return Storage(dtype)
    if not isinstance(told, Mapping):
        raise ValueError(f"{keys.source}: quantization_config must be an object, got {told!r:.60}")
    if not packs:
        raise ValueError(f"{keys.source}: packed weights of a {keys.data['model_type']} have no price here")
    return Storage(dtype, _packed(Keys(told, keys.source)))


def _packed(keys: Keys) -> Packed:
    method = keys.word("quant_method", "bitsandbytes" if keys.named("load_in_4bit") else "")
    if method not in ("awq", "gptq", "bitsandbytes", "fp8"):
        raise ValueError(f"{keys.source}: weights packed by quant_method={method!r} have no price here")
    for name in ("modules_to_not_convert", "llm_int8_skip_modules"):
        if (kept := keys.get(name)) not in KEPT_PLAIN:
            raise ValueError(f"{keys.source}: only the head can be left unpacked, got {name}={kept!r:.80}")
    keys.only("lm_head", False)
    if method in ("awq", "gptq"):
        keys.only("bits", 4, 8)
        group = keys.size("group_size", default=128, least=-1)
        return Packed(method, keys.size("bits", default=4), group, indexed=method == "gptq")
    if method == "fp8":
        block = keys.get("weight_block_size")
        if not isinstance(block, list) or len(block) != 2 or block[0] != block[1]:
            raise ValueError(f"{keys.source}: fp8 needs square blocks, got weight_block_size={block!r}")
        return Packed("fp8", 8, Keys({"weight_block_size": block[0]}, keys.source).size("weight_block_size"))
    eight, four = keys.flag("load_in_8bit", False), keys.flag("load_in_4bit", False)
    if eight == four:
        raise ValueError(f"{keys.source}: bitsandbytes packs in 8 or in 4 bits, got {eight=}, {four=}")
    return Packed(method, 8 if eight else 4, 64, double=keys.flag("bnb_4bit_use_double_quant", False))
