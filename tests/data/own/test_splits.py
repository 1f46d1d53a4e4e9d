"""Parts are by hash: examples that are added move no other."""

import torch

from regard.data import load
from regard.data.kinds import held_out
from tests.data.own.making import photos, picture, table


def parts(found, share=0.3):
    learn, held = (found.train.take(at) for at in held_out(found, share))
    key = (
        (lambda part: {x.numpy().tobytes() for x in part.images})
        if hasattr(learn, "images")
        else (lambda part: set(part.texts))
    )
    return [key(part) for part in (learn, held, found.test)]


def test_added_images_move_no_other(tmp_path):
    root = photos(tmp_path / "photos", count=40)
    before = parts(load(root))
    assert all(before)
    for i in range(30):
        picture(5000 + i).save(root / "dog" / f"more-{i}.png")
    after = parts(load(root))
    assert all(old <= new for old, new in zip(before, after, strict=True))
    assert sum(map(len, after)) == 110


def test_added_rows_move_no_other_and_equal_texts_stay_together(tmp_path):
    before = parts(load(table(tmp_path / "r.csv", count=60)))
    lines = [f"another {i},good" for i in range(30)]
    after = parts(load(table(tmp_path / "r.csv", *lines, count=60)))
    assert all(old <= new for old, new in zip(before, after, strict=True))
    twice = [f"this is text {i},good" for i in range(60)]
    learn, held, test = parts(load(table(tmp_path / "r.csv", *twice, count=60)))
    assert not learn & (held | test)
    assert not held & test


def test_named_folders_are_the_parts(tmp_path):
    root = tmp_path / "set"
    for name, count in (("train", 9), ("val", 4), ("test", 3)):
        photos(root / name, count=count)
    found = load(root)
    for share in (0.01, 0.5, 0.99):
        learn, held = held_out(found, share)
        assert (len(found.train.take(learn)), len(found.train.take(held)), len(found.test)) == (18, 8, 6)
    photos(root / "train", count=9)
    (root / "train").rename(root / "other")
    assert set(load(root).classes) == {"other", "val", "test"}  # without train/ they are classes


def test_added_documents_move_no_other(tmp_path):
    (tmp_path / "books").mkdir()

    def add(first, last):
        for i in range(first, last):
            (tmp_path / "books" / f"{i:03}.txt").write_text(f"book {i}.")
        found = load(tmp_path / "books")
        return [
            {line for line in "".join(found.stretches(0.2, held=held)).split("\n") if line}
            for held in (False, True)
        ]

    before, after = add(0, 40), add(40, 70)
    assert all(old <= new for old, new in zip(before, after, strict=True))
    assert len(after[0]) + len(after[1]) == 70
    assert not after[0] & after[1]


def test_few_examples_leave_one_on_each_side(tmp_path):
    found = load(photos(tmp_path / "photos", count=2))
    learn, held = held_out(found, 0.01)
    assert len(found.train.take(held)) == 1
    assert torch.all(found.draws.diff() >= 0)
    assert len(found.train.take(learn)) == len(found.train) - 1
