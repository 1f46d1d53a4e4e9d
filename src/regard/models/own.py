"""A model of one's own: any `nn.Module` made by an importable function or a frozen dataclass with `build`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from regard.importing import name_of, reason
from regard.models.own_texts import OwnClassifier, OwnLanguageModel

Factory = Callable[..., nn.Module]
MADE_BY = "made_by"  # what of a model's own attributes tells how it was made, so that it can be written down
READS: dict[str, Callable[..., nn.Module]] = {"language": OwnLanguageModel, "texts": OwnClassifier}


@dataclass(frozen=True)
class Own:
    """What makes a model, the facts of the data that it may ask for, and what it reads: pictures unless said.

    A factory takes of the facts those that its arguments name: `vocab` and `context` of language, also
    `classes` of texts, and `image`, `channels` and `classes` of pictures; and `generator`.
    """

    spec: object
    facts: Mapping[str, object] = field(default_factory=dict)
    reads: str = ""

    def __post_init__(self) -> None:
        if self.reads and self.reads not in READS:
            raise ValueError(f"reads must be {' or '.join(READS)}, or nothing, got reads={self.reads!r}")


def is_own(spec: object) -> bool:
    """Whether this makes a model of one's own: a function or class from outside, or a value with `build`."""
    if isinstance(spec, Own):
        return True
    kind = spec if isinstance(spec, type) or inspect.isroutine(spec) else type(spec)
    outside = not str(getattr(kind, "__module__", "")).startswith("regard.")
    return outside and (callable(spec) or callable(getattr(spec, "build", None)))


def build_own(made_by: object, generator: torch.Generator | None = None) -> nn.Module:
    """The model, its first weights by the generator's seed; a ValueError of one line where there is none.

    What makes it is called with those of the facts, and the generator, that its arguments name.
    """
    own = made_by if isinstance(made_by, Own) else Own(made_by)
    spec, name = own.spec, shown(own)
    make: Callable[..., object] = spec if callable(spec) else spec.build  # type: ignore[attr-defined]
    given = _arguments(make, name, {"generator": generator, **own.facts})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0 if generator is None else generator.initial_seed() % (1 << 63))
        try:
            model = make(**given)
        except Exception as error:
            raise ValueError(f"{name} made no model: {reason(error)}") from error
    if not isinstance(model, nn.Module):
        raise ValueError(f"{name} must give an nn.Module, it gave {type(model).__name__}")
    if not any(weight.requires_grad for weight in model.parameters()):
        raise ValueError(f"{name} gave a {type(model).__name__} without weights that can be trained")
    if own.reads:
        model = READS[own.reads](model, **own.facts)
    setattr(model, MADE_BY, own)
    return model


def _arguments(make: Callable[..., object], name: str, known: Mapping[str, object]) -> dict[str, object]:
    wanted = inspect.signature(make).parameters
    needed = [
        one.name
        for one in wanted.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if strange := [one for one in needed if one not in known]:
        *others, last = known
        which = f"{', '.join(others)} and {last}" if others else last
        raise ValueError(f"{name} must need no arguments but {which}, it needs {', '.join(strange)}")
    return {one: value for one, value in known.items() if one in wanted}


def shown(spec: object) -> str:
    """The name of what makes a model, for people."""
    if isinstance(spec, Own):
        spec = spec.spec
    try:
        return name_of(spec if isinstance(spec, type) or inspect.isroutine(spec) else type(spec))
    except ValueError:
        return repr(spec)
