"""From a model's config to the model, and how any model is called."""

import torch
from torch import Tensor, nn

from regard.models.files import MODELS
from regard.models.own import build_own, is_own
from regard.models.trunk import Trunk
from regard.train.tasks.course import CourseViT

BUILDERS = dict(MODELS.values())


def build(config: object, generator: torch.Generator) -> nn.Module:
    """The model of a config, with first weights from the generator."""
    if is_own(config):
        return build_own(config, generator)
    if isinstance(config, CourseViT):
        return config.build(generator)
    if type(config) not in BUILDERS:
        names = ", ".join(sorted(kind.__name__ for kind in (*BUILDERS, CourseViT)))
        raise ValueError(f"model must be one of {names}, or one's own, got {type(config).__name__}")
    return BUILDERS[type(config)](config, generator=generator)


def call(model: nn.Module, images: Tensor, generator: torch.Generator | None) -> Tensor:
    """The logits of any image classifier; the generator serves dropout, where a model has it."""
    inner = getattr(model, "_fsdp_wrapped_module", model)
    out = model(images, generator=generator) if isinstance(inner, Trunk) else model(images)
    return out[0] if isinstance(out, tuple) else out  # the course's model gives its attention too
