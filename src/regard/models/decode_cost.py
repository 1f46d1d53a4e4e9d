"""Why generating T tokens is slower than training on T: the same work, T times in sequence, from memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch.nn.functional import cross_entropy

from regard.models.gpt import GPT


@dataclass(frozen=True)
class DecodeCost:
    """One training step on T tokens beside generating T tokens, counted and measured."""

    tokens: int
    depth_training: int  # passes through the layers that wait for one another
    depth_generating: int
    bytes_training: int  # of weights read, forward and backward
    bytes_generating: int
    seconds_training: float
    seconds_generating: float

    @property
    def slower(self) -> float:
        """How many times as long generating took."""
        return self.seconds_generating / self.seconds_training

    def as_dict(self) -> dict[str, int | float]:
        """All figures by name, and how many times slower generating is."""
        return {**asdict(self), "slower": self.slower}


def weights_read(model: GPT) -> int:
    """The bytes of weights that one pass reads; an untied embedding is looked up, not read."""
    total = sum(weight.nbytes for weight in model.parameters())
    looked_up = [] if model.head is None else [model.embed.weight]
    table = getattr(model.position, "weight", None)
    looked_up += [] if table is None else [table]
    return total - sum(weight.nbytes for weight in looked_up)


def compare(model: GPT, tokens: int, repeats: int = 3) -> DecodeCost:
    """Train on so many tokens and generate as many, with one row; the weights stay as they are.

    Training sees all tokens at once, so every layer runs once forward and once backward: its depth is 2·L
    and it reads the weights twice. Generating passes through
    L layers T times, each pass waiting for the token before it, and reads all weights T times.

    >>> from regard.models import GPTConfig
    >>> found = compare(GPT(GPTConfig(vocab=50, context=64, depth=2, width=32, heads=4)), tokens=32)
    >>> found.depth_training, found.depth_generating, found.bytes_generating // found.bytes_training
    (4, 64, 16)
    """
    x = torch.zeros(1, tokens, dtype=torch.long, device=model.embed.weight.device)

    def train() -> None:
        loss = cross_entropy(model(x).flatten(0, 1).float(), x.flatten())
        torch.autograd.grad(loss, list(model.parameters()))

    def generate() -> None:
        model.generate(x[:, :1], max_new_tokens=tokens - 1)

    read, depth = weights_read(model), model.config.depth
    return DecodeCost(
        tokens,
        2 * depth,
        tokens * depth,
        2 * read,
        tokens * read,
        _seconds(train, repeats, x.is_cuda),
        _seconds(generate, repeats, x.is_cuda),
    )


def _seconds(run: Callable[[], None], repeats: int, cuda: bool) -> float:
    times = []
    for _ in range(repeats + 1):  # the first warms up
        if cuda:
            torch.cuda.synchronize()
        before = time.perf_counter()
        run()
        if cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - before)
    return min(times[1:])
