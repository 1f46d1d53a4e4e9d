"""Reading a student's weights without their names: which maps could be queries, keys, values, and the rest.

Sizes of a task are chosen so that shapes tell most roles apart; what they leave open (three maps of one
shape, fused maps, heads side by side or one after another) is enumerated, and the judge tries each reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import torch
from torch import Tensor

from regard.grade.student import Entry

MOST = 400  # readings that are tried


@dataclass(frozen=True)
class HeadMaps:
    """Affine maps of attention, the bias as last column: q, k, v (H, h, d+1), o (d, H·h+1) or None.

    `probed` maps were found from responses: scores come scaled, and o is already inside v.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor | None = None
    probed: bool = False


@dataclass(frozen=True)
class AffineMap:
    """W and b as one matrix (out, in+1), with the place it is from."""

    full: Tensor
    path: str


@dataclass(frozen=True)
class NormWeights:
    """A LayerNorm."""

    weight: Tensor | None
    bias: Tensor | None
    eps: float


def affine_maps(entries: Sequence[Entry], width: int) -> list[AffineMap]:
    """Every map from `width` numbers, in order: linear layers, and parameters of one's own in any layout."""
    found: list[AffineMap] = []
    raw_bias = [
        one.value
        for one in entries
        if one.kind == "own"
        and one.value is not None
        and "b" in one.name.lower()
        and _by_hand(entries, one.path) is None
    ]
    for one in entries:
        value = one.value
        if value is None or value.ndim < 2:
            continue
        if one.kind == "linear" and value.shape[1] == width:
            bias = next((b.value for b in entries if b.path == one.path and b.name == "bias"), None)
            found.append(AffineMap(_with(value, bias), one.path))
        elif one.kind == "attention" and value.shape[-1] == width:
            bias = next((b.value for b in entries if b.path == one.path and b.name == "in_proj_bias"), None)
            found.append(
                AffineMap(
                    _with(value, bias if bias is not None and len(bias) == len(value) else None), one.path
                )
            )
        elif one.kind == "own" and width in value.shape and value.numel() > width:
            for axis in range(value.ndim):
                if value.shape[axis] == width:
                    flat = value.movedim(axis, -1).reshape(-1, width)
                    size = flat.shape[0]
                    fitting = [b for b in raw_bias if b.numel() == size and b is not value]
                    place = sum(m.full.shape[0] == size for m in found)
                    bias = fitting[place].reshape(-1) if place < len(fitting) else None
                    found.append(AffineMap(_with(flat, bias), one.full))
    return found


def _with(weight: Tensor, bias: Tensor | None) -> Tensor:
    column = torch.zeros(len(weight), 1) if bias is None else bias.reshape(-1, 1)
    return torch.cat([weight, column], 1)


def attention_readings(entries: Sequence[Entry], d: int, H: int, h: int) -> Iterator[HeadMaps]:
    """All ways to see q, k, v and o in these parameters."""
    maps = affine_maps(entries, d)
    outs = [m for m in affine_maps(entries, H * h) if m.full.shape[0] == d]
    for (q, k, v), used in _triples(maps, H, h):
        rest = [m for m in outs if not any(m is one for one in used)]
        if not rest:
            yield HeadMaps(q, k, v)
        for m in rest:
            yield HeadMaps(q, k, v, m.full)
    own = {one.full for one in entries if one.kind == "own"}
    bare = [_with(m.full[:, :-1], None) for m in outs if m.path in own and bool(m.full[:, -1].any())]
    for (q, k, v), _ in _triples(maps, H, h) if bare else ():
        for full in bare:  # what was taken for its bias may be that of a norm
            yield HeadMaps(q, k, v, full)


def _triples(
    maps: Sequence[AffineMap], H: int, h: int
) -> Iterator[tuple[tuple[Tensor, Tensor, Tensor], list[AffineMap]]]:
    whole = [m for m in maps if m.full.shape[0] == H * h]
    for three in permutations(whole[:6], 3):
        for layout in range(2 if H > 1 else 1):
            q, k, v = (_heads(m.full, H, h, layout) for m in three)
            yield (q, k, v), list(three)
    fused = [m for m in maps if m.full.shape[0] == 3 * H * h]
    for m in fused:
        for blocks in _fused(m.full, H, h):
            for order in permutations(range(3)):
                yield (blocks[order[0]], blocks[order[1]], blocks[order[2]]), [m]
    for two, one in product([m for m in maps if m.full.shape[0] == 2 * H * h], whole):
        for pair in (two.full.view(2, H, h, -1), two.full.view(H, 2, h, -1).transpose(0, 1)):
            parts = [pair[0], pair[1], _heads(one.full, H, h, 0)]
            for order in permutations(range(3)):
                yield (parts[order[0]], parts[order[1]], parts[order[2]]), [two, one]
    if H > 1:
        yield from _by_head(maps, H, h)


def _by_head(
    maps: Sequence[AffineMap], H: int, h: int
) -> Iterator[tuple[tuple[Tensor, Tensor, Tensor], list[AffineMap]]]:
    """Heads with maps of their own, one head after another or one role after another."""
    small = [m for m in maps if m.full.shape[0] == h]
    thirds = [m for m in maps if m.full.shape[0] == 3 * h]
    stacks = []
    if len(small) == 3 * H:
        every = torch.stack([m.full for m in small])
        stacks += [every.view(H, 3, h, -1).transpose(0, 1), every.view(3, H, h, -1)]
    if len(small) == 3:  # one head, used for all
        every = torch.stack([m.full for m in small])
        stacks.append(every[:, None].expand(3, H, h, every.shape[-1]))
    if len(thirds) == 1 and H > 1:  # one head in one map
        for blocks in _fused(thirds[0].full, 1, h):
            stacks.append(blocks.expand(3, H, h, blocks.shape[-1]))
    if len(thirds) == H:
        stacks.append(torch.stack([m.full.view(3, h, -1) for m in thirds], 1))
    for stack in stacks:
        for order in permutations(range(3)):
            yield (stack[order[0]], stack[order[1]], stack[order[2]]), list(small)


def _heads(full: Tensor, H: int, h: int, layout: int) -> Tensor:
    return full.view(H, h, -1) if layout == 0 else full.view(h, H, -1).transpose(0, 1)


def _fused(full: Tensor, H: int, h: int) -> Iterator[Tensor]:
    yield full.view(3, H, h, -1)
    yield full.view(H, 3, h, -1).transpose(0, 1)
    if H > 1:
        yield full.view(H, h, 3, -1).permute(2, 0, 1, 3)
        yield full.view(3, h, H, -1).transpose(1, 2)
        yield full.view(h, H, 3, -1).permute(2, 1, 0, 3)
    else:
        yield full.view(h, 3, -1).transpose(0, 1)[:, None]


def norms(entries: Sequence[Entry], width: int) -> list[tuple[NormWeights, ...]]:
    """All ways to see LayerNorms of `width` numbers in these parameters, each with its norms in order.

    A module with two vectors and nothing else is one that was written by hand; which of the two is the gain
    is left open. Where there is neither, any two vectors may be one, after the reading without weights.
    """
    sure = tuple(_norms(entries, width, (0, 1)).values())
    if sure:
        hand = any(_by_hand(entries, one.path) is not None for one in entries)
        return [sure, tuple(_norms(entries, width, (1, 0)).values())] if hand else [sure]
    vectors = [one.value.flatten() for one in entries if _is_vector(one, width) and one.value is not None][:6]
    pairs = [(NormWeights(gain, bias, 1e-5),) for gain, bias in permutations(vectors, 2)]
    return [(), *pairs, *((NormWeights(gain, None, 1e-5),) for gain in vectors)]


def _norms(entries: Sequence[Entry], width: int, order: tuple[int, int]) -> dict[str, NormWeights]:
    out: dict[str, NormWeights] = {}
    for one in entries:
        pair = _by_hand(entries, one.path)
        if one.kind == "norm":
            there = out.get(one.path, NormWeights(None, None, one.eps))
            weight = one.value if one.name == "weight" else there.weight
            out[one.path] = NormWeights(weight, one.value if one.name == "bias" else there.bias, one.eps)
        elif pair is not None and pair[0].numel() == width:
            out[one.path] = NormWeights(pair[order[0]], pair[order[1]], 1e-5)
    return out


def _by_hand(entries: Sequence[Entry], path: str) -> tuple[Tensor, Tensor] | None:
    """The two vectors of a module of one's own that has nothing else, as a LayerNorm has."""
    own = [one for one in entries if one.path == path]
    if len(own) != 2 or own[0].value is None or own[1].value is None:
        return None
    width = own[0].value.numel()
    if not all(_is_vector(one, width) for one in own):
        return None
    return own[0].value.flatten(), own[1].value.flatten()


def _is_vector(one: Entry, width: int) -> bool:
    value = one.value
    return one.kind == "own" and value is not None and value.numel() == width == max(value.shape, default=0)


def by_layer(entries: Sequence[Entry], count: int) -> tuple[list[list[Entry]], list[Entry]]:
    """Parameters by the first number in their path, where that number runs over all layers; and the rest."""
    groups: dict[str, dict[int, list[Entry]]] = {}
    for one in entries:
        found = re.search(r"\d+", one.full)
        if found is not None:
            groups.setdefault(one.full[: found.start()], {}).setdefault(int(found[0]), []).append(one)
    stacked = {p: g for p, g in groups.items() if len(g) == count and _alike(g)}
    if not stacked and count > 1:  # one layer, used again and again
        return [], list(entries)
    layers: list[list[Entry]] = [[] for _ in range(count)]
    taken: set[str] = set()
    for group in stacked.values():
        for place, number in enumerate(sorted(group)):
            layers[place] += group[number]
            taken |= {one.full for one in group[number]}
    return layers, [one for one in entries if one.full not in taken]


def _alike(group: dict[int, list[Entry]]) -> bool:
    shapes = [[None if e.value is None else tuple(e.value.shape) for e in one] for one in group.values()]
    return all(one == shapes[0] for one in shapes)
