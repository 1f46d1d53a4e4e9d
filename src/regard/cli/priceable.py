"""What `regard cost NAME` prices: a preset, a recipe, a run or a config.json, with fields changed."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard.cli.options import pattern_of
from regard.cost.built import read_checked
from regard.errors import did_you_mean
from regard.layers import Learned
from regard.models import GridCompletionConfig
from regard.models.files import MODELS, PARTS, build_config
from regard.models.huggingface.shapes import DecoderShape
from regard.models.own import is_own, shown
from regard.models.presets import PRESETS, preset
from regard.train.folder import code_of
from regard.trust import granted
from regard.values import names_in, read_part

if TYPE_CHECKING:
    from regard.train import Recipe


def find(name: str, trust: bool = False) -> tuple[object, str]:
    """(what to price, what it is) of a preset, a config file, a run folder or a recipe."""
    if name in PRESETS:
        what = preset(name)
        return what, type(what).__name__
    from regard import recipes
    from regard.train.finding import is_place

    path = Path(name)
    if path.exists() and path.suffix != ".py":
        return from_path(path, trust)
    if name in recipes.names() or is_place(name):
        return from_recipe(recipes.get(name, trust=trust), f"recipe {name}")
    known = [*PRESETS, *recipes.names()]
    hint = did_you_mean(name, known, f"names: {', '.join(known)}")
    raise ValueError(f"{name!r} is no preset, no recipe and no file or folder{hint}")


def from_path(path: Path, trust: bool = False) -> tuple[object, str]:
    """What a config.json, a folder with one, or a run folder describes."""
    if path.is_dir():
        inner = [path / "model" / "config.json", path / "config.json", path / "recipe.json"]
        found = next((one for one in inner if one.exists()), None)
        if found is None:
            raise ValueError(f"{path} holds no run and no config.json")
        path = found
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold an object, got a {type(data).__name__}")
    if path.name == "recipe.json":
        from regard.train.folder import read_recipe

        return from_recipe(read_recipe(path.parent, trust=trust), f"the recipe of {path.parent}")
    if isinstance(data.get("model"), dict):
        names = ", ".join(sorted(names_in(data)))
        raise ValueError(f"{path.parent} holds a model of one's own, {names}: it has no price")
    if data.get("model") in MODELS:
        own = granted(names_in(data), path, roots=code_of(path.resolve().parents[1]), trust=trust)
        return build_config(data, own)[0], f"{data['model']} of {path.parent}"
    return read_checked(data, str(path))


def from_recipe(recipe: Recipe, words: str) -> tuple[object, str]:
    """The model of a recipe; where the data decides on the vocabulary, the words say so."""
    config = getattr(recipe.task, "model", None)
    if config is None:
        raise ValueError(f"{words} names no model to price")
    unset = hasattr(config, "vocab") and config.vocab is None
    size = getattr(getattr(recipe.task, "tokens", None), "vocab", None)
    if unset:
        config = replace(config, vocab=1 if size is None else size)
    if is_own(config):
        raise ValueError(
            f"{words} has a model of one's own, {shown(config)}: it has no price, since only a config with "
            "shapes() has one"
        )
    if type(config) not in {kind for kind, _ in MODELS.values()}:
        with torch.device("meta"):
            return config.build(), words
    if unset and size is not None:
        words += f", vocabulary {size:,}"
    elif unset:
        words += ", with a vocabulary of 1: the data decides on it, --set vocab=… gives one"
    return config, words


def changed(what: object, changes: list[str]) -> object:
    """The config with fields set from texts: patterns and parts as `regard train` does, else as JSON."""
    for text in changes:
        field, sign, value = text.partition("=")
        names = [f.name for f in fields(what)] if is_dataclass(what) else []
        if not sign:
            raise ValueError(f"--set must be FIELD=VALUE such as depth=6, got {text!r} without a value")
        if field not in names:
            hint = did_you_mean(field, names)
            raise ValueError(
                f"{type(what).__name__} has no field {field!r}{hint}; fields: {', '.join(names)}"
            )
        assert is_dataclass(what)  # it has fields
        assert not isinstance(what, type)
        what = replace(what, **{field: _value(field, value)})
    return what


def _value(field: str, text: str) -> object:
    words = [word.strip() for word in text.split(";")]
    if field == "pattern":
        found: list[object] = [pattern_of(word) for word in words]
    elif all(word.partition("(")[0] in PARTS for word in words):
        found = [read_part(word, PARTS) for word in words]
    else:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            return text
        return tuple(value) if isinstance(value, list) else value
    return found[0] if len(found) == 1 else tuple(found)


def check_positions(name: str, what: object, tokens: int | None) -> None:
    """Raise where a model could not run so many tokens: those that learned its positions end somewhere."""
    context = getattr(what, "context", None)
    learned = isinstance(getattr(what, "position", None), Learned)
    if learned and context is not None and tokens is not None and tokens > context:
        raise ValueError(
            f"the learned positions of {name} end at {context:,}, got --tokens {tokens:,}; "
            f"--set context={tokens} prices one with more"
        )


def default_tokens(what: object) -> int | None:
    """The context of a model of sequences, where it has one."""
    inner = getattr(what, "backbone", getattr(what, "config", what))
    context = getattr(inner, "context", getattr(what, "max_N", None))
    if context is None and isinstance(what, DecoderShape):
        return 2048 if what.learned is None else min(2048, what.learned)
    return context


def default_image(what: object) -> tuple[int, int] | None:
    """A size for models of images of any size."""
    return (28, 28) if isinstance(what, GridCompletionConfig) else None


def sides(text: str) -> tuple[int, int]:
    """Rows and columns from 28 or 28x20."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"image must be a number or ROWSxCOLS such as 28x20, got image={text!r}")
    return int(parts[0]), int(parts[-1])
