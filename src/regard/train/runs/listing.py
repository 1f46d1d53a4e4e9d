"""A table of runs and their scores."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.files import find_folder
from regard.train.checkpoint import numbered, step_of
from regard.train.folder import BEFORE, CHECKPOINTS, MODEL, RECIPE, SUMMARY, TEST, read_recipe
from regard.train.lock import in_use
from regard.values import Json, names_in

UNREADABLE = "unreadable recipe"


@dataclass(frozen=True)
class RunEntry:
    """One row in the table of runs."""

    folder: str
    recipe: str
    state: str
    steps: int
    minutes: float | None
    validation: dict[str, float]
    test: dict[str, float]

    def as_dict(self) -> Json:
        """The row, as JSON."""
        return asdict(self)


def list_runs(parent: str | Path) -> list[RunEntry]:
    """All runs in the folders below, by name; what cannot be read is said so and passed over by nobody."""
    return [entry_of(place) for place in find_runs(parent)]


def find_runs(parent: str | Path) -> list[Path]:
    """The folders of all runs below one, by name."""
    parent = Path(parent)
    if not parent.is_dir():
        raise ValueError(f"{parent} is no folder; runs are in the folder given to `regard train --out`")
    return [path.parent for path in sorted(parent.glob(f"**/{RECIPE}")) if path.parent.name != BEFORE]


def entry_of(folder: Path) -> RunEntry:
    """The row of one run, of whatever its folder still tells."""
    data = read_json(folder / RECIPE)
    try:
        # A list runs nobody's code: of a run with code of one's own, its name is enough.
        name = str(data.get("name")) if names_in(data) else read_recipe(folder).name
    except ValueError:
        name = UNREADABLE
    summary, best = read_json(folder / SUMMARY), read_json(find_folder(folder / MODEL) / "task.json")
    there = numbered(folder / CHECKPOINTS)
    steps = step_of(there[0]) if there else 0
    ended = "finished" if summary else "stopped" if there else "no checkpoint"
    state = "running" if in_use(folder) else ended
    times = summary.get("seconds")
    seconds = times.get("training") if isinstance(times, dict) else None
    scores, count = best.get("scores"), summary.get("steps", steps)
    return RunEntry(
        str(folder),
        name,
        state,
        count if isinstance(count, int) else steps,
        seconds / 60 if isinstance(seconds, int | float) else None,
        _numbers(scores),
        _numbers(tested(folder, best)),
    )


def _numbers(scores: object) -> dict[str, float]:
    """What is a score of what should be scores: a file may hold anything."""
    given = scores if isinstance(scores, dict) else {}
    return {
        str(name): value
        for name, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def tested(folder: Path, description: Json) -> dict[str, float]:
    """The scores on the test part that a run recorded; those of old of a corpus were its validation again."""
    return {} if description.get("task") in ("language", "masked") else read_json(folder / TEST)


def read_json(path: Path) -> Json:
    """What a JSON file holds; nothing where there is no such file, or no object in it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
