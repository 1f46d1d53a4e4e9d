"""The Runs room: what trains and what was trained, its record as it grows, its samples, and what differs."""

from __future__ import annotations

import time
from pathlib import Path

from regard.studio import listed
from regard.studio.api.body import Body
from regard.studio.limits import FieldError, text
from regard.train.following import Following, RecordColumns

CHOSEN = 8  # runs that are drawn at a time
POINTS = 400  # of a curve
SAMPLES = 60  # of a run, the last
NAME = 300  # characters
SAMPLE = 2_000
FIELDS = 40  # in which recipes differ


def overview(body: Body) -> dict[str, object]:
    """Every run of the folder in a row, the one written last first."""
    folders, now = listed.folders(), time.time()
    rows = [_row(name, folder, now) for name, folder in folders.items()]
    return {
        "folder": listed.FOLDER[0].name if listed.FOLDER else None,
        "most": listed.MOST,
        "runs": rows,
    }


def _row(name: str, folder: Path, now: float) -> dict[str, object]:
    found, kind = listed.entry(folder)
    return {
        "name": name,
        "recipe": found.recipe,
        "state": found.state,
        "steps": listed.steps(folder, found),
        "planned": listed.planned(folder),
        "minutes": found.minutes,
        "validation": _sound(found.validation),
        "test": _sound(found.test),
        "kind": kind,
        "ago": max(0, round(now - listed.written(folder))),
        "fault": listed.fault(folder, found),
    }


def _sound(scores: dict[str, float]) -> list[list[object]]:
    return [[name, value] for name, value in scores.items() if abs(value) < 1e300]  # NaN is not


def records(body: Body) -> dict[str, object]:
    """The curves and samples of some runs; of one that is as it was at the mark that is sent, only that."""
    marks = body.fields.get("marks")
    known = marks if isinstance(marks, dict) else {}
    return {"runs": [_record(name, known.get(name)) for name in _names(body)]}


def _names(body: Body) -> list[str]:
    return list(dict.fromkeys(text("runs", one, NAME) for one in body.items("runs", CHOSEN)))


def _record(name: str, mark: object) -> dict[str, object]:
    try:
        folder = listed.find(name)
        found, kind = listed.entry(folder)
        record = listed.record(folder)
    except (ValueError, OSError) as error:
        why = str(error) if isinstance(error, ValueError) else "its record cannot be read"
        return {"name": name, "mark": "", "gone": why}
    now = f"{record.mark}-{found.state}"
    if mark == now:
        return {"name": name, "mark": now, "same": True}
    return {
        "name": name,
        "mark": now,
        "state": found.state,
        "kind": kind,
        "last": record.last,
        "planned": listed.planned(folder),
        "train": _curves(record, "train"),
        "validation": _curves(record, "validation"),
        "samples": [[step, words[:SAMPLE]] for step, words in sorted(record.samples.items())[-SAMPLES:]],
        "fault": listed.fault(folder, found, record),
    }


def _curves(record: Following, kind: str) -> dict[str, object]:
    """Each number against the steps, and how many rows one point stands for."""
    columns = record.kinds.get(kind, RecordColumns())
    return {
        "stretch": columns.stretch(POINTS),
        "curves": {name: columns.points(name, POINTS) for name in columns.values},
    }


def differences(body: Body) -> dict[str, object]:
    """The fields in which the recipes of some runs differ, and what each has there."""
    names = _names(body)
    try:
        each = [listed.settings(listed.find(name)) for name in names]
    except ValueError as error:
        raise FieldError("runs", str(error)) from error
    fields = list(dict.fromkeys(field for one in each for field in one))
    differ = [field for field in fields if len({one.get(field) for one in each}) > 1]
    return {
        "names": names,
        "fields": [[field, *(one.get(field, "–") for one in each)] for field in differ[:FIELDS]],
        "more": max(0, len(differ) - FIELDS),
    }
