"""Each hook of a value against the mask of what it allows; `checking.py` runs them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern import formulas, stretches, tiling
from regard.pattern.base import Atom, Pattern
from regard.pattern.spans import BlockTail, CacheBound, EveryStep, Span

if TYPE_CHECKING:
    import sympy

FARTHEST = 640  # positions looked at for a period
TILES = 1, 3, 8
STATES = "empty", "partial", "full"


class MismatchError(Exception):
    """What a hook says is not what `allows` says."""


def sizes(most: int) -> Iterator[int]:
    """1, 2, 3, … and ever fewer up to `most`: the smallest example is found first."""
    size = 1
    while size < most:
        yield size
        size += 1 + size // 4
    yield most


def differing(a: Tensor, b: Tensor) -> tuple[int, int] | None:
    """The first place (row, column) at which two tables differ, counted from their corner."""
    places = (a != b).nonzero()
    if not len(places):
        return None
    row, column = min(places.tolist(), key=lambda place: (max(place), place))
    return row, column


def _says(seen: object) -> str:
    return "seen" if seen else "not seen"


def _compare(name: str, told: Tensor, mask: Tensor, where: str = "") -> None:
    if (place := differing(told, mask)) is not None:
        q, k = place
        told_of, true = _says(told[place]), _says(mask[place])
        raise MismatchError(f"query {q}, key {k}{where}: {told_of} by {name}, {true} by allows")


def total(atom: Atom) -> None:
    """A length that fits, and no longer one."""
    length = atom.total
    if length is None:
        return
    if type(length) is not int or length < 1:
        raise MismatchError(f"it must be a whole number of at least 1, or None, got {length!r}")
    last = torch.tensor(length - 1)
    atom.allows(last, last)
    atom.resolve(length)
    try:
        atom.resolve(length + 1)
    except ValueError:
        return
    raise MismatchError(f"it is {length}, but {length + 1} positions are not refused")


def distance(atom: Atom, mask: Tensor) -> None:
    """What allows(q − k, 0) says holds for all pairs at that distance."""
    if not atom.distance:
        return
    at = torch.arange(len(mask))
    _compare("the distance alone", atom.allows(at[:, None] - at, torch.tensor(0)).expand(mask.shape), mask)


def sees_itself(atom: Atom, mask: Tensor) -> None:
    """The diagonal."""
    if atom.sees_itself and not mask.diagonal().all():
        q = int((~mask.diagonal()).nonzero()[0])
        raise MismatchError(f"query {q}, key {q}: seen by sees_itself, not seen by allows")


def spans(atom: Atom, mask: Tensor) -> None:
    """Every key that is seen lies in one span, and in one only."""
    for m in sizes(len(mask)):
        k = torch.arange(m)
        order = torch.randperm(m, generator=torch.Generator().manual_seed(m))
        for q in (k, order[: m // 2 + 1]):  # rows come in any order
            count = torch.zeros(m, m, dtype=torch.long)
            for span in atom.spans(q, m):
                count[q] += _inside(span, q, k).long()
            if (twice := (count > 1).nonzero()).numel():
                row, key = twice[0].tolist()
                raise MismatchError(
                    f"query {row}, key {key}, {m=}: in {int(count[row, key])} spans, must be disjoint"
                )
            told, true = torch.zeros(m, m, dtype=torch.bool), torch.zeros(m, m, dtype=torch.bool)
            told[q], true[q] = count[q] > 0, mask[q, :m]
            _compare("spans", told, true, f", {m=}")


def _inside(span: Span, q: Tensor, k: Tensor) -> Tensor:
    if span.lo.shape != q.shape or span.hi.shape != q.shape:
        raise MismatchError(
            f"ends must be {tuple(q.shape)}, got {tuple(span.lo.shape)}, {tuple(span.hi.shape)}"
        )
    if span.step > 1 and span.tail is not None:
        raise MismatchError(f"a span has step={span.step} or tail={span.tail}, not both")
    out = (k >= span.lo[:, None]) & (k < span.hi[:, None])
    match span.thinning:
        case EveryStep(step):
            return out & ((q[:, None] - k) % step == 0)
        case BlockTail(period, first):
            return out & (k % period >= first)
    return out


def above(atom: Atom, mask: Tensor) -> None:
    """The queries before each key that see it."""
    at = torch.arange(len(mask))
    told = atom.above(at)
    if told is not None:
        lo, hi = told
        earlier = at[:, None] < at
        inside = (at[:, None] >= lo) & (at[:, None] < hi)
        _compare("above", inside & earlier, mask & earlier)


def tile_key(atom: Atom, mask: Tensor) -> None:
    """Tiles with equal numbers have equal content, wherever the first query stands."""
    m = len(mask)
    for size in TILES:
        q0, k0 = (
            x.flatten() for x in torch.meshgrid(torch.arange(m), torch.arange(0, m, size), indexing="ij")
        )
        kind, first = tiling.alike([atom], q0, k0, m, size)
        content = torch.zeros(m + size, m + size, dtype=torch.bool)
        content[:m, :m] = mask
        cell = torch.arange(size)
        tiles = content[(q0[:, None] + cell)[:, :, None], (k0[:, None] + cell)[:, None, :]]
        wrong = (tiles != tiles[first[kind]]).flatten(1).any(1).nonzero()[:, 0]
        if len(wrong):
            here = min(wrong.tolist(), key=lambda i: int(torch.maximum(q0[i], k0[i])))
            there = int(first[kind[here]])
            places = [(int(q0[i]), int(k0[i])) for i in (there, here)]
            raise MismatchError(
                f"tiles of {size}×{size} at {places[0]} and {places[1]} have equal keys, not equal cells"
            )


def tile_groups(atom: Atom, mask: Tensor) -> None:
    """Tiles that are judged without looking are judged right."""
    for m in sizes(len(mask)):
        for n in sorted({m, -(-m // 2)}):
            for size in TILES[1:]:
                told = torch.zeros(-(-n // size), -(-m // size), dtype=torch.int8)
                parts = tiling.by_sweep(atom, n, m, size)
                rows, columns, kinds = (torch.cat(part) for part in parts)
                told[rows.long(), columns.long()] = kinds
                true = states(mask[m - n : m, :m], size)
                if (place := differing(told, true)) is not None:
                    says = f"{STATES[told[place]]} by tile_groups, {STATES[true[place]]} by allows"
                    raise MismatchError(f"{n=}, {m=}: tile {place} of {size}×{size} is {says}")


def states(mask: Tensor, size: int) -> Tensor:
    """0 empty, 1 partial, 2 full, of every tile; short ones by the cells that exist."""
    n, m = mask.shape
    shape = -(-n // size), size, -(-m // size), size
    seen, exists = (
        torch.zeros(shape[0] * size, shape[2] * size),
        torch.zeros(shape[0] * size, shape[2] * size),
    )
    seen[:n, :m], exists[:n, :m] = mask.float(), 1
    count, cells = seen.view(shape).sum((1, 3)), exists.view(shape).sum((1, 3))
    return ((count > 0).to(torch.int8) + (count == cells).to(torch.int8)) * (cells > 0)


def kept(pattern: Pattern, mask: Tensor) -> None:
    """Keys that later queries see are the latest, the first, or few others."""
    _bounded("kept", pattern.kept(), mask)


def complement_kept(atom: Atom, mask: Tensor) -> None:
    """The same for the complement."""
    _bounded("complement_kept", atom.complement_kept(), ~mask)


def _bounded(name: str, bound: CacheBound | None, mask: Tensor) -> None:
    if bound is None:
        return
    at = torch.arange(len(mask))
    needed = (mask.flip(0).cumsum(0).flip(0) > 0).tril()  # q, k: some query from q on sees k ≤ q
    others = needed & (at >= bound.first) & (at[:, None] - at >= bound.recent)
    for q in (others.sum(1) > bound.other).nonzero()[:1, 0].tolist():
        key = int(others[q].nonzero()[0])
        later = q + int(mask[q:, key].nonzero()[0])
        raise MismatchError(f"key {key} is not kept after position {q} by {bound}, but query {later} sees it")


def period(atom: Atom, mask: Tensor) -> None:
    """What `period` promises, together with `horizon`."""
    if atom.period is None or atom.horizon is None:
        return
    step, (back, first) = atom.period, atom.horizon
    if step < 1 or back < 0 or first < 0:
        raise MismatchError(f"period must be at least 1 and horizon at least 0, got {step}, {(back, first)}")
    count = min(
        [
            max(len(mask), min(first + back + atom.horizon_ahead + 4 * step + 8, FARTHEST)),
            *([atom.total] if atom.total else []),
        ]
    )
    at = torch.arange(count)
    seen = atom.allows(at[:, None], at).expand(count, count)
    said = f"period={step}, horizon={(back, first)}"
    old, new = at[: max(0, count - step)], at[step:]
    gap = old[:, None] - at  # a row for the later of the two, before it moves on
    far = (gap >= back + step) & (old[:, None] >= first)
    inner = (old[:, None] >= first) & (old >= first)
    moves = {
        "both move": (seen[new][:, new] != seen[old][:, old]) & inner,
        "the query moves": (seen[new] != seen[old]) & far,
        "the key moves": (seen.T[new] != seen.T[old]) & far,
    }
    for move, wrong in moves.items():
        if (place := differing(wrong, torch.zeros_like(wrong))) is not None:
            q, k = place if move != "the key moves" else place[::-1]
            raise MismatchError(
                f"query {q}, key {k}: not the same when {move} on by {step}, as {said} promises"
            )


def repeats(atom: Atom, mask: Tensor) -> None:
    """What the proof in `repeating` asks of a value that repeats, beside what `period` promises."""
    if not atom.repeats:
        return
    if atom.period is None or atom.horizon is None or not atom.gives("spans"):
        raise MismatchError("what repeats must give its period, horizon and spans")
    step, (back, first) = atom.period, atom.horizon
    count = max(len(mask), min(first + back + atom.horizon_ahead + 4 * step + 8, FARTHEST))
    at = torch.arange(count)
    seen = atom.allows(at[:, None], at).expand(count, count)
    old, new = at[: max(0, count - step)], at[step:]
    settled = (old[:, None] - at > max(step, back, atom.horizon_ahead)) & (old[:, None] >= first)
    ahead = at >= (at[:, None] + max(step, atom.horizon_ahead)).clamp(min=first)
    ways = {
        f"not the same for the query {step} further on": (seen[new] != seen[old]) & settled,
        "later windows are told apart": (seen != seen[:, -1:]) & ahead,
    }
    for why, wrong in ways.items():
        if (place := differing(wrong, torch.zeros_like(wrong))) is not None:
            raise MismatchError(f"query {place[0]}, key {place[1]}: {why}")


def turns(atom: Atom, mask: Tensor) -> None:
    """Between two turns each end of a span stands still, or goes along with the query."""
    known = stretches.turns(atom) if atom.gives("spans") else None
    if known is None or not len(mask):
        return
    count = len(mask)
    turned = torch.zeros(count, dtype=torch.bool)
    for place, every in known:
        turned[slice(place % every, None, every) if every else slice(place, place + 1)] = True
    for span in atom.spans(torch.arange(count), count):
        for name, end in (("lo", span.lo), ("hi", span.hi)):
            move = end.expand(count).diff()
            inside = ~turned[1:]
            wrong = inside & (move != 0) & (move != 1)
            wrong[1:] |= inside[1:] & inside[:-1] & (move[1:] != move[:-1])
            if wrong.any():
                q = int(wrong.nonzero()[0])
                raise MismatchError(
                    f"{name} of a span turns between queries {q} and {q + 1}, which is no turn"
                )


def closed_form(atom: Atom, mask: Tensor) -> None:
    """The formula in numbers and, with its letters put in, in letters."""
    from sympy import Symbol

    names = {field.name for field in fields(atom)}
    if not set(atom.letters) <= names or len({*atom.letters.values(), "n"}) <= len(atom.letters):
        raise MismatchError(
            f"letters must be different ones, but n, for some of its fields, got {atom.letters}"
        )
    n, whole = Symbol("n"), Symbol("n", integer=True, positive=True)
    put = {Symbol(letter): getattr(atom, name) for name, letter in atom.letters.items()}
    try:
        plain = atom.closed_form(whole, formulas.numbers(atom))
        lettered = atom.closed_form(
            n, formulas.numbers(atom) | {x: Symbol(y) for x, y in atom.letters.items()}
        )
    except ValueError:
        return  # it has none
    only = () if atom.total is None else (atom.total,)
    same_counts(lambda at: plain.subs(whole, at), mask, "closed_form", only)
    same_counts(lambda at: lettered.subs({**put, n: at}), mask, f"closed_form in {atom.letters}", only)


def same_counts(
    value: Callable[[int], sympy.Expr], mask: Tensor, name: str, only: tuple[int, ...] = ()
) -> None:
    """A formula gives the pairs that are allowed, at all of the sizes."""
    for n in only or sizes(len(mask)):
        if n <= len(mask) and value(n) != (pairs := int(mask[:n, :n].sum())):
            raise MismatchError(f"n={n}: {value(n)} by {name}, {pairs} by allows")


HOOKS: dict[str, Callable[[Atom, Tensor], None]] = {
    "distance": distance,
    "sees_itself": sees_itself,
    "spans": spans,
    "above": above,
    "tile_key": tile_key,
    "tile_groups": tile_groups,
    "kept": kept,
    "complement_kept": complement_kept,
    "period": period,
    "repeats": repeats,
    "turns": turns,
    "closed_form": closed_form,
}
