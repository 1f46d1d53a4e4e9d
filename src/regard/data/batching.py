"""Texts of many lengths in one tensor: padded, in buckets of like length, packed, or cut into windows."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import chain

import torch
from torch import Tensor

from regard.data.draws import generator
from regard.errors import check_int
from regard.pattern import Documents

POOL = 64  # batches that are sorted together: more means less padding and less chance


def pad(rows: Sequence[Sequence[int]], pad: int, *, multiple: int = 1) -> tuple[Tensor, Tensor]:
    """Tokens (B, N) filled up on the right with `pad`, and segments (B, N): 0, and −1 where there is padding.

    N is the longest row's length, rounded up to a multiple, which keeps the number of shapes small.

    >>> pad([[5, 6, 7], [8]], pad=1)
    (tensor([[5, 6, 7],
            [8, 1, 1]]), tensor([[ 0,  0,  0],
            [ 0, -1, -1]]))
    """
    check_int("multiple", multiple, least=1)
    if not len(rows):
        raise ValueError("rows must hold at least one row, got none")
    lengths = torch.tensor([len(row) for row in rows])
    width = -(-int(lengths.max()) // multiple) * multiple
    real = torch.arange(width) < lengths[:, None]
    tokens = torch.full(real.shape, pad)
    tokens[real] = _flat(rows)
    return tokens, torch.where(real, 0, -1)


def buckets(lengths: Sequence[int] | Tensor, batch: int, *, seed: int, epoch: int) -> list[Tensor]:
    """The batches of an epoch as indices: every example once, those of a batch of about the same length.

    A pure function of its arguments. Always ⌈count / batch⌉ batches, of which one may be smaller.

    >>> [part.tolist() for part in buckets([5, 1, 4, 2, 5], batch=2, seed=0, epoch=3)]
    [[1, 3], [2, 0], [4]]
    """
    check_int("batch", batch, least=1)
    sizes = torch.as_tensor(lengths)
    if sizes.ndim != 1:
        raise ValueError(f"lengths must be one number for each example, got shape {tuple(sizes.shape)}")
    rng = generator(seed, epoch, "buckets")
    order = torch.randperm(len(sizes), generator=rng)
    parts: list[Tensor] = []
    for i in range(0, len(order), POOL * batch):
        pool = order[i : i + POOL * batch]
        parts += pool[sizes[pool].argsort(stable=True)].split(batch)
    return [parts[i] for i in torch.randperm(len(parts), generator=rng).tolist()]


def pack(rows: Sequence[Sequence[int]], length: int, *, pad: int = 0) -> tuple[Tensor, Tensor]:
    """Documents side by side in tokens (B, length), and segments (B, length) that tell them apart.

    Segments count from 0 in every row and are −1 where a row ends early. A document goes where it leaves the
    least room, the longest first; one that is longer than a row is cut into documents of their own.

    >>> pack([[1, 2], [3, 4, 5], [6]], length=4)
    (tensor([[3, 4, 5, 6],
            [1, 2, 0, 0]]), tensor([[ 0,  0,  0,  1],
            [ 0,  0, -1, -1]]))
    """
    check_int("length", length, least=1)
    pieces = [row[i : i + length] for row in rows for i in range(0, len(row), length)]
    pieces.sort(key=len, reverse=True)
    sizes = torch.tensor([len(piece) for piece in pieces], dtype=torch.int64)
    places = torch.tensor(_best_fit(sizes.tolist(), length), dtype=torch.int64).view(-1, 3)
    row, start, number = places.unbind(1)
    count = int(row.max()) + 1 if len(row) else 0
    inner = torch.arange(int(sizes.sum())) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
    at = (row * length + start).repeat_interleave(sizes) + inner
    tokens = torch.full((count * length,), pad)
    segments = torch.full((count * length,), -1)
    tokens[at] = _flat(pieces)
    segments[at] = number.repeat_interleave(sizes)
    return tokens.view(count, length), segments.view(count, length)


def _best_fit(sizes: list[int], length: int) -> list[tuple[int, int, int]]:
    """For each size the row, the place in it and its number there: the fullest row that still has room."""
    open_: dict[int, list[tuple[int, int]]] = {}  # by free positions: rows, and how many pieces they hold
    rooms: list[int] = []  # the keys of the above, sorted
    out, count = [], 0
    for size in sizes:
        at = bisect_left(rooms, size)
        if at == len(rooms):
            room, row, number = length, count, 0
            count += 1
        else:
            room = rooms[at]
            row, number = open_[room].pop()
            if not open_[room]:
                del open_[room], rooms[at]
        out.append((row, length - room, number))
        if left := room - size:
            if left not in open_:
                open_[left] = []
                insort(rooms, left)
            open_[left].append((row, number + 1))
    return out


def _flat(rows: Iterable[Sequence[int]]) -> Tensor:
    """All ids one after another; a packed array is several times as fast here as a list."""
    ids = array("q", chain.from_iterable(rows))
    return torch.frombuffer(ids, dtype=torch.int64) if ids else torch.empty(0, dtype=torch.int64)


def documents(segments: Tensor) -> Documents:
    """The pattern of one packed row (N,): each segment a document, and the padding at the end one more.

    >>> documents(torch.tensor([0, 0, 1, -1, -1]))
    Documents(lengths=(2, 1, 2))
    """
    if segments.ndim != 1 or not len(segments):
        raise ValueError(f"segments must be one row (N,), got shape {tuple(segments.shape)}")
    return Documents(lengths=tuple(torch.unique_consecutive(segments, return_counts=True)[1].tolist()))


def next_tokens(tokens: Tensor, segments: Tensor, *, ignore: int = -100) -> Tensor:
    """For each token (B, N) the one that follows in its document, and `ignore` where there is none.

    >>> next_tokens(torch.tensor([[3, 4, 5, 6, 0]]), torch.tensor([[0, 0, 1, 1, -1]]))
    tensor([[   4, -100,    6, -100, -100]])
    """
    out = torch.full_like(tokens, ignore)
    same = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] >= 0)
    out[:, :-1] = torch.where(same, tokens[:, 1:], ignore)
    return out


def windows(
    tokens: Tensor, length: int, batch: int, *, seed: int, step: int, rank: int = 0, world: int = 1
) -> Tensor:
    """This rank's rows of a batch of windows (batch, length + 1), cut from tokens (T,) at random places.

    A pure function of (seed, step): all ranks together hold the batch that one process would draw alone.
    The places are drawn on the CPU, so that they are the same on every device.

    >>> windows(torch.arange(100), 3, 2, seed=0, step=7)
    tensor([[ 8,  9, 10, 11],
            [91, 92, 93, 94]])
    """
    check_int("length", length, least=1)
    check_int("batch", batch, least=1)
    check_int("world", world, least=1)
    check_int("rank", rank, least=0, most=world - 1)
    if tokens.ndim != 1 or len(tokens) <= length:
        raise ValueError(f"tokens must be (T,) with T > length, got {tuple(tokens.shape)} and {length=}")
    starts = torch.randint(len(tokens) - length, (batch,), generator=generator(seed, step, "windows"))
    mine = starts[batch * rank // world : batch * (rank + 1) // world].to(tokens.device, non_blocking=True)
    return tokens[mine[:, None] + torch.arange(length + 1, device=tokens.device)]
