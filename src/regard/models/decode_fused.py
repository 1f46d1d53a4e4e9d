"""The decoding step over our kernels: five a layer for a few rows, cuBLAS between small ones for many."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.triton.hopper import installed
from regard.layers import (
    LayerNorm,
    Learned,
    Natural,
    Position,
    PreNorm,
    RMSNorm,
    Rotary,
    Scaled,
    Sinusoidal,
    Softmax,
)
from regard.layers.attention import Attention
from regard.layers.feedforward import FeedForward, GatedFeedForward
from regard.layers.position import LearnedTable
from regard.layers.rotary import turning
from regard.layers.slots import shows_all_held
from regard.layers.softmax_mixer import PatternSlots, SlotMemory
from regard.models.decode import Affine, Decoder, Memory, bias_of, upper

if TYPE_CHECKING:
    from regard.models.gpt import GPT

FEW = 4  # rows up to which a product reads each weight once without tensor cores
WIDEST = 8192  # of a norm, which one program holds whole
PROGRAMS = 264  # two for each multiprocessor of an H200
STREAMED_FROM = 12_000_000  # weights: below, a kernel ends before its stream has begun
WIDEST_STREAMED = 16384  # columns, which lie in shared memory beside the weights
WARPS, STAGES, STAGE = 8, 3, 16384  # of a streamed product; copies on their way, and the bytes of each


def no_fused(model: GPT) -> str | None:
    """Why the kernels cannot decode this model, or None."""
    config = model.config
    block, sizes = config.block, (config.width, config.head_size)
    faults = [
        (importlib.util.find_spec("triton") is None, "triton is not installed"),
        (not isinstance(block, PreNorm), f"the kernels know PreNorm, got {block}"),
        (
            not isinstance(block.norm, LayerNorm | RMSNorm),
            f"the kernels know LayerNorm and RMSNorm, got {block.norm}",
        ),
        (set(config.mixers) != {Softmax()}, f"the kernels know Softmax, got {config.mixer}"),
        (
            not isinstance(block.projections.head_norm, RMSNorm | None),
            f"the kernels norm heads by RMSNorm, got {block.projections}",
        ),
        (block.after is not None, f"the kernels add branches as they are, got after={block.after}"),
        (not config.head.plain, f"the kernels take embeddings and logits as they are, got {config.head}"),
        (_bends(config.position), f"the kernels turn whole heads evenly, got {config.position}"),
        (
            any(atom.total is not None for pattern in config.patterns for atom in pattern.atoms()),
            "a pattern with a geometry needs its table",
        ),
        (model.embed.weight.dtype == torch.float64, "the kernels compute in float32, got float64"),
        (sizes[0] > WIDEST or sizes[1] > 256, f"widths must be at most {WIDEST} and 256, got {sizes}"),
    ]
    return next((why for wrong, why in faults if wrong), None)


def _bends(position: Position | Sequence[Position]) -> bool:
    """Whether blocks have positions of their own, turn a part of a head, or turn by the text's length."""
    if isinstance(position, Rotary):
        return position.fraction != 1 or position.by_length
    return not isinstance(position, Position)


class FusedDecoder(Decoder):
    """The decoder whose step is made of our kernels; greedy choice included where rows are few.

    `many` takes the way for large batches, which is otherwise taken above a few rows.
    """

    def __init__(self, model: GPT, batch: int, capacity: int, many: bool | None = None) -> None:
        super().__init__(model, batch, capacity)
        config, device = self.config, self.device
        self.many = batch > FEW if many is None else many
        self.early = starts_early(device)
        feed, first = self.blocks[0].feedforward, self.blocks[0].attention
        self.gated = isinstance(feed, GatedFeedForward)
        self.bend = _bend(feed)
        hidden = feed.down.in_features
        self.rotary = config.position if isinstance(config.position, Rotary) else None
        scaling = None if self.rotary is None else self.rotary.scaling
        self.amplitude = 1.0 if scaling is None else scaling.amplitude
        self.turning = self.slopes if self.rotary is None else self.speeds[self.rotary]
        self.heads, self.groups, self.head_width = first.heads, first.kv_heads, config.head_size
        H, G, D = self.heads, self.groups, self.head_width
        kind = self.dtype if self.many else torch.float32

        def room(*shape: int, dtype: torch.dtype = kind) -> Tensor:
            return torch.zeros(batch, *shape, dtype=dtype, device=device)

        self.x = room(config.width, dtype=torch.float32)
        self.normed, self.branch = room(config.width), room(config.width)
        self.qkv, self.mixed, self.hidden = room((H + 2 * G) * D), room(H * D), room(hidden)
        self.wider = room(2 * hidden if self.gated else hidden) if self.many else self.hidden
        self.logits = room(config.vocab_size, dtype=kind)
        self.cos, self.sin = room(D // 2, dtype=torch.float32), room(D // 2, dtype=torch.float32)
        self.waves = self._waves()
        self.each, self.wide = _power(H // G), _power(D)
        self.slots = max(16, 4096 // (self.each * self.wide))
        self.dot = self.dtype.itemsize == 2 and self.wide >= 16
        if self.dot:
            self.each, self.slots = max(16, self.each), max(16, 4096 // self.wide)
        self.splits = {p: self._splits(place) for p, place in self.places.items()}
        most = max(self.splits.values(), default=1)
        self.part = room(G, most, self.each, self.wide, dtype=torch.float32)
        self.part_ml = room(G, most, 2, self.each, dtype=torch.float32)
        self.done = room(G, dtype=torch.int32)
        self.masks = {p: room(place.layout.size, dtype=torch.int8) for p, place in self.places.items()}
        self.streams = batch == 1 and streams(device)
        head_rows = _rows_per_program(config.vocab_size, _power(config.width))
        self.parts = -(-config.vocab_size // head_rows)
        if self._streams(self.head):
            self.parts = _stream_tile(self._read(self.head)[0], gated=False).programs
        self.best = room(self.parts, dtype=torch.float32)
        self.best_at = room(self.parts, dtype=torch.int32)

    def step(self) -> Tensor:
        """Logits (B,V) after `token`, which stands at `at`; its key joins the past."""
        self._embed()
        for pattern, place in self.places.items():
            if not shows_all_held(pattern) or place.segments is not None:
                self.together = None
                self._look(place)
                assert place.allowed is not None
                self.masks[pattern].copy_(place.allowed[:, 0, 0])
        return self._many() if self.many else self._few()

    def _few(self) -> Tensor:
        for block, past in zip(self.blocks, self.past, strict=True):
            attention, feed = block.attention, block.feedforward
            self._project(self.x, attention.qkv, self.qkv, norm=block.attention_norm)
            self._mix(attention, past)
            self._project(self.mixed, attention.out, self.x, add=True)
            self._project(self.x, upper(feed), self.hidden, norm=block.feedforward_norm, bent=True)
            self._project(self.hidden, feed.down, self.x, add=True)
        self._project(self.x, self.head, self.logits, norm=self.output_norm, best=True)
        return self.logits

    def _many(self) -> Tensor:
        norms = [block.attention_norm for block in self.blocks[1:]] + [self.output_norm]
        self._add_norm(self.blocks[0].attention_norm, add=False)
        for block, past, after in zip(self.blocks, self.past, norms, strict=True):
            attention, feed = block.attention, block.feedforward
            _affine(self.normed, attention.qkv, self.qkv)
            self._mix(attention, past)
            _affine(self.mixed, attention.out, self.branch)
            self._add_norm(block.feedforward_norm)
            _affine(self.normed, upper(feed), self.wider)
            self._bend_wider()
            _affine(self.hidden, feed.down, self.branch)
            self._add_norm(after)
        _affine(self.normed, self.head, self.logits)
        return self.logits

    def _embed(self) -> None:
        from regard.attention.triton.kernels_decode import embed_kernel

        position = self.config.position
        learned, own = isinstance(position, Learned), self.position
        table = own.weight[own.offset :] if isinstance(own, LearnedTable) else self.x
        embed_kernel[(self.batch,)](
            self.token, self.at, self.embed.weight, table, self.waves, self.x, self.cos, self.sin,
            self.turning, self.amplitude, self.config.width, self.head_width // 2,
            BLOCK=_power(self.config.width),
            HALF=_power(max(1, self.head_width // 2)), LEARNED=learned,
            WAVES=isinstance(position, Sinusoidal), COUNTS=isinstance(position, Natural | Scaled),
            ROTARY=self.rotary is not None, **self.early,
        )  # fmt: skip

    def _project(
        self,
        x: Tensor,
        layer: Affine,
        y: Tensor,
        *,
        norm: nn.Module | None = None,
        bent: bool = False,
        add: bool = False,
        best: bool = False,
    ) -> None:
        from regard.attention.triton.kernels_decode import project_kernel

        if self._streams(layer):
            self._stream(x, layer, y, norm, bent, add, best)
            return
        gated = bent and self.gated
        width, rows = layer.weight.shape[1], y.shape[1]
        bias = bias_of(layer)
        block = min(WIDEST, _power(width))  # whole, where it fits: then all weights are asked for at once
        each = _rows_per_program(rows, 2 * block if gated else block)
        weight, scales = self._read(layer)
        none = layer.weight  # is not read
        kind, gain, shift, eps = _norm(norm, none)
        project_kernel[(-(-rows // each),)](
            x, weight, none if scales is None else scales, none if bias is None else bias, gain, shift, y,
            self.best, self.best_at, rows, width, eps, B=self.batch, ROWS=each, BLOCK=block,
            CHUNKS=-(-width // block), NORM=kind, SCALED=scales is not None, BIAS=bias is not None,
            BEND=self.bend if bent else "", GATED=gated, ADD=add, BEST=best,
            num_warps=max(1, min(8, each * block // 2048)), **self.early,
        )  # fmt: skip

    def _streams(self, layer: Affine) -> bool:
        """Whether its product is for the kernel that streams weights."""
        weight = self._read(layer)[0]
        return (
            self.streams
            and weight.numel() >= STREAMED_FROM
            and weight.shape[1] <= WIDEST_STREAMED
            and weight.shape[1] % 16 == 0  # of int8 as of others, copies are of 16 bytes
            and weight.data_ptr() % 16 == 0
        )

    def _stream(
        self, x: Tensor, layer: Affine, y: Tensor, norm: nn.Module | None, bent: bool, add: bool, best: bool
    ) -> None:
        from regard.attention.triton.kernels_stream import stream_kernel

        weight, scales = self._read(layer)
        gated, bias, none = bent and self.gated, bias_of(layer), layer.weight  # which is not read
        rows, width = y.shape[1], weight.shape[1]
        tile = _stream_tile(weight, gated)
        kind, gain, shift, eps = _norm(norm, none)
        chunks = -(-width // tile.block)
        parts = _power(chunks)
        stream_kernel[(tile.programs,)](
            x, weight, none if scales is None else scales, none if bias is None else bias, gain, shift, y,
            self.best, self.best_at, rows, width, eps, TALL=tile.tall, BLOCK=tile.block, HIGH=tile.high,
            BESIDE=tile.beside, CHUNKS=chunks, PARTS=parts, STAGES=STAGES, WORD=16 // weight.itemsize,
            EVEN=width % tile.block == 0, FINE=weight.itemsize > 1 and parts * tile.block <= 4096, NORM=kind,
            SCALED=scales is not None, BIAS=bias is not None, BEND=self.bend if bent else "", GATED=gated,
            ADD=add, BEST=best, num_warps=WARPS, **self.early,
        )  # fmt: skip

    def _read(self, layer: Affine) -> tuple[Tensor, Tensor | None]:
        """The matrix that a product reads, and the scales of its rows where they have some."""
        return layer.weight, None

    def _mix(self, attention: Attention, past: Memory) -> None:
        from regard.attention.triton.kernels_decode import attend_kernel

        assert isinstance(past, SlotMemory)
        place, pattern = past.place, past.place.pattern
        layout, splits = place.layout, self.splits[pattern]
        none = self.slopes  # is not read
        kind, query_gain, _, eps = _norm(attention.query_norm, none)
        key_gain = _norm(attention.key_norm, none)[1]
        attend_kernel[(self.batch * self.groups, splits)](
            self.qkv, *past.parts, self.at, self.masks[pattern], self.slopes, self.cos, self.sin, query_gain,
            key_gain, self.mixed, self.part, self.part_ml, self.done, layout.size, layout.first,
            max(1, layout.recent),  # with no ring nothing goes round it
            self.head_width**-0.5, eps, H=self.heads, G=self.groups, D=self.head_width, WIDE=self.wide,
            EACH=self.each, SLOTS=self.slots, SPLITS=splits, DOT=self.dot, NORM=kind != "",
            ROTARY=self.rotary is not None, SLOPES=self.bias is not None,
            MASKED=not shows_all_held(pattern) or place.segments is not None, num_warps=4, **self.early,
        )  # fmt: skip

    def _add_norm(self, norm: nn.Module, add: bool = True) -> None:
        from regard.attention.triton.kernels_decode import add_norm_kernel

        width = self.config.width
        kind, gain, shift, eps = _norm(norm, self.x)
        add_norm_kernel[(self.batch,)](
            self.x, self.branch, gain, shift, self.normed, width, eps, BLOCK=_power(width), NORM=kind,
            ADD=add, num_warps=max(1, min(8, _power(width) // 256)),
        )  # fmt: skip

    def _bend_wider(self) -> None:
        from regard.attention.triton.kernels_decode import bend_kernel

        width = self.hidden.shape[1]
        bend_kernel[(self.batch, -(-width // 1024))](
            self.wider, self.hidden, width, BLOCK=1024, BEND=self.bend, GATED=self.gated
        )

    def _splits(self, place: PatternSlots) -> int:
        # Two programs for each multiprocessor, but at least a few tiles of slots for each.
        wanted = max(1, PROGRAMS // (self.batch * self.groups))
        most = max(1, place.layout.size // (2 * self.slots))
        return 1 << (int(min(wanted, most, 64)).bit_length() - 1)

    def _waves(self) -> Tensor:
        position = self.config.position
        if isinstance(position, Sinusoidal):
            return turning(self.config.width, position.base, self.device)
        one = 1.0 / position.longest if isinstance(position, Scaled) else 1.0
        return torch.tensor([one], dtype=torch.float64, device=self.device)


def starts_early(device: torch.device) -> dict[str, bool]:
    """What each kernel is launched with, so that it starts before the one in front of it has ended."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (9, 0):
        return {"EARLY": False}
    return {"EARLY": True, "launch_pdl": True}


def streams(device: torch.device) -> bool:
    """Whether there is a kernel that streams weights: Gluon's, on NVIDIA's GPUs from Ampere on."""
    if device.type != "cuda" or torch.version.hip is not None or not installed():
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


class StreamTile(NamedTuple):
    """What a streamed product asks for at once: rows and columns; the rows of a thread, the warps that share
    a row, and how many programs share all tiles."""

    tall: int
    block: int
    high: int
    beside: int
    programs: int


def _stream_tile(weight: Tensor, gated: bool) -> StreamTile:
    # A thread with several rows reads once what they are multiplied with, which outweighs int8 weights.
    high, beside = (4, 4) if weight.itemsize == 1 else (2 if gated else 1, 2)
    tall = high * (WARPS // beside)
    rows = weight.shape[0] // 2 if gated else weight.shape[0]
    block = min(
        STAGE // (tall * weight.itemsize), max(beside * 512 // weight.itemsize, _power(weight.shape[1]))
    )
    return StreamTile(tall, block, high, beside, min(PROGRAMS, -(-rows // (tall // 2 if gated else tall))))


def _bend(feed: FeedForward | GatedFeedForward) -> str:
    """How it bends, as `GATES` calls it."""
    if isinstance(feed, GatedFeedForward):
        return feed.gate
    return "gelu tanh" if feed.gelu.approximate == "tanh" else "gelu"


def _norm(norm: nn.Module | None, none: Tensor) -> tuple[str, Tensor, Tensor, float]:
    """What kind it is to the kernels, its gain and shift, and eps; `none` for what is not there."""
    if isinstance(norm, nn.LayerNorm):
        return "layer", norm.weight, norm.bias, norm.eps
    if isinstance(norm, nn.RMSNorm):
        assert norm.eps is not None
        return "rms", norm.weight, none, norm.eps
    assert norm is None
    return "", none, none, 0.0


def _affine(x: Tensor, layer: Affine, out: Tensor) -> None:
    bias = bias_of(layer)
    if bias is None:
        torch.mm(x, layer.weight.T, out=out)
    else:
        torch.addmm(bias, x, layer.weight.T, out=out)


def _power(n: int) -> int:
    """The next power of two."""
    return 1 << (n - 1).bit_length()


def _rows_per_program(rows: int, block: int) -> int:
    most = max(1, 8192 // block)
    return max(1, min(most, 1 << ((rows // PROGRAMS).bit_length() - 1) if rows >= PROGRAMS else 1))
