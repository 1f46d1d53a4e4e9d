"""Which pictures there are and what each is: by class folders, or by a table of paths and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from regard.data.own.listing import IMAGES, JUNK, UNREAD, File, files_below
from regard.data.own.problems import DataProblem
from regard.data.own.splits import drawn_part, part_named
from regard.data.own.tables import Row


class Item(NamedTuple):
    """A picture: its path inside the set, the set's folder, its class, part and draw, its file's state."""

    inner: str
    home: Path
    label: str
    part: str
    draw: float
    state: tuple[int, int, int]

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.home / self.inner.replace("\\", "/")


class Items(NamedTuple):
    """All pictures in the order in which they are prepared, and what is wrong with others."""

    found: list[Item]
    problems: list[DataProblem]
    notes: list[str]

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of all classes, numbers by their size."""
        return in_order({item.label for item in self.found})

    def key(self) -> str:
        """A name for exactly these pictures with these labels, as long as no file changes."""
        found = hashlib.sha256()
        for item in self.found:
            found.update(
                repr((item.inner, item.label, item.part, item.state)).encode("utf-8", "surrogatepass")
            )
        return found.hexdigest()


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names sorted, as numbers where all of them are.

    >>> in_order(["10", "9"]), in_order(["b", "a"])
    (('9', '10'), ('a', 'b'))
    """
    try:
        return tuple(sorted(names := set(names), key=lambda name: (float(name), name)))
    except ValueError:
        return tuple(sorted(names))


def folder_items(
    root: Path, files: list[File], problems: list[DataProblem], endings: tuple[str, ...] = IMAGES
) -> Items:
    """The pictures (or files of other endings) of class folders, themselves in train, val and test or not."""
    tops = {file.inner.split("/")[0] for file in files if "/" in file.inner}
    parts = {top: part_named(top) for top in tops}
    by_part = "train" in parts.values() and None not in parts.values()
    given = frozenset(part for part in parts.values() if part is not None) if by_part else frozenset()
    depth = 1 if by_part else 0
    found, problems, others = [], list(problems), 0
    for file in files:
        if file.ending in UNREAD and endings is IMAGES:
            problems.append(DataProblem(file.inner, f"{file.ending} is not read: save it as JPEG or PNG"))
            continue
        if file.ending not in endings:
            others += 1
            continue
        folders = file.inner.split("/")[:-1]
        if len(folders) <= depth:
            problems.append(DataProblem(file.inner, "lies in no class folder, so its label is missing"))
            continue
        part, draw = drawn_part(file.inner, parts[folders[0]] if by_part else None, given)
        found.append(Item(file.inner, file.home, folders[depth], part, draw, file.state))
    problems += _empty_folders(root, tops, found, depth)
    problems += _strange_classes(found) if by_part else []
    notes = [f"{others:,} files of other kinds are passed over"] if others else []
    return Items(_sorted(found), problems, notes)


def _empty_folders(root: Path, tops: set[str], found: list[Item], depth: int) -> list[DataProblem]:
    """The class folders without any picture."""
    above = [root / top for top in sorted(tops)] if depth else [root]
    full = {"/".join(item.inner.split("/")[: depth + 1]) for item in found}
    out = []
    for folder in above:
        for one in sorted(folder.iterdir()):
            inner = one.relative_to(root).as_posix()
            junk = one.name.startswith(".") or one.name.lower() in JUNK
            if one.is_dir() and not junk and inner not in full:
                out.append(DataProblem(inner, "is a class folder with nothing in it that can be used"))
    return out


def _strange_classes(found: list[Item]) -> list[DataProblem]:
    known = {item.label for item in found if item.part == "train"}
    strange = [item for item in found if item.label not in known]
    out = [DataProblem(item.inner, f"is of class {item.label!r}, which train/ lacks") for item in strange]
    gone = {item.inner for item in strange}
    found[:] = [item for item in found if item.inner not in gone]
    return out


def table_items(table: Path, rows: Iterable[Row], problems: list[DataProblem]) -> Items:
    """The pictures that a table names by paths from its own folder on; none may lead outside of it."""
    home = table.parent.resolve()
    problems, found, seen, rows = list(problems), [], set(), list(rows)
    given = frozenset(part for row in rows if (part := row.part) is not None)
    for row in rows:
        bad = None
        path = home / row.text.replace("\\", "/")
        try:
            real = path.resolve()
            if not real.is_relative_to(home):
                bad = f"the path {row.text!r} leads outside of {home.name}/"
            elif row.text in seen:
                bad = f"the path {row.text!r} stands here again"
            elif not real.is_file():
                bad = f"there is no file {row.text!r}"
        except (OSError, ValueError, RuntimeError) as error:
            bad = f"the path {row.text[:60]!r} cannot be used: {error}"
        if bad is not None:
            problems.append(DataProblem(row.file, bad, row.line))
            continue
        seen.add(row.text)
        (file,), _ = files_below(path)
        part, draw = drawn_part(row.text, row.part, given)
        found.append(Item(row.text, home, row.label, part, draw, file.state))
    return Items(_sorted(found), problems, [])


def _sorted(found: list[Item]) -> list[Item]:
    """Training before test, each by its draw: so any share of it is one stretch of a file."""
    found.sort(key=lambda item: (item.part != "train", item.draw, item.inner))
    return found
