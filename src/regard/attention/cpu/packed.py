"""Documents packed in a row, each as a problem of its own: nothing between two of them is made. CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention import sdpa
from regard.attention.cpu import chunked, gathered
from regard.attention.problem import Attended, Form, Problem, Segments

SHORTEST = 48  # of an average document, below which one masked problem is faster than many small ones


def refuses(form: Form) -> str | None:
    """Why the problem is not one of packed documents, or None."""
    if form.device.type != "cpu":
        return f"it runs on a CPU, the query is on {form.device}"
    if "segments" not in form.uses or form.N != form.M:
        return "it takes segments of as many queries as keys"
    if not form.pattern.by_distance:
        return f"{form.pattern} does not depend on the distance alone"
    return form.asks_beyond("slopes", "segments", "softcap", "lse")


def attend(problem: Problem) -> Attended:
    """The output, document by document, where those of each row lie in one piece; else by gathered tiles."""
    form, runs = problem.form, None
    if not form.empty and problem.segments is not None:
        runs = runs_of(problem.segments)
    if not runs or len(runs) * SHORTEST > form.B * form.N:
        return gathered.attend(problem)
    out = [problem.query.new_zeros(form.H, form.N, form.E) for _ in range(form.B)]
    parts: list[list[Tensor]] = [[] for _ in range(form.B)]
    sums: list[list[Tensor]] = [[] for _ in range(form.B)]
    ends = [0] * form.B
    for b, lo, hi in runs:
        q, k, v = (x[b : b + 1, :, lo:hi] for x in (problem.query, problem.key, problem.value))
        answer = _alone(problem.changed(query=q, key=k, value=v, segments=None))
        gap = lo - ends[b]  # padding in front
        parts[b] += [out[b][:, :gap], answer.out[0]]
        if answer.lse is not None:
            sums[b] += [answer.lse.new_full((form.H, gap), -torch.inf), answer.lse[0]]
        ends[b] = hi
    for b, end in enumerate(ends):
        parts[b].append(out[b][:, end:])
        if problem.lse:
            kind = torch.promote_types(form.dtype, torch.float32)
            sums[b].append(problem.query.new_full((form.H, form.N - end), -torch.inf, dtype=kind))
    whole = torch.stack([torch.cat(some, 1) for some in parts])
    return Attended(whole, torch.stack([torch.cat(some, 1) for some in sums]) if problem.lse else None)


def _alone(problem: Problem) -> Attended:
    """One document."""
    if problem.form.plain and sdpa.fused(problem.form):
        return sdpa.attend(problem)
    return (gathered if chunked.refuses(problem.form) else chunked).attend(problem)


def runs_of(segments: Segments) -> list[tuple[int, int, int]] | None:
    """(row, from, to) of each document in order; None where one lies in pieces, or queries have others.

    >>> runs_of(Segments(*[torch.tensor([[7, 7, 2, -1], [3, 3, 3, 3]])] * 2))
    [(0, 0, 2), (0, 2, 3), (1, 0, 4)]
    """
    if not torch.equal(segments.query, segments.key):
        return None
    out = []
    for b, row in enumerate(segments.key):
        label, count = torch.unique_consecutive(row, return_counts=True)
        real = label[label >= 0]
        if len(real.unique()) < len(real):
            return None
        at = 0
        for one, length in zip(label.tolist(), count.tolist(), strict=True):
            if one >= 0:
                out.append((b, at, at + length))
            at += length
    return out
