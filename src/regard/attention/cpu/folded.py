"""Windows, blocks and residue classes folded into the batch, documents apart: short problems."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.attention import flash, sdpa
from regard.attention.bands import band_of
from regard.attention.cpu import chunked
from regard.attention.joined import Back, dense, joined, wants_gradients
from regard.attention.problem import Attended, Form, Problem
from regard.attention.triton import plain, tiles
from regard.pattern import Causal, Full, Strided


def refuses(form: Form) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why the problem cannot be folded, or None."""
    band = band_of(form.pattern)
    if band is None or (band.window is None and band.step == 1 and band.documents is None):
        return f"{form.pattern} has no windows or residue classes to fold"
    if band.window is not None and band.back is not None:
        return f"{form.pattern} is a band inside windows"
    if band.documents is not None and (band.window, band.back, band.step, band.gap) != (None, None, 1, 0):
        return f"{form.pattern} is more than documents"
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
        return sdpa.attend(problem)
    band = band_of(problem.pattern)
    assert band is not None
    if band.documents is not None:
        return Attended(_documents(problem, band.documents.lengths, band.causal))
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
        out = _short(Problem(q, k, v, pattern, problem.scale))
        return out.reshape(B, H, hi - lo, -1)

    if whole == N:
        return part(0, N, window)
    rest = part(whole, N, N - whole)
    return rest if whole == 0 else torch.cat([part(0, whole, window), rest], 2)


def _documents(problem: Problem, lengths: tuple[int, ...], causal: bool) -> Tensor:
    pattern = Causal() if causal else Full()
    q, k, v = (x.split(lengths, 2) for x in (problem.query, problem.key, problem.value))
    alone = (Problem(*part, pattern, problem.scale) for part in zip(q, k, v, strict=True))
    return torch.cat([_short(one) for one in alone], 2)


def _short(problem: Problem) -> Tensor:
    """All pairs or the triangle, by torch's kernels; on a GPU with the best backward pass there is."""
    form = problem.form
    if form.device.type == "cuda" and wants_gradients(problem):
        ahead, back = sdpa.kept(form), _back(form)
        if ahead is not None and back is not None:
            return joined(dense(problem), ahead, back, "folded").out
    return sdpa.attend(problem).out


def _back(form: Form) -> Back | None:
    """Whose backward pass was measured ahead of torch's (an H200), or None."""
    size, ours = form.N * max(form.D, form.E), tiles.refuses(form) is None
    if ours and size <= 1 << 14:
        return plain.backward
    if flash.refuses(form) is None:
        return flash.backward
    return plain.backward if ours and size <= 1 << 15 else None


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
