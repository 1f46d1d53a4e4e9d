"""Completing images for a lesson: what a model may see, and one that learns digits in a second or two."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from regard.data import Images, load
from regard.lessons.measuring import train
from regard.models import GridCompletion, GridCompletionConfig
from regard.probe import Completion, complete_images, to_levels

LEVELS, STEPS, SHOWN = 4, 120, 6


def digits_completed() -> tuple[Completion, float, float]:
    """New digits with lower halves drawn from the model, and nats per pixel: its own, and by place alone."""
    digits = load("digits")
    assert isinstance(digits, Images)
    seen, fresh = (to_levels(part.images, LEVELS) for part in (digits.train, digits.test))
    generator = torch.Generator().manual_seed(0)
    model = GridCompletion(GridCompletionConfig(levels=LEVELS, hidden=32, layers=1), generator=generator)

    def loss(step: int) -> Tensor:
        return model.loss(seen[torch.randint(len(seen), (32,), generator=generator)])

    train(model.parameters(), loss, STEPS, rate=1e-2)
    shares = one_hot(seen, LEVELS).float().mean(0)  # how often each place has each level
    by_place = -(one_hot(fresh, LEVELS) * shares.clamp(min=1e-3).log()).sum(-1).mean().item()
    with torch.no_grad():
        nats = model.loss(fresh).item()
    return complete_images(model, fresh[:SHOWN], generator=generator), nats, by_place


def first_moved(rows: int, cols: int, at: tuple[int, int]) -> tuple[int, int]:
    """Where, in reading order, a prediction first changes if the pixel at this place does."""
    config = GridCompletionConfig(levels=2, hidden=8)
    model = GridCompletion(config, generator=torch.Generator().manual_seed(0))
    image = torch.randint(2, (1, rows, cols), generator=torch.Generator().manual_seed(1))
    changed = image.clone()
    changed[0, *at] = 1 - changed[0, *at]
    with torch.no_grad():
        moved = (model(image) - model(changed)).abs().amax(-1)[0] > 0
    row, col = moved.nonzero()[0].tolist()
    return row, col
