"""`check_pattern`: what a pattern says about itself, held against what it allows, pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial

import torch
from torch import Tensor

from regard.errors import check_int
from regard.pattern import hook_checks
from regard.pattern.base import Atom, Pattern
from regard.pattern.hook_checks import MismatchError, differing, sizes
from regard.pattern.text import parse

LEAST, MOST = 40, 192  # positions looked at unless told
ONE_BY_ONE = 20  # positions whose pairs are also asked about as single integers
TILES = 3, 16
LONGEST_FORMULA = 1024  # positions counted for the formula of an expression


def check_pattern(pattern: Pattern, n: int | None = None) -> None:
    """Raise a ValueError with the smallest example where a value or a part of it is wrong.

    The first n positions are looked at; unless told, some more than its fields reach, 192 at most. What goes
    wrong only later, or for other values of the fields, is not found.

    >>> from regard.pattern import Causal, Strided
    >>> check_pattern(Causal() & ~Strided(back=3))
    """
    if not isinstance(pattern, Pattern):
        raise ValueError(f"check_pattern takes a pattern, got {type(pattern).__name__}")
    if n is not None:
        check_int("n", n, 1)
    for atom in pattern.atoms():
        for hook, check in {"fields": _fields, "text": _text, "total": hook_checks.total}.items():
            _holds(atom, hook, partial(check, atom))
        mask = _looked(atom, n)
        for hook, compare in hook_checks.HOOKS.items():
            _holds(atom, hook, partial(compare, atom, mask))
        _holds(atom, "counts", partial(_counts, atom, mask))
    if pattern.atoms() != [pattern]:
        _holds(pattern, "text", partial(_text, pattern))
        mask = _looked(pattern, n)
        _holds(pattern, "kept", partial(hook_checks.kept, pattern, mask))
        _holds(pattern, "counts", partial(_counts, pattern, mask))
        _holds(pattern, "formula", partial(_formula, pattern, mask))


def _holds(value: Pattern, hook: str, check: Callable[[], None]) -> None:
    """Run one check; whatever goes wrong in it is a ValueError that names the hook and the value."""
    text = value.called(value.word) if isinstance(value, Atom) else str(value)
    shown = text if hook != "fields" else repr(value)
    shown = shown if len(shown) < 200 else shown[:200] + " …"
    try:
        check()
    except MismatchError as wrong:
        raise ValueError(f"{hook} of {shown}: {wrong}") from None
    except Exception as error:
        what = str(error).split("\n", 1)[0]
        raise ValueError(f"{hook} of {shown} fails: {type(error).__name__}: {what}") from error


def _fields(atom: Atom) -> None:
    """A frozen, hashable value: equal fields, equal values; other fields, other values."""
    kind = type(atom)
    named = {field.name: getattr(atom, field.name) for field in fields(atom) if field.init}
    if "__dataclass_params__" not in kind.__dict__ and getattr(atom, "__dict__", {}):
        raise MismatchError(
            f"{kind.__name__} holds {', '.join(vars(atom))} and is no @dataclass(frozen=True)"
        )
    for name, value in named.items():
        try:
            setattr(atom, name, value)
        except AttributeError:
            continue
        raise MismatchError(f"{name} can be set: {kind.__name__} must be a @dataclass(frozen=True)")
    hash(atom)
    again = kind(**named)
    if again != atom or hash(again) != hash(atom):
        raise MismatchError("made again from its fields it is not equal, or has another hash")
    place = torch.arange(ONE_BY_ONE if atom.total is None else min(ONE_BY_ONE, atom.total))
    for name in (name for name, value in named.items() if type(value) is int):
        for other in (named[name] + 1, named[name] - 1):
            try:
                changed = replace(atom, **{name: other})
                seen = changed.allows(place[:, None], place)
            except (ValueError, IndexError):
                continue  # no such value
            if changed == atom and not torch.equal(seen, atom.allows(place[:, None], place)):
                raise MismatchError(f"it equals the one with {name}={other}, which allows other pairs")


def _text(pattern: Pattern) -> None:
    """Its text parses back to it."""
    text = str(pattern)
    found = parse(text)
    if found != pattern or str(found) != text:
        raise MismatchError(f"its text parses to {found!r}")


def _looked(pattern: Pattern, n: int | None) -> Tensor:
    """The mask of the first positions, after `allows` was asked in every way."""
    totals = [atom.total for atom in pattern.atoms() if atom.total is not None]
    count = min([_reach(pattern) if n is None else n, *totals])
    out: list[Tensor] = []
    _holds(pattern, "allows", lambda: out.append(_mask(pattern, count)))
    return out[0]


def _reach(pattern: Pattern) -> int:
    """Positions in which what the fields say comes to pass."""
    numbers = [LEAST // 3]
    for atom in pattern.atoms():
        for field in fields(atom):
            value = getattr(atom, field.name) if field.init else 0
            numbers += [x for x in (value if isinstance(value, tuple) else (value,)) if isinstance(x, int)]
        numbers += [atom.period or 0, *(atom.horizon or ())]
    return min(MOST, 3 * max(numbers) + 8)


def _mask(pattern: Pattern, count: int) -> Tensor:
    at = torch.arange(count)
    mask = _told(pattern.allows(at[:, None], at[None, :]), (count, count), "q (N, 1) and k (1, N)")
    few = min(count, ONE_BY_ONE)
    single = torch.zeros(few, few, dtype=torch.bool)
    for q in range(few):
        for k in range(few):
            one = pattern.allows(q, k)
            if not isinstance(one, bool):
                raise MismatchError(f"allows({q}, {k}) must be True or False, got {one!r}")
            single[q, k] = one
    if (place := differing(mask[:few, :few], single)) is not None:
        q, k = place
        raise MismatchError(
            f"query {q}, key {k}: {bool(single[q, k])} for integers, {bool(mask[q, k])} for tensors"
        )
    ways = {
        "vectors of one length": pattern.allows(at, at.flip(0)),
        "many queries and one key": pattern.allows(at, at[-1]),
        "one query and many keys": pattern.allows(at[-1], at),
        "a batch": pattern.allows(at[None, :, None].repeat(2, 1, 1), at[None, None, :])[:1],
        "the same positions again": pattern.allows(at[:, None], at[None, :]),
    }
    wanted = (mask[at, at.flip(0)], mask[:, -1], mask[-1], mask[None], mask)
    for (way, seen), want in zip(ways.items(), wanted, strict=True):
        if not torch.equal(_told(seen, tuple(want.shape), way), want):
            raise MismatchError(f"{way} are told something else than a table of all positions")
    return mask


def _told(seen: object, shape: tuple[int, ...], way: str) -> Tensor:
    """An answer for tensors in the shape of both."""
    if not isinstance(seen, Tensor) or seen.dtype != torch.bool:
        what = str(seen.dtype) if isinstance(seen, Tensor) else type(seen).__name__
        raise MismatchError(f"it must give a bool tensor for {way}, got {what}")
    try:
        return seen.expand(shape)
    except RuntimeError:
        raise MismatchError(f"its answer for {way} must fit {shape}, got {tuple(seen.shape)}") from None


def _counts(pattern: Pattern, mask: Tensor) -> None:
    """What is counted, row by row and by tiles, with as many queries as keys and with fewer."""
    for m in sizes(len(mask)):
        for n in sorted({m, -(-m // 2), 1} | ({m + 3} if pattern.any_shape else set())):
            try:
                pattern.resolve(n, m)
            except ValueError:
                continue  # its geometry does not fit
            seen = mask[m - n : m, :m] if n <= m else pattern.dense(n, m)
            if pattern.pairs(n, m) != int(seen.sum()):
                raise MismatchError(
                    f"{n=}, {m=}: {pattern.pairs(n, m)} pairs, allows gives {int(seen.sum())}"
                )
            if not torch.equal(pattern.row_pairs(n, m), seen.sum(1)):
                raise MismatchError(f"{n=}, {m=}: row_pairs are {pattern.row_pairs(n, m).tolist()}")
            for size in TILES:
                found = pattern.tiles(n, m, size).dense()
                if (place := differing(found, hook_checks.states(seen, size))) is not None:
                    raise MismatchError(
                        f"{n=}, {m=}: tile {place} of {size}×{size} is {hook_checks.STATES[found[place]]}"
                    )


def _formula(pattern: Pattern, mask: Tensor) -> None:
    """The formula of an expression, where there is one that is quickly found."""
    from regard.pattern.formulas import settling

    try:
        period, back, first = settling(pattern)
        if back + first + 7 * period > LONGEST_FORMULA:
            return
        formula = pattern.formula()
    except ValueError:
        return
    hook_checks.same_counts(lambda n: formula.subs("n", n), mask, "formula()")
