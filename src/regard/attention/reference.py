"""The definition: softmax of scaled scores over exactly the pairs that the pattern allows."""

import torch
from torch import Tensor

from regard.attention.drops import kept
from regard.attention.problem import Attended, Form, Problem


def refuses(form: Form) -> str | None:
    """It takes every problem."""
    return None


def attend(problem: Problem) -> Attended:
    """The output, its normalisers and its weights before dropout, in time and memory N·M."""
    B, H, G, N, M = problem.form.sizes[:5]
    heads = H // G if G else 1
    kind = torch.promote_types(problem.form.dtype, torch.float32)
    query, key = problem.query.to(kind), problem.key.to(kind).repeat_interleave(heads, dim=1)
    scores = query @ key.mT * problem.scale  # B H N M
    if scores.requires_grad and kind != problem.form.dtype:
        # Made in more digits, lest it overflow, it has a gradient in its inputs' own, as any product of them.
        scores.register_hook(lambda grad: grad.to(problem.form.dtype).to(kind))
    scores = capped(scores, problem.softcap)
    allowed = problem.allowed()
    bias = problem.dense_bias()
    if bias is not None:
        scores = scores + bias
        allowed = allowed & (bias > -torch.inf)
    # A row without keys keeps finite scores, so that its softmax has no NaN, and is then cleared.
    scores = scores.masked_fill(~allowed, torch.finfo(kind).min)
    weights = scores.softmax(-1).masked_fill(~allowed, 0.0)
    used = weights
    if problem.dropout:
        used = weights * places_kept(problem) / (1 - problem.dropout)
    value = problem.value.repeat_interleave(heads, dim=1)
    out = used.to(value.dtype) @ value
    lse = None
    if problem.lse:
        seen = allowed.any(-1).expand(B, H, N)
        lse = (
            scores.logsumexp(-1).masked_fill(~seen, -torch.inf)
            if M
            else scores.new_full((B, H, N), -torch.inf)
        )
    return Attended(out, lse, weights.to(problem.form.dtype))


def capped(scores: Tensor, softcap: float | None) -> Tensor:
    """Scores bent so that none exceeds the cap: cap·tanh(score / cap)."""
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def places_kept(problem: Problem) -> Tensor:
    """Which weights (B,H,N,M) dropout keeps."""
    B, H, _, N, M = problem.form.sizes[:5]
    assert problem.seed is not None
    device = problem.form.device
    head = torch.arange(B * H, device=device).view(B, H, 1, 1)
    at = torch.arange(M - N, M, device=device)[:, None], torch.arange(M, device=device)
    return kept(problem.seed, problem.dropout, head, *problem.drawn(*at))
