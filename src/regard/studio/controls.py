"""What the rooms' controls have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.errors import need
from regard.studio import show

# While somebody drags, only the newest question matters, and the old picture stays until its answer.
FAST = {"show_progress": "hidden", "trigger_mode": "always_last"}


def slider(*given: Any, **more: Any) -> Any:
    """A slider without the button that resets it, which leaves no room for the slider on a phone."""
    gr: Any = need("gradio", "studio")
    return gr.Slider(*given, buttons=[], **more)


def safe(work: Callable[..., str]) -> Callable[..., str]:
    """The same, with what is wrong with a question in place of its answer.

    >>> safe(lambda n: str(1 // n) if n else int("x"))(1)
    '1'
    """

    def answer(*given: Any) -> str:
        try:
            return work(*given)
        except ValueError as error:
            return show.fault(error)

    return answer
