"""A class of submissions: graded in parallel, resumable, and the same for the same seed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from regard import __version__, files
from regard.errors import visible
from regard.grade.grading import grade_all
from regard.grade.sandbox import Limits, NoIsolation, Sandbox
from regard.grade.sources import LARGEST, SUFFIXES
from regard.grade.task import Assignment

MOST_FILES = 20  # of one student


@dataclass(frozen=True)
class Submission:
    """What one student handed in: a file, or the files of a folder; links are named, and never followed."""

    student: str
    paths: tuple[Path, ...]
    links: tuple[str, ...] = ()

    def key(self, tasks: Sequence[str], seed: int) -> str:
        """Another for other files, tasks, seeds and versions: what it belongs to need not be graded again."""
        words = [__version__, str(seed), *tasks, *self.links]
        for path in self.paths:
            small = path.stat().st_size <= LARGEST
            words.append(hashlib.sha256(path.read_bytes()).hexdigest() if small else f"{path.stat().st_size}")
        return hashlib.sha256("\n".join(words).encode()).hexdigest()


def submissions(folder: Path) -> list[Submission]:
    """One for each file, folder and link in a folder, by name."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            if path.suffix in SUFFIXES or path.is_dir() or not path.suffix:
                found.append(Submission(path.stem, (), (path.name,)))
        elif path.is_dir():
            inner = [one for one in sorted(path.rglob("*")) if ".ipynb_checkpoints" not in one.parts]
            own = [one for one in inner if one.suffix in SUFFIXES and one.is_file() and not one.is_symlink()]
            links = [str(one.relative_to(path)) for one in inner if one.is_symlink()]
            found.append(Submission(path.name, tuple(own[:MOST_FILES]), tuple(links[:MOST_FILES])))
        elif path.suffix in SUFFIXES:
            found.append(Submission(path.stem, (path,)))
    if not found:
        raise ValueError(f"{folder}: no .py or .ipynb files and no folders with such files in it")
    return found


Row = dict[str, object]


def grade_class(
    folder: Path,
    out: Path,
    tasks: Sequence[Assignment] | None = None,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    workers: int | None = None,
    unsafe: bool = False,
    tell: Callable[[Row], None] | None = None,
) -> list[Row]:
    """A row for each student, by name; each is also `out/STUDENT.json`, from which a later call goes on.

    A student's row has `student`, `points`, `most`, `reports` (as `Report.as_dict` gives them) and `fault`.
    Whoever stops it (KeyboardInterrupt) is told how many are done.
    """
    each = submissions(folder)
    out.mkdir(parents=True, exist_ok=True)
    names = [f"{task.name} {task.digest}".strip() for task in tasks] if tasks is not None else ["*"]
    here = threading.local()
    sandboxes: list[Sandbox] = []
    finished: list[str] = []
    torch.set_num_threads(1)

    def one(submission: Submission) -> Row:
        place, key = out / f"{submission.student}.json", submission.key(names, seed)
        if (done := _done(place, key)) is not None:
            finished.append(submission.student)
            return done
        if not hasattr(here, "sandbox"):
            here.sandbox = Sandbox(limits, unsafe)
            sandboxes.append(here.sandbox)
        row = _graded(submission, tasks, here.sandbox, seed) | {"key": key}
        files.write(place, (json.dumps(row, ensure_ascii=False, indent=1) + "\n").encode())
        finished.append(submission.student)
        if tell is not None:
            tell(row)
        return row

    try:
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            return list(pool.map(one, each))
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(
            f"stopped: {len(finished)} of {len(each)} are done and kept in {out}; "
            "the same call goes on from there"
        ) from stop
    finally:
        for sandbox in sandboxes:
            sandbox.close()


def _done(place: Path, key: str) -> Row | None:
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("key") == key else None


def _graded(submission: Submission, tasks: Sequence[Assignment] | None, sandbox: Sandbox, seed: int) -> Row:
    """One student's row; whatever the files do, there is one."""
    best: dict[str, dict[str, object]] = {}
    faults = [
        f"{name} is a link, which is not followed: hand in the file itself" for name in submission.links
    ]
    if not submission.paths and not faults:
        faults.append("no .py or .ipynb file was handed in")
    for path in submission.paths:
        try:
            reports = grade_all(path, tasks, sandbox=sandbox, seed=seed)
        except NoIsolation:
            raise
        except (ValueError, OSError) as error:
            faults.append(str(error))
            continue
        for report in reports:
            there = best.get(report.task)
            if there is None or int(str(there["points"])) < report.points:
                best[report.task] = report.as_dict() | {"file": path.name}
    reached = sum(int(str(report["points"])) for report in best.values())
    most = sum(int(str(report["most"])) for report in best.values())
    if tasks is not None:
        most = sum(task.points for task in tasks)
    return {"student": submission.student, "points": reached, "most": most, "reports": list(best.values()),
            "fault": "; ".join(faults)}  # fmt: skip


def as_csv(rows: Sequence[Row]) -> str:
    """One line a student: points in all and of each task, the mistakes by name, why where none has one."""
    tasks = list(dict.fromkeys(str(report["task"]) for row in rows for report in reports_of(row)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "points", "most", *tasks, "mistakes", "fault", "why"])
    for row in rows:
        points = {str(report["task"]): report["points"] for report in reports_of(row)}
        named = [f"{report['task']}: {name}" for report in reports_of(row) for name in mistakes_of(report)]
        cells = [row["student"], row["points"], row["most"], *(points.get(task, "") for task in tasks)]
        writer.writerow(
            [_safe(cell) for cell in [*cells, "; ".join(named), row["fault"], "; ".join(unnamed(row))]]
        )
    return text.getvalue()


def _safe(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula, and no terminal for a command."""
    if not isinstance(cell, str):
        return cell
    return f"'{visible(cell)}" if cell and cell[0] in "=+-@\t\r" else visible(cell)


def reports_of(row: Row) -> Iterator[dict[str, object]]:
    """The reports in a row."""
    found = row.get("reports")
    for report in found if isinstance(found, list) else []:
        if isinstance(report, dict):
            yield report


def mistakes_of(report: dict[str, object]) -> Iterator[str]:
    """The names of the mistakes in a report."""
    found = report.get("mistakes")
    for one in found if isinstance(found, list) else []:
        if isinstance(one, dict):
            yield str(one.get("name"))


def unnamed(row: Row) -> list[str]:
    """What is said about each task that is wrong without a mistake that has a name."""
    wrong = [report for report in reports_of(row) if not report.get("right")]
    return [f"{one['task']}: {one['says']}" for one in wrong if not any(mistakes_of(one))]
