"""`regard bench endless`: a million tokens with a pattern that forgets, and some with one that does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from regard.bench.generate_sizes import GPT2Size
from regard.bench.report import BenchReport
from regard.bench.timing import Timed, failed, seconds, synchronise
from regard.layers import Rotary
from regard.models import GPT, GPTConfig
from regard.paper.figures import dress, legend, new_figure, save_figure
from regard.paper.ink import INK, SERIES, STYLES
from regard.pattern import Causal, Strided

WINDOW = 1024  # tokens before a point of the curve that are timed
SLICE = 256  # of which the fastest so many count, whatever else the machine does
POINTS = 10  # of every curve of equal steps


@dataclass
class Curve:
    """What a stream took and held, by the number of tokens so far."""

    pattern: str
    asked: int
    tokens: int = 0
    ms: dict[int, float] = field(default_factory=dict)  # per token, just before
    megabytes: dict[int, float] = field(default_factory=dict)  # more than before the stream
    seconds: float = 0.0

    @property
    def summary(self) -> str:
        """Early and late in one line."""
        at = list(self.ms)
        early, late = at[min(3, len(at) - 1)], at[-1]
        return (
            f"{self.tokens:,} of {self.asked:,} tokens in {self.seconds:.0f} s; at {early:,} and {late:,}: "
            f"{self.ms[early]:.3f} and {self.ms[late]:.3f} ms per token, "
            f"{self.megabytes[early]:.1f} and {self.megabytes[late]:.1f} MB more than at the start"
        )

    def as_dict(self) -> dict[str, object]:
        """What the result file says of it; a stream that was cut short says so."""
        cut = None if self.tokens == self.asked else f"stopped after {self.seconds:.0f} s, as agreed"
        return {
            "pattern": self.pattern,
            "asked": self.asked,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 1),
            "cut": cut,
            "ms per token": self.ms,
            "megabytes": self.megabytes,
        }


def run(device: str, quick: bool) -> BenchReport:
    """Both curves: milliseconds per token and megabytes, against the tokens written."""
    cuda = device == "cuda"
    dtype = torch.bfloat16 if cuda else torch.float32
    config = _config(1, 32, 100) if quick else _config(6, 256, 12_000) if cuda else _config(1, 64, 100)
    counts = (2_000, 1_000) if quick else (1_000_000, 32_000 if cuda else 16_000)
    limits = (90.0, 60.0) if cuda else (2400.0, 60.0)  # seconds, after which a stream is cut short
    curves: list[dict[str, object]] = []
    settings = {"device": device, "quick": quick, "dtype": str(dtype)}
    report = BenchReport("endless", settings | {"model": f"{config.depth}×{config.width}", "curves": curves})
    patterns = (Strided(back=16 if quick else 256), Causal())
    for pattern, count, limit in zip(patterns, counts, limits, strict=True):
        try:
            one = curve(replace(config, pattern=pattern), count, device, dtype, limit)
        except Exception as error:  # the other is still worth measuring
            report.add(str(pattern), failed(error))
            continue
        curves.append(one.as_dict())
        report.series[one.pattern] = one.ms
        report.add(one.pattern, Timed(forward=one.ms[max(one.ms)], note=one.summary))
    return report


def marks(count: int) -> list[int]:
    """Where the curve has its points: doubling at first, then tenths.

    >>> marks(10_000)
    [256, 512, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000]
    """
    tenths = [count * i // POINTS for i in range(1, POINTS + 1)]
    early = [SLICE << i for i in range(count.bit_length()) if SLICE << i < tenths[0]]
    return early + tenths


def _config(depth: int, width: int, vocab: int) -> GPTConfig:
    """The model that writes: a GPT-2 that knows no last position."""
    return replace(GPT2Size("", depth, width, max(1, width // 64), vocab).config(), position=Rotary())


def curve(config: GPTConfig, count: int, device: str, dtype: torch.dtype, limit: float) -> Curve:
    """Write `count` tokens with one row, or as many as fit into `limit` seconds."""
    prompt = torch.zeros(1, 8, dtype=torch.long, device=device)
    for tokens in (min(count, SLICE), count):  # the first model warms up: libraries and kernels are loaded
        model = GPT(config, generator=torch.Generator().manual_seed(0)).to(device, dtype).eval()
        synchronise(device)
        empty = held(device)
        stream = model.stream(prompt, max_new_tokens=tokens)
        if tokens < count:
            _take(stream, tokens, float("inf"))
    found = Curve(str(config.pattern), count)
    begin = time.perf_counter()
    for mark in marks(count):
        window = min(WINDOW, mark - found.tokens)
        found.tokens += _take(stream, mark - found.tokens - window, begin + limit)
        times: list[float] = []
        while found.tokens < mark and time.perf_counter() < begin + limit:
            some = min(SLICE, mark - found.tokens)
            times.append(1e3 * seconds(partial(_take, stream, some, float("inf")), device) / some)
            found.tokens += some
        if times:
            found.ms[found.tokens] = min(times)
            found.megabytes[found.tokens] = held(device) - empty
        if found.tokens < mark:
            break
    found.seconds = time.perf_counter() - begin
    return found


def _take(stream: Iterator[Tensor], count: int, until: float) -> int:
    for i in range(count):
        if i % SLICE == 0 and time.perf_counter() > until:
            return i
        next(stream)
    return count


def held(device: str) -> float:
    """Megabytes of the process: on a GPU all tensors, else the resident memory."""
    if device == "cuda":
        return torch.cuda.memory_allocated() / 1e6
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text(encoding="ascii").split()[1]) if statm.exists() else 0
    return pages * 4096 / 1e6


def plot(report: BenchReport, path: Path, title: str) -> None:
    """Milliseconds per token and megabytes against tokens, side by side."""
    figure = new_figure(9.0, 3.8, fitted=True)
    panels = figure.subplots(1, 2)
    curves = cast("list[dict[str, dict[int, float]]]", report.settings["curves"])
    for one, style, colour in zip(curves, STYLES, SERIES, strict=False):
        for axes, points in zip(panels, (one["ms per token"], one["megabytes"]), strict=True):
            values = list(points), list(points.values())
            axes.semilogx(*values, style, color=colour, label=one["pattern"], markersize=4)
    labels = ("milliseconds per token", "megabytes more than at the start")
    for axes, what in zip(panels, labels, strict=True):
        axes.set_ylim(bottom=0)
        dress(axes, "tokens written", what)
    legend(panels[0])
    figure.suptitle(title, fontsize=11, color=INK)
    save_figure(figure, path)
