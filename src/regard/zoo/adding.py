"""How a model is put into the zoo: small weights, its card, and checksums of every file."""

import re
from dataclasses import replace
from pathlib import Path

from regard.files import placed, seal, write, write_json
from regard.models.files import architecture, write_tensors
from regard.models.quantise import shrink
from regard.train import Run, load_run
from regard.train.runs.listing import tested
from regard.train.runs.opening import TURNS, WEIGHTS, load_shipped
from regard.zoo.cards import card_of

MOST_BYTES = 40_000_000  # of the whole zoo: a package that downloads in seconds


def add(
    run_folder: str | Path,
    name: str,
    *,
    dtype: str = "bfloat16",
    card: str | None = None,
    folder: Path | None = None,
) -> Run:
    """Put the model of a run into the zoo under a name, in place of an older one, and load it again.

    Without `card` one is written from what the run recorded. Nothing changes where anything fails.
    """
    check_name(name)
    run = load_run(run_folder)
    text = card_of(run, name, dtype) if card is None else card
    if test := tested(run.folder, run.description):
        run = replace(run, description={**run.description, "test": test})
    return put(run, name, text, dtype=dtype, folder=folder)


def put(run: Run, name: str, card: str, *, dtype: str = "bfloat16", folder: Path | None = None) -> Run:
    """Put a model into the zoo as config.json, model.safetensors, task.json, card.md and its tokenizer.

    `checksums.json` beside them knows every file, and `load` takes no other.
    """
    check_name(name)
    config = architecture(run.model) | {"dtype": dtype}
    if not card.strip():
        raise ValueError("card must say how the model was made, got an empty one")
    folder = WEIGHTS if folder is None else folder
    path = folder / name
    with TURNS:
        with placed(path) as fresh:
            write_tensors(shrink(run.model.state_dict(), dtype), fresh / "model.safetensors", {"zoo": name})
            write_json(fresh / "config.json", config)
            write_json(fresh / "task.json", run.description)
            write(fresh / "card.md", f"{card.strip()}\n".encode())
            if run.tokenizer is not None:
                run.tokenizer.save(fresh)
            seal(fresh)
            total = size(folder) - (size(path) if path.exists() else 0)  # `fresh` is inside already
            if total > MOST_BYTES:
                with_it = f"with {name!r} it would hold {total:,}"
                raise ValueError(f"the zoo may hold {MOST_BYTES:,} bytes, {with_it}")
        return load_shipped(name, folder)


def size(folder: Path | None = None) -> int:
    """The bytes of all files under a folder, of the whole zoo unless given."""
    folder = WEIGHTS if folder is None else folder
    with TURNS:
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
