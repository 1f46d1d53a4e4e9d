"""Texts on the disk as rows of tokens on the disk: encoded once, some at a time, and mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from regard.data.own.store import PreparationBar, beginning, key_of, prepared
from regard.data.own.strings import StoredStrings
from regard.data.tokenizers import Tokenizer
from regard.train.tasks.rows import TokenTable, padded, readable, rows_of
from regard.train.tasks.token_files import smallest
from regard.train.tasks.tokens import Characters, Tokens
from regard.values import Json

LEARNED = 200_000  # texts from which words and pairs of bytes are learned; those on the disk lie shuffled
TOGETHER = 4096  # texts in memory at a time
FILES = ("tokens", "lengths")


def tokenizer_of(texts: Sequence[str], tokens: Tokens) -> Tokenizer:
    """The tokenizer of a training part: of all its characters, or of words and pairs of many of its texts."""
    many = isinstance(texts, StoredStrings) and not isinstance(tokens, Characters)
    return tokens.train(readable(texts[:LEARNED] if many else texts))


def table_of(
    texts: Sequence[str], tokenizer: Tokenizer, *, width: int, keep: str, device: torch.device
) -> TokenTable:
    """Texts as rows of at most `width` tokens: those on the disk stay there unless they are for a GPU."""
    if not isinstance(texts, StoredStrings):
        rows = rows_of(tokenizer, readable(texts), width, keep)
        return TokenTable.of(rows, width=width, tokenizer=tokenizer, device=device)
    key = key_of("rows of tokens", texts.key, tokenizer.digest(), width, keep)
    found = prepared(key, lambda folder: _encode(folder, texts, tokenizer, width, keep))
    tokens = found.tensor("tokens", smallest(tokenizer), len(texts), width)
    lengths = found.tensor("lengths", torch.int64, len(texts))
    return TokenTable(tokens, lengths, device=device, content=key)


def _encode(folder: Path, texts: StoredStrings, tokenizer: Tokenizer, width: int, keep: str) -> Json:
    """Write the rows; what was cut off goes on after its last ones."""
    note, files = beginning(folder, FILES)
    bar = PreparationBar("texts: tokens", len(texts), "texts")
    try:
        for at in range(note.get("done", 0), len(texts), TOGETHER):
            rows = rows_of(tokenizer, readable(texts[at : at + TOGETHER]), width, keep)
            tokens, lengths = padded(rows, width, tokenizer)
            files.add("tokens", tokens.to(smallest(tokenizer)).numpy().tobytes())
            files.add("lengths", lengths.numpy().tobytes())
            if at // TOGETHER % 16 == 15:
                files.settled({"done": at + TOGETHER})
            bar.at(at)
    finally:
        files.close()
        bar.close()
    return {"rows": len(texts)}
