"""A table of runs and their scores."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.files import find_folder
from regard.train.checkpoint import numbered, step_of
from regard.train.folder import BEFORE, CHECKPOINTS, MODEL, RECIPE, SUMMARY, TEST, read_recipe
from regard.values import Json, names_in


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
    parent = Path(parent)
    if not parent.is_dir():
        raise ValueError(f"{parent} is no folder; runs are in the folder given to `regard train --out`")
    places = [path.parent for path in sorted(parent.glob(f"**/{RECIPE}")) if path.parent.name != BEFORE]
    return [_entry(place) for place in places]


def _entry(folder: Path) -> RunEntry:
    data = read_json(folder / RECIPE)
    try:
        # A list runs nobody's code: of a run with code of one's own, its name is enough.
        name = str(data.get("name")) if names_in(data) else read_recipe(folder).name
    except ValueError:
        name = "unreadable recipe"
    summary, best = read_json(folder / SUMMARY), read_json(find_folder(folder / MODEL) / "task.json")
    there = numbered(folder / CHECKPOINTS)
    steps = step_of(there[0]) if there else 0
    state = "finished" if summary else "stopped" if there else "no checkpoint"
    seconds = summary.get("seconds", {}).get("training")
    return RunEntry(
        str(folder),
        name,
        state,
        int(summary.get("steps", steps)),
        None if seconds is None else seconds / 60,
        best.get("scores", {}),
        tested(folder, best),
    )


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
