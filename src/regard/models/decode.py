"""One decoding step on fixed memory: all that changes is one number per row, its position, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.layers.attention import Attention
from regard.layers.block import TransformerBlock
from regard.layers.cache import Cache
from regard.layers.feedforward import FeedForward, GatedFeedForward
from regard.layers.linear_mixer import StateMemory
from regard.layers.position import encode_at
from regard.layers.rotary import Rotary, Turn, turned
from regard.layers.slots import shows_all_held
from regard.layers.softmax_mixer import ENDLESS, PatternSlots, Places, SlotMemory

if TYPE_CHECKING:
    from regard.models.gpt import GPT

Memory = SlotMemory | StateMemory
Affine = nn.Linear | nn.Embedding  # an embedding that also makes the logits has no bias


class Decoder:
    """The past of a batch of rows, each at a position of its own, and the step that continues all of them.

    It holds parts of the model but not the model. `step` reads `token` (B,) at positions `at` (B,), which
    the caller moves on. With `together`, an integer kept on the host, all rows stand at one position.
    Where every pattern lets old keys go there is no end to the positions, and `capacity` says so.
    """

    def __init__(self, model: GPT, batch: int, capacity: int) -> None:
        config = model.config
        self.config, self.batch, self.capacity = config, batch, capacity
        self.embed, self.position = model.embed, model.position
        self.head = model.embed if model.head is None else model.head  # what makes the logits
        self.blocks = [block for block in model.blocks if isinstance(block, TransformerBlock)]
        self.input_norm, self.output_norm = model.input_norm, model.output_norm
        weight = model.embed.weight
        self.device, self.dtype = weight.device, weight.dtype
        self.pointers = pointers(model)
        self.at = torch.zeros(batch, dtype=torch.long, device=self.device)
        self.token = torch.zeros(batch, dtype=torch.long, device=self.device)
        self.current = torch.zeros(batch, dtype=torch.long, device=self.device)  # segments of the new tokens
        self.together: int | None = None
        self.bias = self.blocks[0].attention.bias if self.blocks else None
        slopes = (0.0,) if self.bias is None else self.bias.slopes
        self.slopes = torch.tensor(slopes, dtype=torch.float32, device=self.device)
        rotaries = {block.attention.rotary for block in self.blocks} - {None}
        self.speeds = {one: one.speeds(config.head_size, 1, self.device) for one in rotaries if one}
        self.places: Places = {}  # by the patterns of the layers that keep keys
        self.past: list[Memory] = []
        for layer in (block.attention for block in self.blocks):
            keys = weight.new_empty(batch, layer.kv_heads, 0, layer.head_width)
            self.past.append(layer.mixer.memory(layer.pattern, keys, self.places, capacity))
        if all(place.endless for place in self.places.values()):
            self.capacity = ENDLESS

    def serves(self, model: GPT, batch: int, capacity: int) -> bool:
        """Whether it still belongs to the model's weights, has this batch size and room for the positions."""
        return self.batch == batch and self.capacity >= capacity and self.pointers == pointers(model)

    def release(self) -> None:
        """Let go what serves one generation only: here nothing."""

    @property
    def nbytes(self) -> int:
        """The bytes that the past takes, however long it is."""
        return sum(x.nbytes for memory in self.past for x in memory.parts)

    def fill(self, model: GPT, prompts: Sequence[Tensor], segments: Tensor | None) -> Tensor:
        """Read the prompts, one (T,) per row, and give the logits (B,V) that follow; rows of equal length
        are read together."""
        lengths = [len(prompt) for prompt in prompts]
        self.together = lengths[0] - 1 if len(set(lengths)) == 1 else None
        self.at.copy_(torch.tensor(lengths) - 1)
        if segments is not None:
            self.current.copy_(segments[:, -1])
        for place in self.places.values():
            place.segments = None if segments is None else self._segments_of(place)
        out: Tensor | None = None
        for length in sorted(set(lengths)):
            which = [b for b in range(self.batch) if lengths[b] == length]
            rows = torch.tensor(which, device=self.device)
            cache = Cache([memory.cache(max(length, 1)) for memory in self.past])
            part = None if segments is None else segments[rows]
            x = model.features(torch.stack([prompts[b] for b in which]), segments=part, cache=cache)
            found = model.logits(x[:, -1])
            out = found.new_empty(self.batch, found.shape[1]) if out is None else out
            out[rows] = found
            for memory, layer in zip(self.past, cache.layers, strict=True):
                memory.take(rows, layer)
        assert out is not None
        return out

    @torch.inference_mode(False)
    @torch.no_grad()
    def _segments_of(self, place: PatternSlots) -> Tensor:
        """All of them −1, in the same memory where there is some: a recorded step reads it there."""
        if place.segments is None:
            place.segments = torch.empty(self.batch, place.layout.size, dtype=torch.long, device=self.device)
        return place.segments.fill_(-1)

    def adopt(self, old: Decoder) -> None:
        """Take over the past of a decoder with less room."""
        for mine, theirs in zip(self.past, old.past, strict=True):
            for x, was in zip(mine.parts, theirs.parts, strict=True):
                if x.shape == was.shape:
                    x.copy_(was)
                else:
                    x[:, :, : was.shape[2]] = was
        for pattern, place in self.places.items():
            if (before := old.places[pattern].segments) is not None:
                self._segments_of(place)[:, : before.shape[1]] = before
        for x, was in ((self.at, old.at), (self.token, old.token), (self.current, old.current)):
            x.copy_(was)
        self.together = old.together

    def step(self) -> Tensor:
        """Logits (B,V) after `token`, which stands at `at`; its key joins the past."""
        ends = self.config.head
        x = ends.embedded(self.embed.weight[self.token])
        if self.position is not None:
            x = x + encode_at(self.position, self.at, x.shape[1]).to(x.dtype)
        x = self.input_norm(x)
        turns = {rotary: self._turn(rotary) for rotary in self.speeds}
        for place in self.places.values():
            self._look(place)
        for block, memory in zip(self.blocks, self.past, strict=True):
            x = self._block(block, x, memory, turns)
        return ends.capped(self._product(self.head, self.output_norm(x)))

    def _product(self, layer: Affine, x: Tensor) -> Tensor:
        return linear(x, layer.weight, bias_of(layer))

    def _feed(self, feedforward: FeedForward | GatedFeedForward, x: Tensor) -> Tensor:
        h = self._product(upper(feedforward), x)
        h = feedforward.gelu(h) if isinstance(feedforward, FeedForward) else feedforward.gated(h)
        return self._product(feedforward.down, h)

    def _turn(self, rotary: Rotary) -> Turn:
        """The cosines and sines (B,1,R/2) of this step; some speeds follow from how far a row has come."""
        speeds = self.speeds[rotary]
        if rotary.by_length:
            speeds = rotary.speeds(self.config.head_size, self.at + 1, self.device)[:, None]
        return rotary.rotation(self.at[:, None], speeds, self.dtype)

    def _look(self, place: PatternSlots) -> None:
        """Where this step's key goes, and which slots its query may see."""
        layout, pattern, together = place.layout, place.pattern, self.together
        at, shown = self.at if together is None else self.at[:1], shows_all_held(pattern)
        masked = not shown or together is None or place.segments is not None
        place.allowed, place.bias, place.filled = None, None, layout.size
        if layout.table is None:
            place.slot = layout.slot(self.at) if together is None else layout.slot(together)
            place.filled = layout.size if together is None else min(layout.size, together + 1)
        if not masked and self.bias is None:
            return
        held = layout.held(at)[:, : place.filled]  # B S, or 1 S
        if layout.table is not None:
            new = held == at[:, None]
            place.slot = torch.where(new.any(1), new.int().argmax(1), -1)
        if masked:
            allowed = held >= 0 if shown else (held >= 0) & pattern.allows(at[:, None], held)
            if place.segments is not None:
                seen = place.segments[:, : place.filled]
                seen.copy_(torch.where(held == at[:, None], self.current[:, None], seen))
                allowed = allowed & (seen == self.current[:, None])
            place.allowed = allowed[:, None, None]
        if self.bias is not None:
            place.bias = -self.slopes[:, None, None] * (at[:, None] - held).abs()[:, None, None]  # B H 1 S

    def _block(self, block: TransformerBlock, x: Tensor, memory: Memory, turns: dict[Rotary, Turn]) -> Tensor:
        def attention(x: Tensor) -> Tensor:
            out: Tensor = block.attention_after(self._attend(block.attention, x, memory, turns))
            return out

        def feedforward(x: Tensor) -> Tensor:
            out: Tensor = block.feedforward_after(self._feed(block.feedforward, x))
            return out

        return block.assembly.run(x, attention, feedforward, block.norms)

    def _attend(self, attention: Attention, x: Tensor, memory: Memory, turns: dict[Rotary, Turn]) -> Tensor:
        H, G = attention.heads, attention.kv_heads
        qkv = self._product(attention.qkv, x).view(self.batch, H + 2 * G, -1)
        qk, v = qkv[:, : H + G], qkv[:, H + G :]
        if attention.query_norm is not None:
            qk = torch.cat(attention.normed(qk[:, :H], qk[:, H:]), dim=1)
        if attention.rotary is not None:
            qk = turned(qk, *turns[attention.rotary])
        out = memory.step(qk[:, :H], qk[:, H:], v)
        return self._product(attention.out, out.reshape(self.batch, -1))


def affines(model: GPT) -> list[Affine]:
    """The layers whose matrices every token reads whole: of the blocks, and the one that makes the logits."""
    layers: list[Affine] = [model.embed if model.head is None else model.head]
    for block in model.blocks:
        if isinstance(block, TransformerBlock):
            feed = block.feedforward
            layers += [block.attention.qkv, block.attention.out, upper(feed), feed.down]
    return layers


def upper(feed: FeedForward | GatedFeedForward) -> nn.Linear:
    """The first matrix of a feed-forward; that of a gated one holds the gates, then what they let through."""
    return feed.gate_up if isinstance(feed, GatedFeedForward) else feed.up


def bias_of(layer: Affine) -> Tensor | None:
    """What a layer adds to its product."""
    return layer.bias if isinstance(layer, nn.Linear) else None


def pointers(model: GPT) -> tuple[int, ...]:
    """Where the weights lie: a decoder is good for as long as they stay there."""
    return tuple(weight.data_ptr() for weight in model.parameters())
