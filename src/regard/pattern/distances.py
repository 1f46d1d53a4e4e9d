"""Pairs of a pattern that depends on the distance alone, in closed form: no walk, at any length.

The distances are cut where a span of some value begins or ends. Between two cuts a value holds always, never
or at the multiples of its step, so the pattern is a sum over "L divides d"; and the number of queries at a
distance is linear in it. What is left are sums of arithmetic progressions, in Python's integers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from regard.pattern.multiples import multiples
from regard.pattern.residues import State
from regard.pattern.spans import Thinning

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern


def pairs(pattern: Pattern, n: int, m: int) -> int:
    """The pairs of the last n of m queries with m keys."""
    far = max(n, m)
    held: list[tuple[int, int, Atom, bool | Thinning]] = []
    for atom in pattern.atoms():
        # One query in the middle of twice as many keys meets every distance there is.
        for span in atom.spans(torch.tensor([far]), 2 * far + 1):
            first, last = far + 1 - int(span.hi), far + 1 - int(span.lo)  # first ≤ d < last
            held.append((first, last, atom, True if span.thinning is None else span.thinning))
    cuts = {1 - n, m, 0, m - n}.union(*((first, last) for first, last, _, _ in held))
    total = 0
    for start, stop in pairwise(sorted(cut for cut in cuts if 1 - n <= cut <= m)):
        members: dict[Atom, bool | Thinning] = dict.fromkeys(pattern.atoms(), False)
        members |= {atom: holds for first, last, atom, holds in held if first <= start < last}
        terms = multiples(State(pattern, members), far)
        for step, weight in terms.items():
            total += int(weight) * _queries(start, stop, step, n, m)
    return total


def _queries(start: int, stop: int, step: int, n: int, m: int) -> int:
    """How many queries there are over the multiples of `step` in [start, stop), between two cuts."""
    low, high = -(-start // step), -(-stop // step)
    if low >= high:
        return 0

    def at(d: int) -> int:
        # Queries q with q − d a key: max(m − n, d) ≤ q < min(m, m + d); linear as 0 and m − n are cuts.
        return max(0, min(m, m + d) - max(m - n, d))

    return (high - low) * (at(low * step) + at((high - 1) * step)) // 2
