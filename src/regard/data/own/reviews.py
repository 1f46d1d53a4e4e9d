"""Labelled texts of one's own: rows of tables, or files in class folders, cut into parts by their content.

They are copied once into files that training maps into memory, each part in the order of its draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from struct import pack

import torch
from torch import Tensor

from regard.data.kinds import Reviews, Texts
from regard.data.own.items import Items, in_order
from regard.data.own.problems import BadData, DataProblem
from regard.data.own.source import Source
from regard.data.own.splits import PARTS, drawn_part
from regard.data.own.store import SETTLE, PreparationBar, Prepared, beginning
from regard.data.own.strings import StoredStrings
from regard.data.own.tables import Row, fault_of_text
from regard.values import Json

MANY = 50  # classes beyond which labels that are nearly all different are taken for a slip
ALONE = 4  # examples up to which each may have a class of its own
FOUND = ("text", "ends", "labels", "named")  # what is written row by row: named is a part, 0 for none
NAMES = (None, *PARTS)


def text_rows(items: Items, problems: list[DataProblem]) -> Iterator[Row]:
    """The text of each file with its class; what is no text goes to `problems`."""
    validates = any(item.draw == 0.0 for item in items.found)
    for item in items.found:
        try:
            text = item.path.read_text(encoding="utf-8-sig")
            bad = fault_of_text(text) or (None if text.strip() else "is empty")
        except UnicodeDecodeError:
            text, bad = "", "is not in UTF-8"
        except OSError as error:
            text, bad = "", f"cannot be read: {error.strerror}"
        if bad is not None:
            problems.append(DataProblem(item.inner, bad))
            continue
        part = "validation" if validates and item.draw == 0.0 else item.part
        yield Row(text, item.label, part, item.inner, 1)


def store_reviews(
    folder: Path, name: str, rows: Iterable[Row], problems: list[DataProblem], total: int
) -> Json:
    """Copy the rows, then cut them into parts; a preparation that was cut off goes on after its last row."""
    note, files = beginning(folder, FOUND)
    done, settled = note.get("rows", 0), files.length("text")
    counts: Counter[str] = Counter(note.get("counts", {}))
    number = {label: at for at, label in enumerate(counts)}
    bar = PreparationBar(name, total, "bytes")
    try:
        for at, row in enumerate(rows):
            if at < done:
                continue
            counts[row.label] += 1
            files.add("text", row.text.encode())
            files.add("ends", pack("<q", files.length("text")))
            files.add("labels", pack("<q", number.setdefault(row.label, len(number))))
            files.add("named", pack("<b", NAMES.index(row.part)))
            bar.at(files.length("text"))
            if files.length("text") - settled > SETTLE:
                settled = files.length("text")
                files.settled({"rows": at + 1, "counts": dict(counts)})
    finally:
        bar.close()
        files.close()
    bad = [[one.file, one.what, one.line] for one in problems]
    classes = in_order(counts)
    sizes = _cut(folder, classes, list(number)) if counts else {"train": 0, "test": 0}
    return {"classes": list(classes), "counts": dict(counts), "rows": sizes, "bad": bad}


def _cut(folder: Path, classes: tuple[str, ...], found: list[str]) -> dict[str, int]:
    """Write where the texts of each part lie, by their draws; equal texts have equal ones.

    So none is both learned from and scored.
    """
    count = (folder / "named").stat().st_size
    stored = Prepared(folder, {})
    ends, labels = (stored.tensor(name, torch.int64, count) for name in ("ends", "labels"))
    named = stored.tensor("named", torch.int8, count)
    begins = torch.cat([torch.zeros(1, dtype=torch.int64), ends[:-1]])
    given = frozenset(part for code in named.unique().tolist() if (part := NAMES[code]) is not None)
    tests, draws = torch.zeros(count, dtype=torch.bool), torch.zeros(count, dtype=torch.float64)
    texts = StoredStrings(folder / "text", begins, ends)
    for at, (text, code) in enumerate(zip(texts, named.tolist(), strict=True)):
        part, drawn = drawn_part(text, NAMES[code], given)
        tests[at], draws[at] = part == "test", drawn
    renumbered = torch.tensor([classes.index(label) for label in found])
    for name, mine in (("train", ~tests), ("test", tests)):
        rows = torch.nonzero(mine).flatten()
        rows = rows[torch.argsort(draws[rows], stable=True)]
        _write(folder / f"{name}.begins", begins[rows])
        _write(folder / f"{name}.ends", ends[rows])
        _write(folder / f"{name}.labels", renumbered[labels[rows]])
        _write(folder / f"{name}.draws", draws[rows])
    del texts, ends, labels, named
    for name in FOUND[1:]:
        (folder / name).unlink()
    return {"train": int((~tests).sum()), "test": int(tests.sum())}


def _write(path: Path, values: Tensor) -> None:
    with path.open("wb") as file:
        file.write(values.numpy().data)


def open_reviews(source: Source, stored: Prepared, problems: list[DataProblem]) -> Reviews:
    """The prepared texts as a set that is read from the disk; `problems` are told where nothing is left."""
    rows, counts = stored.meta["rows"], stored.meta["counts"]
    if not counts:
        raise BadData(
            source.named, problems or [DataProblem(source.named, "holds no rows")], skipped=source.skip_bad
        )
    check_classes(source, counts, problems)
    if rows["train"] < 2:
        raise ValueError(
            f"{source.path} leaves fewer than 2 texts to train on, got {sum(counts.values())} in all"
        )

    def part(name: str) -> Texts:
        begins, ends, labels = (
            stored.tensor(f"{name}.{kind}", torch.int64, rows[name]) for kind in ("begins", "ends", "labels")
        )
        return Texts(
            StoredStrings(stored.folder / "text", begins, ends, digest=f"{stored.digest} {name}"), labels
        )

    draws = stored.tensor("train.draws", torch.float64, rows["train"])
    classes = tuple(stored.meta["classes"])
    return Reviews(source.named, classes, part("train"), part("test"), draws=draws, digest=stored.digest)


def check_classes(source: Source, counts: Mapping[str, int], problems: list[DataProblem]) -> None:
    """Raise where there is one class only, or where labels are no classes at all."""
    path, examples = source.path, sum(counts.values())
    if len(counts) == 1:
        why = f"has one class only, {next(iter(counts))!r}: a classifier needs two"
        if problems:  # which may be why
            raise BadData(source.named, [DataProblem(source.named, why), *problems])
        raise ValueError(f"{path} {why}")
    alone = len(counts) == examples > ALONE  # no two of a kind
    if alone or (len(counts) > MANY and len(counts) > examples / 2):
        few = ", ".join(repr(label[:20]) for label in in_order(counts)[:3])
        raise ValueError(
            f"{path} has {len(counts):,} different labels in {examples:,} examples ({few}, …): "
            f"is that the column of classes?"
        )
