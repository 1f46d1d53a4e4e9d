"""Which tokenizer a recipe trains, as values."""

from collections.abc import Iterable
from dataclasses import dataclass

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
