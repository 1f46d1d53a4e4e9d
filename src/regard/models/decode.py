"""One decoding step on fixed memory: all that changes is one number per row, its position, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from regard.attention.linear.features import elu1
from regard.layers.attention import Attention
from regard.layers.block import TransformerBlock
from regard.layers.cache import LayerCache
from regard.layers.feedforward import FeedForward, GatedFeedForward
from regard.layers.linear_mixer import LinearAttention
from regard.layers.position import encode_at, turned, turning
from regard.layers.slots import Layout, attend_slots, layout_of, shows_all_held
from regard.pattern import Pattern

if TYPE_CHECKING:
    from regard.models.gpt import GPT

Affine = nn.Linear | nn.Embedding  # an embedding that also makes the logits has no bias
ENDLESS = 1 << 62  # positions, more than anyone counts to


@dataclass
class PatternSlots:
    """What all layers of one pattern share: where keys lie, and at each step which slots may be seen."""

    pattern: Pattern
    layout: Layout
    segments: Tensor | None = None  # B S, where the prompts have segments
    slot: Tensor | int = 0  # where the new key goes
    filled: int = 0  # no slot from here on holds anything
    allowed: Tensor | None = None  # B or 1, 1, 1, filled
    bias: Tensor | None = None  # B or 1, H, 1, filled


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
        bias = self.blocks[0].attention.bias if self.blocks else None
        slopes = [0.0] if bias is None else list(bias.slopes)
        self.slopes = torch.tensor(slopes, dtype=torch.float32, device=self.device)
        rotary = self.blocks[0].attention.rotary if self.blocks else None
        base = 1.0 if rotary is None else rotary.base
        self.turning = turning(config.head_size, base, self.device)
        self.rows = torch.arange(batch, device=self.device)
        self.places = {
            pattern: PatternSlots(pattern, _roomy(pattern, capacity))
            for pattern in config.patterns
            if not isinstance(pattern, LinearAttention)
        }
        if all(_endless(place) for place in self.places.values()):
            self.capacity = ENDLESS
        self.past: list[tuple[Tensor, Tensor]] = []  # keys and values, or the state
        G, D = self.blocks[0].attention.kv_heads if self.blocks else 0, config.head_size
        for pattern in config.patterns:
            if isinstance(pattern, LinearAttention):
                acc = torch.promote_types(self.dtype, torch.float32)
                shapes: list[tuple[int, ...]] = [(batch, G, D, D), (batch, G, D)]
                S, z = (torch.zeros(shape, dtype=acc, device=self.device) for shape in shapes)
                self.past.append((S, z))
            else:
                shape = (batch, G, self.places[pattern].layout.size, D)
                key, value = (torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in range(2))
                self.past.append((key, value))

    def serves(self, model: GPT, batch: int, capacity: int) -> bool:
        """Whether it still belongs to the model's weights, has this batch size and room for the positions."""
        return self.batch == batch and self.capacity >= capacity and self.pointers == pointers(model)

    def release(self) -> None:
        """Let go what serves one generation only: here nothing."""

    @property
    def nbytes(self) -> int:
        """The bytes that the past takes, however long it is."""
        return sum(x.nbytes for pair in self.past for x in pair)

    def fill(self, model: GPT, prompts: Sequence[Tensor], segments: Tensor | None) -> Tensor:
        """Read the prompts, one (T,) per row, and give the logits (B,V) that follow; rows of equal length
        are read together."""
        logits: list[tuple[Tensor, Tensor]] = []
        lengths = [len(prompt) for prompt in prompts]
        self.together = lengths[0] - 1 if len(set(lengths)) == 1 else None
        self.at.copy_(torch.tensor(lengths) - 1)
        if segments is not None:
            self.current.copy_(segments[:, -1])
            for place in self.places.values():
                self._segments_of(place)
        else:
            for place in self.places.values():
                place.segments = None
        for length in sorted(set(lengths)):
            which = [b for b in range(self.batch) if lengths[b] == length]
            rows = torch.tensor(which, device=self.device)
            cache = model.cache(max(length, 1))
            for layer in cache.layers:
                if isinstance(layer, LayerCache):
                    layer.layout = self.places[layer.pattern].layout
            part = None if segments is None else segments[rows]
            x = model.features(torch.stack([prompts[b] for b in which]), segments=part, cache=cache)
            logits.append((rows, model.logits(x[:, -1])))
            for layer, past in zip(cache.layers, self.past, strict=True):
                parts = (layer.key, layer.value) if isinstance(layer, LayerCache) else layer.state
                assert parts is not None
                for mine, found in zip(past, parts, strict=True):
                    assert found is not None
                    mine[rows] = found
                if isinstance(layer, LayerCache) and segments is not None:
                    kept = self.places[layer.pattern].segments
                    assert kept is not None
                    assert layer.segments is not None
                    kept[rows] = layer.segments
        out = torch.empty(self.batch, self.config.vocab_size, dtype=logits[0][1].dtype, device=self.device)
        for rows, found in logits:
            out[rows] = found
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
            for x, was in zip(mine, theirs, strict=True):
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
        x = self.embed.weight[self.token]
        if self.position is not None:
            x = x + encode_at(self.position, self.at, x.shape[1]).to(x.dtype)
        x = self.input_norm(x)
        turn = self._turn()
        for place in self.places.values():
            self._look(place)
        for block, past in zip(self.blocks, self.past, strict=True):
            x = self._block(block, x, past, turn)
        return self._product(self.head, self.output_norm(x))

    def _product(self, layer: Affine, x: Tensor) -> Tensor:
        return linear(x, layer.weight, bias_of(layer))

    def _feed(self, feedforward: FeedForward | GatedFeedForward, x: Tensor) -> Tensor:
        out: Tensor = feedforward(x)
        return out

    def _turn(self) -> tuple[Tensor, Tensor] | None:
        rotary = self.blocks[0].attention.rotary if self.blocks else None
        if rotary is None:
            return None
        angles = self.at[:, None, None] * self.turning  # B 1 D/2
        return angles.cos().to(self.dtype), angles.sin().to(self.dtype)

    def _look(self, place: PatternSlots) -> None:
        """Where this step's key goes, and which slots its query may see."""
        layout, pattern = place.layout, place.pattern
        at, shown = self.at, shows_all_held(pattern) and place.segments is None
        if self.together is not None:
            at = at[:1]
            place.filled = min(layout.size, self.together + 1) if layout.table is None else layout.size
        else:
            place.filled = layout.size
        if layout.table is None:
            place.slot = layout.slot(self.at) if self.together is None else layout.slot(self.together)
        held = None
        bias = self.blocks[0].attention.bias
        if not (shown and self.together is not None) or bias is not None or layout.table is not None:
            held = layout.held(at)[:, : place.filled]  # B S, or 1 S
        if held is not None and layout.table is not None:
            new = held == at[:, None]
            place.slot = torch.where(new.any(1), new.int().argmax(1), -1)
        place.allowed = None
        if held is not None and not (shown and self.together is not None):
            allowed = held >= 0
            allowed = allowed if shows_all_held(pattern) else allowed & pattern.allows(at[:, None], held)
            if place.segments is not None:
                seen = place.segments[:, : place.filled]
                seen.copy_(torch.where(held == at[:, None], self.current[:, None], seen))
                allowed = allowed & (seen == self.current[:, None])
            place.allowed = allowed[:, None, None]
        place.bias = None
        if bias is not None:
            assert held is not None
            distance = (at[:, None] - held).abs()[:, None, None]  # B 1 1 S
            place.bias = -self.slopes[:, None, None] * distance

    def _block(
        self,
        block: TransformerBlock,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        turn: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        assembly = block.assembly
        x = assembly.join(x, lambda h: self._attend(block.attention, h, past, turn), block.attention_norm)
        return assembly.join(x, lambda h: self._feed(block.feedforward, h), block.feedforward_norm)

    def _attend(
        self, attention: Attention, x: Tensor, past: tuple[Tensor, Tensor], turn: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        H, G = attention.heads, attention.kv_heads
        qkv = self._product(attention.qkv, x).view(self.batch, H + 2 * G, -1)
        qk, v = qkv[:, : H + G], qkv[:, H + G :]
        if turn is not None:
            qk = turned(qk, *turn)
        q, k = qk[:, :H], qk[:, H:]
        if isinstance(attention.pattern, LinearAttention):
            out = linear_step(q, k, v, past)
        else:
            place = self.places[attention.pattern]
            key, value = self._write(past, k, v, place)
            if place.allowed is None and place.bias is None:
                # The heads of a group are further queries of its keys.
                out = scaled_dot_product_attention(q.reshape(self.batch, G, H // G, -1), key, value)
            else:
                out = attend_slots(q[:, :, None], key, value, place.allowed, place.bias)
        return self._product(attention.out, out.reshape(self.batch, -1))

    def _write(self, past: tuple[Tensor, Tensor], k: Tensor, v: Tensor, place: PatternSlots) -> list[Tensor]:
        for x, new in zip(past, (k, v), strict=True):
            if isinstance(place.slot, int):
                x[:, :, place.slot] = new
            elif place.layout.table is None:
                x[self.rows, :, place.slot] = new
            elif place.layout.size:  # some keys are never seen again, and have no slot
                slot = place.slot.expand(self.batch).clamp(min=0)
                kept = (place.slot < 0).expand(self.batch)[:, None, None]
                x[self.rows, :, slot] = torch.where(kept, x[self.rows, :, slot], new)
        return [x[:, :, : place.filled] for x in past]


def linear_step(q: Tensor, k: Tensor, v: Tensor, state: tuple[Tensor, Tensor]) -> Tensor:
    """Linear attention of one token, q (B,H,D) and k, v (B,G,D); the state is written in place."""
    S, z = state
    B, H, D = q.shape
    G = k.shape[1]
    fq, fk = elu1(q).to(S.dtype).view(B, G, H // G, D), elu1(k).to(S.dtype)
    S += fk[..., None] * v.to(S.dtype)[..., None, :]
    z += fk
    out = (fq @ S) / (fq @ z[..., None])  # elu + 1 is positive, and so is every denominator
    return out.to(q.dtype).view(B, H, -1)


def bias_of(layer: Affine) -> Tensor | None:
    """What a layer adds to its product."""
    return layer.bias if isinstance(layer, nn.Linear) else None


def pointers(model: GPT) -> tuple[int, ...]:
    """Where the weights lie: a decoder is good for as long as they stay there."""
    return tuple(weight.data_ptr() for weight in model.parameters())


def _endless(place: PatternSlots) -> bool:
    """Whether a longer sequence would be laid out alike: a ring, not just as many slots as a ring has."""
    layout, longest = place.layout, _roomy(place.pattern, ENDLESS)
    return layout.table is not None or (layout.first, layout.recent) == (longest.first, longest.recent)


def _roomy(pattern: Pattern, capacity: int) -> Layout:
    """The layout with a place for every key: one that is never seen again goes to a ring of one slot."""
    layout = layout_of(pattern, capacity)
    bounded = pattern.keys_kept() is not None
    if layout.table is None and layout.recent == 0 and bounded and layout.first < capacity:
        return Layout(layout.first, 1)
    return layout
