"""The masks of the three patterns, and how many pairs each allows."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.grade.functions import Functions, function_task, squeezed
from regard.grade.task import Mistake

MASKS = '''"""Masks (T, T) of three attention patterns: row q, column k is 1 where query q may look at key k, else 0."""

import torch


def autoregressive_mask(T):
    """A query sees itself and everything before it."""
    raise NotImplementedError


def strided_mask(T, t):
    """A query sees itself and at most t positions before it."""
    raise NotImplementedError


def windowed_mask(T, w):
    """Positions are cut into windows 0…w−1, w…2w−1, …; a query sees itself and what is before it in its window."""
    raise NotImplementedError
'''
COUNTS = '''"""How many pairs (query, key) three attention patterns allow among n positions, without building a mask."""


def count_autoregressive(n):
    """A query sees itself and everything before it."""
    raise NotImplementedError


def count_strided(n, t):
    """A query sees itself and at most t positions before it; t may be larger than n."""
    raise NotImplementedError


def count_windowed(n, w):
    """Windows 0…w−1, w…2w−1, …; a query sees itself and what is before it in its window; w need not divide n."""
    raise NotImplementedError
'''


def _grid(T: int) -> tuple[Tensor, Tensor]:
    at = torch.arange(T)
    return at[:, None], at[None, :]


def _turned(mask: Tensor, turn: str) -> Tensor:
    mask = mask.T if turn == "transposed" else mask
    return (~mask if turn == "inverted" else mask).double()


def autoregressive_mask(T: int, *, turn: str = "", own: bool = True, full: bool = False) -> Tensor:
    """The triangle."""
    q, k = _grid(T)
    return _turned((k <= q if own else k < q) | full, turn)


def strided_mask(T: int, t: int, *, turn: str = "", reach: int = 0, band: str = "causal",
                 own: bool = True) -> Tensor:  # fmt: skip
    """The band; `reach` makes it wider, `band` changes what lies after the query."""
    q, k = _grid(T)
    near = (q - k <= t + reach) if band != "dilated" else ((q - k) % max(t, 1) == 0)
    causal = k <= q if own else k < q
    if band == "both":
        return _turned((q - k).abs() <= t + reach, turn)
    if band == "far":
        return _turned(causal & (q - k >= t), turn)
    return _turned(near if band == "open" else near & causal, turn)


def windowed_mask(T: int, w: int, *, turn: str = "", windows: str = "causal", size: int = 0, shift: int = 0,
                  own: bool = True) -> Tensor:  # fmt: skip
    """The triangles along the diagonal."""
    q, k = _grid(T)
    width = max(1, w + size)
    same = (q + shift) // width == (k + shift) // width
    causal = k <= q if own else k < q
    if windows == "sliding":
        return _turned(causal & (q - k < w), turn)
    if windows == "counted":
        return _turned((q // max(1, T // w) == k // max(1, T // w)) & causal, turn)
    return _turned(same if windows == "open" else same & causal, turn)


def _cases(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for T in (3, 1, 6):
        yield "autoregressive", "autoregressive_mask", (T,)
    for T, t in ((4, 1), (7, 3), (5, 0), (4, 6)):
        yield "strided", "strided_mask", (T, t)
    for T, w in ((4, 2), (7, 3), (5, 1), (3, 8)):
        yield "windowed", "windowed_mask", (T, w)


_MISTAKES = (
    Mistake("mask-transposed", "the transpose of the mask: keys in rows and queries in columns", {"turn": "transposed"}),
    Mistake("mask-inverted", "the opposite mask: 1 where a query may not look", {"turn": "inverted"}),
    Mistake("self-left-out", "masks in which a query does not see itself", {"own": False}),
    Mistake("mask-full", "a mask that lets every query see every key", {"full": True}),
    Mistake("stride-one-short", "a band of t keys: the query itself and t − 1 before it", {"reach": -1}),
    Mistake("stride-one-long", "a band of t + 2 keys: the query itself and t + 1 before it", {"reach": 1}),
    Mistake("stride-both-sides", "a band that reaches t positions forward, too", {"band": "both"}),
    Mistake("stride-not-causal", "a band that ends t positions back and not at the query", {"band": "open"}),
    Mistake("stride-far-side", "the pairs that are at least t apart, not at most", {"band": "far"}),
    Mistake("stride-dilated", "every t-th position before the query", {"band": "dilated"}),
    Mistake("window-not-causal", "whole squares: a query sees later positions of its window", {"windows": "open"}),
    Mistake("window-sliding", "a sliding window of w keys in place of windows cut at multiples of w", {"windows": "sliding"}),
    Mistake("window-counted", "w windows in place of windows of w positions", {"windows": "counted"}),
    Mistake("window-one-long", "windows of w + 1 positions", {"size": 1}),
    Mistake("window-one-short", "windows of w − 1 positions", {"size": -1}),
    Mistake("window-shifted", "windows that are cut one position too early", {"shift": 1}),
)  # fmt: skip

MASK_TASK = function_task(
    name="masks", title="Masks of the three patterns", skeleton=MASKS, lesson="counting-attention",
    parts={"autoregressive": 1, "strided": 2, "windowed": 2}, mistakes=_MISTAKES,
    functions=Functions(
        definitions={
            "autoregressive_mask": autoregressive_mask, "strided_mask": strided_mask, "windowed_mask": windowed_mask,
        },
        cases=_cases, read=squeezed,
        spellings={
            "autoregressive_mask": ("causal_mask", "get_causal_mask", "make_causal_mask"),
            "strided_mask": ("sliding_mask", "sliding_window_mask"), "windowed_mask": ("window_mask", "block_mask"),
        },
    ),
)  # fmt: skip


def count_autoregressive(n: int, *, triangle: str = "n(n+1)/2") -> int:
    """n(n+1)/2, or what is written in its place."""
    wrong = {"n(n-1)/2": n * (n - 1) // 2, "n²": n * n, "n²/2": n * n / 2, "n": n}
    return wrong.get(triangle, n * (n + 1) // 2)  # type: ignore[return-value]


def count_strided(n: int, t: int, *, border: str = "cut") -> float:
    """The first t queries see fewer; `border` says what is made of that."""
    if border == "ignored":
        return n * (t + 1)
    if border == "t keys":
        t -= 1
    if border == "t+2 keys":
        t += 1
    if border == "n·t":
        return n * t
    if border == "large n":
        return (2 * n - t) * (t + 1) / 2
    if border == "both":
        return sum(min(n - 1, q + t) - max(0, q - t) + 1 for q in range(n))
    if border == "n−t rows":
        return (n - t) * (t + 1)
    return sum(min(q, t) + 1 for q in range(n))


def count_windowed(n: int, w: int, *, rest: str = "counted") -> float:
    """Whole windows and the rest; `rest` says what is made of it."""
    full, left = divmod(n, w)
    triangle = w * (w + 1) // 2
    wrong = {
        "dropped": full * triangle, "as full": -(-n // w) * triangle, "formula": n * (w + 1) / 2,
        "squares": full * w * w + left * left, "n·w": n * w, "sliding": sum(min(q + 1, w) for q in range(n)),
        "no self": full * (w * (w - 1) // 2) + left * (left - 1) // 2, "floored": n * (w + 1) // 2,
    }  # fmt: skip
    return wrong.get(rest, full * triangle + left * (left + 1) // 2)


def _counted(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for n in (3, 1, 10, 1000):
        yield "autoregressive", "count_autoregressive", (n,)
    for n, t in ((4, 1), (5, 0), (12, 5), (3, 7), (100, 9)):
        yield "strided", "count_strided", (n, t)
    for n, w in ((4, 2), (5, 2), (12, 4), (3, 7), (101, 9), (6, 1)):
        yield "windowed", "count_windowed", (n, w)


_MISCOUNTS = (
    Mistake("count-without-self", "n(n − 1)/2: the diagonal is left out", {"triangle": "n(n-1)/2"}),
    Mistake("count-square", "n²: pairs with later keys are counted, too", {"triangle": "n²"}),
    Mistake("count-half-square", "n²/2: half of the square, with half of the diagonal", {"triangle": "n²/2"}),
    Mistake("border-ignored", "n(t + 1): the first t queries, which see fewer keys, count as if they saw t + 1", {"border": "ignored"}),
    Mistake("border-one-short", "a band of t keys in place of t + 1", {"border": "t keys"}),
    Mistake("border-one-long", "a band of t + 2 keys in place of t + 1", {"border": "t+2 keys"}),
    Mistake("border-t-keys", "n·t: t keys for every query", {"border": "n·t"}),
    Mistake("border-large-n-only", "(2n − t)(t + 1)/2, which holds for n > t alone", {"border": "large n"}),
    Mistake("border-both-sides", "a band on both sides of the query", {"border": "both"}),
    Mistake("border-rows-dropped", "(n − t)(t + 1): the first t queries are left out", {"border": "n−t rows"}),
    Mistake("rest-dropped", "whole windows alone: what is left where w does not divide n is dropped", {"rest": "dropped"}),
    Mistake("rest-as-full", "the last window as if it were full", {"rest": "as full"}),
    Mistake("rest-formula", "n(w + 1)/2, which holds where w divides n alone", {"rest": "formula"}),
    Mistake("rest-formula-floored", "n(w + 1)/2 rounded down, which holds where w divides n alone", {"rest": "floored"}),
    Mistake("window-squares", "whole squares: later keys of the window are counted, too", {"rest": "squares"}),
    Mistake("window-all-w", "n·w: w keys for every query", {"rest": "n·w"}),
    Mistake("count-sliding", "a sliding window of w keys", {"rest": "sliding"}),
    Mistake("window-without-self", "windows without their diagonal", {"rest": "no self"}),
)  # fmt: skip

COUNT_TASK = function_task(
    name="counting", title="Counting pairs", skeleton=COUNTS, lesson="counting-attention",
    parts={"autoregressive": 1, "strided": 2, "windowed": 2}, mistakes=_MISCOUNTS,
    functions=Functions(
        definitions={
            "count_autoregressive": count_autoregressive, "count_strided": count_strided, "count_windowed": count_windowed,
        },
        cases=_counted,
        spellings={
            "count_autoregressive": ("count_causal",), "count_strided": ("count_sliding",), "count_windowed": ("count_window",),
        },
    ),
)  # fmt: skip
