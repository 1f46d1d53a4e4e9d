"""The published formats, read by ourselves: IDX and CIFAR pictures, tables and folders of texts."""

import os
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from regard.data.files import advice, read

CIFAR_SIDE = 32


def idx(data: bytearray, path: Path) -> Tensor:
    """The uint8 tensor of an IDX file: two zeros, type 8, the number of axes, their big-endian sizes, values.

    >>> idx(bytearray(b"\\0\\0\\x08\\2" + b"\\0\\0\\0\\1" + b"\\0\\0\\0\\3" + b"abc"), Path("x"))
    tensor([[97, 98, 99]], dtype=torch.uint8)
    """
    if len(data) < 4 or data[:3] != b"\0\0\x08" or not data[3]:
        have = bytes(data[:4]).hex(" ") or "nothing"
        raise ValueError(f"{path} is no IDX file of bytes: it starts with {have}, not 00 00 08")
    start = 4 + 4 * data[3]
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, min(start, len(data)), 4)]
    if len(data) != start + prod(shape):
        said = " by ".join(map(str, shape))
        raise ValueError(f"{path} says {said} values but holds {len(data) - start:,} bytes of them")
    return torch.frombuffer(data, dtype=torch.uint8)[start:].view(shape)


def cifar(data: bytearray, path: Path) -> tuple[Tensor, Tensor]:
    """Images (N, 3, 32, 32) and labels (N,) of a CIFAR-10 batch: per picture a label, then three planes."""
    row = 1 + 3 * CIFAR_SIDE**2
    if not data or len(data) % row:
        raise ValueError(f"{path} has {len(data):,} bytes, no multiple of {row}; {advice(path.parent)}")
    rows = torch.frombuffer(data, dtype=torch.uint8).view(-1, row)
    labels = rows[:, 0].long()
    check_labels(labels, 10, path)
    return rows[:, 1:].unflatten(1, (3, CIFAR_SIDE, CIFAR_SIDE)), labels


def check_labels(labels: Tensor, classes: int, path: Path) -> None:
    """Raise unless every label names one of the classes."""
    if len(labels) and int(labels.max()) >= classes:
        raise ValueError(f"{path} holds label {int(labels.max())}, but there are {classes} classes")


def text(data: bytes | bytearray, path: Path) -> str:
    """UTF-8 text, its line ends as they are."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 text: {error}; {advice(path.parent)}") from error


def table(data: bytes | bytearray, path: Path) -> tuple[tuple[str, ...], Tensor]:
    """The sentences and labels of a GLUE table: a header, then one `sentence<TAB>label` per line."""
    header, *lines = text(data, path).split("\n")
    if header != "sentence\tlabel":
        raise ValueError(f"{path} starts with {header!r} where 'sentence<TAB>label' belongs")
    texts, labels = [], []
    for number, line in enumerate(lines, start=2):
        if not line and number == len(lines) + 1:
            break
        sentence, _, label = line.rpartition("\t")
        if label not in ("0", "1") or not sentence.strip():
            raise ValueError(f"{path} line {number} is no sentence, tab and 0 or 1: {line[:60]!r}")
        texts.append(sentence.strip())
        labels.append(int(label))
    return tuple(texts), torch.tensor(labels, dtype=torch.int64)


def folder_of_texts(folder: Path, count: int) -> tuple[str, ...]:
    """The texts of a folder of `ID_RATING.txt` in the order of ID, which must be `count` in number."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".txt")]
        names.sort(key=lambda name: int(name.partition("_")[0]))
    except OSError as error:
        raise ValueError(f"{folder} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{folder} holds a file that is not called ID_RATING.txt: {error}") from error
    if len(names) != count:
        raise ValueError(
            f"{folder} holds {len(names):,} texts, the official set {count:,}: it is there only in part; "
            f"{advice(folder.parents[1])}"
        )
    out = []
    for name in names:
        data = read(folder / name)
        if not data:
            raise ValueError(f"{folder / name} is empty; {advice(folder.parents[1])}")
        out.append(text(data, folder / name))
    return tuple(out)
