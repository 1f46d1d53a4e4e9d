"""Cost against length for several patterns: the curves, and the lengths at which one overtakes another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from regard.cost.pricing import price
from regard.errors import check_int
from regard.layers import Alibi, LinearAttention, Softmax
from regard.layers.attention_shapes import AttentionShape
from regard.layers.recurrent_shapes import RNNShape
from regard.models import GPTConfig
from regard.paper.figures import dress, legend, new_figure
from regard.paper.ink import INK, SERIES
from regard.paper.quantities import binary
from regard.pattern import Causal, parse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVES = ("causal", "windowed(256)", "strided(1024)", "linear")
PER_OCTAVE = 2
RNN, LINEAR = "rnn", "linear"

Swept = GPTConfig | AttentionShape


@dataclass(frozen=True)
class Crossing:
    """From `n` on `cheaper` costs less than `dearer`, which cost as much or less just before."""

    n: int
    cheaper: str
    dearer: str
    flops: int


@dataclass(frozen=True)
class Sweep:
    """Curves by name over common lengths, and every crossing from n = 1 to the last length."""

    lengths: tuple[int, ...]
    curves: dict[str, tuple[int, ...]]
    crossings: tuple[Crossing, ...]
    what: str

    def as_dict(self) -> dict[str, object]:
        """Lengths, curves and crossings as JSON can hold them."""
        return asdict(self)


def sweep(what: object, first: int, last: int, curves: Sequence[str] | None = None) -> Sweep:
    """The flops of one forward pass of `what` under each pattern, with linear attention for "linear", and of
    an RNN of its width for "rnn"; without names, of `CURVES` as far as they fit its position.

    >>> found = sweep(AttentionShape(width=64, heads=1), 16, 1024, ["full", "linear"])
    >>> [(one.n, one.cheaper) for one in found.crossings]
    [(65, 'linear')]
    """
    check_int("first", first, 1)
    check_int("last", last, first + 1)
    if not isinstance(what, Swept):
        raise ValueError(f"a sweep is over a GPTConfig or an AttentionShape, got {type(what).__name__}")
    asked = {name: lru_cache(_curve(what, name, last)) for name in curves or curves_of(what)}
    lengths = lengths_between(first, last)
    values = {name: tuple(ask(n) for n in lengths) for name, ask in asked.items()}
    return Sweep(lengths, values, tuple(crossings(asked, 1, last)), describe(what))


def crossings(asked: Mapping[str, Callable[[int], int]], first: int, last: int) -> list[Crossing]:
    """Every length at which one of these functions of the length falls below another.

    >>> found = crossings({"square": lambda n: n * n, "line": lambda n: 100 * n}, 1, 1024)
    >>> [(one.n, one.cheaper) for one in found]
    [(101, 'line')]
    """
    found = []
    for a, b in combinations(asked, 2):
        for low, high in pairwise(lengths_between(first, last)):
            before, after = (asked[a](n) - asked[b](n) for n in (low, high))
            if (before <= 0) != (after <= 0) or (before >= 0) != (after >= 0):
                one = _crossing(a, b, asked, low, high)
                found += [] if one is None else [one]
    return sorted(set(found), key=lambda one: (one.n, one.cheaper, one.dearer))


def curves_of(what: Swept) -> tuple[str, ...]:
    """The curves that can be asked of it: linear attention has no scores for Alibi to bias."""
    return tuple(name for name in CURVES if name != LINEAR or not isinstance(what.position, Alibi))


def describe(what: Swept) -> str:
    """One line on what is swept."""
    if isinstance(what, GPTConfig):
        return f"GPT of {what.depth} layers, width {what.width}, {what.heads} heads"
    return f"attention layer with its projections, width {what.width}, {what.heads} heads"


def _curve(what: Swept, name: str, longest: int) -> Callable[[int], int]:
    if name == RNN:
        return partial(_flops, RNNShape(channels=what.width, hidden=what.width))
    mixer = LinearAttention() if name == LINEAR else Softmax()
    pattern = Causal() if name == LINEAR else parse(name)
    if isinstance(what, GPTConfig):
        return partial(_flops, replace(what, pattern=pattern, mixer=mixer, context=longest))
    return partial(_flops, replace(what, pattern=pattern, mixer=mixer))


def _flops(what: Swept | RNNShape, n: int) -> int:
    return price(what, tokens=n).flops


def lengths_between(first: int, last: int) -> tuple[int, ...]:
    """Lengths from the first to the last, two an octave.

    >>> lengths_between(4, 20)
    (4, 6, 8, 11, 16, 20)
    """
    out, i = [], 0
    while (n := round(first * 2 ** (i / PER_OCTAVE))) < last:
        out.append(n)
        i += 1
    return (*dict.fromkeys(out), last)


def _crossing(
    a: str, b: str, asked: Mapping[str, Callable[[int], int]], low: int, high: int
) -> Crossing | None:
    """The first n of (low, high] at which the one that is cheaper at the end is so."""
    cheaper, dearer = (a, b) if asked[a](high) < asked[b](high) else (b, a)
    if asked[cheaper](high) >= asked[dearer](high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if asked[cheaper](middle) < asked[dearer](middle):
            high = middle
        else:
            low = middle
    return Crossing(high, cheaper, dearer, asked[cheaper](high))


def overtakings(found: Sweep) -> list[tuple[int, int, str]]:
    """(n, flops, sentence) of each length at which one curve overtakes others."""
    groups: dict[tuple[int, str], list[Crossing]] = {}
    for one in found.crossings:
        groups.setdefault((one.n, one.cheaper), []).append(one)
    return [
        (n, ones[0].flops, f"from n = {n:,} {cheaper} is cheaper than {' and '.join(o.dearer for o in ones)}")
        for (n, cheaper), ones in groups.items()
    ]


def figure(found: Sweep) -> Figure:
    """The cost of the whole sequence and of one token, on log axes, with numbered crossings."""
    marks = overtakings(found)
    out = new_figure(10, 4.4 + 0.18 * len(marks), fitted=True)
    left, right = out.subplots(1, 2)
    for axes, per_token in ((left, False), (right, True)):
        for i, (name, values) in enumerate(found.curves.items()):
            shown = [v / n for v, n in zip(values, found.lengths, strict=True)] if per_token else values
            style = "-" if i < len(SERIES) else "--"
            axes.plot(found.lengths, shown, style, color=SERIES[i % len(SERIES)], linewidth=1.8, label=name)
        for number, (n, flops, _) in enumerate(marks, 1):
            if n < found.lengths[0]:
                continue  # told below, but left of the picture
            at = (n, flops / n if per_token else flops)
            axes.plot(*at, "o", color="white", markeredgecolor="black", markersize=12, zorder=4)
            axes.annotate(str(number), at, ha="center", va="center", fontsize=7, zorder=5)
        _by_powers(axes, found.lengths)
    dress(left, "n, tokens", "flops of one forward pass")
    dress(right, "n, tokens", "flops per token")
    legend(right, loc="upper left")
    out.suptitle(found.what, fontsize=11, fontweight="bold", color=INK)
    lines = [f"{number}   {text}" for number, (_, _, text) in enumerate(marks, 1)]
    out.supxlabel(
        "\n".join(lines or ["no curve overtakes another"]), fontsize=8.5, x=0.02, ha="left", color=INK
    )
    return out


def _by_powers(axes: Axes, lengths: tuple[int, ...]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [n for n in (1 << i for i in range(40)) if lengths[0] <= n <= lengths[-1]]
    step = -(-len(ticks) // 8)
    axes.set_xticks(ticks[::step], [binary(n) for n in ticks[::step]])
    axes.tick_params(which="minor", length=0)
