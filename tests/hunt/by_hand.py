"""Another oracle: patterns, dropout and attention once more from their descriptions, sharing no code."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.pattern import And, Not, Or, Pattern

WORD = 0xFFFFFFFF


def sees(p: Any, q: int, k: int) -> bool:  # noqa: PLR0911, PLR0912 - one case a value
    """Whether the query at q may look at key k, as the documents say it."""
    if isinstance(p, And):
        return all(sees(part, q, k) for part in p.parts)
    if isinstance(p, Or):
        return any(sees(part, q, k) for part in p.parts)
    if isinstance(p, Not):
        return not sees(p.part, q, k)
    match type(p).__name__:
        case "Full":
            return True
        case "Causal":
            return k <= q
        case "Strided":
            return 0 <= q - k <= p.back
        case "Windowed":
            return k <= q and q // p.size == k // p.size
        case "Blocks":
            return q // p.size == k // p.size
        case "Dilated":
            return 0 <= q - k <= p.back * p.step and (q - k) % p.step == 0
        case "SparseStrided":
            return k <= q and (q - k <= p.stride or (q - k) % p.stride == 0)
        case "SparseFixed":
            return k <= q and (q // p.stride == k // p.stride or k % p.stride >= p.stride - p.summary)
        case "Global":
            return q < p.first or k < p.first
        case "Prefix":
            return k <= q or k < p.length
        case "Documents":
            return _document(p.lengths, q) == _document(p.lengths, k)
        case "Axial":
            return q // p.cols == k // p.cols or q % p.cols == k % p.cols
        case "Neighbourhood":
            return abs(q // p.cols - k // p.cols) <= p.reach and abs(q % p.cols - k % p.cols) <= p.reach
        case "RandomBlocks":
            return bool(p.allows(q, k))  # its hash is its definition
    raise TypeError(type(p).__name__)


def _document(lengths: tuple[int, ...], at: int) -> int:
    for number, length in enumerate(lengths):
        if at < length:
            return number
        at -= length
    raise ValueError("past the last document")


def grid(p: Pattern, n: int, m: int, start: int | None = None) -> Tensor:
    """The mask (n, m) of queries from `start` on, the last n of m unless said."""
    start = m - n if start is None else start
    return torch.tensor([[sees(p, start + i, k) for k in range(m)] for i in range(n)]).view(n, m).bool()


def keeps(seed: int, dropout: float, head: int, query: int, from_last: int) -> bool:
    """Whether dropout keeps a weight: a number of 32 bits from seed and place, against the share dropped."""
    low, high = seed & WORD, (seed >> 32) & WORD
    first = _mix(low + _mix(high ^ (head * 0x9E3779B1 & WORD)))
    first = _mix(first + query * 0x9E3779B1)
    second = _mix(first ^ high ^ 0x846CA68B)
    x = (_mix(from_last * 0x9E3779B1 + first) ^ second) * 0xC2B2AE35 & WORD
    return (x ^ (x >> 15)) >= round(dropout * (1 << 32))


def _mix(x: int) -> int:
    x &= WORD
    x = (x ^ (x >> 16)) * 0x7FEB352D & WORD
    x = (x ^ (x >> 15)) * 0x846CA68B & WORD
    return x ^ (x >> 16)


def attention(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor, *,
    scale: Tensor | float | None = None, bias: Tensor | None = None, slopes: Tensor | None = None,
    starts: list[int] | None = None, softcap: float | None = None, sinks: Tensor | None = None,
    drops: Callable[[int, int, int, int], bool] | None = None, dropout: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(out, weights, lse) row by row in float64, over the pairs of `allowed` (B,H,N,M); gradients flow."""
    (B, H, N, D), (G, M) = query.shape, key.shape[1:3]
    scale = D**-0.5 if scale is None else scale
    rows, lines, sums = [], [], []
    for b, h, i in ((b, h, i) for b in range(B) for h in range(H) for i in range(N)):
        g, at = h // (H // G), (M - N if starts is None else starts[b]) + i
        seen = [j for j in range(M) if allowed[b, h, i, j] and (bias is None or bias[b, h, i, j] > -math.inf)]
        line = torch.zeros(M, dtype=torch.float64)
        out = torch.zeros(value.shape[3], dtype=torch.float64) + 0 * query[b, h, i].sum()
        terms = []
        for j in seen:
            score = (query[b, h, i] * key[b, g, j]).sum() * scale
            if softcap is not None:
                score = softcap * torch.tanh(score / softcap)
            if bias is not None:
                score = score + bias[b, h, i, j]
            if slopes is not None:
                score = score - slopes[h] * abs(at - j)
            terms.append(score)
        if sinks is not None:
            terms.append(sinks[h])
        total = torch.stack(terms).logsumexp(0) if terms else torch.tensor(-math.inf, dtype=torch.float64)
        if seen:
            weights = torch.stack([(term - total).exp() for term in terms[: len(seen)]])
            line = line.index_put((torch.tensor(seen),), weights)
            used = [
                w / (1 - dropout) if drops is None or drops(b, h, i, j) else 0 * w
                for w, j in zip(weights, seen, strict=True)
            ]
            out = sum((w * value[b, g, j] for w, j in zip(used, seen, strict=True)), out)
        rows.append(out)
        lines.append(line)
        sums.append(total)
    return (
        torch.stack(rows).view(B, H, N, -1),
        torch.stack(lines).view(B, H, N, M),
        torch.stack(sums).view(B, H, N),
    )
