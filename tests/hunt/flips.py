"""One byte of one file of a run changed, or the file cut short: it is said, or it cannot matter.

It cannot matter where the run that goes on ends with the weights, optimiser, best model, scores and record of
the run that nobody disturbed, to the bit. A row of the record may be missing where it was named as damaged.
Of a first stage that has ended, only its model is used: the rest of it is left as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch

from regard import zoo
from regard.files import read_sums, remove
from regard.train import load_run
from regard.train.runs.opening import WEIGHTS
from tests.hunt._trials import (
    KINDS,
    NEVER,
    Whole,
    chance,
    copy,
    finished,
    quick_disk,
    stop,
    train,
    undisturbed,
)
from tests.hunt.found import Found
from tests.train.same import difference, record

# Kinds, and after how many steps in all: of the two stages, the second has begun.
STOPPED = {"images": 10, "texts": 8, "two stages": 13, "shards, Muon": 5}
PLACES = ("images", "texts", "a model in use", "the zoo", "two stages", "shards, Muon")
NAMED = "is damaged", "cannot be read", "was changed", "passed over", "differ"  # how damage is spoken of
Judge = Callable[[Path, Path], str]  # a damaged folder, the file -> whether it was noticed; raises where not


def hunt(times: int, seed: int) -> Found:
    """Damage `times` files: of runs that were stopped and go on, of models that are used, of the zoo."""
    found, luck = Found(), chance(seed, "flips")
    with quick_disk() as folder:
        places: dict[str, tuple[Path, Judge]] = {}
        for number in range(times):
            name = PLACES[number % len(PLACES)]
            if name not in places:
                places[name] = _place(folder, name)
            source, judge = places[name]
            run = copy(source, folder / "run")
            files = sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size)
            path = files[(number // len(PLACES) + seed) % len(files)]
            what = _damage(path, luck)
            shown = f"{name}, {path.relative_to(run)}, {what}"
            try:
                found.add(f"{name}: {judge(run, path)}")
            except Exception as error:
                found.add(f"{name}: missed", f"{shown}: {type(error).__name__}: {error}")
            remove(run)
    return found


def _place(folder: Path, name: str) -> tuple[Path, Judge]:
    """A folder to be damaged, and what judges whether that was noticed."""
    if name in STOPPED:
        whole, stopped = undisturbed(folder, name), folder / f"stopped {name}"
        finished(KINDS[name].start(folder / f"log stopped {name}", stop, str(stopped), STOPPED[name]))
        return stopped, lambda run, path: _goes_on(name, whole, run, path)
    if name == "the zoo":
        known = _answers(zoo.load("verdicts-encoder"))
        entry = WEIGHTS / "verdicts-encoder"
        return entry, lambda run, path: _used(lambda: zoo.load(run.name, run.parent), known, path)
    model = folder / "whole texts" / "model"
    wanted = _answers(load_run(model))
    return model, lambda run, path: _used(lambda: load_run(run), wanted, path)


def _damage(path: Path, luck: Random) -> str:
    """Change a byte of a file, or in one case of eight cut it short."""
    data = path.read_bytes()
    at = luck.randrange(len(data))
    if luck.random() < 1 / 8:
        with path.open("rb+") as file:
            file.truncate(at)
        return f"cut to {at} of {len(data)} bytes"
    other = data[at] ^ luck.randrange(1, 256)
    with path.open("rb+") as file:  # in place: other names of the file change with it
        file.seek(at)
        file.write(bytes([other]))
    return f"byte {at} of {len(data)}, {data[at]} became {other}"


def _goes_on(kind: str, whole: Whole, run: Path, path: Path) -> str:
    """How a damaged run goes on."""
    log = run.with_name("log of a flip")
    ends = finished(KINDS[kind].start(log, train, str(run), NEVER))
    text = "\n".join(text for _, text in ends)
    for file in run.parent.glob(f"{log.name}*"):
        file.unlink()
    assert all(code in (0, 2) for code, _ in ends), f"ended with {ends}"
    said = any(word in text for word in NAMED) and _names(text, path)
    if any(code == 2 for code, _ in ends):
        assert said, f"ended without naming the file: {text}"
        return "refused, and said why"
    if "metrics.jsonl: " in text:
        wrong = _but_for_rows(whole.folder, run)
    else:
        wrong = difference(whole.folder, run, before=path.name == "metrics.jsonl")
    if wrong is None and (run / "before").exists():
        same = read_sums(run / "before" / "model") == read_sums(whole.folder / "before" / "model")
        wrong = None if same else "the model of the first stage differs"
    assert wrong is None, f"{wrong}; what was said: {text}"
    return "gone on from what is good, and said so" if said else "no matter"


def _names(text: str, path: Path) -> bool:
    """Whether a message leads to the file: by its name, or by that of the checkpoint that it is in."""
    return any(name in text for name in (path.name, path.parent.name, path.parent.parent.name))


def _but_for_rows(whole: Path, run: Path) -> str | None:
    """What is not as it should be, but for rows that are not there."""
    rows = record(whole)
    if strange := [row for row in record(run) if row not in rows]:
        return f"rows that nobody wrote: {strange}"
    for file in whole.rglob("metrics.jsonl"):
        (run / file.relative_to(whole)).write_bytes(file.read_bytes())
    found = difference(whole, run)
    return None if found is None or found.startswith("rows differs") else found


def _answers(run: Any) -> list[Any]:
    """What a model of texts says, by its weights, its tokenizer and its description."""
    ids = torch.tensor([run.tokenizer.encode("not one dull minute of it, far from good")])
    with torch.no_grad():
        return [run.model(ids).tolist(), json.dumps(run.description)]


def _used(opened: Callable[[], Any], wanted: list[Any], path: Path) -> str:
    try:
        found = _answers(opened())
    except ValueError as error:
        if not _names(str(error), path):
            raise AssertionError(f"refused without naming the file: {error}") from error
        return "refused, and said why"
    assert found == wanted, "other answers, without a word"
    return "no matter"
