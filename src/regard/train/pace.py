"""How far a run is: by its steps, or by the time it has used, in a way that can be replayed.

A run limited by minutes follows its clock. So that a run which goes on after a crash takes the same learning
rates again, the clock is read at fixed steps only, every reading is written down, and between two readings
the time is reckoned from the last one.
"""

import time
from dataclasses import dataclass, field


@dataclass
class Pace:
    """The share of a run that is over; one of `steps` and `seconds` is given.

    >>> pace = Pace(steps=None, seconds=100.0)
    >>> pace.mark(10, 5.0)
    >>> pace.share(10), pace.share(20)  # half a second for each step
    (0.05, 0.1)
    """

    steps: int | None
    seconds: float | None
    step: int = 0
    used: float = 0.0

    def mark(self, step: int, used: float) -> None:
        """Note the time that the first `step` steps took."""
        self.step, self.used = step, used

    def share(self, step: float) -> float:
        """The share of the run that is over after so many steps."""
        if self.steps is not None:
            return step / self.steps
        assert self.seconds is not None
        each = self.used / self.step if self.step else 0.0
        return (self.used + (step - self.step) * each) / self.seconds

    def middle(self, step: int) -> float:
        """The share at the middle of a step, where its learning rate is taken: neither 0 nor 1."""
        return min(1.0, self.share(step + 0.5))

    def over(self, step: int) -> bool:
        """Whether the run ends before this step."""
        return step >= self.steps if self.steps is not None else self.share(step) >= 1.0

    def left(self, step: int) -> float | None:
        """Seconds still to go, as far as is known."""
        if self.step == 0:
            return None
        if self.steps is not None:
            return (self.steps - step) * self.used / self.step
        assert self.seconds is not None
        return max(0.0, self.seconds * (1 - self.share(step)))


def due(step: int, every: int) -> bool:
    """Whether losses and clock are read after this many steps: at powers of two first, then regularly.

    >>> [step for step in range(1, 25) if due(step, 10)]
    [1, 2, 4, 8, 10, 20]
    """
    return step % every == 0 or (step < every and step & (step - 1) == 0)


@dataclass
class Stopwatch:
    """Seconds by kind: what is on counts, the rest waits.

    >>> watch = Stopwatch({"training": 2.0})
    >>> watch.turn("training"); watch.turn(None); watch.seconds["training"] >= 2.0
    True
    """

    seconds: dict[str, float] = field(default_factory=dict)
    _kind: str | None = None
    _since: float = 0.0

    def turn(self, kind: str | None) -> None:
        """Count from here on as this kind; None counts nothing."""
        now = time.perf_counter()
        if self._kind is not None:
            self.seconds[self._kind] = self.seconds.get(self._kind, 0.0) + now - self._since
        self._kind, self._since = kind, now

    def read(self, kind: str) -> float:
        """The seconds of one kind so far."""
        self.turn(self._kind)
        return self.seconds.get(kind, 0.0)
