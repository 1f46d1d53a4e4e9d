"""Counts against time and against the mask: random expressions of up to eight values at any length.

Each is counted at a small length, by every way there is, and compared with its mask; then asked at lengths up
to 10¹² for `pairs`, `svg`, `summarise` and `formula`, which must answer in time or refuse in time.
"""

import random
import time
from unittest.mock import patch

import torch

from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
    counting,
    stretches,
)
from regard.pattern.repeating import rhythm
from regard.pattern.summary import summarise
from regard.pattern.work import TooMuchError, Work
from tests.hunt.found import Found

BARS = {"pairs": 2.0, "svg": 2.0, "summarise": 2.0, "formula": 5.0}  # CPU seconds
LONGEST = 10**12
WAYS = (counting._by_rows, counting._by_stretches, counting._by_closed_distance, counting._by_distance)


def hunt(times: int, seed: int) -> Found:
    """So many expressions, each small and large."""
    found = Found()
    torch.set_num_threads(1)  # CPU time of several would be that of their waiting for each other
    Causal().pairs(3), summarise(Causal() & Full(), 3)  # so that imports are not measured
    for number in range(times):
        draw = random.Random(f"counts {seed} {number}")
        for kind, fault in (*exact(draw), *timely(draw)):
            found.add(kind, None if fault is None else f"seed {seed}, try {number}: {fault}")
    return found


def exact(draw):
    """(way, what is wrong with it or None) for every way of counting one small expression."""
    m = draw.randint(1, draw.choice([30, 300, 1500]))
    n = draw.choice([m, draw.randint(1, m)])
    pattern = an_expression(draw, draw.randint(1, 8), 12, n, m)
    want, beat = int(pattern.dense(n, m).sum()), rhythm(pattern)
    for way in WAYS:
        if "distance" in way.__name__ and not (pattern.by_distance and beat is not None):
            continue
        try:
            with patch.object(counting, "CLOSED", 0), patch.object(stretches, "DENSE", 99):
                (got,) = way(pattern, beat, [m - n], m, Work.quick())
        except TooMuchError:
            yield f"{way.__name__} refused", None
            continue
        told = f"{pattern} at {n=}, {m=}: {way.__name__} counts {got}, the mask has {want}"
        yield way.__name__, None if got == want else told


def timely(draw):
    """(call, what is wrong with it or None) for one expression at a large length."""
    m = round(10 ** draw.uniform(3, 12))
    n = draw.choice([m, m, draw.randint(1, m)])
    most = round(10 ** draw.uniform(0.8, draw.choice([2, 4, 9])))
    pattern = an_expression(draw, draw.randint(1, 8), most, n, m)
    calls = {
        "pairs": lambda: pattern.pairs(n, m),
        "svg": lambda: pattern.svg(n, m),
        "summarise": lambda: summarise(pattern, n, m),
        "formula": pattern.formula,
    }
    for name, call in calls.items():
        start = time.process_time()
        try:
            call()
            how = name
        except ValueError:
            how = f"{name} refused"
        took = time.process_time() - start
        late = took > BARS[name]
        yield how, f"{pattern} at {n=}, {m=}: {how} took {took:.2f} s" if late else None


def an_expression(draw, values, most, n, m):
    """Any expression of so many values, whose numbers go up to `most`, for n queries and m keys."""
    if values == 1:
        out = a_value(draw, most, n, m)
        return ~out if draw.random() < 0.2 else out
    left = draw.randint(1, values - 1)
    a, b = an_expression(draw, left, most, n, m), an_expression(draw, values - left, most, n, m)
    out = a & b if draw.random() < 0.4 else a | b
    return ~out if draw.random() < 0.1 else out


def a_value(draw, most, n, m):
    """Any value; those with a geometry of their own are rare, for an expression can hold few of them."""
    size, least = draw.randint(1, most), min(most, 9)
    linear = [
        Full(),
        Causal(),
        Strided(size - 1),
        Windowed(size),
        Windowed(size),
        Blocks(size),
        Dilated(draw.randint(0, most), draw.randint(1, least)),
        Dilated(draw.randint(0, least), size),
        SparseStrided(size),
        SparseFixed(size, draw.randint(0, size)),
        Global(draw.randint(0, most)),
        Prefix(draw.randint(0, most)),
        RandomBlocks(size, draw.randint(0, 4), draw.randint(0, 99)),
    ]
    if draw.random() < 0.93:
        return draw.choice(linear[:-1] if draw.random() < 0.8 else linear)
    fitting = [c for c in range(1, 2000) if n < m or m % c == 0]
    cols = draw.choice([c for c in fitting if -(-m // c) < 1 << 31] or [None])
    if cols is None or m > 1 << 40:
        return draw.choice(linear)
    rows = -(-m // cols)
    parts = draw.randint(1, 40)
    lengths = [m // parts] * (parts - 1)
    lengths.append(m - sum(lengths))
    grids = [Axial(rows, cols), Neighbourhood(rows, cols, draw.randint(0, 9))]
    documents = [Documents(tuple(lengths))] if min(lengths) > 0 and max(lengths) < 1 << 31 else []
    return draw.choice([*grids, *documents])
