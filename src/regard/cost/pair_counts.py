"""How many pairs a pattern allows, and how many queries and keys take part: as numbers or as formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.cost.setting import Setting
from regard.layers.letters import Number, is_letter, least, letter, unless
from regard.pattern import (
    And,
    Atom,
    Blocks,
    Causal,
    Dilated,
    Full,
    Global,
    Or,
    Pattern,
    Strided,
    Windowed,
)
from regard.pattern.formulas import numbers

if TYPE_CHECKING:
    from sympy import Expr, Symbol

Fields = dict[str, "Expr"]  # of a value, by name

CELLS = 1 << 22  # of a mask looked at in one go
MOST_CELLS = 1 << 34


@dataclass(frozen=True)
class PairCounts:
    """Of one head over the whole batch: pairs, queries that see a key, and keys that a query sees."""

    pairs: Number
    queries: Number
    keys: Number

    def times(self, count: Number) -> PairCounts:
        """The same for so many independent problems."""
        return PairCounts(self.pairs * count, self.queries * count, self.keys * count)


def pair_counts(s: Setting, pattern: Pattern, n: Number) -> PairCounts:
    """What `pattern` shows to n queries at n keys in every row of the batch.

    >>> from regard.pattern import Strided
    >>> pair_counts(Setting(batch=2), Strided(back=1), 4)
    PairCounts(pairs=14, queries=8, keys=8)
    """
    if s.segments is not None:
        return segmented(pattern, s.segments[:, s.segments.shape[1] - n :], s.segments)
    if is_letter(n) or _letters_in(pattern, s.letters):
        if not all_take_part(pattern):
            why = "which queries see nothing depends on n, or is not known"
            raise ValueError(f"{pattern} has no formula here: {why}")
        return PairCounts(pairs_formula(pattern, n, s.letters), n, n).times(s.batch)
    pattern.resolve(n)
    return counted(pattern, n, n).times(s.batch)


@lru_cache(maxsize=1024)
def counted(pattern: Pattern, n: int, m: int) -> PairCounts:
    """The last n of m positions look at all m."""
    quick = _quick(pattern, n) if n == m else None
    pairs = pattern.pairs(n, m) if quick is None else quick
    if n == m and all_take_part(pattern):
        return PairCounts(pairs, n, n)
    return PairCounts(pairs, int((pattern.row_pairs(n, m) > 0).sum()), _keys_seen(pattern, n, m))


def _quick(pattern: Pattern, n: int) -> int | None:
    """Pairs of the commonest values by their formulas in integers: no time at any length."""
    if isinstance(pattern, Full):
        return n * n
    if isinstance(pattern, Causal):
        return n * (n + 1) // 2
    if isinstance(pattern, Strided):
        short = min(n, pattern.back + 1)
        return short * (2 * n - short + 1) // 2
    if isinstance(pattern, Windowed):
        whole, rest = divmod(n, pattern.size)
        return (whole * pattern.size * (pattern.size + 1) + rest * (rest + 1)) // 2
    return None


def segmented(pattern: Pattern, of_query: Tensor, of_key: Tensor) -> PairCounts:
    """The same where a pair also needs equal, non-negative segments: (B, n) of queries and (B, m) of keys."""
    n, m = of_query.shape[1], of_key.shape[1]
    pattern.resolve(n, m)
    k = torch.arange(m)
    total = PairCounts(0, 0, 0)
    for own, row in zip(of_query.cpu(), of_key.cpu(), strict=True):
        pairs, queries, keys = 0, 0, torch.zeros(m, dtype=torch.bool)
        for q in torch.arange(m - n, m).split(max(1, CELLS // max(m, 1))):
            seen = (
                pattern.allows(q[:, None], k[None, :])
                & (own[q - (m - n)][:, None] == row[None, :])
                & (row >= 0)
            )
            pairs += int(seen.sum())
            queries += int(seen.any(1).sum())
            keys |= seen.any(0)
        total = PairCounts(total.pairs + pairs, total.queries + queries, total.keys + int(keys.sum()))
    return total


def masked(allowed: Tensor) -> PairCounts:
    """The same of a mask (…, N, M)."""
    return PairCounts(int(allowed.sum()), int(allowed.any(-1).sum()), int(allowed.any(-2).sum()))


def all_take_part(pattern: Pattern) -> bool:
    """Whether every query surely sees a key and every key is surely seen, at any length.

    >>> from regard.pattern import Causal
    >>> all_take_part(Causal()), all_take_part(~Causal()), all_take_part(Global(first=1))
    (True, False, True)
    """
    parts = pattern.parts if isinstance(pattern, Or) else (pattern,)
    return any(_sees_itself(part) or (isinstance(part, Global) and part.first > 0) for part in parts)


def _sees_itself(pattern: Pattern) -> bool:
    if isinstance(pattern, And):
        return all(_sees_itself(part) for part in pattern.parts)
    if isinstance(pattern, Or):
        return any(_sees_itself(part) for part in pattern.parts)
    return isinstance(pattern, Atom) and _atom_sees_itself(pattern)


@lru_cache(maxsize=1024)
def _atom_sees_itself(atom: Atom) -> bool:
    """Whether a value says so, or its first positions show it and it repeats after them."""
    if atom.sees_itself is not None:
        return atom.sees_itself
    if atom.distance:
        return bool(atom.allows(0, 0))
    if atom.period is None or atom.horizon is None or atom.period + atom.horizon[1] > CELLS:
        return False
    own = torch.arange(atom.period + atom.horizon[1])
    return bool(atom.allows(own, own).all())


def _keys_seen(pattern: Pattern, n: int, m: int) -> int:
    if pattern.atoms() and pattern.by_distance:
        # Key k meets the distances q − k of q from m − n to m − 1.
        allowed = pattern.allows(torch.arange(1 - m, m), torch.tensor(0)).long()
        before = torch.cat([allowed.new_zeros(1), allowed.cumsum(0)])
        k = torch.arange(m)
        low = m - n - k + m - 1  # index of distance m − n − k
        return int((before[low + n] > before[low]).sum())
    if n * m > MOST_CELLS:
        raise ValueError(f"{pattern} at {n=}, {m=} is too large to find the keys that nobody sees")
    k, out = torch.arange(m), torch.zeros(m, dtype=torch.bool)
    for q in torch.arange(m - n, m).split(max(1, CELLS // max(m, 1))):
        out |= pattern.allows(q[:, None], k[None, :]).expand(len(q), m).any(0)
    return int(out.sum())


def _letters_in(pattern: Pattern, letters: Mapping[str, Symbol]) -> set[str]:
    return {name for atom in pattern.atoms() for name in atom.letters.values()} & set(letters)


def pairs_formula(pattern: Pattern, n: Number, letters: Mapping[str, Symbol]) -> Expr:
    """`pairs` as an expression in n; with letters, those fields of a single value stay letters."""
    atoms = pattern.atoms()
    used = _letters_in(pattern, letters)
    if used and pattern != atoms[0]:
        raise ValueError(f"letters are kept for single values only, got the expression {pattern}")
    if not used:
        return pattern.formula().subs(letter("n"), n)
    import sympy

    n, atom = sympy.sympify(n), atoms[0]
    kept = {name: letters[short] for name, short in atom.letters.items() if short in letters}
    return atom.closed_form(n, numbers(atom) | kept)


# How many keys decoding must keep of single values, by their fields: `keys_kept` where these may be letters.
KEPT: dict[type[Atom], Callable[[Fields], Number]] = {
    Strided: lambda f: f["back"] + 1,
    Dilated: lambda f: f["back"] * f["step"] + 1,
    Windowed: lambda f: f["size"],
    Blocks: lambda f: f["size"],
}


def keys_held(
    pattern: Pattern, n: Number, letters: Mapping[str, Symbol] | None = None, *, early: bool = False
) -> Number:
    """How many keys a cache holds after n positions; an `early` one less what the next token will not see.

    >>> band = Strided(back=3)
    >>> keys_held(band, 2), keys_held(band, 9), keys_held(band, 9, early=True)
    (2, 4, 3)
    """
    kept: Number | None = pattern.keys_kept()
    if kept is None:
        return n
    if used := _kept_letters(pattern, letters or {}):
        atom = pattern.atoms()[0]
        if type(atom) not in KEPT:
            raise ValueError(f"how many keys {pattern} keeps is not known as a formula in {', '.join(used)}")
        kept = KEPT[type(atom)](numbers(atom) | used)
    if not early:
        return least(n, kept)
    # transformers cuts the last kept − 1 with [-kept + 1:], which of 1 is everything.
    whole = unless(kept, 1, 1)
    return least(n, kept - 1) * whole + n * (1 - whole)


def _kept_letters(pattern: Pattern, letters: Mapping[str, Symbol]) -> Fields:
    """The fields of a single value that stay letters; of expressions there are none."""
    atoms = pattern.atoms()
    if len(atoms) != 1:
        return {}
    return {name: letters[short] for name, short in atoms[0].letters.items() if short in letters}
