"""The sets that `regard bench data` writes are what it says, and memory is seen."""

import pytest
import torch

from regard.bench import data
from regard.data import Corpus, Images, Reviews
from regard.data.own.opening import load_own


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "prepared-here"))


def test_what_is_written_is_read_as_asked(tmp_path):
    images = load_own(data.write_images(tmp_path / "images", count=40))
    assert isinstance(images, Images)
    assert len(images.train) + len(images.test) == 40
    assert len(images.classes) == data.CLASSES
    text = load_own(data.write_text(tmp_path / "text", size=12_345))
    assert isinstance(text, Corpus)
    assert len(text.text) == 12_345
    rows = load_own(data.write_rows(tmp_path / "rows", count=50))
    assert isinstance(rows, Reviews)
    assert len(set(rows.train.texts) | set(rows.test.texts)) == 50


def test_anonymous_memory_is_seen():
    with data.anonymous_memory() as before:
        torch.ones(10).sum()
        while not before[0]:
            pass
    with data.anonymous_memory() as most:
        held = torch.ones(30_000_000)
        while most[0] < before[0] + held.nbytes // 2:
            pass
    assert most[0] > before[0]
