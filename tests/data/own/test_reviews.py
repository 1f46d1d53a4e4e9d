"""Labelled texts on the disk: the same as in memory, taken up after a kill, in parts by their draws."""

import json

import pytest
import torch

from regard.data import load
from regard.data.own import reviews
from regard.data.own.problems import BadData
from regard.data.own.splits import drawn_part
from regard.data.own.strings import StoredStrings


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "prepared-here"))


def rows(path, count=60, **more):
    words = ["ünï", "lion 🦁", "plain"]
    found = [{"text": f"{words[i % 3]} {i}", "label": f"{10 - i % 2}", **more} for i in range(count)]
    path.write_text("\n".join(json.dumps(one) for one in found), encoding="utf-8")
    return found


def test_they_are_what_the_rows_say_by_their_draws(tmp_path):
    given = rows(tmp_path / "t.jsonl")
    found = load(tmp_path / "t.jsonl")
    assert found.classes == ("9", "10")
    expected = {"train": [], "test": []}
    for at, row in enumerate(given):
        part, drawn = drawn_part(row["text"], None, frozenset())
        expected[part].append((drawn, at, row["text"], found.classes.index(row["label"])))
    for name, part in (("train", found.train), ("test", found.test)):
        wanted = sorted(expected[name])
        assert list(part.texts) == [one[2] for one in wanted]
        assert part.labels.tolist() == [one[3] for one in wanted]
    assert found.draws.tolist() == [one[0] for one in sorted(expected["train"])]


def test_texts_of_the_disk_are_cut_like_a_tuple(tmp_path):
    rows(tmp_path / "t.jsonl")
    texts = load(tmp_path / "t.jsonl").train.texts
    assert isinstance(texts, StoredStrings)
    whole = tuple(texts)
    assert texts[3] == whole[3]
    assert texts[-1] == whole[-1]
    assert tuple(texts[5:11][1:3]) == whole[6:8]
    assert len(texts[100:]) == 0
    assert tuple(texts[100:]) == ()
    assert texts[5:11].key != texts[5:12].key != texts[4:11].key
    with pytest.raises(ValueError, match="a step of 2"):
        texts[::2]
    with pytest.raises(IndexError):
        texts[len(texts)]


def test_a_preparation_that_was_killed_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "t.jsonl"
    rows(path)
    monkeypatch.setattr(reviews, "SETTLE", 100)
    calls, copy = [], reviews.pack

    def dies(*args):
        calls.append(args)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return copy(*args)

    monkeypatch.setattr(reviews, "pack", dies)
    with pytest.raises(KeyboardInterrupt):
        load(path)
    found = load(path)
    assert len(calls) < 100 + 3 * 60
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "another"))
    again = load(path)
    assert again.digest == found.digest
    assert torch.equal(again.train.labels, found.train.labels)


def test_other_labels_are_another_digest(tmp_path):
    rows(tmp_path / "a.jsonl")
    text = (tmp_path / "a.jsonl").read_text().replace('"label": "9"', '"label": "8"')
    (tmp_path / "b.jsonl").write_text(text)
    assert load(tmp_path / "a.jsonl").digest != load(tmp_path / "b.jsonl").digest


def test_half_a_character_is_told_by_its_line(tmp_path):
    path = tmp_path / "t.jsonl"
    rows(path)
    with path.open("a") as file:
        file.write('\n{"text": "half \\ud83e", "label": "9"}\n')
    with pytest.raises(BadData, match=r"t\.jsonl, line 61: text is not in UTF-8"):
        load(path)


def test_nothing_but_bad_rows_is_told_again(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "", "label": "a"}\n{"text": "x"}\n')
    for _ in range(2):  # the second time from what was prepared
        with pytest.raises(BadData, match="line 1"):
            load(path)
