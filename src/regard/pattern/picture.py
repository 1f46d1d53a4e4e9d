"""What a picture of a pattern shows: the grid of shades, the ticks, the title and the caption.

`svg.py` and `figure.py` put the same view on paper. Up to 512 positions a square is one pair; above, it is
a tile of pairs, shaded by the share that is seen.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.paper.ink import SEEN, UNSEEN
from regard.paper.quantities import fine_percent
from regard.pattern.counting import PER_LOOK, RowCounter
from regard.pattern.summary import Summary, summarise
from regard.pattern.work import MOST_STEPS, MOST_TABLE, TooMuchError, Work

if TYPE_CHECKING:
    from regard.pattern.base import Pattern  # for its type alone: a pattern shows itself through this file

CELLS = 512  # most positions drawn one by one
TILES = 128  # tiles per side above that
EXACT = 4096  # most positions whose tiles are counted cell by cell; above, some of their queries are
QUERIES = (32, 4)  # of each row of tiles, its first and its last among them; few where each takes long
MOST_SHADING = 500_000_000  # steps of work for the shades, so that a picture comes as soon as a count
LEVELS = 8  # shades from empty, 0, to full
WIDEST = 76  # characters of a title or a caption line
LINES = 3  # of the caption that the formula may take
# The faintest shade stands out from the empty one: what is seen at all must be seen to be seen.
BETWEEN = [f"#{0xC2 - 22 * i:02x}{0xCF - 20 * i:02x}{0xE4 - 16 * i:02x}" for i in range(LEVELS - 1)]
SHADES = [UNSEEN, *BETWEEN, SEEN]


@dataclass(frozen=True)
class View:
    """The shades of a grid of squares, each `size` positions wide, and the words around it."""

    levels: Tensor  # int8 (rows, cols), 0 empty … LEVELS full
    name: str
    n: int
    m: int
    size: int
    caption: tuple[str, ...]
    sampled: bool

    @property
    def title(self) -> str:
        """The pattern, cut to the width of a picture."""
        return shorten(self.name)

    @property
    def shift(self) -> int:
        """The position of the first query."""
        return self.m - self.n

    @property
    def shading(self) -> str:
        """What a shade means, where a square is a tile."""
        how = "estimated share" if self.sampled else "share"
        return f"{how} of {self.size}×{self.size} pairs seen, 0 to 1" if self.size > 1 else ""

    @property
    def query_ticks(self) -> dict[int, str]:
        """Positions to mark on the axis of queries."""
        return ticks(self.shift, self.m)

    @property
    def key_ticks(self) -> dict[int, str]:
        """Positions to mark on the axis of keys."""
        return ticks(0, self.m)


def view(pattern: Pattern, n: int, m: int, *, formula: bool = True) -> View:
    """All that a picture of the last n of m queries and m keys has to show; no formula has to be derived."""
    if n == 0 or m == 0:
        raise ValueError(f"a picture needs at least one query and one key, got {n=}, {m=}")
    if max(n, m) <= CELLS:
        levels, size, sampled = pattern.dense(n, m).to(torch.int8) * LEVELS, 1, False
    else:
        size = -(-max(n, m) // TILES)
        levels, sampled = _shades(pattern, n, m, size)
    single = pattern.atoms() == [pattern]
    try:
        words = caption(summarise(pattern, n, m, formula=formula and single))
    except ValueError as error:  # a picture is of use without the count
        words = tuple(textwrap.wrap(f"not counted: {error}", WIDEST, max_lines=LINES, placeholder=" …"))
    return View(levels, str(pattern), n, m, size, words, sampled)


def text(dense: Tensor) -> str:
    """A text grid, '#' seen and '.' not."""
    return "\n".join("".join("#" if seen else "." for seen in row) for row in dense.tolist())


def shades(shown: View, width: int = TILES) -> str:
    """A text picture in at most `width` columns, from ' ' for nothing to '█' for everything."""
    levels = shown.levels.float()
    every = -(-max(levels.shape) // width)
    pool = torch.nn.functional.avg_pool2d(levels[None, None], every, ceil_mode=True)[0, 0]
    faint = (pool > 0) & (pool < LEVELS / 4)
    index = torch.where(faint, torch.ones_like(pool), pool / LEVELS * 4).round().long()
    return "\n".join("".join(" ░▒▓█"[i] for i in row) for row in index.tolist())


def caption(found: Summary) -> tuple[str, ...]:
    """The exact count, the share, and the formula where there is one that fits."""
    share = "" if found.share is None else f" ({fine_percent(found.share)})"
    lines = [f"{found.pairs:,} of {found.dense:,} pairs{share}"]
    if found.formula is not None:
        # Lines break between cases: what belongs together is tied by spaces that do not break.
        tied = re.sub(r"(?<![,;]) ", "\N{NO-BREAK SPACE}", str(found.formula))
        wrapped = [
            line.replace("\N{NO-BREAK SPACE}", " ")
            for line in textwrap.wrap(tied, WIDEST, break_long_words=False)
        ]
        cases = len(found.formula.cases)
        fits = len(wrapped) <= LINES and max(map(len, wrapped)) <= WIDEST
        lines += wrapped if fits else [f"a formula of {cases} cases: see formula()"]
    return tuple(lines)


def shorten(line: str) -> str:
    """A line cut to the width of a picture."""
    return line if len(line) <= WIDEST else line[: WIDEST - 2].rstrip() + " …"


def ticks(start: int, stop: int) -> dict[int, str]:
    """Round positions from start to stop with their names, at most nine unless all fit."""
    step = 1
    while stop - start > 16 and (stop - start) / step > 9:
        step *= 2
    unit, letter = (1 << 20, "M") if step >= 1 << 20 else (1 << 10, "k") if step >= 1 << 10 else (1, "")
    return {
        at: f"{at // unit}{letter if at else ''}".replace("-", "−")
        for at in range(-(-start // step) * step, stop, step)
    }


def _shades(pattern: Pattern, n: int, m: int, size: int) -> tuple[Tensor, bool]:
    """The share of each tile that is seen, as a level, and whether it is estimated from some queries."""
    exact = max(n, m) <= EXACT
    for queries in (size, *QUERIES) if exact else QUERIES:
        try:
            return _levels(*_counted(pattern, n, m, size, queries), m, size), queries < size
        except TooMuchError:
            pass  # fewer tell less, and more than nothing
        if exact and PER_LOOK * len(pattern.atoms()) * n * m <= MOST_STEPS:
            return _levels(*_looked(pattern, n, m, size), m, size), False
    raise ValueError(
        f"{pattern} at {n=}, {m=} takes too long to shade: "
        f"the residues of {len(pattern.atoms())} values have to be counted over {m:,} keys"
    )


def _levels(count: Tensor, queries: Tensor, m: int, size: int) -> Tensor:
    """The levels of tiles of which so many queries saw so many keys; only what is empty or full looks so."""
    cells = queries[:, None] * _ends(m, size).diff(prepend=torch.zeros(1, dtype=torch.long))
    level = (count / cells * LEVELS).round().clamp(1, LEVELS - 1)
    level[count == 0], level[count == cells] = 0, LEVELS
    return level.to(torch.int8)


def _ends(m: int, size: int) -> Tensor:
    return torch.arange(size, m + size, size).clamp(max=m)


def _counted(pattern: Pattern, n: int, m: int, size: int, queries: int) -> tuple[Tensor, Tensor]:
    """How many keys of each tile so many queries of its row see, and how many there are of them."""
    first, ends = torch.arange(0, n, size), _ends(m, size)
    height = (n - first).clamp(max=size)
    if queries == size:
        within = [torch.arange(int(h)) for h in height]
    else:
        # Multiples of the golden ratio do not fall into step with a stride of the pattern.
        spread = torch.arange(2, queries, dtype=torch.double) * 0.6180339887 % 1
        within = [torch.cat([torch.tensor([0, int(h) - 1]), (spread * h).long()]) for h in height]
    asked = [len(part) for part in within]
    q = torch.cat([part + start for part, start in zip(within, first, strict=True)]) + m - n
    counter = RowCounter(pattern, m, Work(MOST_SHADING, MOST_TABLE))
    until = counter.rows(q.repeat_interleave(len(ends)), ends.repeat(len(q))).view(len(q), -1)
    until = torch.stack([part.sum(0) for part in until.split(asked)])  # (tile rows, tile columns)
    return until.diff(dim=1, prepend=torch.zeros(len(first), 1, dtype=torch.long)), torch.tensor(asked)


def _looked(pattern: Pattern, n: int, m: int, size: int) -> tuple[Tensor, Tensor]:
    """The same of all queries, by looking at each cell."""
    rows, k = torch.arange(m - n, m).split(size), torch.arange(m)
    seen = [pattern.allows(q[:, None], k[None, :]).expand(len(q), m).sum(0) for q in rows]
    count = [torch.stack([part.sum() for part in row.split(size)]) for row in seen]
    return torch.stack(count), torch.tensor([len(q) for q in rows])


def usual_length(pattern: Pattern) -> int:
    """A length at which a pattern shows what it is: that of its grid, or two of its windows, from 32 on.

    >>> from regard.pattern import Axial, Causal, Strided
    >>> [usual_length(one) for one in (Causal(), Strided(back=100), Axial(rows=3, cols=5))]
    [32, 256, 15]
    """
    totals = [atom.total for atom in pattern.atoms() if atom.total is not None]
    if totals:
        return min(totals)
    kept = pattern.keys_kept()
    return 32 if kept is None else max(32, min(EXACT, 1 << (2 * kept - 1).bit_length()))
