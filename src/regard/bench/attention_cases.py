"""What `regard bench attention` compares on a GPU: patterns at sizes, each beside all peers that know it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

import torch

from regard.attention import attend, choose
from regard.bench import exact
from regard.bench.exact import Inputs, qkv
from regard.bench.machine import H200_BYTES, H200_OPERATIONS
from regard.bench.peers import Ready, peers
from regard.bench.timing import Timed, both_ways, failed
from regard.pattern import (
    Blocks,
    Causal,
    Dilated,
    Documents,
    Global,
    Neighbourhood,
    Pattern,
    SparseStrided,
    Strided,
    Windowed,
)  # fmt: skip

HEADS = 16
COMPOSITE = Causal() & Strided(back=128) | Global(first=4) & Causal()
ROUNDS, BUDGET = 5, 0.08  # timings of each, and the seconds for one
OURS = "regard"


@dataclass(frozen=True)
class AttentionCase:
    """A pattern at a size."""

    pattern: Pattern
    n: int
    width: int
    batch: int = 1

    def inputs(self) -> Inputs:
        """Query, key and value, drawn at random."""
        return qkv(self.n, HEADS, self.width, "cuda", torch.bfloat16, self.batch)

    def floor(self) -> float:
        """Milliseconds below which no forward pass of exact pairs can go."""
        heads = HEADS * self.batch
        work = 4 * self.pattern.pairs(self.n) * self.width * heads / H200_OPERATIONS
        return 1e3 * max(work, 4 * 2 * self.n * self.width * heads / H200_BYTES)

    def label(self, n: int) -> str:
        """Its name in a run at `n`."""
        size = "" if self.n == n else f" n={self.n}"
        return label_of(self.pattern, self.width) + size + ("" if self.batch == 1 else f" B{self.batch}")


def gpu_cases(n: int) -> list[AttentionCase]:
    """Every row of the comparison: long rows of both widths, then shapes as they are trained on."""
    side = 1 << n.bit_length() // 2
    bands: list[Pattern] = [Strided(back=256), Strided(back=1024), Windowed(size=256), Windowed(size=1024)]
    some = Documents(_eight(n)) & Causal()
    others = [
        Strided(back=4096), COMPOSITE, SparseStrided(stride=128), Dilated(back=128, step=8), Blocks(size=256),
        Neighbourhood(rows=side, cols=n // side, reach=7), Documents(lengths=lengths(n)),
    ]  # fmt: skip
    long = [AttentionCase(pattern, n, 64) for pattern in (*bands, *others, some)]
    long += [AttentionCase(pattern, n, 128) for pattern in (*bands, some)]
    long += [AttentionCase(Causal(), n // 4, width) for width in (64, 128)]
    trained = [(Strided(back=512), 4096, 8), (Strided(back=128), 1024, 32), (Causal(), 2048, 8)]
    return long + [
        AttentionCase(pattern, size, width, B) for pattern, size, B in trained for width in (64, 128)
    ]


def compared(case: AttentionCase, alone: Lock) -> Callable[[], tuple[Timed, dict[str, Timed]]]:
    """Ours and every peer, compiled, checked and called once; what is given times them."""
    inputs = case.inputs()
    with alone:  # in float64 it takes tens of gigabytes
        exact.check(case.pattern, inputs)
        torch.cuda.empty_cache()
    ours = Ready(partial(attend, *inputs, case.pattern), inputs)
    with torch.no_grad():
        out = ours.call()
    once(ours)
    note = choose(inputs[0], inputs[1], case.pattern).impl
    ready: dict[str, Ready | Exception] = {}
    for who, make in peers(case.pattern, inputs, alone):
        try:
            ready[who] = one = make()
            one.agree(out)
            once(one)
        except Exception as error:  # a peer that cannot has a row that says so
            ready[who] = error
    del out
    torch.cuda.empty_cache()  # others prepare theirs on the same GPU

    def timed() -> tuple[Timed, dict[str, Timed]]:
        running = {OURS: ours} | {who: x for who, x in ready.items() if isinstance(x, Ready)}
        # In turns, each round beginning with another, so that what the GPU does meanwhile meets all of them.
        rounds = []
        for first in range(ROUNDS):
            names = [list(running)[(first + i) % len(running)] for i in range(len(running))]
            rounds.append({who: _timed(running[who]) for who in names})
        found = {who: middle([one[who] for one in rounds]) for who in running}
        torch.cuda.empty_cache()
        beside = {who: failed(x) if isinstance(x, Exception) else found[who] for who, x in ready.items()}
        return replace(found[OURS], note=note), beside

    return timed


def _timed(ready: Ready) -> Timed:
    return both_ways(ready.call, ready.inputs, "cuda", BUDGET)


def middle(times: Sequence[Timed]) -> Timed:
    """The median of each of several times."""
    forward, both = (
        [x for one in times if (x := getattr(one, way)) is not None] for way in ("forward", "both")
    )
    return Timed(statistics.median(forward), statistics.median(both))


def once(ready: Ready) -> None:
    """Forward and backward, which compiles them."""
    out = ready.call()
    torch.autograd.grad(out, ready.inputs, torch.randn_like(out))


def _eight(n: int) -> tuple[int, ...]:
    """Eight documents of unequal lengths that fill n."""
    parts = (20, 14, 10, 8, 6, 3, 2, 1)
    return tuple(n * part // 64 for part in parts)


def label_of(pattern: Pattern, width: int) -> str:
    """A short name for a row."""
    text = "documents(…)" if isinstance(pattern, Documents) else str(pattern)
    text = "eight documents, causal" if "& causal" in text and text.startswith("documents") else text
    text = "band(128) | global(4)" if pattern == COMPOSITE else text
    return f"{text} D{width}"


def lengths(n: int) -> tuple[int, ...]:
    """Documents of 128 to about 4,000 tokens that fill n."""
    generator = torch.Generator().manual_seed(1)
    out: list[int] = []
    while sum(out) < n:
        out.append(min(int(2 ** (7 + 5 * torch.rand((), generator=generator))), n - sum(out)))
    return tuple(out)
