"""Texts as rows of tokens on the device: cut to the context, padded to one width, like lengths together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from regard.data import Tokenizer
from regard.data.cleaning import without_markup
from regard.train.order import Examples


class TokenTable:
    """Rows of unequal length as one tensor (count, width) on the device, and their lengths.

    A batch has the full width where shapes must not change, and the width of its longest row elsewhere,
    rounded up on a GPU, whose kernels are made for each shape that comes.

    >>> from regard.data import CharTokenizer
    >>> pads = CharTokenizer.train(["ab"])
    >>> table = TokenTable.of([[5, 6, 7], [8]], width=4, tokenizer=pads, device=torch.device("cpu"))
    >>> table.rows(torch.tensor([1])), table.rows(torch.tensor([1]), whole=True)
    ((tensor([[8]]), tensor([1])), (tensor([[8, 1, 1, 1]]), tensor([1])))
    """

    def __init__(
        self, tokens: Tensor, lengths: Tensor, *, device: torch.device, content: str | None = None
    ) -> None:
        if not len(tokens):
            raise ValueError("a table needs at least one row, got none")
        self.tokens, self.lengths = tokens.to(device), lengths.to(device)
        self.content = self.tokens if content is None else content  # by which a fingerprint knows it

    @classmethod
    def of(
        cls, rows: Sequence[Sequence[int]], *, width: int, tokenizer: Tokenizer, device: torch.device
    ) -> TokenTable:
        """The table of these rows, in memory."""
        return cls(*padded(rows, width, tokenizer), device=device)

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, indices: Tensor, whole: bool = False) -> tuple[Tensor, Tensor]:
        """Tokens int64 (B,N) and lengths (B,) of these rows."""
        lengths = self.lengths[indices]
        width = self.tokens.shape[1]
        if not whole:
            longest = int(lengths.max())
            width = longest if self.tokens.device.type == "cpu" else min(width, rounded(longest))
        return self.tokens[indices, :width].long(), lengths

    def by_length(self) -> Tensor:
        """The numbers of all rows, like lengths together, which means less padding."""
        return torch.argsort(self.lengths, stable=True)

    def examples(self, seed: int, *, fixed: bool) -> Examples:
        """The rows as examples; where shapes are not fixed, those of a batch have like lengths."""
        lengths = None if fixed else self.lengths.cpu()
        return Examples(len(self), seed=seed, device=self.tokens.device, lengths=lengths)


def rounded(length: int) -> int:
    """The next of 16, 24, 32, 48, 64, 96 and so on.

    >>> [rounded(length) for length in (3, 17, 33, 97, 400)]
    [16, 24, 48, 128, 512]
    """
    width = 16
    while width < length:
        width += width // 2 if width & (width - 1) == 0 else width // 3
    return width


def padded(rows: Sequence[Sequence[int]], width: int, tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """Rows as tokens int32 (count, width) and their lengths (count,)."""
    assert all(0 < len(row) <= width for row in rows)
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    real = torch.arange(width) < lengths[:, None]
    tokens = torch.full(real.shape, 0 if tokenizer.pad is None else tokenizer.pad, dtype=torch.int32)
    tokens[real] = torch.tensor([token for row in rows for token in row], dtype=torch.int32)
    return tokens, lengths


def segments_of(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Segments (B,N): 0 for real tokens and −1 for padding."""
    at = torch.arange(tokens.shape[1], device=tokens.device)
    return torch.where(at < lengths[:, None], 0, -1)


def readable(texts: Iterable[str]) -> list[str]:
    """The texts without HTML, as they are read when somebody asks about one."""
    return [without_markup(text) for text in texts]


def rows_of(tokenizer: Tokenizer, texts: Sequence[str], context: int, keep: str) -> list[list[int]]:
    """The tokens of each text after a start token, cut to the context.

    >>> from regard.data import CharTokenizer
    >>> rows_of(CharTokenizer.train(["abc"]), ["abc", ""], context=3, keep="tail")
    [[0, 4, 5], [0]]
    """
    start = [] if tokenizer.start is None else [tokenizer.start]
    room = context - len(start)
    rows = []
    for ids in tokenizer.encode_batch(texts):
        if len(ids) <= room:
            cut = ids
        elif keep == "head":
            cut = ids[:room]
        else:
            first = 0 if keep == "tail" else room // 4
            cut = [*ids[:first], *ids[len(ids) - room + first :]]
        rows.append([*start, *cut] or [0])
    return rows
