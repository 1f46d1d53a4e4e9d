"""What the processes of the tests do: train by a small recipe, some of them with an accident on the way."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from regard.train import loop, train
from regard.train.steps import Step
from tests.train import small


def run(kind: str, folder: str, resume: bool | str = False, changes: dict[str, Any] | None = None) -> None:
    loop.draw_curves = lambda folder: None  # type: ignore[assignment]
    train(getattr(small, kind)(**(changes or {})), folder, device="cpu", resume=resume)


def slowly(*words: Any) -> None:
    _each(lambda done: time.sleep(0.2))
    run(*words)


def stopped(after: int, *words: Any) -> None:
    """Asked to stop, in one process alone, while the step after so many is taken."""
    _each(lambda done: done == after and os.environ["RANK"] == "1" and os.kill(os.getpid(), signal.SIGTERM))
    run(*words)


def dying(after: int, *words: Any) -> None:
    """All processes end without a word after so many steps."""
    _each(lambda done: done == after and os._exit(9))
    run(*words)


def _each(before: Any) -> None:
    """Do something before every step, with the number of those done."""
    call, done = Step.__call__, [0]

    def step(self: Step, *parts: Any, **more: Any) -> None:
        before(done[0])
        done[0] += 1
        call(self, *parts, **more)

    Step.__call__ = step  # type: ignore[method-assign]
