"""Time that a model may be used for: no forward pass begins when it is over, whatever asks for one."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TypeVar

from regard.probe.twin import twin
from regard.studio import limits
from regard.train import Run

Kind = TypeVar("Kind", bound=Run)


class Budget:
    """So many seconds from now."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = limits.SECONDS if seconds is None else seconds
        self.end = time.monotonic() + self.seconds

    @property
    def over(self) -> bool:
        """Whether they have passed."""
        return time.monotonic() > self.end

    @property
    def notice(self) -> str:
        """What to say then."""
        return f"stopped after {self.seconds:g} seconds, which is all that one question gets here"

    def check(self, *_: object) -> None:
        """Raise where they have passed."""
        if self.over:
            raise ValueError(f"this was {self.notice}")

    def of(self, run: Kind) -> Kind:
        """The run with another model over the same weights, which looks at the clock when it is called."""
        model = twin(run.model)
        model.register_forward_pre_hook(self.check)
        return replace(run, model=model)
