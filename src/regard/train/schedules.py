"""Learning rates over a run: a multiplier as a function of the share of the run that is over.

The share is step/steps where a run is limited by steps, and time used/time given where it is limited by
minutes, so one schedule serves both.
"""

import math
from dataclasses import dataclass

from regard.errors import check_shares


@dataclass(frozen=True, kw_only=True)
class Falling:
    """Up in a line over `warmup` of the run, then down to `floor`."""

    warmup: float = 0.05
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_shares(warmup=self.warmup, floor=self.floor)

    def at(self, share: float) -> float:
        """The multiplier when this share of the run is over."""
        return share / self.warmup if share < self.warmup else self.after(_over(share, self.warmup))

    def after(self, over: float) -> float:
        """The multiplier when this share of what follows the warm-up is over."""
        raise NotImplementedError


class Cosine(Falling):
    """Up in a line over `warmup` of the run, then down half a cosine to `floor`.

    >>> [round(Cosine(warmup=0.1).at(share), 3) for share in (0, 0.05, 0.1, 0.55, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def after(self, over: float) -> float:
        """Half a cosine."""
        return self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * over))


class Linear(Falling):
    """Up in a line over `warmup` of the run, then down in a line to `floor`.

    >>> [Linear(warmup=0.5, floor=0.5).at(share) for share in (0, 0.25, 0.5, 0.75, 1)]
    [0.0, 0.5, 1.0, 0.75, 0.5]
    """

    def after(self, over: float) -> float:
        """A line."""
        return 1 - (1 - self.floor) * over


@dataclass(frozen=True, kw_only=True)
class Trapezoid:
    """Up in a line over `warmup` of the run, level, then down in a line to `floor` over its last `cooldown`.

    >>> [Trapezoid(warmup=0.25, cooldown=0.5).at(share) for share in (0, 0.25, 0.5, 0.75, 1)]
    [0.0, 1.0, 1.0, 0.5, 0.0]
    """

    warmup: float = 0.05
    cooldown: float = 0.3
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_shares(warmup=self.warmup, cooldown=self.cooldown, floor=self.floor)
        if self.warmup + self.cooldown > 1:
            raise ValueError(
                f"warmup and cooldown must fit the run, got warmup={self.warmup}, cooldown={self.cooldown}"
            )

    def at(self, share: float) -> float:
        """The multiplier when this share of the run is over."""
        if share < self.warmup:
            return share / self.warmup
        if share <= 1 - self.cooldown:
            return 1.0
        return 1 - (1 - self.floor) * _over(share, 1 - self.cooldown)


Schedule = Cosine | Linear | Trapezoid


def _over(share: float, start: float) -> float:
    """How much of what follows `start` is over, from 0 to 1."""
    return min(1.0, (share - start) / (1 - start)) if start < 1 else 1.0
