"""A corpus on the disk as tokens on the disk: encoded once, a stretch at a time, and mapped into memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from regard.data.own.corpora import StoredCorpus
from regard.data.own.store import PreparationBar, beginning, key_of, prepared
from regard.data.tokenizers import CharTokenizer, Tokenizer
from regard.train.tasks.tokens import Characters, Tokens
from regard.values import Json

SAMPLE = 64  # stretches of some megabytes from which words and pairs of bytes are learned
FILES = ("train", "held")
UNICODE = 0x110000


@dataclass(frozen=True)
class TokenFiles:
    """The tokens of both parts (T,), how many of the held-out ones are unknown, and their characters."""

    train: Tensor
    held: Tensor
    unknown: float
    held_characters: int
    print: str

    def counts(self, vocab: int) -> Tensor:
        """How often each token occurs in the training part."""
        out = torch.zeros(vocab, dtype=torch.int64)
        for part in self.train.split(1 << 22):
            out += torch.bincount(part.long(), minlength=vocab)
        return out


def smallest(tokenizer: Tokenizer) -> torch.dtype:
    """The smallest type for the ids of a tokenizer on the disk."""
    return torch.int16 if tokenizer.vocab <= torch.iinfo(torch.int16).max else torch.int32


def learned_from(corpus: StoredCorpus, tokens: Tokens, share: float) -> Tokenizer:
    """The tokenizer of the training part: all its characters, or the words and pairs of its beginning."""
    texts = corpus.stretches(share, held=False)
    return tokens.train(texts if isinstance(tokens, Characters) else islice(texts, SAMPLE))


def token_files(corpus: StoredCorpus, tokenizer: Tokenizer, share: float) -> TokenFiles:
    """The tokens of a corpus of which `share` is held out."""
    key = key_of("tokens", corpus.digest, tokenizer.digest(), share)
    dtype = smallest(tokenizer)
    found = prepared(key, lambda folder: _encode(folder, corpus, tokenizer, share, dtype))
    sizes = found.meta["tokens"]
    train, held = (found.tensor(name, dtype, sizes[name]) for name in FILES)
    unknown = found.meta["unknown"] / max(1, len(held))
    return TokenFiles(train, held, unknown, found.meta["held_characters"], key)


def _encode(
    folder: Path, corpus: StoredCorpus, tokenizer: Tokenizer, share: float, dtype: torch.dtype
) -> Json:
    """Write both parts; what was cut off goes on after its last stretch."""
    note, files = beginning(folder, FILES)
    done, unknown = note.get("done", 0), note.get("unknown", 0)
    characters = note.get("held_characters", 0)
    table = _table(tokenizer) if isinstance(tokenizer, CharTokenizer) else None
    bar = PreparationBar(f"{corpus.name}: tokens", corpus.size, "bytes")
    read = 0
    try:
        both = ((name, text) for name in FILES for text in corpus.stretches(share, held=name == "held"))
        for at, (name, text) in enumerate(both):
            read += len(text)
            if at < done:
                continue
            ids = torch.tensor(tokenizer.encode(text)) if table is None else table[_codes(text)]
            files.add(name, ids.to(dtype).numpy().tobytes())
            if name == "held":
                characters += len(text)
                unknown += 0 if tokenizer.unk is None else int((ids == tokenizer.unk).sum())
            if at % 16 == 15:
                files.settled({"done": at + 1, "unknown": unknown, "held_characters": characters})
            bar.at(read)
        width = torch.empty(0, dtype=dtype).element_size()
        tokens = {name: files.length(name) // width for name in FILES}
        return {"tokens": tokens, "unknown": unknown, "held_characters": characters}
    finally:
        files.close()
        bar.close()


def _table(tokenizer: CharTokenizer) -> Tensor:
    """The id of every character of Unicode."""
    assert tokenizer.unk is not None
    out = torch.full((UNICODE,), tokenizer.unk, dtype=torch.int32)
    for character, number in tokenizer.ids.items():
        out[ord(character)] = number
    return out


def _codes(text: str) -> Tensor:
    """The numbers of a text's characters."""
    if not text:
        return torch.empty(0, dtype=torch.int32)
    return torch.frombuffer(bytearray(text.encode("utf-32-le", "surrogatepass")), dtype=torch.int32)
