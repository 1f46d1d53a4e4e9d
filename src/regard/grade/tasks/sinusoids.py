"""Sinusoidal positions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from regard.grade.functions import Functions, function_task, squeezed
from regard.grade.task import Mistake

TEXT = '''"""Positions as waves."""

import torch


def sinusoidal_positions(T, dim):
    """The table (T, dim) for positions t = 0 … T − 1, dim even:

    component 2i of position t is sin(t / 10000^(2i/dim)), component 2i + 1 is the cosine of the same.
    """
    raise NotImplementedError
'''


def sinusoidal_positions(T: int, dim: int, *, swap: bool = False, first: int = 0, exponent: str = "2i/dim",
                         layout: str = "by turns", base: float = 10_000.0, waves: str = "both", unit: str = "1",
                         turned: bool = False, backwards: bool = False) -> Tensor:  # fmt: skip
    """The table, in double precision."""
    t = torch.arange(first, first + T, dtype=torch.float64)
    units = {"1": 1.0, "1/T": 1 / T, "1/(T−1)": 1 / max(T - 1, 1), "degrees": torch.pi / 180, "2π": 2 * torch.pi,
             "/dim": 1 / dim}  # fmt: skip
    t = (t.flip(0) if backwards else t) * units[unit]
    i = torch.arange(dim // 2, dtype=torch.float64)
    if exponent == "by component":
        c = torch.arange(dim, dtype=torch.float64)
        sine, cosine = (t[:, None] / base ** (c[k::2] / dim) for k in (0, 1))
    else:
        powers = {
            "2i/dim": 2 * i / dim, "i/dim": i / dim, "4i/dim": 4 * i / dim, "2(i+1)/dim": 2 * (i + 1) / dim,
            "i/(half−1)": i / max(dim // 2 - 1, 1), "−2i/dim": -2 * i / dim, "0": 0 * i, "2i": 2 * i, "i": i,
            "2i/T": 2 * i / T, "cosine one on": 2 * i / dim, "(2i+1)/dim": (2 * i + 1) / dim,
        }  # fmt: skip
        if exponent == "product":
            divisor = torch.where(i == 0, torch.ones_like(i), base * 2 * i / dim)
        else:
            divisor = base ** powers[exponent]
        sine = t[:, None] / divisor
        cosine = t[:, None] / base ** (2 * (i + 1) / dim) if exponent == "cosine one on" else sine
    a, b = sine.sin(), cosine.cos()
    if waves == "sine":
        b = cosine.sin()
    elif waves == "cosine":
        a = sine.cos()
    a, b = (b, a) if swap else (a, b)
    out = torch.stack([a, b], -1).flatten(1) if layout == "by turns" else torch.cat([a, b], 1)
    return out.T if turned else out


def _cases(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for part, T, dim in (("first waves", 3, 4), ("first waves", 1, 6), ("table", 7, 6), ("table", 40, 10)):
        yield part, "sinusoidal_positions", (T, dim)


POSITIONS_TASK = function_task(
    name="sinusoidal-positions", title="Sinusoidal positions", skeleton=TEXT, lesson="positions",
    parts={"first waves": 1, "table": 2},
    functions=Functions(
        definitions={"sinusoidal_positions": sinusoidal_positions}, cases=_cases, read=squeezed,
        spellings={"sinusoidal_positions": (
            "sinusoidal_encoding", "positional_encoding", "sinusoidal_position_encoding", "sinusoidal_embedding",
            "sinusoidal_positional_encoding", "position_encoding", "get_positional_encoding",
        )},
    ),
    mistakes=(
        Mistake("sin-cos-swapped", "cosines in even and sines in odd components", {"swap": True}),
        Mistake("positions-from-one", "positions that count from 1 in place of 0", {"first": 1}),
        Mistake("exponent-without-two", "waves with the exponent i/dim in place of 2i/dim", {"exponent": "i/dim"}),
        Mistake("exponent-not-shared", "a wave of its own for every component c, with the exponent c/dim: sine and cosine no longer belong together", {"exponent": "by component"}),
        Mistake("cosine-one-wave-on", "cosines of the next wave: those beside wave i have the exponent 2(i + 1)/dim", {"exponent": "cosine one on"}),
        Mistake("exponent-doubled", "waves with the exponent 4i/dim: the factor 2 is counted twice", {"exponent": "4i/dim"}),
        Mistake("frequency-from-one", "waves i = 1 … dim/2 in place of 0 … dim/2 − 1", {"exponent": "2(i+1)/dim"}),
        Mistake("exponent-of-half", "waves with the exponent i/(dim/2 − 1) in place of i/(dim/2)", {"exponent": "i/(half−1)"}),
        Mistake("exponent-odd", "waves with the exponent (2i + 1)/dim", {"exponent": "(2i+1)/dim"}),
        Mistake("exponent-undivided", "waves with the exponent 2i, which is not divided by dim", {"exponent": "2i"}),
        Mistake("exponent-of-length", "waves with the exponent 2i/T, divided by the length in place of the width", {"exponent": "2i/T"}),
        Mistake("frequencies-rise", "waves of rising frequency: t · 10000^(2i/dim) in place of t / 10000^(2i/dim)", {"exponent": "−2i/dim"}),
        Mistake("one-frequency", "the same wave in all components", {"exponent": "0"}),
        Mistake("no-power", "a product 10000 · 2i/dim in place of the power 10000^(2i/dim)", {"exponent": "product"}),
        Mistake("halves-side-by-side", "all sines and then all cosines, not by turns", {"layout": "halves"}),
        Mistake("only-sine", "sines in all components", {"waves": "sine"}),
        Mistake("only-cosine", "cosines in all components", {"waves": "cosine"}),
        Mistake("base-thousand", "waves with 1000 in place of 10000", {"base": 1e3}),
        Mistake("base-hundred-thousand", "waves with 100000 in place of 10000", {"base": 1e5}),
        Mistake("base-e", "waves with e in place of 10000", {"base": math.e}),
        Mistake("base-ten", "waves with 10 in place of 10000", {"base": 10.0}),
        Mistake("base-hundred", "waves with 100 in place of 10000", {"base": 1e2}),
        Mistake("positions-as-fractions", "positions from 0 to 1 in place of 0 … T − 1", {"unit": "1/(T−1)"}),
        Mistake("positions-over-length", "positions divided by T", {"unit": "1/T"}),
        Mistake("positions-reversed", "positions from T − 1 down to 0", {"backwards": True}),
        Mistake("positions-over-width", "positions divided by dim", {"unit": "/dim"}),
        Mistake("degrees", "angles in degrees", {"unit": "degrees"}),
        Mistake("times-two-pi", "angles times 2π", {"unit": "2π"}),
        Mistake("table-transposed", "the table (dim, T), components in rows", {"turned": True}),
    ),
)  # fmt: skip
