"""What a run ran on, start after start: versions, hardware, and the state of the source."""

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

import regard
from regard.files import write_json
from regard.train.devices import device_name
from regard.values import Json

ENVIRONMENT = "environment.json"
# What decides the bits of a result; a date or a command does not.
DECIDING = ("regard", "git", "torch", "python", "device", "threads", "processes")


def environment(device: torch.device, world: int) -> Json:
    """Everything worth knowing when a score is to be reproduced."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "regard": regard.__version__,
        "git": git_state(Path(regard.__file__).parent),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "device": device_name(device),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "processes": world,
    }


def git_state(folder: Path) -> Json | None:
    """The commit of the source, and whether files differ from it; None outside a repository."""

    def ask(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "changed": bool(ask("status", "--porcelain", "--untracked-files=no"))}


def history(folder: Path) -> list[Json]:
    """The environment of every start of a run, the newest last; runs of old wrote the newest alone."""
    path = folder / ENVIRONMENT
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    entries = found if isinstance(found, list) else [found]
    if not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path} is damaged: it must hold a list of environments")
    return entries


def add_start(folder: Path, entry: Json) -> list[str]:
    """Note a start in a run's history, and give what is worth saying about it."""
    said = []
    try:
        before = history(folder)
    except ValueError as error:
        aside = (folder / ENVIRONMENT).replace(folder / f"damaged-{ENVIRONMENT}")
        said, before = [f"{error}; it is now {aside.name}, and the history begins anew"], []
    write_json(folder / ENVIRONMENT, [*before, entry])
    if before and (changes := differing(before[-1], entry)):
        listed = ", ".join(changes)
        said.append(f"since the last start, {listed}: the run goes on, but not bit for bit as it would have")
    return said


def differing(old: Json, new: Json) -> list[str]:
    """In what two environments differ that decides the bits of a result.

    >>> differing({"torch": "2.11", "date": "May"}, {"torch": "2.13", "date": "June"})
    ['torch changed from 2.11 to 2.13']
    """
    return [
        f"{name} changed from {_short(old[name])} to {_short(new.get(name))}"
        for name in DECIDING
        if name in old and old[name] != new.get(name)
    ]


def _short(value: object) -> str:
    if isinstance(value, dict) and "commit" in value:
        return f"{str(value['commit'])[:10]}{' with changes' if value.get('changed') else ''}"
    return str(value)
