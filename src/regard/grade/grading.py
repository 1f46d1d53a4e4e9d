"""From a file to reports: run it in a guest, find the tasks that it solves, judge each."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from regard.errors import visible
from regard.grade import TASKS, get_task  # which lists the tasks, and asks this file when something is graded
from regard.grade.judging import failed, judge
from regard.grade.report import NamedMistake, Report
from regard.grade.sandbox import Guest, GuestLost, Sandbox, SolutionLine
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
    helping: dict[str, str] = {}
    try:
        if wanted is None:
            wanted = [task for task in map(get_task, TASKS) if task.found_in(guest.own)]
            helping = _helping(wanted, guest.own, texts)
            if not wanted:
                raise ValueError(f"no task is solved in this file; tasks: {', '.join(TASKS)}{_told(guest)}")
        reports = []
        for task in wanted:
            if guest.ended:  # the last task was its end
                guest = sandbox.guest(texts)
            report = _finished(judge(task, Student(guest, seed)), guest)
            notes = [helping[task.name]] if task.name in helping else []
            reports.append(replace(report, notes=(*notes, *report.notes)))
    finally:
        guest.close()
    return reports


def _helping(tasks: Sequence[Assignment], own: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """A note for each task whose classes and functions another one's use: it may not have been asked for."""
    uses: dict[str, set[str]] = {}
    for text in texts:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    uses[node.name] = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    names = {task.name: [name for name in own if task.found_in([name])] for task in tasks}
    return {
        one.name: (
            f"{name} is graded because the file defines it, though its {user} uses it; "
            "name a task to grade that alone"
        )
        for one in tasks
        for other in tasks
        for name in names[one.name]
        for user in names[other.name]
        if one is not other and name in uses.get(user, ())
    }  # fmt: skip


def _told(guest: Guest) -> str:
    return f"; {faults[0]}" if (faults := _faults(guest)) else ""


def _faults(guest: Guest) -> list[str]:
    out = []
    for one in guest.faults:
        text = str(one.get("text"))[:150]
        what = text if one.get("kind") == "TimeUp" else f"raises {one.get('kind')}: {text}"
        out.append(visible(f"line {SolutionLine.of(guest.pieces, one.get('line'))} {what}"))
    return out


def _worst(guest: Guest) -> int:
    """Which fault cost most: a file or cell that is no Python loses all its definitions."""
    kinds = [one.get("kind") for one in guest.faults]
    return next(
        (i for i, kind in enumerate(kinds) if kind in ("SyntaxError", "IndentationError", "TabError")), 0
    )


def _finished(report: Report, guest: Guest) -> Report:
    """A report with what else happened while the file ran."""
    faults = _faults(guest)
    if report.says.startswith(NOTHING) and faults:  # the likely cause comes first
        at = _worst(guest)
        why = "was stopped" if guest.faults[at].get("kind") == "TimeUp" else "does not run"
        report = replace(report, says=f"the file {why}: {faults.pop(at)}; and {report.says}")
    notes = [*report.notes, *faults[:3]]
    if guest.printed > MUCH:
        notes.append(f"it printed {guest.printed:,} characters, which nobody read")
    if guest.answers:
        notes.append("it tries to import regard, which holds the answers; that is refused")
        if not report.right:
            return replace(report, notes=tuple(notes), mistakes=(*report.mistakes, ANSWERS))
    return replace(report, notes=tuple(notes))
