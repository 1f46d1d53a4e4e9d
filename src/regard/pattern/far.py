"""What ranks need of each other where a pattern repeats: found on a shorter sequence, however long it is.

From the view of one rank the sequence is made of its own stretches and of the gaps between them. By the proof
in `repeating`, deep inside of a gap the keys that it needs repeat after a period P: far behind its queries
residues decide, far ahead nothing tells keys apart. So whole periods are left out of the middle of all
stretches and gaps, what is needed is found for what is left, and at each place where J periods are missing
what is there goes on for J periods more. `KEPT` periods stay on either side, beside all that is near.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from regard.pattern.intervals import NOTHING, Intervals, between, merged
from regard.pattern.needs import needed
from regard.pattern.repeating import Rhythm, rhythm
from regard.pattern.runs import Runs

if TYPE_CHECKING:
    from regard.pattern.base import Pattern
    from regard.pattern.dealing import Deal

KEPT = 4  # periods on either side of what is left out: enough to be seen as a run
WORTH = 4  # times shorter, from which on this is worth it

Missing = list[tuple[int, int]]  # (behind which position of the shorter sequence, how many positions)


def received(pattern: Pattern, deal: Deal) -> tuple[Runs, ...] | None:
    """What each rank needs of others; None where the pattern does not repeat, or hardly gets shorter so."""
    beat = rhythm(pattern)
    if beat is None or not _thinned(pattern):
        return None
    near = 2 * (beat.start + beat.window + KEPT * beat.period)
    pieces = max(len(deal.stretches(rank)) for rank in range(deal.ranks))
    if WORTH * (2 * pieces + 1) * near > deal.n:
        return None
    known: dict[tuple[tuple[int, int], ...], tuple[Intervals, Runs]] = {}
    return tuple(
        _of_rank(pattern, beat, near, deal.stretches(rank), deal.n, known) for rank in range(deal.ranks)
    )


def _thinned(pattern: Pattern) -> bool:
    """Whether residues decide: else what is needed is a few intervals already."""
    q = torch.zeros(1, dtype=torch.long)
    return any(span.thinning is not None for atom in pattern.atoms() for span in atom.spans(q, 1))


def _of_rank(
    pattern: Pattern,
    beat: Rhythm,
    near: int,
    stretches: Sequence[tuple[int, int]],
    n: int,
    known: dict[tuple[tuple[int, int], ...], tuple[Intervals, Runs]],
) -> Runs:
    missing, at = [], 0
    own = [stretch for stretch in stretches if stretch[1] > stretch[0]]
    edges = sorted({0, n, *(edge for stretch in own for edge in stretch)})
    places = {0: 0}
    for first, last in pairwise(edges):
        left_out = max(0, last - first - near) // beat.period * beat.period
        if left_out:
            missing.append((at + near // 2, left_out))
        at += last - first - left_out
        places[last] = at
    short = [(places[first], places[last]) for first, last in own]
    key = (*short, (0, at))
    if key not in known:
        mine = between(*short)
        parts = [needed(pattern, list(stretch), at)[0] for stretch in short]
        both = merged(*(torch.cat([NOTHING[i], *(one[i] for one in parts)]) for i in (0, 1))) - mine
        known[key] = both, Runs.of(both)
    found, runs = known[key]
    longer = _prolonged(runs, missing, beat.period)
    return Runs.of(_inflated(found, missing, beat.period)) if longer is None else longer


def _prolonged(runs: Runs, missing: Missing, period: int) -> Runs | None:
    """The runs with what is missing put back in; None where more than one run is at such a place.

    >>> some = Runs.of(Intervals(torch.arange(0, 80, 8), torch.arange(2, 82, 8)))
    >>> print(_prolonged(some, [(40, 8000)], 8))
    0…1 and every 8 on, 1,010 times
    """
    start, length, step, times = (x.clone() for x in (runs.start, runs.length, runs.step, runs.times))
    stop = runs.start + runs.step * (runs.times - 1) + runs.length
    for at, count in missing:
        start += (runs.start >= at) * count
        here = ((runs.start < at + period) & (stop > at - period)).nonzero()[:, 0]
        if not len(here):
            continue
        if len(here) > 1 or int(runs.start[here]) > at - period or int(stop[here]) < at + period:
            return None
        if int(runs.times[here]) == 1:
            length[here] += count
        elif period % int(runs.step[here]) == 0:
            times[here] += count // int(runs.step[here])
        else:
            return None
    return Runs(start, length, step, times)


def _inflated(found: Intervals, missing: Missing, period: int) -> Intervals:
    """The same interval by interval, for any set that repeats where something is missing.

    >>> some = Intervals(torch.tensor([0, 3, 8, 11]), torch.tensor([1, 5, 9, 13]))
    >>> print(Runs.of(_inflated(some, [(8, 16)], 8)))
    0; 3…4; 8; 11…12; 16; 19…20; 24; 27…28
    """
    for at, count in reversed(missing):  # from behind, so that positions before stay what they are
        whole = between((0, at)), between((at - period, at)), between((at, int(found.hi[-1:].sum()) + 1))
        before, last, after = (found & part for part in whole)
        again = torch.arange(0, count, period)[:, None] + period
        repeated = Intervals((last.lo + again).flatten(), (last.hi + again).flatten())
        parts = (before, repeated, after.moved(count))
        found = merged(*(torch.cat([one[i] for one in parts]) for i in (0, 1)))
    return found
