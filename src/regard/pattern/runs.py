"""Which positions a rank holds, needs or sends, in a few numbers: stretches that repeat at equal steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.pattern.intervals import NOTHING, Intervals


@dataclass(frozen=True)
class RepeatedRun:
    """`times` stretches of `length` positions each, the first from `start` on, one every `step` positions."""

    start: int
    length: int
    step: int = 0
    times: int = 1

    @property
    def stop(self) -> int:
        """Behind its last position."""
        return self.start + self.step * (self.times - 1) + self.length

    def __str__(self) -> str:
        if self.times == 1:
            return f"{self.start}" if self.length == 1 else f"{self.start}…{self.stop - 1}"
        first = RepeatedRun(self.start, self.length)
        return f"{first} and every {self.step} on, {self.times:,} times"


@dataclass(frozen=True, eq=False)
class Runs:
    """A set of positions as runs, in ascending order: a hashable value whose size follows its regularity.

    >>> some = Runs.of(Intervals(torch.tensor([3, 11, 19, 40]), torch.tensor([5, 13, 21, 50])))
    >>> print(some, "-", some.count, "positions")
    3…4 and every 8 on, 3 times; 40…49 - 16 positions
    """

    start: Tensor
    length: Tensor
    step: Tensor
    times: Tensor

    @classmethod
    def of(cls, given: Intervals) -> Runs:
        """The same positions; three and more equal stretches at equal steps become one run."""
        lo, length, count = given.lo, given.hi - given.lo, len(given.lo)
        step = lo.diff(append=lo[-1:])  # that of the last is never asked for
        begins = torch.ones(count, dtype=torch.bool)  # a run
        if count > 2:
            equal = (length[2:] == length[1:-1]) & (length[1:-1] == length[:-2])
            # Stretch i + 1 lies between two that are like it, at equal steps.
            middle = pad(equal & (step[1:-1] == step[:-2]), (1, 1)).int().diff()
            chains = ((middle == turn).nonzero()[:, 0].tolist() for turn in (1, -1))
            at = 0
            for begin, last in zip(*chains, strict=True):
                begin, stop = max(begin, at), last + 2  # noqa: PLW2901 - what ends a run does not begin one
                if stop - begin > 2:
                    begins[begin + 1 : stop] = False
                    at = stop
        first = begins.nonzero()[:, 0]
        times = first.diff(append=first.new_tensor([count]))
        return cls(lo[first], length[first], torch.where(times > 1, step[first], 0), times)

    @property
    def count(self) -> int:
        """How many positions there are."""
        return int((self.length * self.times).sum())

    def intervals(self) -> Intervals:
        """All stretches."""
        which = torch.repeat_interleave(self.times)
        nth = torch.arange(len(which)) - (self.times.cumsum(0) - self.times)[which]
        lo = self.start[which] + nth * self.step[which]
        return Intervals(lo, lo + self.length[which])

    def positions(self) -> Tensor:
        """Every position, int64 (count,), ascending."""
        return self.intervals().positions()

    def below(self, x: Tensor) -> Tensor:
        """How many of the positions lie below each x: counted run by run."""
        turn = ((x[:, None] - self.start) // self.step.clamp(min=1)).clamp(min=0).minimum(self.times - 1)
        over = (x[:, None] - self.start - turn * self.step).clamp(min=0).minimum(self.length)
        return (turn * self.length + over).sum(1)

    def __and__(self, that: Intervals) -> Intervals:
        """What both have; only stretches that may meet are looked at."""
        found = [NOTHING]
        for lo, hi in zip(that.lo, that.hi, strict=True):
            step = self.step.clamp(min=1)
            first = ((lo - self.start - self.length) // step + 1).clamp(min=0).minimum(self.times)
            last = ((hi - 1 - self.start) // step + 1).clamp(min=0).minimum(self.times)
            some = last > first
            met = Runs(
                (self.start + first * self.step)[some],
                self.length[some],
                self.step[some],
                (last - first)[some],
            )
            found.append(met.intervals() & Intervals(lo[None], hi[None]))
        return Intervals(*(torch.cat([one[i] for one in found]) for i in (0, 1)))

    @property
    def whole(self) -> bool:
        """Whether they are one stretch, or none at all."""
        return len(self.start) == 0 or (len(self.start) == 1 and int(self.times[0]) == 1)

    def runs(self) -> list[RepeatedRun]:
        """The runs as plain values."""
        return [RepeatedRun(*numbers) for numbers in zip(*(x.tolist() for x in self._numbers), strict=True)]

    def as_dict(self) -> dict[str, object]:
        """The count, and each run as [start, length, step, times]."""
        return {"count": self.count, "runs": torch.stack(self._numbers, 1).tolist()}

    @property
    def nbytes(self) -> int:
        """The memory that the runs take."""
        return sum(x.nbytes for x in self._numbers)

    @property
    def _numbers(self) -> list[Tensor]:
        return [self.start, self.length, self.step, self.times]

    def __str__(self) -> str:
        return "; ".join(map(str, self.runs())) or "nothing"

    def __eq__(self, that: object) -> bool:
        if not isinstance(that, Runs):
            return NotImplemented
        return all(map(torch.equal, self._numbers, that._numbers))

    def __hash__(self) -> int:
        first = tuple(x[:4].tolist() for x in (self.start, self.length))
        return hash((len(self.start), *map(tuple, first)))
