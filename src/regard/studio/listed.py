"""The runs in the folder that the studio was started with, by names that are looked up and are no paths."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path

from regard.studio.telling import without_folders
from regard.train import Run, open_run
from regard.train.folder import CHECKPOINTS, MODEL, RECIPE, SUMMARY, TEST
from regard.train.following import Following
from regard.train.lock import LOCK, in_use
from regard.train.metrics import FILE
from regard.train.runs.listing import UNREADABLE, RunEntry, entry_of, find_runs, read_json
from regard.values import names_in

PREFIX = "runs:"
MOST = 200  # runs that are listed, those written last
OPEN = 2  # of them that are kept open at a time
FOLLOWED = 12  # records
TASKS = {"images": "images", "language": "dialogues", "texts": "sentiment"}

FOLDER: list[Path] = []  # at most one, which a worker is told

_entries: dict[Path, tuple[object, RunEntry, str]] = {}
_records: OrderedDict[Path, Following] = OrderedDict()
_opened: OrderedDict[tuple[Path, int], Run] = OrderedDict()


def folders() -> dict[str, Path]:
    """All of them by name, the one written last first."""
    if not FOLDER or not FOLDER[0].is_dir():
        return {}
    there = sorted(find_runs(FOLDER[0]), key=written, reverse=True)
    return {PREFIX + _below(place): place for place in there[:MOST]}


def _below(place: Path) -> str:
    return place.name if place == FOLDER[0] else place.relative_to(FOLDER[0]).as_posix()


def find(name: str) -> Path:
    """The folder of a run that is listed, or a ValueError."""
    found = folders().get(name)
    if found is None:
        raise ValueError(f"no run is called {name.removeprefix(PREFIX)[:60]!r}; it may have been removed")
    return found


def written(folder: Path) -> float:
    """When a run was written to last, in seconds since 1970."""
    return max(_changed(folder / name) for name in (FILE, RECIPE, SUMMARY)) / 1e9


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def entry(folder: Path) -> tuple[RunEntry, str]:
    """A run in a row and, where it can be opened, what for; read again only where a file of it changed."""
    task = folder / MODEL / "task.json"
    names = (RECIPE, SUMMARY, TEST, CHECKPOINTS, LOCK)
    mark = (*(_changed(folder / name) for name in names), _changed(task), in_use(folder))
    known = _entries.get(folder)
    if known is None or known[0] != mark:
        known = (mark, entry_of(folder), _kind(folder))
        _entries[folder] = known
    return known[1], known[2]


def _kind(folder: Path) -> str:
    """What a run is for, in the words of the rooms; nothing where its model is missing or somebody's own."""
    inner = folder / MODEL
    if not (inner / "model.safetensors").exists() or names_in(read_json(inner / "config.json")):
        return ""
    return TASKS.get(str(read_json(inner / "task.json").get("task")), "")


def fault(folder: Path, found: RunEntry, record: Following | None = None) -> str:
    """What is wrong with a run, in one line; nothing where all can be read."""
    said = []
    if found.recipe == UNREADABLE:
        said.append(f"its {RECIPE} cannot be read")
    for name in (SUMMARY, TEST):
        if (folder / name).exists() and not read_json(folder / name):
            said.append(f"its {name} is damaged")
    if record is not None and record.damaged:
        lines = "1 line" if record.damaged == 1 else f"{record.damaged:,} lines"
        said.append(f"{lines} of its {FILE} {'is' if record.damaged == 1 else 'are'} damaged and left out")
    return "; ".join(said)


def record(folder: Path) -> Following:
    """The record of a run, read as far as it goes."""
    found = _records.pop(folder, None) or Following(folder)
    _records[folder] = found
    while len(_records) > FOLLOWED:
        _records.popitem(last=False)
    found.read()
    return found


def steps(folder: Path, found: RunEntry) -> int:
    """How many steps were taken; of one that runs, the last that it recorded."""
    if found.state != "running":
        return found.steps
    try:
        return max(found.steps, record(folder).last)
    except (ValueError, OSError):
        return found.steps


def planned(folder: Path) -> int | None:
    """How many steps a run is to have, where its recipe says so in steps."""
    steps = read_json(folder / RECIPE).get("steps")
    return steps if isinstance(steps, int) and not isinstance(steps, bool) else None


def opened(name: str) -> Run:
    """A run that is listed, with its best model so far; one that names somebody's own code is not opened."""
    folder = find(name)
    if not entry(folder)[1]:
        raise ValueError(f"{name.removeprefix(PREFIX)!r} has no model yet that a room could open")
    key = (folder, _changed(folder / MODEL / "model.safetensors"))
    run = _opened.pop(key, None) or open_run(folder)
    _opened[key] = run
    while len(_opened) > OPEN:
        _opened.popitem(last=False)
    return run


def settings(folder: Path) -> dict[str, str]:
    """The fields of a run's recipe as they are written, by their path; what names a folder, without it."""
    out: dict[str, str] = {}

    def walk(value: object, path: str) -> None:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                walk(inner, f"{path}.{key}".lstrip("."))
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            text = "none" if value is None else text
            out[path] = without_folders(text)[:200]

    walk(read_json(folder / RECIPE), "")
    return out
