"""Labelled texts of one's own: rows of tables, or files in class folders, cut into parts by their content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import torch

from regard.data.kinds import Reviews, Texts
from regard.data.own.items import Items, in_order
from regard.data.own.problems import BadData, DataProblem
from regard.data.own.source import Source
from regard.data.own.splits import drawn_part
from regard.data.own.tables import Row, fault_of_text

MANY = 50  # classes beyond which labels that are nearly all different are taken for a slip


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


def reviews_of(source: Source, rows: Sequence[Row], problems: list[DataProblem]) -> Reviews:
    """The rows as a set in two parts, the training part by its draws.

    Equal texts have equal draws, so that none is both learned from and scored.
    """
    if not rows:
        raise BadData(
            source.named, problems or [DataProblem(source.named, "holds no rows")], skipped=source.skip_bad
        )
    check_classes(source, [row.label for row in rows], problems)
    classes = in_order({row.label for row in rows})
    number = {label: at for at, label in enumerate(classes)}
    given = frozenset(row.part for row in rows if row.part is not None)
    drawn = [(*drawn_part(row.text, row.part, given), row) for row in rows]
    parts = {
        name: sorted(((draw, at) for at, (part, draw, _) in enumerate(drawn) if part == name))
        for name in ("train", "test")
    }
    if len(parts["train"]) < 2:
        raise ValueError(f"{source.path} leaves fewer than 2 texts to train on, got {len(rows)} in all")

    def texts(name: str) -> Texts:
        chosen = [rows[at] for _, at in parts[name]]
        labels = torch.tensor([number[row.label] for row in chosen], dtype=torch.int64)
        return Texts(tuple(row.text for row in chosen), labels)

    draws = torch.tensor([draw for draw, _ in parts["train"]], dtype=torch.float64)
    return Reviews(source.named, classes, texts("train"), texts("test"), draws=draws)


def check_classes(source: Source, labels: Sequence[str], problems: Sequence[DataProblem]) -> None:
    """Raise where there is one class only, or where labels are no classes at all."""
    counts, path = Counter(labels), source.path
    if len(counts) == 1:
        why = f"has one class only, {labels[0]!r}: a classifier needs two"
        if problems:  # which may be why
            raise BadData(source.named, [DataProblem(source.named, why), *problems])
        raise ValueError(f"{path} {why}")
    if len(counts) > MANY and len(counts) > len(labels) / 2:
        few = ", ".join(repr(label[:20]) for label in in_order(counts)[:3])
        raise ValueError(
            f"{path} has {len(counts):,} different labels in {len(labels):,} examples ({few}, …): "
            f"is that the column of classes?"
        )
