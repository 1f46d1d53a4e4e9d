"""From a model's config to the model, and how any model is called."""

import torch
from torch import Tensor, nn

from regard.models.files import MODELS
from regard.models.own import build_own, is_own, shown
from regard.models.own_texts import OwnClassifier, OwnLanguageModel
from regard.models.trunk import Trunk
from regard.train.tasks.course import CourseViT

BUILDERS = dict(MODELS.values())


def build(config: object, generator: torch.Generator) -> nn.Module:
    """The model of a config, with first weights from the generator; one of one's own for texts is tried."""
    if is_own(config):
        model = build_own(config, generator)
        if isinstance(model, OwnClassifier | OwnLanguageModel):
            model.try_out(shown(config))
        return model
    if isinstance(config, CourseViT):
        return config.build(generator)
    if type(config) not in BUILDERS:
        names = ", ".join(sorted(kind.__name__ for kind in (*BUILDERS, CourseViT)))
        raise ValueError(f"model must be one of {names}, or one's own, got {type(config).__name__}")
    return BUILDERS[type(config)](config, generator=generator)


def call(
    model: nn.Module, images: Tensor, generator: torch.Generator | None, patches: Tensor | None = None
) -> Tensor:
    """The logits of any image classifier; the generator serves dropout, where a model has it.

    A ViT may be shown some of its patches only.
    """
    inner = getattr(model, "_fsdp_wrapped_module", model)
    some = {} if patches is None else {"patches": patches}
    out = model(images, generator=generator, **some) if isinstance(inner, Trunk) else model(images)
    return out[0] if isinstance(out, tuple) else out  # the course's model gives its attention too


def context_of(model: object, context: int | None) -> int:
    """How many tokens are read at once: what a config says, or what a task does for a model of one's own.

    >>> context_of(torch.nn.GRU, 64)
    64
    """
    inside = getattr(model, "context", None)
    if context is None and isinstance(inside, int):
        return inside
    if context is None:
        raise ValueError(
            f"context must be given for a model of one's own, {shown(model)}: how many tokens are read at "
            "once, as in context=128 (--set context=128)"
        )
    if not is_own(model):
        raise ValueError(f"context is for a model of one's own, the config says it itself, got {context=}")
    return context
