"""Texts of the disk as rows of tokens of the disk: the same rows as in memory, and taken up after a kill."""

import json

import pytest
import torch

from regard.data import load
from regard.train.tasks import row_files
from regard.train.tasks.row_files import table_of, tokenizer_of
from regard.train.tasks.tokens import BytePairs, Characters, Words

CPU = torch.device("cpu")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "prepared-here"))
    monkeypatch.setattr(row_files, "TOGETHER", 7)
    lines = [{"text": f"row <b>{i}</b> of " + "many &amp; " * (i % 9), "label": i % 2} for i in range(80)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return load(tmp_path / "t.jsonl").train.texts


@pytest.mark.parametrize("tokens", [Characters(), Words(), BytePairs(vocab=300)])
@pytest.mark.parametrize("keep", ["head", "both"])
def test_rows_are_those_of_memory(stored, tokens, keep):
    tokenizer = tokenizer_of(stored, tokens)
    assert tokenizer.digest() == tokenizer_of(tuple(stored), tokens).digest()
    mapped, memory = (
        table_of(texts, tokenizer, width=12, keep=keep, device=CPU) for texts in (stored, tuple(stored))
    )
    at = torch.tensor([0, len(stored) - 1, 5])
    for whole in (False, True):
        for one, other in zip(mapped.rows(at, whole), memory.rows(at, whole), strict=True):
            assert torch.equal(one, other)
    assert isinstance(mapped.content, str)
    assert torch.equal(memory.content, memory.tokens)


def test_a_killed_encoding_goes_on(stored, monkeypatch):
    tokenizer = tokenizer_of(stored, Characters())
    rows, calls = row_files.rows_of, []
    monkeypatch.setattr(row_files, "TOGETHER", 2)

    def dies(*args):
        calls.append(args)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return rows(*args)

    monkeypatch.setattr(row_files, "rows_of", dies)
    with pytest.raises(KeyboardInterrupt):
        table_of(stored, tokenizer, width=12, keep="head", device=CPU)
    mapped = table_of(stored, tokenizer, width=12, keep="head", device=CPU)
    assert len(calls) == 20 + -(-len(stored) // 2) - 16
    memory = table_of(tuple(stored), tokenizer, width=12, keep="head", device=CPU)
    assert torch.equal(mapped.tokens.int(), memory.tokens)
    assert torch.equal(mapped.lengths, memory.lengths)


def test_other_cuts_are_other_files(stored):
    tokenizer = tokenizer_of(stored, Characters())
    tables = [
        table_of(texts, tokenizer, width=width, keep=keep, device=CPU)
        for texts, width, keep in (
            (stored, 12, "head"), (stored, 11, "head"), (stored, 12, "tail"), (stored[1:], 12, "head")
        )
    ]  # fmt: skip
    assert len({table.content for table in tables}) == 4


def test_words_are_learned_from_the_first_of_many(stored, monkeypatch):
    monkeypatch.setattr(row_files, "LEARNED", 10)
    few = tokenizer_of(stored, Words())
    assert few.digest() == tokenizer_of(tuple(stored)[:10], Words()).digest()
