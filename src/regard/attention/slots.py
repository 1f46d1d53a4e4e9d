"""A few queries over the slots of a cache: a mask of its own size, and no key repeated for grouped heads."""

import torch

from regard.attention import reference
from regard.attention.problem import Attended, Form, Problem
from regard.pattern import Full


def refuses(form: Form) -> str | None:
    """Why the problem is not for slots, or None."""
    return form.asks_beyond("mask", "bias", "slopes", "segments", "offset", "slots")


def attend(problem: Problem) -> Attended:
    """The output; a slot that holds nothing, or nothing that may be seen, has no weight."""
    q, form = problem.query, problem.form
    if form.empty:
        return reference.attend(problem)
    B, H, G, N, _, D = form.sizes[:6]
    kind = torch.promote_types(form.dtype, torch.float32)
    grouped = q.reshape(B, G, H // G * N, D)  # the heads of a group are further queries of its keys
    # A product of halves would be rounded to their few digits, or overflow, before the softmax.
    scores = (grouped.to(kind) @ problem.key.to(kind).mT).view(B, H, N, -1) * problem.scale
    spelt = problem.segments is None and problem.slots is None and form.pattern == Full()
    allowed = problem.mask if spelt else problem.allowed()
    bias = problem.dense_bias()
    if bias is not None:
        scores = scores + bias
        finite = bias > -torch.inf
        allowed = finite if allowed is None else allowed & finite
    if allowed is None:
        weights = scores.softmax(-1)
    else:
        # Finite, so that a query without keys meets no NaN on its way to zeros.
        weights = scores.masked_fill(~allowed, torch.finfo(kind).min).softmax(-1) * allowed
    return Attended((weights.to(form.dtype).view(B, G, H // G * N, -1) @ problem.value).view(B, H, N, -1))
