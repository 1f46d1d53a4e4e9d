"""How much a count may cost: steps are counted, not seconds, so that every machine refuses the same."""

from __future__ import annotations

from dataclasses import dataclass

MOST_STEPS = 1_800_000_000  # small operations on one number each: a bit more than a second on one core
MOST_TABLE = 1 << 22  # numbers held at a time, where steps are counted


class TooMuchError(Exception):
    """A count that would take longer than it may; the caller says why in its own words."""


@dataclass
class Work:
    """The steps that are left (None: as many as it takes), and how many numbers may be held at a time."""

    left: int | None = None
    table: int = 1 << 28

    @classmethod
    def quick(cls) -> Work:
        """What a count may take that somebody waits for."""
        return cls(MOST_STEPS, MOST_TABLE)

    @classmethod
    def patient(cls) -> Work:
        """What a plan may take, which is made once: some forty seconds on one core."""
        return cls(32 * MOST_STEPS)

    def spend(self, steps: int, held: int = 0) -> None:
        """Take so many steps, or raise before they are taken."""
        if held > self.table:
            raise TooMuchError
        if self.left is not None:
            self.left -= steps
            if self.left < 0:
                raise TooMuchError

    def foresee(self, steps: int) -> None:
        """Raise now where so many more steps will not be left."""
        if self.left is not None and steps > self.left:
            raise TooMuchError

    def foresee_rest(self, before: int | None, done: int, of: int) -> None:
        """The same for the rest of a job, by what was left before a part of it."""
        if self.left is not None and before is not None:
            self.foresee((before - self.left) * (of - done) // done)
