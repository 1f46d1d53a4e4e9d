"""Attention where each row, or each document of a row, counts its positions from its own first token."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention import attend
from regard.attention.problem import same_segment
from regard.hub.arguments import Arguments, masked
from regard.hub.masks import MaskSpec
from regard.hub.slots import SlottedKeys
from regard.pattern import Full, Pattern

FEW = 16  # queries for which a mask costs less than a plan


def attend_anchored(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    spec: MaskSpec,
    documents: Tensor | None,
    held: SlottedKeys | None,
    given: Arguments,
) -> Tensor | tuple[Tensor, Tensor]:
    """What `attend` gives for these; padding and documents are segments, never a dense mask.

    A pattern in which the distance decides needs nothing more. Every other one runs once for the rows that
    begin alike, or for each document; few queries, or the definition, have a mask of their own.
    """
    whole = documents is None and spec.real is None
    if held is None and (pattern.by_distance or (whole and spec.first == 0)):
        told = given if whole else _labelled(given, spec, documents, query)
        return attend(query, key, value, pattern, **told)
    moved = held is None and spec.first > 0
    dense = {"mask", "bias"} & given.keys() or given["return_weights"] or query.shape[2] <= FEW
    if held is not None or moved or dense or torch.compiler.is_compiling():
        seen = pairs_seen(query, key, pattern, spec, documents, held)
        return attend(query, key, value, Full(), **masked(given, seen))
    if documents is not None:
        return _by_document(query, key, value, pattern, documents, given)
    return _by_beginning(query, key, value, pattern, spec, given)


def _labelled(given: Arguments, spec: MaskSpec, documents: Tensor | None, query: Tensor) -> Arguments:
    out = given.copy()
    if documents is not None:
        out["segments"] = documents
    elif spec.real is not None:
        out["key_segments"] = spec.real.to(query.device).int() - 1
    return out


def pairs_seen(
    query: Tensor,
    key: Tensor,
    pattern: Pattern,
    spec: MaskSpec,
    documents: Tensor | None,
    held: SlottedKeys | None,
) -> Tensor:
    """Which keys each query sees: bool (B or 1, 1, N, M)."""
    N, M, device = query.shape[2], key.shape[2], query.device
    start = spec.start if held is None else held.start
    q = torch.arange(start, start + N, device=device)
    k = spec.first + torch.arange(M, device=device) if held is None else held.positions.to(device)
    if documents is not None:
        at = q - beginnings(documents)  # B N
        same = same_segment(documents[:, :, None], documents[:, None])
        return (pattern.allows(at[:, :, None], at[:, None]) & same)[:, None]
    if spec.real is None or spec.begins is None:
        return (pattern.allows(q[:, None], k) & (k >= 0)).expand(N, M)[None, None]
    begins = spec.begins.to(device)[:, None]
    real = spec.real.to(device)[:, k.clamp(min=0)] if held is not None else spec.real.to(device)  # B M
    allowed = pattern.allows((q - begins)[:, :, None], (k - begins)[:, None])
    return (allowed & (real & (k >= 0) & (k >= begins))[:, None])[:, None]


def beginnings(documents: Tensor) -> Tensor:
    """Where the document of each position (B,N) begins.

    >>> beginnings(torch.tensor([[0, 0, 1, 1, 1]])).tolist()
    [[0, 0, 2, 2, 2]]
    """
    new = torch.diff(documents, prepend=documents[:, :1] - 1, dim=1) != 0
    at = torch.arange(documents.shape[1], device=documents.device)
    return torch.where(new, at, 0).cummax(1).values


def _by_document(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    documents: Tensor,
    given: Arguments,
) -> Tensor:
    rows = []
    for b, row in enumerate(documents):
        lengths = torch.unique_consecutive(row, return_counts=True)[1].tolist()
        parts = zip(*(x[b : b + 1].split(lengths, dim=2) for x in (query, key, value)), strict=True)
        rows.append(torch.cat([attend(q, k, v, pattern, **given) for q, k, v in parts], dim=2))
    return torch.cat(rows)


def _by_beginning(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    spec: MaskSpec,
    given: Arguments,
) -> Tensor:
    assert spec.begins is not None
    assert spec.real is not None
    N, M = query.shape[2], key.shape[2]
    labels = spec.real.to(query.device).int() - 1
    out: list[Tensor | None] = [None] * query.shape[0]
    for begin in spec.begins.unique().tolist():
        rows = (spec.begins == begin).nonzero()[:, 0].to(query.device)
        padding = max(0, begin - (M - N))  # queries in front that are none
        q, k, v = query[rows][:, :, padding:], key[rows][:, :, begin:], value[rows][:, :, begin:]
        told = given.copy()
        told["key_segments"] = labels[rows][:, begin:]
        found = attend(q, k, v, pattern, **told)
        found = torch.cat([found.new_zeros(*found.shape[:2], padding, found.shape[3]), found], dim=2)
        for row, one in zip(rows.tolist(), found, strict=True):
            out[row] = one
    return torch.stack([one for one in out if one is not None])
