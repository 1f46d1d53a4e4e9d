"""Which tokenizer a recipe trains, as values; and token tables of equal rows on the device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.tokenizers import BytePairTokenizer, CharTokenizer, Tokenizer, WordTokenizer
from regard.errors import check_int


@dataclass(frozen=True)
class Characters:
    """One token for each character.

    >>> Characters().train(["ab"]).encode("ba")
    [4, 3]
    """

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """The tokenizer of these texts."""
        return CharTokenizer.train(texts)


@dataclass(frozen=True)
class Words:
    """Words by NLTK's rules: all that occur, or the most frequent so that `vocab` ids suffice."""

    vocab: int | None = None

    def __post_init__(self) -> None:
        if self.vocab is not None:
            check_int("vocab", self.vocab, 3)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """The tokenizer of these texts."""
        return WordTokenizer.train(texts, vocab=self.vocab)


@dataclass(frozen=True)
class BytePairs:
    """Bytes and their most frequent pairs, `vocab` ids in all; with `lower`, of small letters alone."""

    vocab: int = 8192
    lower: bool = False

    def __post_init__(self) -> None:
        check_int("vocab", self.vocab, 258)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """The tokenizer of these texts."""
        return BytePairTokenizer.train(texts, vocab=self.vocab, lower=self.lower)


Tokens = Characters | Words | BytePairs


class Table:
    """Rows of unequal length as one tensor (count, width) on the device, and their lengths.

    A batch has the full width where shapes must not change, and the width of its longest row elsewhere.

    >>> table = Table([[5, 6, 7], [8]], width=4, pad=0, device=torch.device("cpu"))
    >>> table.rows(torch.tensor([1])), table.rows(torch.tensor([1]), whole=True)
    ((tensor([[8]]), tensor([1])), (tensor([[8, 0, 0, 0]]), tensor([1])))
    """

    def __init__(self, rows: Sequence[Sequence[int]], *, width: int, pad: int, device: torch.device) -> None:
        if not rows:
            raise ValueError("a table needs at least one row, got none")
        assert all(0 < len(row) <= width for row in rows)
        lengths = torch.tensor([len(row) for row in rows])
        real = torch.arange(width) < lengths[:, None]
        tokens = torch.full(real.shape, pad, dtype=torch.int32)
        tokens[real] = torch.tensor([token for row in rows for token in row], dtype=torch.int32)
        self.tokens, self.lengths = tokens.to(device), lengths.to(device)

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, indices: Tensor, whole: bool = False) -> tuple[Tensor, Tensor]:
        """Tokens int64 (B,N) and lengths (B,) of these rows."""
        lengths = self.lengths[indices]
        width = self.tokens.shape[1] if whole else int(lengths.max())
        return self.tokens[indices, :width].long(), lengths


def segments_of(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Segments (B,N): 0 for real tokens and −1 for padding."""
    at = torch.arange(tokens.shape[1], device=tokens.device)
    return torch.where(at < lengths[:, None], 0, -1)
