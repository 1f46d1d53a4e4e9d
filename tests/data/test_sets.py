"""The sets by name: the embedded ones always, the real ones where they are at hand."""

import gzip
import hashlib
import shutil
import socket
import sys
from dataclasses import replace

import pytest
import torch

from regard.data import NAMES, load, sets
from regard.data.files import Known
from tests.data.conftest import lay_out


def test_names():
    assert set(NAMES) == {
        "fashion-mnist", "cifar10", "tinyshakespeare", "imdb", "sst2", "imdb+sst2", "digits", "play",
        "verdicts",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "near"), [("cifar-10", "cifar10"), ("mnist", "fashion-mnist"), ("Digits", "digits")]
)
def test_a_near_miss(name, near):
    with pytest.raises(
        ValueError, match=f"got name='{name}'; did you mean '{near}'. there are fashion-mnist"
    ):
        load(name)


def test_an_unknown_name():
    with pytest.raises(ValueError, match="got name='xyzzy'; there are fashion-mnist, cifar10"):
        load("xyzzy")


def test_digits():
    digits = load("digits")
    assert (len(digits.train), len(digits.test)) == (1438, 359)
    assert digits.train.images.shape[1:] == (1, 8, 8)
    assert digits.train.images.is_contiguous()
    both = torch.cat([digits.train.images, digits.test.images])
    assert len(both.unique()) == 17
    assert (both.min(), both.max()) == (0, 255)
    assert digits.test.labels.bincount().min() > 20
    assert torch.equal(load("digits").train.images, digits.train.images)


def test_play():
    play = load("play")
    assert play.name == "play"
    assert len(play.dialogues()) > 10


def test_verdicts():
    verdicts = load("verdicts")
    assert (len(verdicts.train), len(verdicts.test)) == (20_000, 2_000)
    assert not set(verdicts.train.texts) & set(verdicts.test.texts)
    assert 0.45 < verdicts.train.labels.float().mean() < 0.55
    assert verdicts.classes == ("negative", "positive")
    assert load("verdicts").train.texts == verdicts.train.texts


@pytest.mark.parametrize("name", ["digits", "play", "verdicts"])
def test_embedded_sets_need_no_network(name, monkeypatch):
    def refuse(*_):
        raise AssertionError("network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert load(name).name == name


def test_fashion_mnist(real):
    data = load("fashion-mnist", folder=real)
    assert data.train.images.shape == (60_000, 1, 28, 28)
    assert data.test.images.shape == (10_000, 1, 28, 28)
    assert data.train.labels.bincount().tolist() == [6000] * 10
    assert data.classes[int(data.train.labels[0])] == "Ankle boot"
    assert abs(float(data.train.images.float().mean()) / 255 - 0.2860) < 1e-4


def test_tinyshakespeare(real, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", str(real))
    corpus = load("tinyshakespeare")
    assert len(corpus.text) == 1_115_394
    assert len(set(corpus.text)) == 65
    assert corpus.dialogues()[0] == "First Citizen:\nBefore we proceed any further, hear me speak."


def test_sst2(real):
    data = load("sst2", folder=real)
    assert (len(data.train), len(data.test), data.unlabelled) == (67_349, 872, ())
    assert data.test.texts[0] == "it 's a charming and often affecting journey ."
    assert data.test.labels[:2].tolist() == [1, 0]


def test_cifar10(tmp_path):
    pytest.importorskip("PIL")
    data = load("cifar10", folder=lay_out(tmp_path, "cifar10"))
    assert data.train.images.shape == (50_000, 3, 32, 32)
    assert data.train.images.is_contiguous()
    assert data.test.images.is_contiguous()
    assert data.train.labels.bincount().tolist() == [5000] * 10
    assert data.classes[int(data.train.labels[0])] == "frog"
    mean = data.train.images[::50].float().mean((0, 2, 3)) / 255
    torch.testing.assert_close(mean, torch.tensor([0.4914, 0.4822, 0.4465]), rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("set_name", "folder", "file"),
    [
        ("fashion-mnist", "fashion-mnist", "t10k-labels-idx1-ubyte.gz"),
        ("tinyshakespeare", "tinyshakespeare", "input.txt"),
    ],
)
def test_one_wrong_bit_is_found(real, tmp_path, set_name, folder, file):
    shutil.copytree(real / folder, tmp_path / folder)
    (tmp_path / folder).chmod(0o755)
    path = tmp_path / folder / file
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        ValueError, match=rf"{file} does not have the official checksum .*remove \S*{folder} and load"
    ):
        load(set_name, folder=tmp_path)


def idx_gz(x: torch.Tensor) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in x.shape)
    return gzip.compress(bytes([0, 0, 8, x.ndim]) + sizes + x.numpy().tobytes())


def small(monkeypatch, folder, name, contents):
    """A set of the same layout with contents of our own."""
    source, reader = sets.PUBLISHED[name]
    place = folder / source.folder
    place.mkdir()
    for file, data in contents.items():
        (place / file).write_bytes(data)
    files = tuple(
        Known(file, "md5:" + hashlib.md5(data).hexdigest(), len(data)) for file, data in contents.items()
    )
    monkeypatch.setitem(sets.PUBLISHED, name, (replace(source, files=files), reader))


def test_small_fashion_mnist(monkeypatch, tmp_path):
    x, y = torch.arange(2 * 3 * 4).byte().view(2, 3, 4), torch.tensor([9, 0]).byte()
    names = [known.name for known in sets.FASHION.files]
    small(
        monkeypatch,
        tmp_path,
        "fashion-mnist",
        dict(zip(names, map(idx_gz, (x, y, x[:1], y[:1])), strict=True)),
    )
    data = load("fashion-mnist", folder=tmp_path)
    assert torch.equal(data.train.images[:, 0], x)
    assert data.train.labels.tolist() == [9, 0]
    assert len(data.test) == 1


def test_small_cifar10(monkeypatch, tmp_path):
    rows = torch.randint(256, (6, 2, 3073), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    rows[:, :, 0] %= 10
    names = [known.name for known in sets.CIFAR.files]
    small(
        monkeypatch,
        tmp_path,
        "cifar10",
        {name: row.numpy().tobytes() for name, row in zip(names, rows, strict=True)},
    )
    data = load("cifar10", folder=tmp_path)
    assert torch.equal(data.train.images, rows[:5, :, 1:].reshape(10, 3, 32, 32))
    assert torch.equal(data.train.labels, rows[:5, :, 0].flatten().long())
    assert torch.equal(data.test.images, rows[5, :, 1:].reshape(2, 3, 32, 32))
    assert data.train.images.is_contiguous()
    assert data.test.images.is_contiguous()
    path = tmp_path / "cifar-10-batches-bin" / "data_batch_4.bin"
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(
        ValueError, match=r"data_batch_4\.bin has 6,000 bytes where the official file has 6,146"
    ):
        load("cifar10", folder=tmp_path)
    path.unlink()
    with pytest.raises(ValueError, match=r"lacks data_batch_4\.bin"):
        load("cifar10", folder=tmp_path)


def test_small_imdb(monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "IMDB_COUNT", 2)
    for part, side, count in (
        ("train", "pos", 2),
        ("train", "neg", 2),
        ("test", "pos", 2),
        ("test", "neg", 2),
    ):
        folder = tmp_path / "aclImdb" / part / side
        folder.mkdir(parents=True)
        for i in range(count):
            (folder / f"{i}_{i}.txt").write_text(f"{part} {side} {i}")
    data = load("imdb", folder=tmp_path)
    assert data.train.texts == ("train neg 0", "train neg 1", "train pos 0", "train pos 1")
    assert data.test.labels.tolist() == [0, 0, 1, 1]
    assert data.unlabelled == ()
    folder = tmp_path / "aclImdb" / "train" / "unsup"
    folder.mkdir()
    for i in range(8):
        (folder / f"{i}_0.txt").write_text(f"more {i}")
    assert load("imdb", folder=tmp_path).unlabelled == tuple(f"more {i}" for i in range(8))
    (folder / "7_0.txt").unlink()
    with pytest.raises(ValueError, match="unsup holds 7 texts, the official set 8"):
        load("imdb", folder=tmp_path)
    shutil.rmtree(tmp_path / "aclImdb" / "test" / "neg")
    with pytest.raises(ValueError, match="lacks test/neg"):
        load("imdb", folder=tmp_path)
