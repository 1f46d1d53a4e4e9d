"""The files of a folder in a fixed order, links followed once, and what kind of data they are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.data.own.problems import DataProblem

IMAGES = (".png", ".jpg", ".jpeg", ".jfif", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".pnm")
# Pictures that people have and that are not decoded here: passing over them would lose them unsaid.
UNREAD = (".heic", ".heif", ".avif", ".jxl", ".cr2", ".nef", ".arw", ".dng", ".psd", ".svg")
TEXTS = (".txt",)
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
JUNK = ("thumbs.db", "desktop.ini", "__macosx")
ADVICE = {  # what to do with files that are not read
    **dict.fromkeys((".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".xz", ".bz2"), "unpack it first"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as csv"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub", ".html", ".md"), "save it as .txt"),
    ".json": "write one object a line, as .jsonl",
    **dict.fromkeys(IMAGES, "name the folder that has one folder of pictures for each class"),
    **dict.fromkeys(UNREAD, "save the pictures as JPEG or PNG"),
}


class File(NamedTuple):
    """A file of a folder: its path inside, with / between, and what tells whether it has changed.

    There may be a million of them, so they share the path of the folder.
    """

    inner: str
    home: Path
    state: tuple[int, int, int]

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.home / self.inner

    @property
    def ending(self) -> str:
        """The end of its name, in small letters."""
        return os.path.splitext(self.inner)[1].lower()


def files_below(root: Path) -> tuple[list[File], list[DataProblem]]:
    """All files of a folder, or the one that a path names, and what could not be entered."""
    problems: list[DataProblem] = []
    if root.is_file():
        return [_file(root.name, root.parent, root.stat())], []
    found = list(_walk(root, root, "", (), problems))
    return sorted(found, key=lambda one: one.inner), problems


def _walk(
    root: Path, folder: Path, inner: str, above: tuple[tuple[int, int], ...], problems: list[DataProblem]
) -> Iterator[File]:
    try:
        here = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        problems.append(DataProblem(inner or folder.name, f"cannot be entered: {error.strerror}"))
        return
    if (here.st_dev, here.st_ino) in above:
        problems.append(DataProblem(inner, "is a link to a folder that it lies in"))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.lower() in JUNK:
            continue
        name = f"{inner}/{entry.name}" if inner else entry.name
        try:
            if entry.is_dir():
                yield from _walk(root, Path(entry.path), name, (*above, (here.st_dev, here.st_ino)), problems)
            elif entry.is_file():
                yield _file(name, root, entry.stat())
            else:
                problems.append(DataProblem(name, "is no file: a broken link, a pipe or a device"))
        except OSError as error:
            problems.append(DataProblem(name, f"cannot be read: {error.strerror}"))


def _file(inner: str, home: Path, found: os.stat_result) -> File:
    return File(inner, home, (found.st_size, found.st_mtime_ns, found.st_mode & 0o444))


def main_ending(files: list[File], endings: tuple[str, ...]) -> int:
    """How many files end so."""
    counts = Counter(file.ending for file in files)
    return sum(counts[ending] for ending in endings)


def kind_of(root: Path, files: list[File], kind: str | None) -> str:
    """How these files are to be read: images, table, texts or arrow; a ValueError where that is unknown."""
    names = {file.inner.rsplit("/", 1)[-1] for file in files}
    if root.is_dir() and ({"dataset_info.json", "state.json"} <= names or "dataset_dict.json" in names):
        return "arrow"
    counts = {
        "images": main_ending(files, IMAGES) if root.is_dir() else 0,
        "table": main_ending(files, TABLES),
        "texts": main_ending(files, TEXTS),
    }
    if kind == "images" and counts["images"]:
        return "images"
    best = max(counts, key=lambda name: counts[name])
    if not counts[best]:
        seen = ", ".join(sorted({file.ending or "no ending" for file in files})[:6])
        has = f"it has {len(files):,} files that end in {seen}" if files else "it is empty"
        if root.is_file():
            has = f"it ends in {seen}"
        advice = next((ADVICE[file.ending] for file in files if file.ending in ADVICE), None)
        if advice is not None:
            raise ValueError(f"{root} cannot be read as data: {has}; {advice}")
        raise ValueError(
            f"{root} holds nothing that can be read as data: {has}; wanted are folders of images, "
            f"{', '.join((*TEXTS, *TABLES))} files, or a datasets folder"
        )
    return best
