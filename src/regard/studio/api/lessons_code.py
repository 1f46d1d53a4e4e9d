"""Own code in the Lessons room: the tasks of `regard.grade`, and grading in its sandbox or not at all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from regard.grade import TASKS, get_task
from regard.grade.grading import grade_all
from regard.grade.sandbox import Limits, NoIsolation, Sandbox
from regard.grade.sources import cells
from regard.studio.api.body import Body
from regard.studio.limits import FieldError

SOURCE = 40_000  # characters of a solution
LIMITS = Limits(call=5.0, whole=20.0, memory=1 << 30)
CELL = re.compile(r"^# %%.*\n?", re.MULTILINE)  # between the cells of a notebook, as editors write it


def tasks(body: Body) -> dict[str, object]:
    """All tasks with their points, and the skeleton of each."""
    found = [get_task(name) for name in TASKS]
    return {
        "tasks": [
            {"name": one.name, "title": one.title, "points": one.points, "lesson": one.lesson,
             "mistakes": len(one.mistakes),
             "parts": [{"name": part.name, "points": part.points} for part in one.parts]}
            for one in found
        ]
    }  # fmt: skip


def skeleton(body: Body) -> dict[str, object]:
    """What a task asks for, with nothing solved."""
    return {"skeleton": get_task(body.choice("task", list(TASKS))).skeleton}


def grade(body: Body) -> Iterator[dict[str, object]]:
    """The report on a solution; it streams, so that it keeps nobody waiting who asks for a moment's work."""
    task = get_task(body.choice("task", list(TASKS)))
    source = body.text("source", SOURCE)
    if not source.strip():
        raise FieldError("source", "write or paste a solution first")
    if "\0" in source:
        raise FieldError("source", "a solution may have no null characters")
    yield {"stage": f"running your code for {task.title}"}
    try:
        with Sandbox(LIMITS) as sandbox:
            (report,) = grade_all(pieces(source), [task], sandbox=sandbox)
    except NoIsolation as error:
        raise FieldError(
            "source",
            f"not run, because strangers' code could do harm here: {error}. On your own machine, "
            f"regard grade {task.name} FILE --unsafe runs it without a sandbox",
        ) from error
    yield {"report": _finite(report.as_dict())}


def pieces(source: str) -> list[str]:
    """The cells of a source that has `# %%` lines, magics left out as in a notebook; else the source whole.

    >>> pieces("x = 1\\n# %% [2]\\n%time\\ny = 2")
    ['x = 1\\n', 'pass\\ny = 2']
    """
    parts = [part for part in CELL.split(source) if part.strip()]
    if len(parts) < 2:
        return [source]
    return cells(json.dumps({"cells": [{"cell_type": "code", "source": part} for part in parts]}))


def _finite(value: object) -> object:
    """The same with words for what JSON has no number for."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
