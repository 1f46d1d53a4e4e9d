"""Bits of a text by a model that reads on through it, in windows that overlap.

A window says what the one before it did not, from at least a context without a stride of what was written
before. What is not `counted` (blank lines between dialogues, say) is read and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

BATCH = 64  # windows at a time

Span = tuple[int, int, int]


def windows(length: int, context: int, stride: int) -> Iterator[Span]:
    """Where each window begins and ends, and its first target that no window before it has said.

    All are as long as the context allows, the last too.

    >>> list(windows(10, context=4, stride=2))
    [(0, 5, 1), (2, 7, 3), (4, 9, 3), (5, 10, 4)]
    >>> list(windows(3, context=4, stride=2)), list(windows(1, context=4, stride=2))
    ([(0, 3, 1)], [])
    """
    if not 1 <= stride <= context:
        raise ValueError(f"stride must be from 1 to the context, got {stride=}, {context=}")
    begin, said = 0, 1
    while said < length:
        begin = min(begin, max(0, length - context - 1))
        end = min(length, begin + context + 1)
        yield begin, end, said - begin
        begin, said = begin + stride, end


@torch.no_grad()
def bits(
    model: Callable[[Tensor], Tensor],
    rows: Sequence[Sequence[int]],
    counted: Sequence[Sequence[bool]],
    *,
    context: int,
    stride: int,
    device: torch.device | str = "cpu",
) -> float:
    """The bits of all counted tokens in these rows, each row by itself; its first token is given.

    >>> even = lambda tokens: torch.zeros(*tokens.shape, 4)
    >>> round(bits(even, [[0, 1, 2, 3, 0, 1]], [[True] * 4 + [False] * 2], context=2, stride=1), 6)
    6.0
    """
    cuts = [
        (row, said, *span)
        for row, said in zip(rows, counted, strict=True)
        for span in windows(len(row), context, stride)
    ]
    total = 0.0
    for at in range(0, len(cuts), BATCH):
        part = cuts[at : at + BATCH]
        width = max(end - begin for _, _, begin, end, _ in part)
        tokens = torch.zeros(len(part), width, dtype=torch.long)
        charged = torch.zeros(len(part), width, dtype=torch.bool)
        for i, (row, said, begin, end, fresh) in enumerate(part):
            tokens[i, : end - begin] = torch.tensor(row[begin:end])
            charged[i, fresh : end - begin] = torch.tensor(said[begin + fresh : end])
        tokens, charged = tokens.to(device), charged.to(device)
        logits = model(tokens[:, :-1]).float()
        losses = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        total += float(losses.view_as(charged[:, 1:])[charged[:, 1:]].double().sum())
    return total / log(2)
