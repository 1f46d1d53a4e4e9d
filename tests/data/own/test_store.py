"""Prepared once: taken up after a kill, made again when damaged or changed, mapped and not copied."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.data import load
from regard.data.own import images
from regard.data.own.store import cache_folder, prepared
from tests.data.own.making import photos, picture


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "prepared-here"))


def made():
    return sorted(path for path in (cache_folder() / "prepared").iterdir() if path.is_dir())


def test_a_second_load_decodes_nothing(tmp_path, monkeypatch):
    root = photos(tmp_path / "photos")
    first = load(root)
    monkeypatch.setattr(images, "read_image", None)
    again = load(root)
    assert torch.equal(first.train.images, again.train.images)
    assert first.digest == again.digest


def test_a_changed_file_is_noticed(tmp_path):
    root = photos(tmp_path / "photos")
    first = load(root)
    picture(999).save(root / "cat" / "0.png")
    assert load(root).digest != first.digest


def test_labels_count_in_the_digest(tmp_path):
    root = photos(tmp_path / "photos")
    first = load(root)
    (root / "cat").rename(root / "cow")
    assert load(root).digest != first.digest


@pytest.mark.parametrize("how", ["flipped", "short", "gone", "no meta"])
def test_damage_is_noticed_and_made_good(how, tmp_path):
    root = photos(tmp_path / "photos")
    whole = load(root).train.images.clone()
    (folder,) = [path for path in made() if (path / "train.images").exists()]
    file = folder / "train.images"
    data = bytearray(file.read_bytes())
    if how == "flipped":
        data[7] ^= 1
        file.write_bytes(data)
    elif how == "short":
        file.write_bytes(data[:-5])
    elif how == "gone":
        file.unlink()
    else:
        (folder / "meta.json").write_text("{")
    assert torch.equal(load(root).train.images, whole)


def test_what_was_cut_off_goes_on(tmp_path, monkeypatch):
    root = photos(tmp_path / "photos", count=20)
    monkeypatch.setattr(images, "EVERY", 5)
    read, calls = images.read_image, []

    def dies(path, *args, **how):
        calls.append(path)
        if len(calls) == 18:
            raise KeyboardInterrupt
        return read(path, *args, **how)

    monkeypatch.setattr(images, "read_image", dies)
    with pytest.raises(KeyboardInterrupt):
        load(root)
    (part,) = [path for path in made() if path.suffix == ".part"]
    assert json.loads((part / "progress.json").read_text())["done"] == 15
    found = load(root)
    assert len(calls) == 18 + 40 - 15
    assert [path for path in made() if path.suffix == ".part"] == []
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "another"))
    assert load(root).digest == found.digest


def test_a_half_written_note_of_a_killed_process_is_not_kept(tmp_path):
    def fill(folder):
        (folder / "data").write_bytes(b"x")
        return {}

    clean = prepared("a" * 64, fill)

    def fill_after_a_kill(folder):
        (folder / f".progress.json.{'0' * 32}").write_text("{")
        return fill(folder)

    assert prepared("b" * 64, fill_after_a_kill).digest == clean.digest


def test_a_kill_at_any_time_leaves_the_same_set(tmp_path, monkeypatch):
    root = photos(tmp_path / "photos", count=150)
    code = (
        "from regard.data.own import images; images.EVERY = 10\n"
        f"from regard.data import load; print('on', flush=True); load({str(root)!r})"
    )
    for wait in (0.02, 0.08):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(wait)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    found = load(root)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "another"))
    assert load(root).digest == found.digest


def test_an_interrupted_fill_leaves_nothing_that_counts(tmp_path):
    def fails(folder):
        (folder / "x").write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        prepared("ab" * 32, fails)
    assert prepared("ab" * 32, lambda folder: {"fine": 1}).meta["fine"] == 1


def test_tensors_are_mapped(tmp_path):
    found = load(photos(tmp_path / "photos"))
    maps = Path("/proc/self/maps")
    assert not maps.exists() or "train.images" in maps.read_text()
    part = found.train.take(slice(2, 5))
    assert part.images.untyped_storage().data_ptr() == found.train.images.untyped_storage().data_ptr()
