"""Text on the disk: read in stretches that lose nothing, and taken up after a kill."""

import json

import pytest

from regard.data import load
from regard.data.own import corpora
from regard.train.tasks import token_files
from regard.train.tasks.tokens import BytePairs, Characters


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "prepared-here"))
    monkeypatch.setattr(corpora, "CHUNK", 37)


@pytest.mark.parametrize("text", ["ünï 🦁 " * 200, "line\n" * 300, "🦁\n" * 100 + "x" * 200, "a"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.33])
def test_stretches_lose_nothing(text, share, tmp_path):
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    found = load(tmp_path / "book.txt")
    assert found.text == text
    both = ["".join(found.stretches(share, held=held)) for held in (False, True)]
    assert "".join(both) == text


def test_a_long_line_without_an_end_stays_whole(tmp_path):
    text = "é" * 5000
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    found = load(tmp_path / "book.txt")
    assert "".join(found.stretches(0.0, held=False)) == text


def test_documents_go_on_after_a_kill(tmp_path, monkeypatch):
    (tmp_path / "books").mkdir()
    for i in range(12):
        (tmp_path / "books" / f"{i:02}.txt").write_text(f"book {i} " * 10)
    monkeypatch.setattr(corpora, "SETTLE", 100)
    copy, calls = corpora._copy, []

    def dies(*args):
        calls.append(args)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return copy(*args)

    monkeypatch.setattr(corpora, "_copy", dies)
    with pytest.raises(KeyboardInterrupt):
        load(tmp_path / "books")
    found = load(tmp_path / "books")
    assert 12 < len(calls) < 7 + 12
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "another"))
    assert load(tmp_path / "books").digest == found.digest


def test_rows_go_on_after_a_kill(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps({"text": f"row {i} " * 9}) for i in range(20)))
    monkeypatch.setattr(corpora, "SETTLE", 200)
    draws, calls = corpora.drawn_part, []

    def dies(*args):
        calls.append(args)
        if len(calls) == 11:
            raise KeyboardInterrupt
        return draws(*args)

    monkeypatch.setattr(corpora, "drawn_part", dies)
    with pytest.raises(KeyboardInterrupt):
        load(path)
    found = load(path)
    assert found.stored.meta["documents"] == 20
    assert len(calls) < 11 + 20
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "another"))
    assert load(path).digest == found.digest


@pytest.mark.parametrize("tokens", [Characters(), BytePairs(vocab=300)])
def test_tokens_on_the_disk_are_those_of_the_text(tokens, tmp_path, monkeypatch):
    text = "".join(f"line {i}: müde 🦁\n" for i in range(200))
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    found = load(tmp_path / "book.txt")
    tokenizer = token_files.learned_from(found, tokens, 0.1)
    codes, calls = token_files._codes, []

    def dies(piece):
        calls.append(piece)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return codes(piece)

    if isinstance(tokens, Characters):  # cut off on the way, and taken up
        monkeypatch.setattr(token_files, "_codes", dies)
        with pytest.raises(KeyboardInterrupt):
            token_files.token_files(found, tokenizer, 0.1)
    files = token_files.token_files(found, tokenizer, 0.1)
    assert tokenizer.decode([*files.train.tolist(), *files.held.tolist()]) == text
    assert files.unknown == 0
    assert files.held_characters == len("".join(found.stretches(0.1, held=True)))
    assert int(files.counts(tokenizer.vocab).sum()) == len(files.train)


@pytest.mark.parametrize("count", [1, 5, 40])
def test_of_much_that_is_held_out_some_is_scored(count, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "SCORED", 50)
    (tmp_path / "books").mkdir()
    texts = [f"é{i:02} " * (40 if count == 1 else 9) for i in range(count)]
    for i, text in enumerate(texts):
        (tmp_path / "books" / f"{i:02}.txt").write_text(text, encoding="utf-8")
    found = load(tmp_path / "books")
    scored, learned = ("".join(found.stretches(0.5, held=held)) for held in (True, False))
    assert 45 <= len(scored.encode()) <= 51
    whole_pieces = [piece for piece in scored.split() if len(piece) == 3]
    assert count == 1 or all(piece not in learned for piece in whole_pieces)
    monkeypatch.setattr(corpora, "SCORED", 10**6)
    assert "".join(found.stretches(0.5, held=False)) == learned  # what is held out is not more or less for it
    whole = "".join(found.stretches(0.5, held=True))
    assert all(piece in whole for piece in scored.split())
