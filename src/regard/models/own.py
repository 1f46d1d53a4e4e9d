"""A model of one's own: any `nn.Module` made by an importable function or a frozen dataclass with `build`."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from torch import nn

from regard.importing import name_of, reason

Factory = Callable[..., nn.Module]
MADE_BY = "made_by"  # what of a model's own attributes tells how it was made, so that it can be written down


def is_own(spec: object) -> bool:
    """Whether this makes a model of one's own: a function or class from outside, or a value with `build`."""
    kind = spec if isinstance(spec, type) or inspect.isroutine(spec) else type(spec)
    outside = not str(getattr(kind, "__module__", "")).startswith("regard.")
    return outside and (callable(spec) or callable(getattr(spec, "build", None)))


def build_own(spec: object, generator: torch.Generator | None = None) -> nn.Module:
    """The model, its first weights by the generator's seed; a ValueError of one line where there is none.

    What makes it is called without arguments, or with `generator` where it has such an argument.
    """
    name = shown(spec)
    make: Callable[..., object] = spec if callable(spec) else spec.build  # type: ignore[attr-defined]
    given = _arguments(make, name, generator)
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
    setattr(model, MADE_BY, spec)
    return model


def _arguments(
    make: Callable[..., object], name: str, generator: torch.Generator | None
) -> dict[str, object]:
    wanted = inspect.signature(make).parameters
    needed = [
        one.name
        for one in wanted.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if strange := [one for one in needed if one != "generator"]:
        raise ValueError(f"{name} must need no arguments but generator, it needs {', '.join(strange)}")
    return {"generator": generator} if "generator" in wanted else {}


def shown(spec: object) -> str:
    """The name of what makes a model, for people."""
    try:
        return name_of(spec if isinstance(spec, type) or inspect.isroutine(spec) else type(spec))
    except ValueError:
        return repr(spec)
