"""The models that ship with the package: their names, cards and weights, and how one is added."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

import torch

from regard.data import load_tokenizer
from regard.files import SUMS, check, check_all, seal, write, write_json
from regard.models.files import architecture, build_config, read_tensors, write_tensors
from regard.models.weights import place
from regard.train import Run, load_run
from regard.train.runs import tested
from regard.zoo.cards import written
from regard.zoo.quantise import grow, shrink

WEIGHTS = Path(__file__).parent / "weights"
MOST_BYTES = 25_000_000  # of the whole zoo: a package that downloads in seconds
TOKENIZER = "tokenizer.json"
TURNS = threading.RLock()

Given = ParamSpec("Given")
Found = TypeVar("Found")


def in_turn(work: Callable[Given, Found]) -> Callable[Given, Found]:
    """The same for one thread at a time: while a model is replaced, its folder is not there for a moment."""

    @wraps(work)
    def one(*given: Given.args, **more: Given.kwargs) -> Found:
        with TURNS:
            return work(*given, **more)

    return one


@dataclass(frozen=True)
class Entry(Run):
    """A model of the zoo: all that a run has to offer, and its name and card."""

    name: str
    card: str

    def as_dict(self) -> dict[str, Any]:
        """Everything but the weights, for machines."""
        return {
            "name": self.name,
            "model": type(self.model).__name__,
            "parameters": sum(weight.numel() for weight in self.model.parameters()),
            "bytes": size(self.folder),
            "description": self.description,
            "card": self.card,
        }


def names(folder: Path | None = None) -> tuple[str, ...]:
    """The models that there are, sorted."""
    folder = WEIGHTS if folder is None else folder
    return tuple(sorted(path.parent.name for path in folder.glob("*/config.json")
                        if not path.parent.name.startswith(".")))  # fmt: skip


@in_turn
def load(name: str, folder: Path | None = None) -> Entry:
    """A model of the zoo in float32 and evaluation mode, on the CPU.

    >>> load("vit-cifar11")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: the zoo has no model 'vit-cifar11'...
    """
    path = _find(name, folder)
    name = path.name
    try:
        whole = check_all(path)
    except ValueError as error:
        raise ValueError(f"zoo:{name} is damaged: {error}; install regard again") from error
    if not whole:
        raise ValueError(f"zoo:{name} is damaged: it has no {SUMS}; install regard again")
    config, task = _object(path / "config.json"), _object(path / "task.json")
    weights, _ = read_tensors(path / "model.safetensors")
    try:
        built, kind = build_config(config)
    except ValueError as error:
        raise ValueError(f"zoo:{name} is damaged: config.json: {error}") from error
    with torch.device("meta"):
        model = kind(built)
    place(model, grow(weights), f"zoo:{name}")
    tokenizer = load_tokenizer(path) if (path / TOKENIZER).exists() else None
    return Entry(path, model.eval(), task, tokenizer, name, card(name, folder))


@in_turn
def card(name: str, folder: Path | None = None) -> str:
    """A model's card: data, command, seed, score, cost."""
    return _read(_find(name, folder) / "card.md", name).decode("utf-8")


def add(
    run_folder: str | Path,
    name: str,
    *,
    dtype: str = "bfloat16",
    card: str | None = None,
    folder: Path | None = None,
) -> Entry:
    """Put the model of a run into the zoo under a name, in place of an older one, and load it again.

    Without `card` one is written from what the run recorded. Nothing changes where anything fails.
    """
    check_name(name)
    run = load_run(run_folder)
    text = written(run, name, dtype) if card is None else card
    if test := tested(run.folder, run.description):
        run = replace(run, description={**run.description, "test": test})
    return put(run, name, text, dtype=dtype, folder=folder)


@in_turn
def put(
    run: Run,
    name: str,
    card: str,
    *,
    dtype: str = "bfloat16",
    folder: Path | None = None,
) -> Entry:
    """Put a model into the zoo as config.json, model.safetensors, task.json, card.md and its tokenizer.

    `checksums.json` beside them knows every file, and `load` takes no other.
    """
    check_name(name)
    model: Any = run.model
    config = architecture(model) | {"dtype": dtype}
    if not card.strip():
        raise ValueError("card must say how the model was made, got an empty one")
    folder = WEIGHTS if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    path, fresh, old = folder / name, folder / f".{uuid4().hex}", folder / f".{uuid4().hex}"
    try:
        fresh.mkdir()
        write_tensors(shrink(model.state_dict(), dtype), fresh / "model.safetensors", {"zoo": name})
        for file, value in (("config.json", config), ("task.json", run.description)):
            write_json(fresh / file, value)
        write(fresh / "card.md", f"{card.strip()}\n".encode())
        if run.tokenizer is not None:
            run.tokenizer.save(fresh)
        seal(fresh)
        total = size(folder) - (size(path) if path.exists() else 0)  # `fresh` is inside already
        if total > MOST_BYTES:
            raise ValueError(f"the zoo may hold {MOST_BYTES:,} bytes, with {name!r} it would hold {total:,}")
        if path.exists():
            path.rename(old)
        fresh.rename(path)
    finally:
        if old.exists() and not path.exists():  # the new one did not come: the old one goes back
            old.rename(path)
        for rest in (fresh, old):
            shutil.rmtree(rest, ignore_errors=True)
    return load(name, folder)


@in_turn
def size(folder: Path | None = None) -> int:
    """The bytes of all files under a folder, of the whole zoo unless given."""
    folder = WEIGHTS if folder is None else folder
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check_name(name: str) -> None:
    """Raise unless it can be a folder's name everywhere.

    >>> check_name("../secret")
    Traceback (most recent call last):
        ...
    ValueError: name must be small letters, digits and hyphens, such as vit-cifar10, got name='../secret'
    """
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is None:
        raise ValueError(f"name must be small letters, digits and hyphens, such as vit-cifar10, got {name=}")


def _find(name: str, folder: Path | None) -> Path:
    name = name.removeprefix("zoo:")
    there = names(folder)
    if name in there:
        return (WEIGHTS if folder is None else folder) / name
    close = get_close_matches(name, there, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    listed = f"there are {', '.join(there)}" if there else "it is empty"
    raise ValueError(f"the zoo has no model {name!r}: {hint}{listed}")


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_read(path, path.parent.name))
        if not isinstance(found, dict):
            raise ValueError("it is no object")
        return found
    except ValueError as error:
        raise ValueError(f"zoo:{path.parent.name} is damaged: {path.name} cannot be read: {error}") from error


def _read(path: Path, name: str) -> bytes:
    try:
        check(path)
        return path.read_bytes()
    except ValueError as error:
        raise ValueError(f"zoo:{name} is damaged: {error}; install regard again") from error
    except OSError as error:
        raise ValueError(f"zoo:{name} is damaged: {path.name}: {error.strerror}") from error
