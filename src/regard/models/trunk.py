"""What GPT, ViT and Encoder share: the norms around a stack of blocks, and weights set from one generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import lcm
from typing import ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn

from regard.attention import Choice
from regard.layers import (
    Assembly,
    Cache,
    Mixer,
    Position,
    Rotary,
    Softmax,
    Stack,
    Trace,
    cycle,
    drop,
    initialise,
)
from regard.layers.attention import check_heads, check_mixer
from regard.layers.attention_shapes import AttentionShape
from regard.layers.block import TransformerBlock, check_dropout
from regard.layers.letters import check_size, is_letter, ratio
from regard.layers.shapes import NormShape, Shape, TreeShape
from regard.layers.stack import one_or_more
from regard.parallel import Shard
from regard.pattern import Pattern


class LayerParts(NamedTuple):
    """What one block applies."""

    pattern: Pattern
    mixer: Mixer
    position: Position | None


@dataclass(frozen=True, kw_only=True)
class TrunkConfig:
    """What the trunk of a model is built from, and the rules for it; a model's own config derives it.

    >>> from regard.layers import PreNorm
    >>> from regard.pattern import Full
    >>> TrunkConfig(depth=2, width=8, heads=3, pattern=Full(), block=PreNorm())
    Traceback (most recent call last):
        ...
    ValueError: heads must divide width unless head_width is given, got width=8, heads=3
    """

    depth: int
    width: int
    heads: int
    kv_heads: int | None = None
    head_width: int | None = None
    pattern: Pattern | Sequence[Pattern]
    mixer: Mixer | Sequence[Mixer] = Softmax()  # noqa: RUF009 - a frozen value
    position: Position | Sequence[Position] | None = None
    block: Assembly
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_size("depth", self.depth, 0)
        several = self.position if isinstance(self.position, tuple) else (self.position,)
        if len(several) > 1 and not all(isinstance(one, Rotary) for one in several):
            raise ValueError(f"blocks can have positions of their own where all are Rotary, got {several}")
        for position in several:
            check_heads(self.width, self.heads, self.kv_heads, self.head_width, position)
        check_dropout(self.dropout)
        check_part("block", self.block, Assembly)
        for layer in self.kinds:
            check_mixer(layer.mixer, layer.pattern, layer.position)

    def layers(self, depth: int) -> tuple[LayerParts, ...]:
        """What each of so many blocks applies; where their number is a letter, those of one round."""
        if is_letter(depth):
            each = (self.pattern, self.mixer, self.position)
            depth = lcm(*(len(given) if isinstance(given, tuple) else 1 for given in each))
        places = [None] * depth if self.position is None else cycle(self.position, depth)
        parts = zip(cycle(self.pattern, depth), cycle(self.mixer, depth), places, strict=True)
        return tuple(LayerParts(*each) for each in parts)

    @property
    def kinds(self) -> Counter[LayerParts]:
        """How many blocks apply the same; where the depth is a letter, those of one round."""
        return Counter(self.layers(self.depth))

    @property
    def head_size(self) -> int:
        """The width of one head."""
        return ratio(self.width, self.heads) if self.head_width is None else self.head_width

    @property
    def norm(self) -> NormShape:
        """The shape of every norm."""
        return NormShape(width=self.width, norm=self.block.norm)

    def shapes(self) -> dict[str, Shape | None]:
        """The norm of the inputs, and the blocks by what they apply: equal ones stand once, so many times."""
        parts: dict[str, Shape | None] = {"input_norm": self.norm if self.block.norms_input else None}
        kinds = self.kinds
        if is_letter(self.depth) and len(kinds) > 1:
            raise ValueError("depth can be a letter only where all blocks have one pattern and one mixer")
        for layer, count in kinds.items():
            times = self.depth if is_letter(self.depth) else count
            of = "" if len(kinds) == 1 else f" {layer.mixer.word}{layer.pattern}"
            if f"blocks{of} ×{times}" in parts:  # as many of the same pattern, but other scores or positions
                of = f"{of}, {layer.mixer}, {layer.position}"
            parts[f"blocks{of} ×{times}"] = self._block(layer) * times
        return parts

    def _block(self, layer: LayerParts) -> TreeShape:
        projections = self.block.projections
        attention = AttentionShape(
            width=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_width=self.head_width,
            pattern=layer.pattern,
            mixer=layer.mixer,
            position=layer.position,
            qkv_bias=projections.qkv_bias,
            out_bias=projections.out_bias,
            head_norm=projections.head_norm,
        )
        return self.block.shape(attention)


class WithVocab:
    """A config of a model of tokens; `vocab=None` leaves the vocabulary to a tokenizer."""

    vocab: int | None

    def check_vocab(self) -> None:
        """Raise unless the vocabulary has a size, or is left open."""
        if self.vocab is not None:
            check_size("vocab", self.vocab)

    @property
    def vocab_size(self) -> int:
        """The vocabulary, or a ValueError where no tokenizer has decided on it."""
        if self.vocab is None:
            raise ValueError("vocab must be given: no tokenizer has decided on it yet, got vocab=None")
        return self.vocab


class WithTrunk:
    """A flat config that holds the fields of a `TrunkConfig` among its own."""

    __dataclass_fields__: ClassVar[dict]
    depth: int

    def check_trunk(self) -> None:
        """Make tuples of several patterns, mixers and positions, and raise unless the trunk can be built."""
        for name, kind in (("pattern", Pattern), ("mixer", Mixer), ("position", Position)):
            if hasattr(self, name):
                object.__setattr__(self, name, one_or_more(name, getattr(self, name), kind))
        self.trunk  # noqa: B018 - its fields are checked as it is made

    @property
    def trunk(self) -> TrunkConfig:
        """What the trunk needs of it."""
        shared = {one.name for one in fields(TrunkConfig)} & {one.name for one in fields(self)}
        values = {name: getattr(self, name) for name in shared}
        given = values["pattern"] if isinstance(values["pattern"], tuple) else (values["pattern"],)
        return TrunkConfig(**values | {"pattern": tuple(self.applied(pattern) for pattern in given)})

    def applied(self, pattern: Pattern) -> Pattern:
        """What a block makes of a pattern: itself."""
        return pattern

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """What each block applies."""
        return tuple(layer.pattern for layer in self.trunk.layers(self.depth))

    @property
    def mixers(self) -> tuple[Mixer, ...]:
        """How each block mixes its tokens."""
        return tuple(layer.mixer for layer in self.trunk.layers(self.depth))

    @property
    def positions(self) -> tuple[Position | None, ...]:
        """Where each block takes positions from."""
        return tuple(layer.position for layer in self.trunk.layers(self.depth))

    @property
    def head_size(self) -> int:
        """The width of one head."""
        return self.trunk.head_size


class Trunk(nn.Module):
    """The part of a model between its embedding and its head."""

    def __init__(self, config: TrunkConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        norm, width = config.block.norm, config.width
        self.input_norm = norm.build(width) if config.block.norms_input else nn.Identity()
        self.blocks = Stack(
            [layer.pattern for layer in config.layers(config.depth)],
            config.block,
            width=width,
            heads=config.heads,
            kv_heads=config.kv_heads,
            head_width=config.head_width,
            mixer=config.mixer,
            position=config.position,
            dropout=config.dropout,
        )
        self.output_norm = norm.build(width) if config.block.norms_output else nn.Identity()

    def run(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        shard: Shard | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map embedded tokens (B,N,C) to (B,N,C), before the last norm."""
        x = self.enter(x, cache=cache, generator=generator)
        inside = None if trace is None else trace.inside("blocks")
        if trace is not None:
            trace.record("embedding", x)
        return self.blocks(x, segments=segments, cache=cache, trace=inside, shard=shard, generator=generator)

    def choose(self, batch: int, n: int, *, segments: bool = False) -> tuple[Choice, ...]:
        """What runs the attention of each block for so many sequences of n tokens, and why."""
        layers = (cast(TransformerBlock, block).attention for block in self.blocks)
        return tuple(layer.choose(batch, n, segments=segments) for layer in layers)

    def enter(
        self, x: Tensor, *, cache: Cache | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """The embedded tokens as the first block gets them."""
        share = self.dropout if self.training and cache is None else 0.0
        x = drop(self.input_norm(x), share, generator)
        if torch.is_autocast_enabled(x.device.type):
            # A float32 sum of bfloat16 branches would double the traffic of every norm and residual.
            x = x.to(torch.get_autocast_dtype(x.device.type))
        return x

    def fill(self, device: torch.device, generator: torch.Generator | None) -> None:
        """Give a model that was built without memory its weights."""
        if device.type == "meta":
            return
        self.to_empty(device=device)
        initialise(self, depth=max(1, len(self.blocks)), generator=generator)


def check_part(name: str, value: object, kind: object) -> None:
    """Raise unless `value` is one of the values of a union."""
    if not isinstance(value, kind):  # type: ignore[arg-type]
        raise ValueError(f"{name} must be one of {kind}, got {name}={value!r}".replace("regard.layers.", ""))


def check_tokens(name: str, tokens: Tensor, shape: tuple[int, ...] | None = None) -> None:
    """Raise unless these are integers (B,N), of this shape where one is given."""
    if tokens.ndim != 2 or tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise ValueError(f"{name} must be integers (B, N), got {tuple(tokens.shape)} {tokens.dtype}")
    if shape is not None and tokens.shape != shape:
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {tuple(tokens.shape)}")


def mean_pool(x: Tensor, segments: Tensor | None = None) -> Tensor:
    """The mean (B,C) over the tokens (B,N,C) that are no padding; zeros where all are.

    >>> mean_pool(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[0, 0, -1]])).tolist()
    [[3.0]]
    """
    if segments is None:
        return x.mean(dim=1)
    real = (segments >= 0).to(x.dtype)[..., None]  # B N 1
    return (x * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
