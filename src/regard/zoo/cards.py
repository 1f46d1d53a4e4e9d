"""A model's card, written from what its run recorded: data, command, seed, score, cost."""

import shlex
from pathlib import Path

from regard.cost import price
from regard.train import Run
from regard.train.environment import history
from regard.train.folder import SUMMARY
from regard.train.runs.images import ImageRun
from regard.train.runs.listing import read_json, tested
from regard.values import Json


def card_of(run: Run, name: str, dtype: str) -> str:
    """The card in Markdown; what a run did not record is left out rather than guessed."""
    starts = history(run.folder)
    facts = starts[-1] if starts else {}
    summary, test = read_json(run.folder / SUMMARY), tested(run.folder, run.description)
    count = sum(weight.numel() for weight in run.model.parameters())
    rows: list[tuple[str, str]] = [
        ("model", f"{type(run.model).__name__}, {count:,} parameters, stored as {dtype}"),
        ("data", _local(str(run.description.get("data", "not recorded")))),
    ]
    if facts.get("command"):
        rows.append(("command", f"`{shlex.join(map(_local, facts['command']))}`"))
    if (recipe := run.recipe) is not None:
        rows += [("recipe", recipe.name), ("seed", str(recipe.seed))]
    if scores := run.description.get("scores"):
        rows.append(("validation, float32", _scores(scores)))
    if test:
        rows.append(("test, float32", _scores(test)))
    if (cost := _priced(run)) is not None:
        rows.append(("cost", cost))
    if summary.get("seconds"):
        rows.append(("training", _cost(summary, facts)))
    if facts.get("date"):
        rows.append(("date", f"{facts['date']}, regard {facts.get('regard')}, torch {facts.get('torch')}"))
    table = "\n".join(f"| {key} | {value} |" for key, value in rows)
    classes = run.description.get("classes")
    more = f"\n\nClasses: {', '.join(map(str, classes))}." if classes else ""
    return f"# {name}\n\n| | |\n|---|---|\n{table}{more}\n"


def _local(word: str) -> str:
    """An argument without the folders of the machine it ran on.

    >>> _local("/home/me/data"), _local("--out=/tmp/run"), _local("seed=1")
    ('data', '--out=run', 'seed=1')
    """
    before, sign, path = word.rpartition("=")
    return before + sign + (Path(path).name if path.startswith(("/", "~")) else path)


def _priced(run: Run) -> str | None:
    """What one answer costs, for models whose size of input is fixed."""
    if not isinstance(run, ImageRun):
        return None
    found = price(run.model)
    return f"{found.flops:,} flops and {found.pairs:,} pairs an image, forward"


def _cost(summary: Json, facts: Json) -> str:
    seconds = summary["seconds"]
    parts = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    where = facts.get("device", "an unknown device")
    return f"{parts}; {summary.get('steps', 0):,} steps on {where}"


def _scores(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
