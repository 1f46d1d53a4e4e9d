"""What moved the answer: gradients of one logit, gathered per token or per pixel.

Attention tells where information was fetched from; a gradient tells what the answer would react to. They
often differ, which is why the pages show them side by side.

- `input_gradient`: input × gradient. One backward pass; first order, so it misses what saturates.
- `integrated_gradients` (Sundararajan et al. 2017): the gradient averaged along the straight line from a
  baseline to the input, times their difference. The scores of one example add up to
  logit(input) − logit(baseline), up to `gap`, the error of taking finitely many steps.

The baseline is 0. For images normalised to mean 0 that is the mean colour; for texts it is an embedding
without content, at every position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.models.own_texts import OwnReader
from regard.probe.twin import evaluated, twin

AT_ONCE = 2048  # tokens or pixels in one call


@dataclass(frozen=True)
class Attribution:
    """Signed scores, (B,N) of tokens or (B,rows,cols) of pixels, for the logit `target` of each example."""

    method: str
    scores: Tensor
    target: Tensor
    gap: Tensor

    def as_dict(self) -> dict[str, object]:
        """Method, scores, target and gap as plain values."""
        found = {"scores": self.scores, "target": self.target, "gap": self.gap}
        return {"method": self.method} | {name: one.tolist() for name, one in found.items()}


def input_gradient(
    model: nn.Module, inputs: Tensor, *, target: Tensor | None = None, segments: Tensor | None = None
) -> Attribution:
    """Input × gradient of the target logit (of the predicted class unless given).

    >>> from regard.models import MLP, MLPConfig
    >>> model = MLP(MLPConfig(image=(2, 3), channels=1, classes=4, widths=(8,)))
    >>> input_gradient(model, torch.ones(5, 1, 2, 3)).scores.shape
    torch.Size([5, 2, 3])
    """
    return _attribute("input × gradient", model, inputs, target, segments, at=[1.0])


def integrated_gradients(
    model: nn.Module,
    inputs: Tensor,
    *,
    target: Tensor | None = None,
    segments: Tensor | None = None,
    steps: int = 32,
) -> Attribution:
    """The gradient integrated from the baseline 0 to the input by the midpoint rule.

    >>> from regard.models import Encoder, EncoderConfig
    >>> model = Encoder(EncoderConfig(vocab=9, context=8, classes=2, depth=1, width=8, heads=2))
    >>> found = integrated_gradients(model, torch.tensor([[1, 5, 2]]), steps=4)
    >>> found.method, found.scores.shape
    ('integrated gradients, 4 steps', torch.Size([1, 3]))
    """
    check_int("steps", steps, 1)
    middles = [(step + 0.5) / steps for step in range(steps)]
    return _attribute(f"integrated gradients, {steps} steps", model, inputs, target, segments, at=middles)


def _attribute(
    method: str,
    model: nn.Module,
    inputs: Tensor,
    target: Tensor | None,
    segments: Tensor | None,
    *,
    at: Sequence[float],
) -> Attribution:
    """The mean gradient `at` these shares of the way from 0 to the input, times the input."""
    place = next(model.parameters()).device
    inputs = inputs.to(place)
    masks = None if segments is None else segments.to(place)
    texts = not inputs.is_floating_point()
    start, entered = _entered(model, inputs) if texts else (inputs, evaluated(model))

    def run(x: Tensor) -> Tensor:
        if masks is None:
            return _last(entered(x), None)
        own = masks.repeat(len(x) // len(masks), 1)
        return _last(entered(x, segments=own), own)

    with torch.no_grad():
        logits = run(start)
        if logits.ndim != 2:
            raise ValueError(f"model must give one row of logits per example, got {tuple(logits.shape)}")
        target = logits.argmax(1) if target is None else target.to(place)
        _check_target(target, logits)
        rows = torch.arange(len(logits), device=place)
        reached = logits[rows, target] - run(torch.zeros_like(start))[rows, target]
    slope = torch.zeros_like(start)
    places = start[..., 0].numel() if texts else start[:, 0].numel()
    shares = torch.tensor(at, dtype=start.dtype, device=place)
    for some in shares.split(max(1, AT_ONCE // max(1, places))):  # those of one call lie in its batch
        x = (start * some.view(-1, *[1] * start.ndim)).flatten(0, 1)
        found = _gradient(run, x, torch.arange(len(x), device=place), target.repeat(len(some)))
        slope += found.unflatten(0, (len(some), len(start))).sum(0)
    product = start * slope / len(at)
    scores = product.sum(-1) if texts else product.sum(1)  # over the embedding, or over colours
    gap = scores.flatten(1).sum(1) - reached
    return Attribution(method, scores.float().cpu(), target.cpu(), gap.float().cpu())


def _gradient(run: Callable[[Tensor], Tensor], x: Tensor, rows: Tensor, target: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(run(x)[rows, target].sum(), x)
    return slope


def _last(logits: Tensor, segments: Tensor | None) -> Tensor:
    """The logits (B,V) after the last real token, where a language model gives (B,N,V)."""
    if logits.ndim != 3:
        return logits
    if segments is None:
        return logits[:, -1]
    N = logits.shape[1]
    place = torch.arange(N, device=logits.device) * (segments.to(logits.device) >= 0)
    return logits[torch.arange(len(logits), device=logits.device), place.amax(1)]


def _check_target(target: Tensor, logits: Tensor) -> None:
    B, classes = logits.shape
    if target.shape != (B,) or target.is_floating_point():
        raise ValueError(f"target must be {B} integers, got {tuple(target.shape)} of {target.dtype}")
    if B and not (int(target.min()) >= 0 and int(target.max()) < classes):
        raise ValueError(f"target must lie from 0 to {classes - 1}, got {target.tolist()}")


def embedding_of(model: nn.Module) -> nn.Embedding:
    """The table of token vectors: the first part called `embed`; of one's own, one with a row a token."""
    for part in model.modules():
        found = getattr(part, "embed", None)
        if isinstance(found, nn.Embedding):
            return found
    if isinstance(model, OwnReader):
        tables = [part for part in model.modules() if isinstance(part, nn.Embedding)]
        large = [part for part in tables if part.num_embeddings >= model.vocab]
        if large:  # a table of positions may be larger still
            return min(large, key=lambda part: part.num_embeddings)
    raise ValueError(f"model must have a token embedding called embed, got {type(model).__name__}")


def _entered(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Callable[..., Tensor]]:
    """The vectors of tokens, and the model behind its embedding: a function of such vectors.

    No model has to offer a second way in for the sake of gradients: that of a twin gives what it is told to.
    """
    embed = embedding_of(model)
    given = twin(embed)
    inner = evaluated(model, {embed: given})

    def run(x: Tensor, **extra: Tensor) -> Tensor:
        given.forward = lambda _: x
        out: Tensor = inner(tokens.repeat(len(x) // len(tokens), 1), **extra)
        return out

    return embed(tokens).detach(), run
