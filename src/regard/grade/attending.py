"""Attention as the sheets define it, with every choice that students get wrong as a keyword."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.grade.readings import HeadMaps
from regard.grade.task import Mistake

LOWEST = torch.finfo(torch.float32).min


def with_one(x: Tensor) -> Tensor:
    """x with a last column of ones, which the bias multiplies."""
    return torch.cat([x, torch.ones(*x.shape[:-1], 1)], -1)


def mapped(x: Tensor, full: Tensor) -> Tensor:
    """The affine map (out, in+1) of x."""
    return with_one(x) @ full.mT


def attend(
    x: Tensor,
    maps: HeadMaps,
    mask: Tensor | None = None,
    *,
    scale: str = "√h",
    softmax: str = "keys",
    masked: str = "before",
    uses: str = "qkv",
    combine: str = "concat",
    split: str = "",
    weighs: str = "rows",
    adds: str = "",
    head: str = "own",
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, ·) and weights (B, H, T, T) for x (B, T, d)."""
    B, T, d = x.shape
    H, h = maps.q.shape[:2]
    roles = {"q": maps.q, "k": maps.k, "v": maps.v}
    chosen = [roles[one] for one in uses]
    if head == "first":
        chosen = [one[:1].expand_as(one) for one in chosen]
    made = [torch.einsum("btc,nhc->bnth", with_one(x), one) for one in chosen]
    if split == "reshaped":  # (B, T, H·h) seen as (B, H, T, h) without exchanging axes
        made = [one.transpose(1, 2).reshape(B, H, T, h) for one in made]
    q, k, v = made
    scores = q @ k.mT
    if not maps.probed:
        scores = scores * {"√h": h**-0.5, "none": 1.0, "h": 1 / h, "√d": d**-0.5, "d": 1 / d, "√Hh": (H * h) ** -0.5,
                           "√T": T**-0.5, "times": h**0.5, "√H": H**-0.5,
                           "root of root": h**-0.25}[scale]  # fmt: skip
    alpha = weights(scores, mask, softmax, masked)
    out = (alpha.mT if weighs == "columns" else alpha) @ v  # B H T h
    if maps.probed:
        assert maps.o is not None
        return out.sum(1) + maps.o[:, -1], alpha
    return _combined(x, out, maps.o, combine, adds), alpha


def weights(scores: Tensor, mask: Tensor | None, softmax: str, masked: str) -> Tensor:
    """The weights of scores (B, H, T, T) under a mask that broadcasts to (B, T, T)."""
    allowed = None
    if mask is not None and masked != "ignored":
        allowed = (mask if mask.ndim == 3 else mask[None])[:, None] == 1
        allowed = allowed.mT if masked == "transposed" else ~allowed if masked == "inverted" else allowed
        number = allowed.to(scores.dtype)
        if masked in ("before", "transposed", "inverted"):
            scores = scores.masked_fill(~allowed, LOWEST)
        elif masked == "zero":
            scores = scores * number
        elif masked == "minus one":
            scores = scores.masked_fill(~allowed, -1.0)
        elif masked == "inverted, −∞":
            scores = scores.masked_fill(allowed, float("-inf"))
        elif masked == "inverted, uniform":
            scores = scores.masked_fill(allowed, LOWEST)
        elif masked == "before, −∞":
            scores = scores.masked_fill(~allowed, float("-inf"))
        elif masked == "before, uniform":
            scores = scores.masked_fill(~allowed, LOWEST)
        elif masked == "added":
            scores = scores + number
        elif masked == "least of all":
            scores = scores.masked_fill(~allowed, -10.0)
    by = {"keys": -1, "queries": -2, "heads": 1, "batch": 0}
    if softmax in by:
        alpha = scores.softmax(by[softmax])
    elif softmax == "none":
        alpha = scores.masked_fill(~allowed, 0.0) if allowed is not None and masked == "before" else scores
    elif softmax == "all":
        alpha = scores.flatten(-2).softmax(-1).view_as(scores)
    elif softmax == "sigmoid":
        alpha = scores.sigmoid()
    elif softmax == "linear":
        alpha = scores / scores.sum(-1, keepdim=True)
    else:
        alpha = scores.log_softmax(-1)
    if (
        allowed is not None
        and masked in ("before", "transposed", "inverted")
        and softmax in ("keys", "queries")
    ):
        alpha = alpha.masked_fill(~allowed, 0.0)
    return alpha * allowed.to(alpha.dtype) if masked == "after" and allowed is not None else alpha


def _combined(x: Tensor, out: Tensor, o: Tensor | None, combine: str, adds: str) -> Tensor:
    B, H, T, h = out.shape
    if o is None and H == 1:
        joined = out[:, 0]
        return joined + x if adds == "x" else joined
    side = out.transpose(1, 2).reshape(B, T, H * h)
    if combine == "no W_O" or o is None:
        joined = side
    elif combine == "cut":
        joined = side[..., : x.shape[-1]]
    elif combine == "reshape":
        joined = mapped(out.reshape(B, T, H * h), o)
    elif combine == "interleaved":
        joined = mapped(out.permute(0, 2, 3, 1).reshape(B, T, H * h), o)
    elif combine == "reversed":
        joined = mapped(out.flip(1).transpose(1, 2).reshape(B, T, H * h), o)
    elif combine in ("sum", "mean"):
        total = out.sum(1) if combine == "sum" else out.mean(1)
        joined = mapped(total.repeat(1, 1, H), o) if o.shape[1] == H * h + 1 else mapped(total, o)
    elif combine == "first":
        joined = mapped(torch.cat([side[..., :h], torch.zeros_like(side[..., h:])], -1), o)
    else:
        joined = mapped(side, o)
    return joined + x if adds == "x" else joined


SCALE_MISTAKES = (
    Mistake("scale-missing", "attention without the scale 1/√n_hidden", {"scale": "none"}, "attention-complexity"),
    Mistake("scale-not-rooted", "attention scaled by 1/n_hidden in place of 1/√n_hidden", {"scale": "h"}),
    Mistake("scale-of-dim", "attention scaled by 1/√dim, the width of the input, in place of 1/√n_hidden", {"scale": "√d"}),
    Mistake("scale-of-length", "attention scaled by 1/√T, the length, in place of 1/√n_hidden", {"scale": "√T"}),
    Mistake("scale-multiplied", "attention whose scores are multiplied by √n_hidden and not divided by it", {"scale": "times"}),
    Mistake("scale-of-dim-not-rooted", "attention scaled by 1/dim in place of 1/√n_hidden", {"scale": "d"}),
    Mistake("scale-fourth-root", "attention scaled by the fourth root of n_hidden", {"scale": "root of root"}),
)  # fmt: skip
MASK_MISTAKES = (
    Mistake("mask-after-softmax", "attention with the mask applied after the softmax: rows no longer sum to one", {"masked": "after"}, "masks-and-losses"),
    Mistake("mask-minus-one", "attention with −1 in place of −∞ where the mask is zero", {"masked": "minus one"}, "masks-and-losses"),
    Mistake("mask-zero", "attention with the score 0 in place of −∞ where the mask is zero", {"masked": "zero"}, "masks-and-losses"),
    Mistake("mask-added", "attention with the mask added to the scores", {"masked": "added"}, "masks-and-losses"),
    Mistake("mask-inverted", "attention to what the mask forbids: 1 is read as 'may not look'", {"masked": "inverted"}, "masks-and-losses"),
    Mistake("mask-inverted-nan", "attention to what the mask forbids: 1 is read as 'may not look', and rows with nothing to look at are NaN", {"masked": "inverted, −∞"}, "masks-and-losses"),
    Mistake("mask-inverted-uniform", "attention to what the mask forbids: 1 is read as 'may not look', and rows with nothing to look at look everywhere", {"masked": "inverted, uniform"}, "masks-and-losses"),
    Mistake("mask-transposed", "attention with the transposed mask", {"masked": "transposed"}, "masks-and-losses"),
    Mistake("mask-ignored", "attention that does not use the mask", {"masked": "ignored"}, "masks-and-losses"),
    Mistake("mask-not-low-enough", "attention with −10 in place of −∞ where the mask is zero", {"masked": "least of all"}, "masks-and-losses"),
)  # fmt: skip
SOFTMAX_MISTAKES = (
    Mistake("softmax-over-queries", "attention with the softmax over queries (columns) in place of keys (rows)", {"softmax": "queries"}),
    Mistake("softmax-over-all", "attention with one softmax over all pairs", {"softmax": "all"}),
    Mistake("softmax-over-batch", "attention with the softmax over the batch", {"softmax": "batch"}),
    Mistake("softmax-over-heads", "attention with the softmax over heads", {"softmax": "heads"}),
    Mistake("softmax-missing", "attention without a softmax", {"softmax": "none"}),
    Mistake("softmax-log", "attention with log-softmax in place of softmax", {"softmax": "log"}),
    Mistake("softmax-sigmoid", "attention with a sigmoid in place of the softmax", {"softmax": "sigmoid"}),
    Mistake("softmax-without-exp", "attention whose scores are divided by their sum, without the exponential", {"softmax": "linear"}),
)  # fmt: skip
ROLE_MISTAKES = (
    Mistake("keys-are-queries", "attention whose keys are made with the query's weights", {"uses": "qqv"}),
    Mistake("values-are-keys", "attention whose values are made with the key's weights", {"uses": "qkk"}),
    Mistake("values-are-queries", "attention whose values are made with the query's weights", {"uses": "qkq"}),
    Mistake("keys-are-values", "attention whose keys are made with the value's weights", {"uses": "qvv"}),
    Mistake("weights-transposed", "outputs weighted by columns of the attention weights in place of rows", {"weighs": "columns"}),
    Mistake("input-added", "attention with the input added to its output", {"adds": "x"}),
)  # fmt: skip
HEAD_MISTAKES = (
    Mistake("heads-summed", "heads that are summed in place of being put side by side", {"combine": "sum"}, "heads"),
    Mistake("heads-averaged", "heads that are averaged in place of being put side by side", {"combine": "mean"}, "heads"),
    Mistake("heads-reshaped", "heads put side by side by a reshape that mixes positions with heads; exchange the axes first", {"combine": "reshape"}, "heads"),
    Mistake("heads-interleaved", "heads interleaved number by number before W_O", {"combine": "interleaved"}, "heads"),
    Mistake("heads-split-by-reshape", "heads cut out by a reshape that mixes positions with heads; exchange the axes after it", {"split": "reshaped"}, "heads"),
    Mistake("output-map-missing", "the heads side by side, without W_O", {"combine": "no W_O"}, "heads"),
    Mistake("output-map-cut", "the first dim numbers of the heads side by side, without W_O", {"combine": "cut"}, "heads"),
    Mistake("one-head-for-all", "the first head's output for all heads", {"head": "first"}, "heads"),
    Mistake("first-head-only", "the first head alone", {"combine": "first"}, "heads"),
    Mistake("scale-of-all-heads", "attention scaled by the width of all heads together", {"scale": "√Hh"}, "heads"),
    Mistake("scale-of-head-count", "attention scaled by 1/√num_heads", {"scale": "√H"}, "heads"),
)  # fmt: skip
