"""What the rooms' controls have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from regard.errors import need
from regard.studio import show

# While somebody drags, only the newest question matters, and the old picture stays until its answer.
FAST = {"show_progress": "hidden", "trigger_mode": "always_last"}
Control = Any  # of Gradio, which gives its controls their events at run time


def slider(*given: object, **more: object) -> Control:
    """A slider without the button that resets it, which leaves no room for the slider on a phone."""
    gr = need("gradio", "studio")
    return gr.Slider(*given, buttons=[], **more)


def safe(work: Callable[..., str]) -> Callable[..., str]:
    """The same, with what is wrong with a question in place of its answer.

    >>> safe(lambda n: str(1 // n) if n else int("x"))(1)
    '1'
    """

    @wraps(work)  # so that another process finds it by its name
    def answer(*given: object) -> str:
        try:
            return work(*given)
        except ValueError as error:
            return show.fault(error)

    return answer
