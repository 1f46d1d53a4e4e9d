"""`attend` with everything that can be asked of it, on every backend, against sums written out by hand.

Sizes, patterns, options, dtypes and strides are drawn at random; each backend that does not refuse must give
the output, normalisers and gradients of `by_hand`. Our kernels run in Triton's interpreter, in a process of
their own. Patterns are held against `by_hand` too: masks, counts, tiles, text, caches.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.attention import BACKENDS, DistanceBias, attend, choose
from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Pattern,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
    parse,
)
from tests.hunt import by_hand
from tests.hunt.found import Found

HUGE = 1 << 40
# How far from float64 (of the largest number that is compared), by the type of the inputs.
NEAR = {torch.float64: 1e-10, torch.float32: 3e-5, torch.bfloat16: 4e-2, torch.float16: 6e-3}
PLAIN = ("is_causal", "softcap", "dropout", "mask", "offset", "segments", "key_segments", "cu_seqlens")
DRAWN = Callable[[random.Random], Any]


def hunt(times: int, seed: int) -> Found:
    """So many calls on a CPU, half as many patterns, and a fifth as many calls of our kernels."""
    found = tries(times, seed, tuple(name for name in BACKENDS if name not in ("triton", "short", "flex")))
    patterns(max(1, times // 2), seed, found)
    code = (
        "import json, sys; from tests.hunt.attending import tries; "
        "found = tries(int(sys.argv[1]), int(sys.argv[2]), ('triton',)); "
        "print(json.dumps([found.tried, found.faults]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(max(1, times // 5)), str(seed)],
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode:
        found.add("triton", f"the process of the kernels ended: {run.stderr[-600:]}")
        return found
    tried, faults = json.loads(run.stdout.splitlines()[-1])
    for kind, count in tried.items():
        found.tried[kind] = found.tried.get(kind, 0) + count
    found.faults += faults
    return found


def tries(times: int, seed: int, impls: tuple[str, ...]) -> Found:
    """So many calls, each on all of the backends that take it."""
    found = Found()
    for i in range(times):
        at = random.Random(f"{seed}, {i}")
        torch.manual_seed(at.randrange(HUGE))
        case = a_case(at, halves="triton" not in impls)
        try:
            expected = oracle(case)
        except Exception as error:
            found.add("oracle", f"seed {seed}, try {i}: {type(error).__name__}: {error}; {case}")
            continue
        for impl in (*impls, *(("auto",) if "triton" not in impls else ())):
            compare(found, f"seed {seed}, try {i}", case, impl, expected)
    return found


def a_value(at: random.Random, n: int, m: int) -> Pattern:
    """A single value that fits n queries and m keys."""
    total = m if n == m else m + at.choice([0, 0, 3])
    cols = at.choice([c for c in range(1, total + 1) if total % c == 0])
    cut = sorted({at.randint(1, total) for _ in range(at.randint(0, 3))} | {total})
    lengths = tuple(b - a for a, b in zip([0, *cut], cut, strict=False))
    stride = at.randint(1, 9)
    far = at.choice([0, 1, 2, 5, m, (1 << 31) - 1])
    choices: list[Callable[[], Pattern]] = [
        Full, Causal, lambda: Strided(far), lambda: Windowed(max(1, far)), lambda: Blocks(at.randint(1, 12)),
        lambda: Dilated(at.choice([0, 1, 3, (1 << 31) - 1]), at.choice([1, 2, 3, 50, (1 << 31) - 1])),
        lambda: SparseStrided(at.choice([1, 2, 5, 60, (1 << 31) - 1])),
        lambda: SparseFixed(stride, at.randint(0, stride)), lambda: Global(at.randint(0, m + 1)),
        lambda: Prefix(at.randint(0, m + 1)), lambda: RandomBlocks(at.randint(1, 6), at.randint(0, 3), 5),
        lambda: Documents(lengths), lambda: Axial(total // cols, cols),
        lambda: Neighbourhood(total // cols, cols, at.randint(0, 3)),
    ]  # fmt: skip
    return at.choice(choices)()


def a_pattern(at: random.Random, n: int, m: int, most: int = 4) -> Pattern:
    """An expression of up to so many values."""
    out = a_value(at, n, m)
    for _ in range(at.choice([0, 0, 0, 0, 1, 1, 2, most - 1])):
        other = a_value(at, n, m)
        other = ~other if at.random() < 0.25 else other
        out = out & other if at.random() < 0.5 else out | other
    return ~out if at.random() < 0.1 else out


def a_case(at: random.Random, halves: bool) -> dict[str, Any]:
    """Tensors, a pattern and what else is asked, as `attend` takes them."""
    M = at.choice([1, 2, 5, 17, 33, 65, 70])
    N = at.choice([M, M, M, at.randint(1, M), 1])
    G = at.choice([1, 2])
    H, B = G * at.choice([1, 2]), at.choice([1, 2])
    D, E = at.choice([1, 3, 16]), at.choice([2, 16])
    kinds = (torch.float32, torch.float32, torch.float64) + ((torch.bfloat16, torch.float16) * halves)
    dtype = at.choice(kinds) if halves else at.choice([torch.float32, torch.float32, torch.float16])
    case: dict[str, Any] = {"dtype": dtype}
    for name, shape in (("query", (B, H, N, D)), ("key", (B, G, M, D)), ("value", (B, G, M, E))):
        x = torch.randn(shape).to(dtype)
        if at.random() < 0.2:  # rows of a wider tensor, heads behind positions
            x = torch.cat([x, x], 3).transpose(1, 2).contiguous().transpose(1, 2)[..., : shape[3]]
        case[name] = x
    wide = torch.promote_types(dtype, torch.float32)
    case["pattern"] = a_pattern(at, N, M)
    case["patterns"] = [a_pattern(at, N, M, 2) for _ in range(H)] if at.random() < 0.1 else None
    maybe(at, case, 0.2, is_causal=lambda at: True)
    maybe(at, case, 0.2, scale=lambda at: at.choice([0.0, 1.0, -0.4, 30.0, torch.tensor(0.37, dtype=wide)]))
    maybe(at, case, 0.15, softcap=lambda at: at.choice([0.5, 5.0]))
    maybe(at, case, 0.15, sinks=lambda at: torch.randn(H, dtype=wide))
    maybe(at, case, 0.15, dropout=lambda at: at.choice([0.1, 0.5]))
    maybe(at, case, 0.15, mask=lambda at: torch.rand(at.choice([(N, M), (B, 1, N, M), (H, N, M)])) < 0.7)
    if at.random() < 0.25:
        case["slopes"] = (
            torch.rand(H, dtype=wide) if at.random() < 0.5 else tuple(at.random() for _ in range(H))
        )
    elif at.random() < 0.2:
        bias = torch.randn(at.choice([(N, M), (B, H, N, M), (H, 1, M)])).to(dtype)
        case["bias"] = bias.masked_fill(torch.rand(bias.shape) < 0.2, -torch.inf)
    fixed = any(atom.total is not None for p in (case["patterns"] or [case["pattern"]]) for atom in p.atoms())
    if at.random() < 0.12 and not fixed:
        case["offset"] = at.choice([at.randint(0, M), torch.tensor([at.randint(0, M) for _ in range(B)])])
    ids = at.choice([(-1, 0, 1), (-5, 3, HUGE + 3), (0, 0, 7)])
    kind = torch.int64 if max(ids) > 9 else at.choice([torch.int64, torch.int32, torch.int16])
    word = at.random()
    if word < 0.2:
        case["segments"] = torch.tensor([[at.choice(ids) for _ in range(M)] for _ in range(B)]).to(kind)
    elif word < 0.3:
        case["key_segments"] = torch.tensor([[at.choice(ids) for _ in range(M)] for _ in range(B)]).to(kind)
        if at.random() < 0.5:
            case["segments"] = torch.tensor([[at.choice(ids) for _ in range(N)] for _ in range(B)]).to(kind)
    elif word < 0.35 and B == 1 and N == M:
        cut = sorted({at.randint(1, M) for _ in range(2)})
        case["cu_seqlens"] = torch.tensor([0, *cut], dtype=torch.int32)
    return case


def maybe(at: random.Random, case: dict[str, Any], share: float, **options: DRAWN) -> None:
    """Ask for something in a share of the cases."""
    for name, draw in options.items():
        if at.random() < share:
            case[name] = draw(at)


def allowed_of(case: dict[str, Any]) -> tuple[Tensor, list[int]]:
    """(pairs (B,H,N,M) that count but for the bias, where the queries of each row start)."""
    (B, H, N, _), M = case["query"].shape, case["key"].shape[2]
    offset = case.get("offset", M - N)
    starts = [int(offset)] * B if isinstance(offset, int) or offset.numel() == 1 else offset.tolist()
    heads = case["patterns"] or [case["pattern"]] * H
    out = torch.zeros(B, H, N, M, dtype=torch.bool)
    for b in range(B):
        for h in range(H):
            out[b, h] = by_hand.grid(heads[h], N, M, starts[b])
            if case.get("is_causal"):
                out[b, h] &= by_hand.grid(Causal(), N, M, starts[b])
    keys, own = case.get("key_segments"), case.get("segments")
    if "cu_seqlens" in case:
        ends = case["cu_seqlens"].tolist()[1:]
        numbers = [next((i for i, end in enumerate(ends) if k < end), -1) for k in range(M)]
        own = torch.tensor([numbers])
    for b in range(B):
        for i in range(N):
            for k in range(M):
                if keys is None and own is not None:
                    at = starts[b] + i
                    mine, theirs = int(own[b, at]) if at < M else -1, int(own[b, k])
                elif keys is not None:
                    theirs = int(keys[b, k])
                    mine = int(own[b, i]) if own is not None else max(theirs, 0)
                else:
                    continue
                if mine != theirs or theirs < 0:
                    out[b, :, i, k] = False
    if "mask" in case:
        out &= case["mask"]
    return out, starts


def leaves_of(case: dict[str, Any], dtype: torch.dtype | None = None) -> dict[str, Tensor]:
    """What may have a gradient, as new leaves."""
    out = {name: case[name] for name in ("query", "key", "value")}
    for name in ("bias", "slopes", "sinks", "scale"):
        if isinstance(case.get(name), Tensor):
            out[name] = case[name]
    return {
        name: (x if dtype is None else x.to(dtype)).detach().clone().requires_grad_()
        if dtype is not None
        else x.detach().requires_grad_()
        for name, x in out.items()
    }


def oracle(case: dict[str, Any]) -> dict[str, Tensor]:
    """Output, normalisers, weights by hand, and the gradients with ("d…") and without ("o…") normalisers."""
    allowed, starts = allowed_of(case)
    B, H, N, M = allowed.shape
    leaves = leaves_of(case, torch.float64)
    slopes, bias = leaves.get("slopes", case.get("slopes")), leaves.get("bias")
    dropout = case.get("dropout", 0.0)
    out, weights, lse = by_hand.attention(
        leaves["query"], leaves["key"], leaves["value"], allowed,
        scale=leaves.get("scale", case.get("scale")), bias=None if bias is None else bias.expand(B, H, N, M),
        slopes=None if slopes is None else torch.as_tensor(slopes, dtype=torch.float64),
        starts=starts, softcap=case.get("softcap"), sinks=leaves.get("sinks"), dropout=dropout,
        drops=drops_of(case) if dropout else None,
    )  # fmt: skip
    found = {name: x.detach() for name, x in (("out", out), ("weights", weights), ("lse", lse))}
    return found | slopes_of("o", leaves, out, None) | slopes_of("d", leaves, out, lse)


def drops_of(case: dict[str, Any]) -> Callable[[int, int, int, int], bool]:
    """Whether dropout keeps the weight of (batch, head, query, key): heads of one pattern draw together."""
    generator = torch.Generator().manual_seed(77)
    H, M, groups = case["query"].shape[1], case["key"].shape[2], {}
    for h in range(H):
        groups.setdefault(case["patterns"][h] if case["patterns"] else None, []).append(h)
    drawn = {}
    for heads in groups.values():
        seed = int(torch.randint(1 << 62, (1,), generator=generator))
        drawn |= {h: (seed, place, len(heads)) for place, h in enumerate(heads)}

    def kept(b: int, h: int, i: int, j: int) -> bool:
        seed, place, count = drawn[h]
        return by_hand.keeps(seed, case["dropout"], b * count + place, i, M - 1 - j)

    return kept


def slopes_of(word: str, leaves: dict[str, Tensor], out: Tensor, lse: Tensor | None) -> dict[str, Tensor]:
    """The gradients of a sum of the results with fixed weights, each under its name behind a word."""
    turn = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view(out.shape).to(out.dtype)
    total = (out * turn).sum()
    if lse is not None:
        total = total + 0.3 * lse[lse > -torch.inf].sum()
    if not total.requires_grad:
        return {f"{word}{name}": torch.zeros_like(x) for name, x in leaves.items()}
    grads = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, retain_graph=True)
    return {
        f"{word}{name}": torch.zeros_like(x) if grad is None else grad
        for (name, x), grad in zip(leaves.items(), grads, strict=True)
    }


def compare(found: Found, where: str, case: dict[str, Any], impl: str, expected: dict[str, Tensor]) -> None:
    """One call of one backend."""
    leaves = leaves_of(case)
    asked = {name: case[name] for name in PLAIN if name in case}
    asked |= {name: leaves.get(name, case[name]) for name in ("scale", "bias", "sinks") if name in case}
    if "slopes" in case:
        asked["bias"] = DistanceBias(leaves.get("slopes", case["slopes"]))
    pattern = case["patterns"] or case["pattern"]
    asked |= {"return_lse": random.Random(where).random() < 0.4, "return_weights": impl == "reference"}
    q, k, v = (leaves[name] for name in ("query", "key", "value"))
    try:
        generator = torch.Generator().manual_seed(77)
        given = attend(q, k, v, pattern, impl=impl, generator=generator, **asked)
    except Exception as error:
        refused = isinstance(error, ValueError) and str(error).startswith(f"impl={impl!r} cannot: ")
        found.add(*(("refusals",) if refused else (impl, f"{where}: {error!r}; {told(case)}")))
        return
    results = list(given) if isinstance(given, tuple) else [given]
    got = {"out": results[0]}
    got |= {"weights": results[1]} if asked["return_weights"] else {}
    got |= {"lse": results[-1]} if asked["return_lse"] else {}
    got |= slopes_of("d" if asked["return_lse"] else "o", leaves, results[0], got.get("lse"))
    fault = fault_of(got, expected, case)
    if (
        impl == "auto"
        and case["patterns"] is None
        and choose(q, k, pattern, value=v, **asked).impl not in BACKENDS
    ):
        fault = "`choose` names nobody"
    found.add(impl, None if fault is None else f"{where}: {fault}; {told(case)}")


def fault_of(got: dict[str, Tensor], expected: dict[str, Tensor], case: dict[str, Any]) -> str | None:
    """What differs, or None."""
    near = NEAR[case["dtype"]] * (1 + 0.03 * abs(float(case.get("scale", 1.0))))
    for name, given in got.items():
        true, x = expected[name], given.detach().double()
        if x.shape != true.shape:
            return f"{name} has shape {tuple(x.shape)}, not {tuple(true.shape)}"
        endless = true == -torch.inf
        if not torch.equal(endless, x == -torch.inf) or not bool(x[~endless].isfinite().all()):
            return f"{name} is not finite where it should be"
        off = (x[~endless] - true[~endless].double()).abs()
        most = float(true[~endless].abs().max()) if off.numel() else 0.0
        if off.numel() and float(off.max()) > near * max(1.0, most):
            return f"{name} is off by {float(off.max()):.2e} of {most:.2e}"
    return None


def told(case: dict[str, Any]) -> str:
    """The case in one line."""
    parts = []
    for name, x in case.items():
        if isinstance(x, Tensor):
            parts.append(f"{name} {tuple(x.shape)} {x.dtype}" + (f" {x.tolist()}" if x.numel() < 3 else ""))
        elif x is not None:
            parts.append(f"{name}={x}")
    return ", ".join(parts)


def patterns(times: int, seed: int, found: Found) -> None:
    """So many expressions: masks, counts, tiles, text and caches against the oracle."""
    for i in range(times):
        at = random.Random(f"pattern {seed}, {i}")
        m = at.choice([1, 2, 7, 20, 33])
        n = at.choice([m, m, at.randint(0, m)])
        p = a_pattern(at, n, m)
        try:
            found.add("patterns", pattern_fault(p, n, m, at.randint(1, 9)))
        except Exception as error:
            found.add("patterns", f"{type(error).__name__}: {error}; {p}, {n=}, {m=}, seed {seed}, try {i}")


def pattern_fault(p: Pattern, n: int, m: int, size: int) -> str | None:
    """What a pattern says of itself that the oracle does not, or None."""
    want = by_hand.grid(p, n, m)
    if not torch.equal(p.dense(n, m), want):
        return f"the mask of {p} at {n=}, {m=}"
    if p.pairs(n, m) != int(want.sum()):
        return f"pairs of {p} at {n=}, {m=}: {p.pairs(n, m)}, not {int(want.sum())}"
    if p.row_pairs(n, m).tolist() != want.sum(1).tolist():
        return f"row_pairs of {p} at {n=}, {m=}"
    if parse(str(p)) != p:
        return f"the text of {p}"
    return (
        tile_fault(p, want, n, m, size) or kept_fault(p, want) if n == m else tile_fault(p, want, n, m, size)
    )


def tile_fault(p: Pattern, want: Tensor, n: int, m: int, size: int) -> str | None:
    """Which tile is called what it is not, or None."""
    tiles = p.tiles(n, m, size)
    both = (tiles.full_at, tiles.partial_at)
    full, partial = (set(zip(*(x.tolist() for x in at), strict=True)) for at in both)
    for i in range(-(-n // size)):
        for j in range(-(-m // size)):
            part = want[i * size : (i + 1) * size, j * size : (j + 1) * size]
            kind = "full" if bool(part.all()) else "partial" if bool(part.any()) else "empty"
            said = "full" if (i, j) in full else "partial" if (i, j) in partial else "empty"
            if kind != said:
                return f"tile {i}, {j} of {p} at {n=}, {m=}, {size=} is {kind}, not {said}"
    return None


def kept_fault(p: Pattern, want: Tensor) -> str | None:
    """Where fewer keys are kept than are seen later, or None."""
    kept = p.keys_kept()
    for q in range(len(want)):
        needed = int(want[q:, : q + 1].any(0).sum())
        if kept is not None and needed > kept:
            return f"{p} keeps {kept} keys where {needed} are still seen at {q=}, m={len(want)}"
    return None
