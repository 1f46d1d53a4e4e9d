"""Our kernels forward and FlashAttention-4 backward."""

from __future__ import annotations

from regard.attention import flash
from regard.attention.joined import dense, joined, wants_gradients
from regard.attention.problem import Attended, Form, Problem
from regard.attention.triton import plain, tiles
from regard.attention.triton.plan import SCALES


def refuses(form: Form) -> str | None:
    """Why one of the two cannot take the problem, or None."""
    if not SCALES[0] <= form.scale <= SCALES[1]:
        return f"it takes scales from {SCALES[0]:g} to {SCALES[1]:g}, got {form.scale:g}"
    return flash.refuses(form) or tiles.refuses(form)


def attend(problem: Problem) -> Attended:
    """The output of our kernels."""
    if not wants_gradients(problem):
        return tiles.attend(problem)
    return joined(dense(problem), plain.forward, flash.backward, "mixed")
