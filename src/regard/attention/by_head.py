"""One pattern for each head: heads of equal patterns are attended together, and put back in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.attention.bias import DistanceBias
from regard.attention.inputs import pattern_of
from regard.attention.problem import Choice, check_tensors
from regard.pattern import Pattern


def attend_by_head(
    attend: Callable[..., Any],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    patterns: Sequence[Pattern | str],
    given: dict[str, Any],
) -> Any:
    """What `attend` gives with `patterns[h]` for head h; `given` are its other arguments."""
    heads, order = _grouped(query, key, value, patterns)
    H, G = query.shape[1], key.shape[1]
    parts = [
        attend(*_of_heads(query, key, value, mine, H // G), pattern, **_given(given, mine, H))
        for pattern, mine in heads.items()
    ]
    if isinstance(parts[0], Tensor):
        return torch.cat(parts, 1).index_select(1, order)
    return tuple(torch.cat(found, 1).index_select(1, order) for found in zip(*parts, strict=True))


def choose_by_head(
    choose: Callable[..., Choice],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    patterns: Sequence[Pattern | str],
    given: dict[str, Any],
) -> Choice:
    """What `choose` says of the heads of each pattern, in one."""
    heads, _ = _grouped(query, key, value, patterns)
    H, G = query.shape[1], key.shape[1]
    found: dict[str, str] = {}
    for pattern, mine in heads.items():
        q, k, v = _of_heads(query, key, value, mine, H // G)
        choice = choose(q, k, pattern, value=v, **_given(given, mine, H))
        found.setdefault(choice.impl, choice.why)
    return Choice(", ".join(found), "; ".join(found.values()))


def _grouped(
    query: Tensor, key: Tensor, value: Tensor, patterns: Sequence[Pattern | str]
) -> tuple[dict[Pattern, list[int]], Tensor]:
    """The heads of each pattern, and where each head is found when those are put behind one another."""
    check_tensors(query, key, value)
    H = query.shape[1]
    if len(patterns) != H:
        raise ValueError(f"pattern must be one, or one for each of H={H} heads, got {len(patterns)}")
    heads: dict[Pattern, list[int]] = {}
    for h, pattern in enumerate(patterns):
        heads.setdefault(pattern_of(pattern), []).append(h)
    return heads, torch.tensor([h for mine in heads.values() for h in mine], device=query.device).argsort()


def _of_heads(query: Tensor, key: Tensor, value: Tensor, mine: list[int], each: int) -> list[Tensor]:
    """The queries of some heads, and their keys: grouped where whole groups are among them, else repeated."""
    groups = list(dict.fromkeys(h // each for h in mine))
    whole = mine == [g * each + i for g in groups for i in range(each)]
    keys = groups if whole else [h // each for h in mine]
    return [query[:, mine], key[:, keys], value[:, keys]]


def _given(given: dict[str, Any], mine: list[int], H: int) -> dict[str, Any]:
    """The other arguments, where they differ from head to head only those of some."""
    out = dict(given)
    for name in ("bias", "mask"):
        x = out[name]
        if isinstance(x, Tensor) and x.ndim >= 3 and x.shape[-3] == H:
            out[name] = x[..., mine, :, :]
        elif isinstance(x, DistanceBias):
            slopes = x.slopes
            chosen = slopes[mine] if isinstance(slopes, Tensor) else tuple(slopes[h] for h in mine)
            out[name] = replace(x, slopes=chosen)
    if isinstance(out["sinks"], Tensor):
        out["sinks"] = out["sinks"][mine]
    return out
