"""From prompts to a stream of tokens: which way of decoding runs, and the loop around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.attention import Choice
from regard.errors import check_int
from regard.layers import Learned
from regard.models.decode import Decoder
from regard.models.decode_fused import FusedDecoder, no_fused
from regard.models.decode_int8 import Int8Decoder, Int8FusedDecoder, no_int8
from regard.models.decode_prepacked import PrepackedDecoder, no_prepacking
from regard.models.decode_store import DECODERS, GROWS_BY, Request
from regard.models.sampling import Sampling
from regard.models.trunk import check_tokens

if TYPE_CHECKING:  # `GPT.generate` is the door to this file, which knows a model as its argument alone
    from regard.models.gpt import GPT, GPTConfig

IMPLS = ("plain", "lean", "graph", "int8")

Prompts = Tensor | Sequence[Tensor]


def choose(model: GPT, batch: int = 1) -> Choice:
    """How "auto" decodes a batch of this size, and why.

    >>> from regard.models import GPT, GPTConfig
    >>> choose(GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2)))
    Choice(impl='lean', why='there is no GPU, so nothing to record')
    """
    check_int("batch", batch, 1)
    why = no_graph(model)
    if why is not None:
        return Choice("lean", why)
    plain = no_fused(model)
    kernels = "our kernels" if plain is None else f"torch's kernels ({plain})"
    return Choice("graph", f"one CUDA graph per step over {kernels}")


def refused(model: GPT, batch: int, impl: str) -> str | None:
    """Why a way of decoding that is named cannot run, or None."""
    if impl == "graph":
        return no_graph(model)
    if impl == "int8":
        return no_int8(model, batch) or (no_graph(model) if model.embed.weight.is_cuda else None)
    return None


def no_graph(model: GPT) -> str | None:
    """Why a step cannot be recorded, or None."""
    if not model.embed.weight.is_cuda:
        return "there is no GPU, so nothing to record"
    if not model.config.depth:
        return "a model without blocks has nothing to record"
    for pattern in model.config.patterns:
        if any(atom.total is not None for atom in pattern.atoms()):
            return f"{pattern} has a geometry, which is looked up on the host"
    return None


def run(request: Request, impl: str) -> Iterator[Tensor]:
    """Yield (B,) tokens up to `count` times; what is asked is checked already."""
    if request.count == 0:
        return iter(())
    impl = choose(request.model, request.batch).impl if impl == "auto" else impl
    if impl == "plain":
        steps = _plain(request)
    elif impl == "lean":
        steps = _lean(
            request, PrepackedDecoder if no_prepacking(request.model, request.count) is None else Decoder
        )
    elif impl == "int8" and not request.model.embed.weight.is_cuda:
        steps = _lean(request, Int8Decoder)
    else:
        from regard.models.decode_graph import replay

        ours = Int8FusedDecoder if impl == "int8" else FusedDecoder
        steps = replay(request, ours if no_fused(request.model) is None else Decoder)
    return _in_own_dtype(steps, request.prompts[0].device.type)


def _in_own_dtype(steps: Iterator[Tensor], device: str) -> Iterator[Tensor]:
    """The same tokens inside an autocast as outside: memory and weights have the model's dtype."""
    while True:
        with torch.autocast(device, enabled=False):
            token = next(steps, None)
        if token is None:
            return
        yield token


@torch.no_grad()
def _plain(request: Request) -> Iterator[Tensor]:
    """The definition: rows of unequal length one by one through the model itself."""
    model, prompts, segments = request.model, request.prompts, request.segments
    together = len({len(prompt) for prompt in prompts}) == 1
    groups = [torch.stack(list(prompts))] if together else [prompt[None] for prompt in prompts]
    caches = [model.cache(group.shape[1] + request.count) for group in groups]
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=prompts[0].device)
    last = torch.stack([prompt[-1] for prompt in prompts])
    for _ in range(request.count):
        logits = torch.cat(
            [
                model.logits(model.features(group, segments=segments, cache=cache)[:, -1])
                for group, cache in zip(groups, caches, strict=True)
            ]
        )
        last = _next(logits, last, ended, request.how, request.generator)
        yield last
        ended = ended | torch.isin(last, request.stops)
        if bool(ended.all()):
            return
        groups = [last[:, None]] if together else list(last[:, None, None])
        segments = None if segments is None else segments[:, -1:]


@torch.no_grad()
def _lean(request: Request, kind: type[Decoder]) -> Iterator[Tensor]:
    """The same step on fixed memory, as plain torch without the modules' overhead."""
    model, count, longest = request.model, request.count, request.longest
    mine = obtain(model, request.batch, longest + min(count, GROWS_BY), kind)
    with DECODERS.lend(model, mine) as loan:
        decoder = loan.decoder
        logits = decoder.fill(model, request.prompts, request.segments)
        last = torch.stack([prompt[-1] for prompt in request.prompts])
        ended = torch.zeros(request.batch, dtype=torch.bool, device=last.device)
        for i in range(count):
            if i:
                if longest + i > decoder.capacity:
                    decoder = loan.decoder = grow(model, decoder, longest + i)
                decoder.token.copy_(last)
                decoder.at += 1
                decoder.together = None if decoder.together is None else decoder.together + 1
                logits = decoder.step()
            last = _next(logits, last, ended, request.how, request.generator)
            yield last
            if len(request.stops):
                ended = ended | torch.isin(last, request.stops)
                if bool(ended.all()):
                    return


@torch.inference_mode(False)
@torch.no_grad()
def obtain(model: GPT, batch: int, capacity: int, kind: type[Decoder] = Decoder) -> Decoder:
    """A decoder with room for so many positions: the model's latest where it fits, else a new one.

    Its memory is ordinary even where the call is in inference mode: the next one may not be.
    """
    found = DECODERS.take(model, kind)
    if found is not None and found.serves(model, batch, capacity):
        return found
    return kind(model, batch, 1 << (capacity - 1).bit_length())


@torch.inference_mode(False)
@torch.no_grad()
def grow(model: GPT, decoder: Decoder, needed: int) -> Decoder:
    """A decoder with twice the room and the same past."""
    larger = type(decoder)(model, decoder.batch, max(2 * decoder.capacity, needed))
    larger.adopt(decoder)
    return larger


def _next(
    logits: Tensor, last: Tensor, ended: Tensor, how: Sampling, generator: torch.Generator | None
) -> Tensor:
    return torch.where(ended, last, how.pick(logits, generator).to(last.dtype))


def check_prompts(
    config: GPTConfig, tokens: Prompts, max_new_tokens: int, segments: Tensor | None
) -> list[Tensor]:
    """The prompts as one (T,) per row, or a ValueError where they cannot be continued by so many tokens."""
    check_int("max_new_tokens", max_new_tokens, 0)
    if isinstance(tokens, Tensor):
        check_tokens("tokens", tokens)
        if tokens.shape[0] == 0 or tokens.shape[1] == 0:
            raise ValueError(f"tokens must hold at least one token per row, got {tuple(tokens.shape)}")
        rows = list(tokens)
    else:
        rows = list(tokens)
        if segments is not None:
            raise ValueError("segments go with tokens (B, T); prompts in a list need no padding")
        if not rows:
            raise ValueError("tokens must hold at least one prompt, got an empty list")
        for i, row in enumerate(rows):
            if not isinstance(row, Tensor) or row.ndim != 1 or row.is_floating_point() or not len(row):
                shape = f"{tuple(row.shape)} {row.dtype}" if isinstance(row, Tensor) else repr(row)
                raise ValueError(f"prompts in a list must be integers (T,) with T ≥ 1, got {shape} at {i}")
    _check_room(config, max(map(len, rows)), max_new_tokens)
    low, high = (int(f(torch.stack([f(row) for row in rows]))) for f in (torch.amin, torch.amax))
    if low < 0 or high >= config.vocab_size:
        raise ValueError(f"tokens must be from 0 to {config.vocab_size - 1}, got {low} to {high}")
    if segments is not None:
        assert isinstance(tokens, Tensor)
        check_tokens("segments", segments, tokens.shape)
        if bool((segments[:, -1] < 0).any()):
            raise ValueError("prompts must be padded on the left: the last of segments must not be negative")
    return rows


def _check_room(config: GPTConfig, T: int, max_new_tokens: int) -> None:
    """Raise where positions end before the text does: those of a table, or of a pattern's geometry."""
    if isinstance(config.position, Learned) and T + max_new_tokens > config.context:
        raise ValueError(f"a prompt of {T} and {max_new_tokens=} must fit context={config.context}")
    for atom in (atom for pattern in config.patterns for atom in pattern.atoms()):
        if atom.total is not None and T + max_new_tokens > atom.total:
            raise ValueError(
                f"a prompt of {T} and {max_new_tokens=} must fit the {atom.total} positions of {atom}"
            )
