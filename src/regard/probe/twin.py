"""A second set of modules over the same weights: in evaluation mode, or with a part replaced.

A model may be in use elsewhere while somebody looks at it, so looking must not switch its mode nor hang hooks
into it. A twin has modules and hooks of its own and shares every parameter and buffer.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn


def evaluated(model: nn.Module, instead: Mapping[nn.Module, nn.Module] | None = None) -> nn.Module:
    """The model in evaluation mode, with the parts of `instead` replaced; itself where that is no change.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.Dropout())
    >>> found = evaluated(model)
    >>> found.training, model.training, found[0].weight is model[0].weight
    (False, True, True)
    """
    if not instead and not any(part.training for part in model.modules()):
        return model
    return twin(model, instead).eval()


def twin(model: nn.Module, instead: Mapping[nn.Module, nn.Module] | None = None) -> nn.Module:
    """New modules with the old weights; a part that occurs twice is one part of the twin, too."""
    return _twin(model, {} if instead is None else dict(instead))


def _twin(part: nn.Module, made: dict[nn.Module, nn.Module]) -> nn.Module:
    if part not in made:
        original = getattr(part, "_orig_mod", part)  # what `torch.compile` wrapped
        new = original.__new__(type(original))
        new.__dict__ = {
            name: value.copy() if "hooks" in name and isinstance(value, dict) else value
            for name, value in original.__dict__.items()
        }
        new._compiled_call_impl = None  # it would call the original
        made[part] = new
        new._modules = {
            name: None if child is None else _twin(child, made) for name, child in original._modules.items()
        }
    return made[part]
