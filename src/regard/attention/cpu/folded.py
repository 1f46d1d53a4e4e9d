"""Windows, blocks and residue classes folded into the batch: many short problems in place of a long one."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.attention.bands import band_of
from regard.attention.cpu import chunked
from regard.attention.problem import Attended, Form, Problem
from regard.attention.sdpa import attend as attend_short
from regard.pattern import Causal, Full, Strided


def refuses(form: Form) -> str | None:
    """Why the problem cannot be folded, or None."""
    band = band_of(form.pattern)
    if band is None or band.documents is not None or (band.window is None and band.step == 1):
        return f"{form.pattern} has no windows or residue classes to fold"
    if band.window is not None and band.back is not None:
        return f"{form.pattern} is a band inside windows"
    if form.N != form.M:
        return f"the queries start inside a window, N={form.N}, M={form.M}"
    if (beyond := form.asks_beyond()) is not None:
        return beyond
    if band.step > 1 and form.device.type != "cpu":
        return "residue classes are folded inside the CUDA kernel"
    return None


def attend(problem: Problem) -> Attended:
    """The output, from one call on the folded batch and one on what is left over."""
    if problem.form.empty:
        return attend_short(problem)
    band = band_of(problem.pattern)
    assert band is not None
    if band.window is not None:
        return Attended(_windows(problem, band.window, band.causal))
    # Where each position is a class of its own, one step of more than all of them is enough.
    step = min(band.step, problem.form.N)
    assert band.back is not None
    return Attended(_residues(problem, step, band.back))


def _windows(problem: Problem, window: int, causal: bool) -> Tensor:
    B, H, G, N = problem.form.sizes[:4]
    whole = N // window * window
    pattern = Causal() if causal else Full()

    def part(lo: int, hi: int, size: int) -> Tensor:
        # B H n D -> B·H n/size size D; the windows take the place of heads.
        q, k, v = (
            (x if x.shape[1] == H else x.repeat_interleave(H // G, 1))[:, :, lo:hi].reshape(
                B * H, -1, size, x.shape[3]
            )
            for x in (problem.query, problem.key, problem.value)
        )
        out = attend_short(Problem(q, k, v, pattern, problem.scale)).out
        return out.reshape(B, H, hi - lo, -1)

    if whole == N:
        return part(0, N, window)
    rest = part(whole, N, N - whole)
    return rest if whole == 0 else torch.cat([part(0, whole, window), rest], 2)


def _residues(problem: Problem, step: int, back: int) -> Tensor:
    """Every step-th position on its own is a band; positions added at the end are seen by no real query."""
    B, H, _, N = problem.form.sizes[:4]
    tall = -(-N // step)

    def fold(x: Tensor) -> Tensor:
        # B H n D -> B·step H n/step D
        x = pad(x, (0, 0, 0, tall * step - N))
        return (
            x.unflatten(2, (tall, step))
            .permute(0, 3, 1, 2, 4)
            .reshape(B * step, x.shape[1], tall, x.shape[3])
        )

    q, k, v = (fold(x) for x in (problem.query, problem.key, problem.value))
    out = chunked.attend(Problem(q, k, v, Strided(back=back), problem.scale)).out
    out = out.unflatten(0, (B, step)).permute(0, 2, 3, 1, 4).reshape(B, H, tall * step, -1)
    return out[:, :, :N]
