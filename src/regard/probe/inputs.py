"""Texts as tokens, and as the pieces that those tokens show as."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from regard.data.tokenizers import BytePairTokenizer, CharTokenizer, Tokenizer, WordTokenizer
from regard.probe.texts import Piece, pieces_of

QUOTES = {"``": '"', "''": '"'}  # what NLTK makes of quotation marks
APOSTROPHES = "'’"
JOINER = "\u200d"  # between the parts of one emoji


def read_text(text: str, tokenizer: Tokenizer, *, words: bool = False) -> tuple[list[int], list[Piece], str]:
    """Token ids, their pieces and what stands between pieces.

    Pieces are parts of the text as it was written, spaces included, also where its words are unknown or
    spelt otherwise in the vocabulary; with `words` the tokens of one word are one piece.

    >>> from regard.data import CharTokenizer
    >>> tokens, pieces, joined = read_text("a 🦁", CharTokenizer.train(["a "]))
    >>> tokens, [piece.text for piece in pieces]
    ([4, 3, 2], ['a', ' ', '🦁'])
    >>> read_text("a cab", CharTokenizer.train(["ab c"]), words=True)[1]
    [Piece(text='a', tokens=1), Piece(text=' cab', tokens=4)]
    """
    tokens = tokenizer.encode(text)
    if not tokens:
        raise ValueError(f"text must hold something that the tokenizer reads, got {text[:60]!r}")
    if unknown(tokens, tokenizer):
        raise ValueError(f"text must hold something that the model knows, got {text[:60]!r}")
    spans = spans_of(text, tokenizer)
    if spans is None or len(spans) > len(tokens):
        return tokens, *pieces_of(tokens, tokenizer.decode)
    # Tokens that a tokenizer closes a text with stand for no part of it.
    pieces = cut(text, [*spans, *[(len(text), len(text))] * (len(tokens) - len(spans))])
    return tokens, grouped(pieces) if words else pieces, ""


def unknown(tokens: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Whether a model knows nothing of these tokens.

    >>> tokenizer = CharTokenizer.train(["ab"])
    >>> unknown(tokenizer.encode("xyz"), tokenizer), unknown(tokenizer.encode("xa"), tokenizer)
    (True, False)
    """
    ends = (tokenizer.unk, tokenizer.end)
    return tokenizer.unk is not None and all(token in ends for token in tokens)


def spans_of(text: str, tokenizer: Tokenizer) -> list[tuple[int, int]] | None:
    """Where each token stands in a text, or None for a tokenizer that cannot tell.

    >>> spans_of('so "dull"', WordTokenizer.train(["dull"]))
    [(0, 2), (3, 4), (4, 8), (8, 9)]
    """
    if isinstance(tokenizer, CharTokenizer):
        return [(i, i + 1) for i in range(len(text))]
    if isinstance(tokenizer, BytePairTokenizer):
        return list(tokenizer.library.encode(text).offsets)
    if not isinstance(tokenizer, WordTokenizer):
        return None
    spans, at = [], 0
    for word in tokenizer.rules.tokenize(text):
        at += len(text[at:]) - len(text[at:].lstrip())
        written = word if text.startswith(word, at) else QUOTES.get(word, word)
        if not text.startswith(written, at):
            return None
        spans.append((at, at + len(written)))
        at += len(written)
    return spans


def cut(text: str, spans: Sequence[tuple[int, int]]) -> list[Piece]:
    """The text in pieces at the ends of tokens; tokens that share a character are one piece.

    >>> [(one.text, one.tokens) for one in cut("né so", [(0, 1), (1, 2), (1, 2), (3, 5), (5, 5)])]
    [('n', 1), ('é', 2), (' so', 1), ('', 1)]
    """
    out: list[Piece] = []
    shown = 0  # up to here the text is in pieces
    for i, (start, stop) in enumerate(spans):
        if out and start < shown and stop <= shown:  # a further part of the same character
            out[-1] = Piece(out[-1].text, out[-1].tokens + 1)
            continue
        last = i + 1 == len(spans) or spans[i + 1][0] >= len(text)
        end = len(text) if last and stop > start else max(stop, shown)
        out.append(Piece(text[shown:end], 1))
        shown = end
    return out


def grouped(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of one word, or of one emoji, as one.

    >>> parts = ("un", "believ", "able", ".", " Ha", "!")
    >>> [piece.text for piece in grouped([Piece(part, 1) for part in parts])]
    ['unbelievable', '.', ' Ha', '!']
    """
    out: list[Piece] = []
    for piece in pieces:
        before = out[-1] if out else None
        blank = before is not None and not before.text.strip()  # a space of its own belongs to what follows
        if before is not None and piece.text and (blank or _goes_on(before.text[-1:], piece.text[0])):
            out[-1] = Piece(before.text + piece.text, before.tokens + piece.tokens)
        else:
            out.append(piece)
    return out


def _goes_on(last: str, first: str) -> bool:
    """Whether two neighbouring characters belong together."""
    if JOINER in (last, first) or unicodedata.category(first) in ("Mn", "Me", "Mc", "Sk"):
        return True
    if all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (last, first)):  # a flag is two letters
        return True
    return bool(last) and all(one.isalnum() or one in APOSTROPHES for one in (last, first))
