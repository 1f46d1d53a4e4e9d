"""What a run's folder says of data of one's own, and how they differ from what a run began with."""

import json
from pathlib import Path

from regard.files import write_json
from regard.train.task import Task
from regard.values import Json

DATA = "data.json"
FEW = 100  # held-out examples below which a score is coarse


def note_data(folder: Path, task: Task) -> None:
    """Write down the source, its parts and its fingerprint, where a task reads data of one's own."""
    told = task.describe()
    if "source" in told:
        names = ("source", "parts", "classes")
        kept = {name: told[name] for name in names if name in told}
        write_json(folder / DATA, kept | {"fingerprint": task.fingerprint})


def told_parts(told: Json) -> str:
    """The parts of data of one's own in words, or nothing.

    >>> told_parts({"data": "photos", "parts": {"train": 1200, "validation": 180}})
    'photos: train 1,200, validation 180'
    """
    if "parts" not in told:
        return ""
    line = f"{told['data']}: " + ", ".join(f"{name} {count:,}" for name, count in told["parts"].items())
    if "classes" in told:
        line += f"; {len(told['classes']):,} classes"
    if "image" in told:
        channels, rows, cols = told["image"]
        line += f", pictures as {rows}×{cols}, {'grey' if channels == 1 else 'in colour'}"
    held = told["parts"].get("validation", FEW)
    if held >= FEW:
        return line
    worth = f", each worth {100 / held:.0f} % of accuracy" if held and "classes" in told else ""
    note = f"note: {held:,} held out for validation{worth}"
    return f"{line}\n{note}: scores are coarse, and the best step may be luck"


def what_changed(folder: Path, task: Task) -> str:
    """How the data differ from those that the folder tells of, in words; nothing where that is not known."""
    try:
        old = json.loads((folder / DATA).read_bytes())
        new = task.describe()
        parts = [
            f"{name} has {new['parts'].get(name, 0):,} where it had {count:,}"
            for name, count in old["parts"].items()
            if new["parts"].get(name, 0) != count
        ]
        gone = sorted(set(old.get("classes", ())) ^ set(new.get("classes", ())))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    said = [*parts, *([f"classes differ in {', '.join(gone[:5])}"] if gone else [])]
    return f" ({'; '.join(said or ['as many examples, with other content'])})"


def other_data(folder: Path, task: Task) -> str | None:
    """What is to be said where a task's data are not those that the folder tells of, or None."""
    try:
        was = json.loads((folder / DATA).read_bytes())["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if was == task.fingerprint:
        return None
    name = task.describe()["data"]
    return f"the data set {name} is not what this run was trained on{what_changed(folder, task)}"
