"""What a price is asked of: the model of a run, of a recipe or of a config.json, and how it is varied."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import torch

from regard.cost.built import read_checked
from regard.layers import Learned
from regard.models import GridCompletionConfig
from regard.models.files import MODELS, build_config
from regard.models.huggingface.shapes import DecoderShape
from regard.models.own import is_own, shown
from regard.pattern import Pattern
from regard.train.folder import code_of, read_recipe
from regard.train.recipe import Recipe
from regard.trust import granted
from regard.values import names_in


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
        return from_recipe(read_recipe(path.parent, trust=trust), f"the recipe of {path.parent}")
    if isinstance(data.get("model"), dict):
        names = ", ".join(sorted(names_in(data)))
        raise ValueError(f"{path.parent} holds a model of one's own, {names}: it has no price")
    if data.get("model") in MODELS:
        own = granted(names_in(data), path, roots=code_of(path.resolve().parents[1]), trust=trust)
        return build_config(data, own)[0], f"{data['model']} of {path.parent}"
    return read_checked(data, str(path))


def open_vocabulary(recipe: Recipe) -> bool:
    """Whether the data decides how many words a recipe's model knows, so that its price must be told."""
    config = getattr(recipe.task, "model", None)
    known = getattr(getattr(recipe.task, "tokens", None), "vocab", None)
    return getattr(config, "vocab", 0) is None and known is None


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


INSIDE = ("backbone", "bert")  # where a config with a head on it holds that of its trunk


def holder(what: object, field: str) -> object | None:
    """The config, or the one inside it, that has a field; None where there is none.

    >>> from regard.models.presets import preset
    >>> type(holder(preset("bert-base"), "pattern")).__name__
    'EncoderConfig'
    """
    names = [one.name for one in fields(what)] if is_dataclass(what) else []
    if field in names:
        return what
    inner = next((name for name in INSIDE if name in names), None)
    return None if inner is None else holder(getattr(what, inner), field)


def with_field(what: object, field: str, value: object) -> object:
    """The same with a field changed, wherever it is inside."""
    assert is_dataclass(what)
    assert not isinstance(what, type)
    names = [one.name for one in fields(what)]
    if field in names:
        return replace(what, **{field: value})
    inner = next(name for name in INSIDE if name in names)
    return replace(what, **{inner: with_field(getattr(what, inner), field, value)})


def own_patterns(what: object) -> tuple[Pattern, ...]:
    """The distinct patterns that its layers apply; none where it has no pattern to change.

    >>> from regard.models.presets import preset
    >>> own_patterns(preset("gpt2")), own_patterns(preset("rnn"))
    ((Causal(),), ())
    """
    given = getattr(holder(what, "pattern"), "pattern", ())
    return tuple(dict.fromkeys((given,) if isinstance(given, Pattern) else given))


def positions_end(what: object) -> tuple[str, int] | None:
    """(the field, how many) of positions that were learned; None where they go on for ever.

    >>> from regard.models.presets import preset
    >>> positions_end(preset("gpt2")), positions_end(preset("llama-3-8b"))
    (('context', 1024), None)
    """
    if isinstance(what, DecoderShape):
        return None if what.learned is None else ("learned", what.learned)
    inner = holder(what, "context")
    given = getattr(inner, "position", None)
    every = given if isinstance(given, tuple) else (given,)
    end = getattr(inner, "context", None)
    return ("context", end) if any(isinstance(one, Learned) for one in every) and end is not None else None
