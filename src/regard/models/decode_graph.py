"""A decoding step recorded once as a CUDA graph and replayed at every length; tokens are read in handfuls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from regard.models.decode import Decoder
from regard.models.decode_fused import FEW, FusedDecoder
from regard.models.decode_store import DECODERS, GROWS_BY, Request
from regard.models.sampling import Sampling, race
from regard.recording import recording

if TYPE_CHECKING:
    from regard.models.gpt import GPT

ROOM = 128  # tokens between two readings, at most
AT_ONCE = 8  # steps in the longer of the two graphs
CAPTURING = threading.Lock()
LEAST = 512  # positions with room from the start for a few rows: longer prompts then need no new recording


class Kind(NamedTuple):
    """What a recording is good for: a step, a way of choosing, so many stop tokens, segments or none."""

    decoder: type[Decoder]
    how: Sampling
    stop_count: int
    segmented: bool


class Recorded:
    """A decoder, the choice of the next token, and the graphs of both.

    Everything that changes from step to step lies on the device: the token, its position, who has ended and
    the tokens found. So a graph serves prompts of any length, as long as the cache has room.
    """

    def __init__(self, model: GPT, batch: int, capacity: int, kind: Kind) -> None:
        self.kind = kind
        made, self.how, self.stop_count, segmented = kind
        self.decoder = made(model, batch, 1 << (capacity - 1).bit_length())
        device = self.decoder.device
        self.ended = torch.zeros(batch, dtype=torch.int32, device=device)
        self.count = torch.zeros(batch, dtype=torch.long, device=device)
        self.found = torch.zeros(ROOM, batch, dtype=torch.long, device=device)
        self.stops = torch.full((max(1, self.stop_count),), -1, dtype=torch.long, device=device)
        self.noise = None if self.how.greedy else torch.ones(batch, model.config.vocab_size, device=device)
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}  # by their number of steps
        if segmented:
            for place in self.decoder.places.values():
                place.segments = torch.zeros(batch, place.layout.size, dtype=torch.long, device=device)

    def release(self) -> None:
        """Nothing here serves one generation only."""

    def advance(self) -> None:
        """One step: logits, the next token, and everything one further."""
        decoder = self.decoder
        decoder.together = None
        logits = decoder.step()
        plain = self.noise is None and not self.how.ban
        if isinstance(decoder, FusedDecoder) and not decoder.many and plain:
            self._settle(decoder)
            return
        new = torch.where(self.ended != 0, decoder.token, race(logits, self.how, self.noise))
        decoder.token.copy_(new)
        self.found.index_copy_(0, self.count[:1] % ROOM, new[None])
        self.count += 1
        decoder.at += 1
        if self.stop_count:
            self.ended |= (new[:, None] == self.stops).any(1)

    def _settle(self, decoder: FusedDecoder) -> None:
        from regard.attention.triton.kernels_decode import settle_kernel

        settle_kernel[(decoder.batch,)](
            decoder.best, decoder.best_at, decoder.token, decoder.at, self.ended, self.stops, self.found,
            self.count, decoder.parts, self.stop_count, ROOM,
            BLOCK=min(4096, 1 << (decoder.parts - 1).bit_length()),
            STOPS=1 << (self.stop_count - 1).bit_length() if self.stop_count else 0,
            num_warps=8, **decoder.early,
        )  # fmt: skip

    def record(self) -> None:
        """Compile the kernels by running them, then capture; whatever the cache held is lost.

        Torch has one stream to capture on, so threads take turns; what others compute meanwhile is no part
        of the capture and does not end it.
        """
        with CAPTURING:
            self._record()

    def _record(self) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.decoder.at.zero_()  # there is always room for one
                self.advance()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        for steps in (1, AT_ONCE) if self.noise is None else (1,):
            graph = torch.cuda.CUDAGraph()
            with recording(graph, threads=True):
                for _ in range(steps):
                    self.advance()
            self.graphs[steps] = graph

    def begin(self, token: Tensor, stops: Tensor) -> None:
        """Start from the first new token, chosen from the logits of the prompts."""
        decoder = self.decoder
        decoder.token.copy_(token)
        decoder.at += 1
        self.count.zero_()
        if len(stops):
            self.stops.copy_(stops)
            self.ended.copy_((token[:, None] == stops).any(1))
        else:
            self.ended.zero_()

    def run(self, steps: int, generator: torch.Generator | None) -> Tensor:
        """The next tokens (steps, B), steps ≤ ROOM."""
        self.count.zero_()
        left = steps
        while left:
            size = AT_ONCE if left >= AT_ONCE and AT_ONCE in self.graphs else 1
            if self.noise is not None:
                self.draw(generator)
            self.graphs[size].replay()
            left -= size
        return self.found[:steps].clone()

    def draw(self, generator: torch.Generator | None) -> None:
        """New noise for the next choice."""
        assert self.noise is not None
        if generator is None or generator.device.type == self.noise.device.type:  # cuda means cuda:0
            self.noise.exponential_(generator=generator)
        else:
            self.noise.copy_(torch.empty(self.noise.shape).exponential_(generator=generator))


@torch.no_grad()
def replay(request: Request, decoder: type[Decoder]) -> Iterator[Tensor]:
    """Yield (B,) tokens of such a decoder; the first few come one by one, later ones in handfuls."""
    model, count, stops, generator = request.model, request.count, request.stops, request.generator
    longest = request.longest
    with DECODERS.lend(model, _obtain(request, decoder, longest + min(count, GROWS_BY))) as loan:
        recorded = loan.decoder
        logits = recorded.decoder.fill(model, request.prompts, request.segments)
        noise = None
        if not request.how.greedy:
            recorded.draw(generator)
            noise = recorded.noise
        token = race(logits, request.how, noise)
        yield token
        recorded.begin(token, stops)
        made, steps = 1, 1
        while made < count and not (len(stops) and bool(recorded.ended.all())):
            steps = min(steps, count - made)
            if longest + made + steps > recorded.decoder.capacity:
                recorded = loan.decoder = _grown(model, recorded, longest + made + steps)
            ended = recorded.ended.clone()
            found = recorded.run(steps, generator)
            yield from _until_all_ended(found, ended, stops)
            made, steps = made + steps, min(2 * steps, ROOM)


def _until_all_ended(found: Tensor, ended: Tensor, stops: Tensor) -> Iterator[Tensor]:
    """The rows up to the one with which every sequence has ended."""
    if not len(stops):
        yield from found
        return
    over = (torch.isin(found, stops).cumsum(0) > 0) | (ended != 0)
    done = over.all(1).tolist()
    for row, last in zip(found, done, strict=True):
        yield row
        if last:
            return


@torch.inference_mode(False)
@torch.no_grad()
def _obtain(request: Request, decoder: type[Decoder], capacity: int) -> Recorded:
    model, batch = request.model, request.batch
    kind = Kind(decoder, request.how, len(request.stops), request.segments is not None)
    found = DECODERS.take(model, Recorded)
    if found is not None and found.kind == kind and found.decoder.serves(model, batch, capacity):
        return found
    recorded = Recorded(model, batch, max(capacity, LEAST) if batch <= FEW else capacity, kind)
    recorded.record()
    return recorded


@torch.inference_mode(False)
@torch.no_grad()
def _grown(model: GPT, old: Recorded, needed: int) -> Recorded:
    """Twice the room, the same past, and new graphs."""
    larger = Recorded(model, old.decoder.batch, max(2 * old.decoder.capacity, needed), old.kind)
    larger.record()
    larger.decoder.adopt(old.decoder)
    for mine, was in ((larger.ended, old.ended), (larger.stops, old.stops)):
        mine.copy_(was)
    return larger
