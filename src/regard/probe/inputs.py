"""Texts as tokens, and as the pieces that those tokens show as."""

from __future__ import annotations

from regard.data.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from regard.probe.texts import Piece, pieces_of


def read_text(text: str, tokenizer: Tokenizer) -> tuple[list[int], list[Piece], str]:
    """Token ids, their pieces and what stands between pieces; unknown words show as they were written.

    >>> from regard.data import CharTokenizer
    >>> tokens, pieces, joined = read_text("a🦁", CharTokenizer.train(["a"]))
    >>> tokens, [piece.text for piece in pieces]
    ([3, 2], ['a', '🦁'])
    """
    tokens = tokenizer.encode(text)
    if not tokens:
        raise ValueError(f"text must hold something that the tokenizer reads, got {text[:60]!r}")
    if tokenizer.unk is not None and all(token == tokenizer.unk for token in tokens):
        raise ValueError(f"text must hold something that the model knows, got {text[:60]!r}")
    written: list[str] | None = None
    if isinstance(tokenizer, CharTokenizer):
        written = list(text)
    elif isinstance(tokenizer, WordTokenizer):
        written = tokenizer.rules.tokenize(text)
    if written is None or len(written) != len(tokens):
        return tokens, *pieces_of(tokens, tokenizer.decode)
    joined = "" if isinstance(tokenizer, CharTokenizer) else " "
    return tokens, [Piece(word, 1) for word in written], joined
