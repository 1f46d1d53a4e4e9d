"""What the Costs room prices: a thing by its name, with another pattern or more positions, and in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard import recipes, zoo
from regard.cost import Cost, price
from regard.cost.built import read_checked
from regard.models.presets import PRESETS, preset
from regard.studio import limits, listed, models
from regard.studio.api.patterns import read
from regard.studio.limits import FieldError
from regard.studio.models import ZOO
from regard.train.priceable import (
    from_path,
    from_recipe,
    open_vocabulary,
    own_patterns,
    positions_end,
    with_field,
)
from regard.train.runs.opening import find_shipped

if TYPE_CHECKING:
    from regard.pattern import Pattern
    from regard.studio.api.body import Body

RECIPE, PASTED = "recipe:", "config.json"
MODES = {"forward": "a forward pass", "training": "a training step", "decoding": "decoding, token by token"}
DTYPES = ("own", "float32", "bfloat16", "float16", "int8")
SIDE = 4_096  # of an image


@dataclass(frozen=True)
class Described:
    """Something that has a price: a config or a model, what it is in words, and how Python gets it."""

    what: object
    words: str
    lines: tuple[str, ...]  # of Python, after which `what` is it
    open_vocabulary: bool = False
    takes: str = (
        ""  # what decides how much there is to do: `n` tokens, an `image`, nothing where it is `fixed`
    )

    def with_pattern(self, pattern: Pattern) -> Described:
        """The same with this pattern in every layer."""
        if not own_patterns(self.what):
            raise FieldError("pattern", f"{self.words} has no attention whose pattern could be another")
        line = f'what = with_field(what, "pattern", parse("{pattern}"))'
        try:
            what = with_field(self.what, "pattern", pattern)
        except ValueError as error:
            raise FieldError("pattern", str(error)) from error
        return replace(self, what=what, lines=(*self.lines, line))

    def reaching(self, n: int) -> tuple[Described, tuple[str, ...]]:
        """The same with a table of positions that is long enough, and a notice where it was not."""
        end = positions_end(self.what)
        if end is None or n <= end[1]:
            return self, ()
        line = f'what = with_field(what, "{end[0]}", {n})'
        longer = replace(self, what=with_field(self.what, end[0], n), lines=(*self.lines, line))
        return longer, (f"its learned positions end at {end[1]:,}; priced as if there were {n:,}",)


def names() -> dict[str, list[str]]:
    """All that can be named, by what it is."""
    return {
        "presets": list(PRESETS),
        "recipes": [f"{RECIPE}{name}" for name in recipes.names()],
        "runs": list(folders()),
        "zoo": [f"{ZOO}{name}" for name in zoo.names()],
    }


def folders() -> dict[str, Path]:
    """The folders of runs, by the names that visitors know: those named at the start, those in its folder."""
    return {**models.named(models.FOLDERS), **listed.folders()}


def described(body: Body) -> Described:
    """What a question names, with its pattern."""
    name = body.text("model", 200)
    vocab = body.whole("vocab", 1, limits.SIZE, 1)
    found = _named(name, body, vocab)
    found = replace(found, takes=_takes(found.what))
    if body.text("pattern", limits.EXPRESSION, "").strip():
        return found.with_pattern(read(body))
    return found


def _named(name: str, body: Body, vocab: int) -> Described:
    if name == PASTED:
        return _pasted(body.text("config", limits.CONFIG, ""))
    if name in PRESETS:
        what = preset(name)
        lines = ("from regard.models.presets import preset", f'what = preset("{name}")')
        return Described(what, _kind(what), lines)
    if name.startswith(RECIPE) and (short := name.removeprefix(RECIPE)) in recipes.names():
        return _of_recipe(short, vocab)
    if name.startswith(ZOO) and (short := name.removeprefix(ZOO)) in zoo.names():
        shipped, words = from_path(find_shipped(short))
        lines = ("from regard.train import open_run", f'what = open_run("{name}").model.config')
        return Described(shipped, words.partition(" of ")[0], lines)
    if name in (there := folders()):
        return _of_folder(name, there[name])
    raise FieldError("model", f"nothing to price is called {name[:60]!r}")


def _of_folder(name: str, folder: Path) -> Described:
    """Of its config.json; where a run has none, of the model itself, which then is opened."""
    if not any((folder / inner).exists() for inner in ("model/config.json", "config.json")):
        model = (listed.opened(name) if name.startswith(listed.PREFIX) else models.here().runs[name]).model
        what = getattr(model, "config", model)
        opened = f'what = open_run("{folder.name}").model.config'
        return Described(what, _kind(what), ("from regard.train import open_run", opened))
    trained, words = from_path(folder)
    read_it = "from pathlib import Path; from regard.train.priceable import from_path"
    return Described(
        trained, words.partition(" of ")[0], (read_it, f'what = from_path(Path("{folder.name}"))[0]')
    )


def _kind(what: object) -> str:
    return type(what).__name__.removesuffix("Config").removesuffix("Shape")


def _of_recipe(name: str, vocab: int) -> Described:
    recipe = recipes.get(name)
    what, _ = from_recipe(recipe, f"recipe {name}")
    lines: tuple[str, ...] = (
        "from regard import recipes; from regard.train.priceable import from_recipe",
        f'what = from_recipe(recipes.get("{name}"), "")[0]',
    )
    free = open_vocabulary(recipe) and not isinstance(what, torch.nn.Module)
    if free:
        what, lines = with_field(what, "vocab", vocab), (*lines, f'what = with_field(what, "vocab", {vocab})')
    return Described(what, _kind(what), lines, free)


@lru_cache(maxsize=32)  # transformers, where it is installed, builds the model to be sure
def _pasted(text: str) -> Described:
    data = checked(text)
    try:
        what, words = read_checked(data)
    except (ValueError, OverflowError) as error:
        raise FieldError("config", str(error)) from error
    lines = (
        "import json; from regard.cost.built import read_checked",
        'what = read_checked(json.load(open("config.json")))[0]',
    )
    return Described(what, words, lines)


def checked(text: str) -> Mapping[str, object]:
    """A pasted config as an object with numbers that a model may have.

    >>> checked('{"n_layer": 9999}')
    Traceback (most recent call last):
        ...
    regard.studio.limits.FieldError: n_layer may be at most 4,096 here, got more
    """
    if not text.strip():
        raise FieldError("config", "paste the text of a config.json, or choose a file")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError("config", f"this is no JSON: {str(error)[:120]}") from error
    if not isinstance(data, dict):
        raise FieldError("config", f"a config.json must hold an object, got a {type(data).__name__}")
    for key, value in data.items():
        most = limits.LAYERS if key in ("n_layer", "num_hidden_layers", "num_layers") else limits.SIZE
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > most:
            raise FieldError("config", f"{str(key)[:40]} may be at most {most:,} here, got more")
    return data


@dataclass(frozen=True)
class Around:
    """For how much a price is asked, besides the length."""

    batch: int
    mode: str
    dtype: str

    @classmethod
    def read(cls, body: Body) -> Around:
        """What a question says of it."""
        return cls(
            body.whole("batch", 1, limits.BATCH, 1),
            body.choice("mode", tuple(MODES), "forward"),
            body.choice("dtype", DTYPES, "own"),
        )

    def price(
        self, what: object, n: int | None, image: tuple[int, int] | None = None, ranks: int = 1
    ) -> Cost:
        """The price, of so many tokens or of an image."""
        try:
            return price(
                what,
                tokens=n,
                batch=self.batch,
                image=image,
                training=self.mode == "training",
                decode=self.mode == "decoding",
                dtype=None if self.dtype == "own" else getattr(torch, self.dtype),
                ranks=ranks,
            )
        except ValueError as error:
            raise FieldError(_field(str(error)), str(error)) from error

    def line(self, n: int | None, image: tuple[int, int] | None) -> str:
        """The same in Python."""
        given = {"tokens": n, "batch": self.batch if self.batch != 1 else None, "image": image}
        words = [f"{name}={value}" for name, value in given.items() if value is not None]
        words += {"training": ["training=True"], "decoding": ["decode=True"]}.get(self.mode, [])
        words += [] if self.dtype == "own" else [f"dtype=torch.{self.dtype}"]
        return f"price({', '.join(['what', *words])})"


def _takes(what: object) -> str:
    try:
        found = price(what, 1)
    except ValueError as error:
        if str(error).startswith("image must be given"):
            return "image"
        raise
    assert found.question is not None
    return "fixed" if found.question.setting.tokens is None else "n"


def _field(message: str) -> str:
    """Which field of a question a price is refused for."""
    starts = {"decode": "mode", "training": "mode", "tokens": "n", "ranks": "ranks", "image": "rows"}
    return starts.get(message.partition(" ")[0], "n" if " covers " in message else "")
