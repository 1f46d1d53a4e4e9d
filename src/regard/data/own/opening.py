"""Data of one's own, opened: what lies at a path becomes Images, a Corpus or Reviews, with its problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.kinds import Corpus, Images, Reviews
from regard.data.own import arrow
from regard.data.own.corpora import StoredCorpus, books_of, store_books, store_rows
from regard.data.own.images import Shapes, bad_images, chosen_size, open_images, prepare_images, shapes_of
from regard.data.own.items import Items, folder_items, table_items
from regard.data.own.listing import TABLES, TEXTS, File, files_below, kind_of
from regard.data.own.problems import BadData, DataProblem
from regard.data.own.reviews import check_classes, open_reviews, store_reviews, text_rows
from regard.data.own.source import Source
from regard.data.own.splits import part_named
from regard.data.own.store import key_of, prepared
from regard.data.own.tables import Columns, Row, chosen_columns, read_table, rows_of


@dataclass(frozen=True)
class Opened:
    """A data set of one's own, what is wrong with the rest of it, and what is worth knowing."""

    found: Images | Corpus | Reviews
    problems: tuple[DataProblem, ...] = ()
    notes: tuple[str, ...] = ()
    shapes: Shapes | None = None


@dataclass
class _Listed:
    """The files at a source, and the problems met on the way."""

    source: Source
    files: list[File]
    problems: list[DataProblem]
    how: str = field(default="")


def load_own(source: Source) -> Images | Corpus | Reviews:
    """The data at a source; a `BadData` that names files and lines where some cannot be used."""
    opened = open_source(source)
    if opened.problems and not source.skip_bad:
        raise BadData(source.named, opened.problems, skipped=source.skip_bad)
    return opened.found


def open_source(source: Source) -> Opened:
    """The data at a source without what is bad, which is listed."""
    listed = _listed(source)
    if listed.how == "images":
        return _images(source, _folder_items(listed))
    if listed.how == "texts":
        if source.kind == "reviews" and source.root.is_file():
            raise ValueError(
                f"{source.path} is one text without labels: a table or a folder a class is wanted"
            )
        return _labelled_files(listed) if source.kind == "reviews" else _books(listed)
    return _table(listed)


def look_at_shapes(source: Source) -> Shapes | None:
    """The sizes of the pictures at a source before any is decoded; None where they are no pictures."""
    items = _items(_listed(source))
    return None if items is None else shapes_of(source.named, items)


def _listed(source: Source) -> _Listed:
    root = source.root
    try:
        if not root.exists():
            raise ValueError(
                f"there is no file or folder {source.path}; if it has moved, name the folder it is in as "
                f"--data-dir, or to eval itself as --data"
            )
        files, problems = files_below(root)
    except OSError as error:  # a name that is too long, a folder that may not be entered, links in a circle
        raise ValueError(f"{source.path} cannot be read: {error.strerror}") from error
    if problems and not files:
        raise BadData(source.named, problems, skipped=source.skip_bad)
    return _Listed(source, files, problems, kind_of(root, files, source.kind))


def _items(listed: _Listed) -> Items | None:
    if listed.how == "images":
        return _folder_items(listed)
    if listed.how != "table":
        return None
    columns, rows = _rows(listed)
    return _table_items(listed, rows) if columns.paths else None


def _folder_items(listed: _Listed) -> Items:
    """Class folders; or pictures all in one folder with a table beside them that tells their labels."""
    items = folder_items(listed.source.root, listed.files, listed.problems)
    tables = [file for file in listed.files if file.ending in TABLES and "/" not in file.inner]
    if items.found or len(tables) != 1:
        return items
    inner = _Listed(listed.source, tables, [], "table")
    return _table_items(inner, _rows(inner, kind="images")[1])


def _table_items(listed: _Listed, rows: Iterator[Row]) -> Items:
    if len(listed.files) != 1:
        raise ValueError(
            f"{listed.source.path} has {len(listed.files)} tables: name the one that lists the images"
        )
    found = list(rows)
    return table_items(listed.files[0].path, found, listed.problems)


def _images(source: Source, items: Items) -> Opened:
    name = source.named
    if source.kind not in (None, "images"):
        wanted = "texts with labels are" if source.kind == "reviews" else "text is"
        raise ValueError(
            f"{source.path} holds images, where {wanted} wanted; recipes of images: vit-…, mlp-…"
        )
    if not items.found:
        if items.problems:
            raise BadData(name, items.problems)
        raise ValueError(f"{source.path} holds no images in class folders")
    _check_depth(source, items)
    check_classes(source, Counter(item.label for item in items.found), items.problems)
    shapes = shapes_of(name, items)
    size = chosen_size(source.path, shapes, source.size)
    stored = prepare_images(
        name, items, shapes, size, shapes.channels if source.channels is None else source.channels
    )
    bad = bad_images(stored)
    problems = [*items.problems, *bad]
    counts = stored.meta["counts"]
    if min(counts.values()) == 0 or stored.meta["rows"]["train"] < 2:
        empty = [label for label, count in counts.items() if not count]
        why = f"nothing of class {empty[0]!r} can be read" if empty else "fewer than 2 images can be read"
        raise BadData(name, [*problems, DataProblem(name, why)])
    found = open_images(name, stored)
    return Opened(found, tuple(problems), tuple(items.notes), shapes)


def _check_depth(source: Source, items: Items) -> None:
    """Raise where one folder holds the class folders, as unpacked archives have it."""
    below = {tuple(item.inner.split("/")[:-1]) for item in items.found}
    tops, inner = (
        {folders[0] for folders in below if folders},
        {folders[1] for folders in below if folders[1:]},
    )
    if len(tops) == 1 and len({item.label for item in items.found}) == 1 and len(inner) > 1:
        deeper = source.root / tops.pop()
        raise ValueError(
            f"{source.path} has one class only, {deeper.name!r}, with {len(inner):,} folders in it: if those "
            f"are the classes, name {deeper}"
        )


def _labelled_files(listed: _Listed) -> Opened:
    """Files of text in class folders."""
    items = folder_items(listed.source.root, listed.files, listed.problems, TEXTS)
    rows = text_rows(items, items.problems)
    key = key_of("labelled files", items.key())
    return _labelled(listed.source, key, rows, items.problems, sum(item.state[0] for item in items.found))


def _labelled(
    source: Source, key: str, rows: Iterator[Row], problems: list[DataProblem], total: int
) -> Opened:
    stored = prepared(key, lambda folder: store_reviews(folder, source.named, rows, problems, total))
    bad = [DataProblem(*one) for one in stored.meta["bad"]]
    return Opened(open_reviews(source, stored, bad), tuple(bad))


def _books(listed: _Listed) -> Opened:
    source = listed.source
    if source.kind == "images":
        raise ValueError(f"{source.path} holds text, where images are wanted")
    files = [file for file in listed.files if file.ending in TEXTS]
    parts = _parts_of(files)
    books = books_of(files, parts)
    key = key_of("books", [[book.file.inner, book.file.state, book.part] for book in books])
    stored = prepared(key, lambda folder: store_books(folder, source.named, books))
    problems = [*listed.problems, *(DataProblem(*one) for one in stored.meta["bad"])]
    if not stored.meta["documents"]:
        raise BadData(source.named, problems, skipped=source.skip_bad)
    others = len(listed.files) - len(files)
    notes = (f"{others:,} files of other kinds are passed over",) if others else ()
    return Opened(StoredCorpus(source.named, stored), tuple(problems), notes)


def _parts_of(files: list[File]) -> dict[str, str | None]:
    """The parts that files name by their first folder or their own name, if one of them trains."""
    parts = {file.inner: part_named(file.inner.split("/")[0].split(".")[0]) for file in files}
    whole = "train" in parts.values() and None not in parts.values()
    return parts if whole else dict.fromkeys(parts)


def _table(listed: _Listed) -> Opened:
    source, problems = listed.source, listed.problems
    columns, rows = _rows(listed)
    if columns.paths:
        return _images(source, _table_items(listed, rows))
    states = [[file.inner, file.state] for file in listed.files]
    total = sum(file.state[0] for file in listed.files)
    if source.kind == "corpus" or columns.label is None:
        key = key_of("rows", states, columns.text, source.kind)
        stored = prepared(key, lambda folder: store_rows(folder, source.named, rows, problems, total))
        bad = [DataProblem(*one) for one in stored.meta["bad"]]
        if not stored.meta["documents"]:
            raise BadData(
                source.named, bad or [DataProblem(source.named, "holds no rows")], skipped=source.skip_bad
            )
        return Opened(StoredCorpus(source.named, stored), tuple(bad))
    return _labelled(source, key_of("reviews", states, columns.text, columns.label), rows, problems, total)


def _rows(listed: _Listed, kind: str | None = None) -> tuple[Columns, Iterator[Row]]:
    """Which columns are read, and the rows of all tables, one file after another."""
    source = listed.source
    kind = source.kind if kind is None else kind
    parts: list[tuple[Path, str, str | None]]
    if listed.how == "arrow":
        parts = [(path, path.name, part) for path, part in arrow.saved_parts(source.root)]
    else:
        files = [file for file in listed.files if file.ending in TABLES]
        named = _parts_of(files) if len(files) > 1 else {}
        parts = [(file.path, file.inner, named.get(file.inner)) for file in files]
        listed.files = files

    def opened(path: Path, name: str) -> tuple[list[str], Iterator[tuple[int, dict[str, object]]]]:
        return arrow.saved_records(path) if listed.how == "arrow" else read_table(path, name, listed.problems)

    first = parts[0]
    columns = chosen_columns(first[0], opened(*first[:2])[0], source.text, source.label, kind)

    def rows() -> Iterator[Row]:
        for path, name, part in parts:
            names, records = opened(path, name)
            own = columns
            for column in (columns.text, columns.label):
                if column is not None and column not in names:
                    raise ValueError(f"{path} has no column {column!r}; its columns are {', '.join(names)}")
            yield from rows_of(records, own, name, part, listed.problems)

    return columns, rows()
