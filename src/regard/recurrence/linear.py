"""The linear recurrence in O(log T) steps, and what becomes of its first input.

Without φ the recurrence is the sum h_T = Σ_t W_h^{T−t} W_x x_t. Two neighbouring steps are one step of a
sequence half as long, with W_h² for its weight: halve until one step is left, then fill in the others on the
way back. That is 2⌈log2 T⌉ products in sequence, and twice the multiplications of the loop.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.recurrence.checks import autocast_dtype, check_alike, check_axes


def linear_rnn(x: Tensor, W_x: Tensor, W_h: Tensor, h0: Tensor | None = None) -> Tensor:
    """h_t = W_h h_{t−1} + W_x x_t for every t, in a number of steps that grows with log T.

    x (B, T, c), W_x (h, c) and W_h (h, h) give (B, T, h).

    >>> x = torch.tensor([[[1.0], [2.0], [4.0], [8.0], [16.0]]])
    >>> linear_rnn(x, torch.ones(1, 1), torch.full((1, 1), 0.5)).flatten()
    tensor([ 1.0000,  2.5000,  5.2500, 10.6250, 21.3125])
    """
    check_axes({"x": (x, "B T c"), "W_x": (W_x, "h c"), "W_h": (W_h, "h h")}, h0=(h0, "B h"))
    dtype = autocast_dtype(x)
    if dtype is not None:
        x, W_x, W_h = x.to(dtype), W_x.to(dtype), W_h.to(dtype)
        h0 = None if h0 is None else h0.to(dtype)
    check_alike(x=x, W_x=W_x, W_h=W_h, h0=h0)
    given = x.dtype
    with torch.autocast(x.device.type, enabled=False):
        if torch.finfo(given).bits < 32:  # powers of a rounded matrix need more digits than the result
            x, W_x, W_h = x.float(), W_x.float(), W_h.float()
            h0 = None if h0 is None else h0.float()
        inputs = (x @ W_x.T).transpose(0, 1)  # T B h
        if h0 is not None:
            inputs = torch.cat([inputs[:1] + h0 @ W_h.T, inputs[1:]])
        return _Scan.apply(inputs, W_h).transpose(0, 1).to(given)


class _SavedStates(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]


class _Scan(torch.autograd.Function):
    """u (T, B, h), W → h_t = W h_{t−1} + u_t; its own backward, in reverse and with Wᵀ."""

    @staticmethod
    def forward(ctx: _SavedStates, u: Tensor, W: Tensor) -> Tensor:
        states = _scan(u, _powers(W, len(u).bit_length() - 1))
        ctx.save_for_backward(states, W)
        return states

    @staticmethod
    def backward(ctx: _SavedStates, *grads: Tensor) -> tuple[Tensor, Tensor]:
        states, W = ctx.saved_tensors
        delta = _Scan.apply(grads[0].flip(0), W.T).flip(0)
        return delta, delta[1:].flatten(0, 1).T @ states[:-1].flatten(0, 1)


@dataclass(frozen=True)
class _Power:
    """A power of W as a matrix times the product of its factors, which alone may exceed the dtype."""

    matrix: Tensor
    factors: tuple[Tensor, ...] = ()

    def times(self, rows: Tensor) -> Tensor:
        """Each row h of (T, B, h) becomes power · h."""
        product = rows @ self.matrix.T
        for factor in self.factors:  # one after the other, so that only what really overflows does
            product *= factor
        return product


def _scan(u: Tensor, powers: list[_Power]) -> Tensor:
    T = len(u)
    if T == 1:
        return u.clone()
    W = powers[0]
    pairs = u[1::2] + W.times(u[0 : T - 1 : 2])
    odd = _scan(pairs, powers[1:])
    states = torch.empty_like(u)
    states[0] = u[0]
    states[1::2] = odd
    states[2::2] = u[2::2] + W.times(odd[: (T - 1) // 2])
    return states


def _powers(W: Tensor, count: int) -> list[_Power]:
    """W, W², W⁴, …, `count` of them, squared in float64 so that their errors do not add up."""
    if count == 0:
        return []
    squares = [W.double()]
    for _ in range(count - 1):
        squares.append(squares[-1] @ squares[-1])
    powers = torch.stack(squares).to(W.dtype)
    if torch.isfinite(powers).all() or not torch.isfinite(W).all():
        return [_Power(power) for power in powers]
    # Unstable W: a power has overflowed, yet the states need not have (early inputs may be zero). So each
    # power becomes 2^e times a matrix whose largest entry is near 1, 2^e in three factors that fit the dtype.
    scaled: list[_Power] = []
    limit = int(2.4 * math.log2(torch.finfo(W.dtype).max))
    matrix, exponent = squares[0], torch.zeros((), dtype=torch.int64, device=W.device)
    for _ in range(count):
        _, size = torch.frexp(matrix.abs().max())
        matrix, exponent = matrix * torch.exp2(-size.double()), exponent + size
        e = exponent.clamp(-limit, limit)
        factors = tuple(torch.exp2(((e + i) // 3).to(W.dtype)) for i in range(3))
        scaled.append(_Power(matrix.to(W.dtype), factors))
        matrix, exponent = matrix @ matrix, 2 * exponent
    return scaled
