"""Keys and values on their way to other ranks, and their gradients on the way back, while work goes on.

`sent` begins, `received` waits. What is computed between the two overlaps with the exchange; autograd goes
backward through what was made last first, so that gradients are under way while that part has its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention.once import once
from regard.parallel.ranks import Ranks, Wait
from regard.parallel.work import RankWork


@dataclass
class Transfer:
    """One exchange of one call, forward and, where gradients are asked for, backward."""

    ranks: Ranks
    work: RankWork
    wait: Wait | None = None
    arriving: dict[int, Tensor] = field(default_factory=dict)


def _none() -> None:
    """Nothing is under way."""


def exchanged(ranks: Ranks, work: RankWork, x: Tensor) -> tuple[Wait, dict[int, Tensor]]:
    """Begin to send the rows of x (…, positions, ·) that others need; where theirs will be, by rank."""
    sends = {to: x.index_select(-2, at.to(x.device)) for to, at in work.sends.items()}
    arriving = {
        source: x.new_empty(*x.shape[:-2], count, x.shape[-1]) for source, count in work.receives.items()
    }
    return ranks.start(sends, arriving), arriving


def assembled(work: RankWork, arrived: dict[int, Tensor], like: Tensor) -> Tensor:
    """What came from all ranks, in ascending positions."""
    if not arrived:
        return like.new_empty(*like.shape[:-2], 0, like.shape[-1])
    whole = torch.cat([arrived[source] for source in work.receives], -2)
    return whole if work.order is None else whole.index_select(-2, work.order.to(whole.device))


class _SavedTransfer(FunctionCtx):
    transfer: Transfer
    widths: tuple[int, int]
    like: tuple[torch.Size, torch.dtype, torch.device]
    saved_tensors: tuple[Tensor, ...]


class _Sent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _SavedTransfer, transfer: Transfer, key: Tensor, value: Tensor) -> Tensor:
        ctx.transfer, ctx.widths = transfer, (key.shape[3], value.shape[3])
        ctx.save_for_backward(key, value)
        both = torch.cat([key, value], -1)
        transfer.wait, transfer.arriving = exchanged(transfer.ranks, transfer.work, both)
        return key.new_zeros(0)  # what ties the end to the beginning

    @staticmethod
    def backward(ctx: _SavedTransfer, *_: Tensor) -> tuple[Tensor | None, ...]:
        key, value = ctx.saved_tensors
        transfer, work = ctx.transfer, ctx.transfer.work
        assert transfer.wait is not None
        transfer.wait()
        # Several ranks add to one key, so half precision would lose the sum.
        kind = torch.promote_types(key.dtype, torch.float32)
        total = key.new_zeros(*key.shape[:3], sum(ctx.widths), dtype=kind)
        for to, at in work.sends.items():
            total.index_add_(2, at.to(key.device), transfer.arriving[to].to(kind))
        transfer.wait, transfer.arriving = None, {}
        found: tuple[Tensor | None, ...] = tuple(total.to(key.dtype).split(list(ctx.widths), -1))
        if torch.is_grad_enabled():
            found = once(found, "attention over several ranks", (key, value))
        return None, *found


class _Received(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _SavedTransfer, transfer: Transfer, tie: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.transfer, ctx.widths = transfer, (key.shape[3], value.shape[3])
        assert transfer.wait is not None
        transfer.wait()
        like = key.new_empty(*key.shape[:2], 0, sum(ctx.widths))
        both = assembled(transfer.work, transfer.arriving, like)
        transfer.wait, transfer.arriving = None, {}
        k, v = both.split(list(ctx.widths), -1)
        return k.contiguous(), v.contiguous()

    @staticmethod
    def backward(ctx: _SavedTransfer, *grads: Tensor) -> tuple[Tensor | None, ...]:
        transfer, work = ctx.transfer, ctx.transfer.work
        both = torch.cat(grads, -1)
        if work.order is not None:
            both = both.index_select(2, work.order.argsort().to(both.device))
        parts = both.split(list(work.receives.values()), 2)
        sends = {to: x.contiguous() for to, x in zip(work.receives, parts, strict=True)}
        shape = both.shape
        transfer.arriving = {
            source: both.new_empty(shape[0], shape[1], len(at), shape[3]) for source, at in work.sends.items()
        }
        transfer.wait = transfer.ranks.start(sends, transfer.arriving)
        return None, both.new_zeros(0), None, None


def sent(ranks: Ranks, work: RankWork, key: Tensor, value: Tensor) -> tuple[Transfer, Tensor]:
    """Begin to exchange keys (B,G,N,D) and values (B,G,N,E)."""
    transfer = Transfer(ranks, work)
    return transfer, _Sent.apply(transfer, key, value)


def received(transfer: Transfer, tie: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The keys and values of other ranks, in ascending positions; key and value say of which form."""
    # Detached: their gradients come back through the tie.
    return _Received.apply(transfer, tie, key.detach(), value.detach())
