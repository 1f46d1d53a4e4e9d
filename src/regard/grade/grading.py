"""From a file to reports: run it in a guest, find the tasks that it solves, judge each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from regard.data.own.problems import visible
from regard.grade import TASKS, get_task  # which lists the tasks, and asks this file when something is graded
from regard.grade.judging import failed, judge
from regard.grade.report import NamedMistake, Report
from regard.grade.sandbox import Guest, GuestLost, Line, Sandbox
from regard.grade.sources import pieces
from regard.grade.student import NOTHING, Student
from regard.grade.task import Assignment

MUCH = 1_000_000  # printed characters worth a word
ANSWERS = NamedMistake(
    "answers-imported", "nothing of its own: it imports regard, which holds the answers", ""
)


def grade_one(
    task: str | Assignment,
    source: str | Path,
    *,
    sandbox: Sandbox | None = None,
    seed: int = 0,
    unsafe: bool = False,
) -> Report:
    """The report on one task."""
    found = get_task(task) if isinstance(task, str) else task
    return grade_all(source, [found], sandbox=sandbox, seed=seed, unsafe=unsafe)[0]


def grade_all(
    source: str | Path | Sequence[str],
    tasks: Sequence[Assignment] | None = None,
    *,
    sandbox: Sandbox | None = None,
    seed: int = 0,
    unsafe: bool = False,
) -> list[Report]:
    """A report on each of these tasks, or on every task that the file has something for.

    The source is a file, a text, or the cells of a notebook, each of which runs whatever the others do.
    """
    texts = pieces(source) if isinstance(source, Path) else [source] if isinstance(source, str) else source
    with nullcontext(sandbox) if sandbox is not None else Sandbox(unsafe=unsafe) as place:
        assert place is not None
        return _all(place, texts, tasks, seed)


def _all(
    sandbox: Sandbox, texts: Sequence[str], tasks: Sequence[Assignment] | None, seed: int
) -> list[Report]:
    try:
        guest = sandbox.guest(texts)
    except GuestLost as lost:
        return [
            failed(task, f"the file does not run: {lost}")
            for task in tasks or [get_task(name) for name in TASKS]
        ]
    wanted = tasks
    try:
        if wanted is None:
            every = (get_task(name) for name in TASKS)
            wanted = [task for task in every if task.found_in([*guest.names, *_methods(guest)])]
            if not wanted:
                raise ValueError(f"no task is solved in this file; tasks: {', '.join(TASKS)}{_told(guest)}")
        reports = []
        for task in wanted:
            if guest.ended:  # the last task was its end
                guest = sandbox.guest(texts)
            reports.append(_finished(judge(task, Student(guest, seed)), guest))
    finally:
        guest.close()
    return reports


def _methods(guest: Guest) -> list[str]:
    """Methods that are tasks of their own."""
    return ["DialogueGPT.generate"] if "DialogueGPT" in guest.names else []


def _told(guest: Guest) -> str:
    return f"; {faults[0]}" if (faults := _faults(guest)) else ""


def _faults(guest: Guest) -> list[str]:
    out = []
    for one in guest.faults:
        text = str(one.get("text"))[:150]
        what = text if one.get("kind") == "TimeUp" else f"raises {one.get('kind')}: {text}"
        out.append(visible(f"line {Line.of(guest.pieces, one.get('line'))} {what}"))
    return out


def _worst(guest: Guest) -> int:
    """Which fault cost most: a file or cell that is no Python loses all its definitions."""
    kinds = [one.get("kind") for one in guest.faults]
    return next((i for i, kind in enumerate(kinds) if kind in ("SyntaxError", "IndentationError", "TabError")), 0)


def _finished(report: Report, guest: Guest) -> Report:
    """A report with what else happened while the file ran."""
    faults = _faults(guest)
    if report.says.startswith(NOTHING) and faults:  # the likely cause comes first
        report = replace(report, says=f"{faults.pop(_worst(guest))}; and {report.says}")
    notes = [*report.notes, *faults[:3]]
    if guest.printed > MUCH:
        notes.append(f"it printed {guest.printed:,} characters, which nobody read")
    if guest.answers:
        notes.append("it tries to import regard, which holds the answers; that is refused")
        if not report.right:
            return replace(report, notes=tuple(notes), mistakes=(*report.mistakes, ANSWERS))
    return replace(report, notes=tuple(notes))
