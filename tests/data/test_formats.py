"""The published formats, and files that only look like them."""

from pathlib import Path

import pytest
import torch

from regard.data.formats import cifar, folder_of_texts, idx, table, text

HERE = Path("some") / "file"


def idx_bytes(x: torch.Tensor) -> bytearray:
    sizes = b"".join(size.to_bytes(4, "big") for size in x.shape)
    return bytearray(bytes([0, 0, 8, x.ndim]) + sizes + x.numpy().tobytes())


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (300, 1, 2), (0, 3)])
def test_idx(shape):
    x = torch.randint(256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(idx(idx_bytes(x), HERE), x)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 15, 16, 39, 41])
def test_idx_of_a_wrong_size(size):
    data = idx_bytes(torch.ones(2, 3, 4, dtype=torch.uint8))  # 16 bytes of header, 24 of values
    with pytest.raises(ValueError, match="some"):
        idx((data + b"\0")[:size], HERE)


@pytest.mark.parametrize("start", [b"\0\0\x0d\x01", b"\x1f\x8b\x08\0", b"PK\3\4", b"\0\0\x08\0"])
def test_idx_of_another_kind(start):
    with pytest.raises(ValueError, match="is no IDX file of bytes: it starts with " + start.hex(" ")):
        idx(bytearray(start + bytes(100)), HERE)


def test_cifar():
    images = torch.randint(256, (3, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([9, 0, 4])
    data = bytearray(torch.cat([labels[:, None].byte(), images.flatten(1)], 1).numpy().tobytes())
    got_images, got_labels = cifar(data, HERE)
    assert torch.equal(got_images, images)
    assert torch.equal(got_labels, labels)
    for size in (0, 1, len(data) - 1):
        with pytest.raises(ValueError, match=f"has {size:,} bytes, no multiple of 3073"):
            cifar(data[:size], HERE)
    data[0] = 10
    with pytest.raises(ValueError, match="label 10, but there are 10 classes"):
        cifar(data, HERE)


def test_table():
    data = "sentence\tlabel\nit 's fine \t1\nodd\ttab\u2028inside \t0\n".encode()
    texts, labels = table(data, HERE)
    assert texts == ("it 's fine", "odd\ttab\u2028inside")
    assert labels.tolist() == [1, 0]
    assert table(b"sentence\tlabel\n", HERE)[0] == ()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "starts with ''"),
        (b"index\tsentence\n0\tx\n", "starts with 'index"),
        (b"sentence\tlabel\nfine \t1\nbad \t2\n", "line 3 "),
        (b"sentence\tlabel\nno label\n", "line 2 "),
        (b"sentence\tlabel\n\nfine \t1\n", "line 2 "),
        (b"sentence\tlabel\n \t1\n", "line 2 "),
        (b"sentence\tlabel\n\xff\t1\n", "no UTF-8 text"),
    ],
)
def test_a_wrong_table(data, message):
    with pytest.raises(ValueError, match=f"some.file .*{message}"):
        table(data, HERE)


def test_text_keeps_its_line_ends():
    assert text(b"a\r\nb\rc\n", HERE) == "a\r\nb\rc\n"


def test_folder_of_texts(tmp_path):
    folder = tmp_path / "aclImdb" / "train" / "pos"
    folder.mkdir(parents=True)
    for number, words in ((10, "ten"), (2, "two é"), (0, "zero")):
        (folder / f"{number}_7.txt").write_bytes(words.encode())
    (folder / "labeledBow.feat").write_text("not a text")
    assert folder_of_texts(folder, 3) == ("zero", "two é", "ten")
    with pytest.raises(ValueError, match=r"pos holds 3 texts, the official set 4: .* remove \S*aclImdb and"):
        folder_of_texts(folder, 4)
    (folder / "2_7.txt").write_bytes(b"")
    with pytest.raises(ValueError, match=r"2_7\.txt is empty"):
        folder_of_texts(folder, 3)
    (folder / "2_7.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"2_7\.txt is no UTF-8 text"):
        folder_of_texts(folder, 3)
    (folder / "note.txt").write_text("x")
    with pytest.raises(ValueError, match="not called ID_RATING"):
        folder_of_texts(folder, 3)
    with pytest.raises(ValueError, match="nowhere cannot be read"):
        folder_of_texts(tmp_path / "nowhere", 3)
