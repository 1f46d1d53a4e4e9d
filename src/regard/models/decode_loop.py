"""From prompts to a stream of tokens: which way of decoding runs, and the loop around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from regard.attention import Choice
from regard.errors import check_int
from regard.layers import Learned
from regard.models.decode import Decoder, pointers
from regard.models.decode_packed import PackedDecoder, no_packing
from regard.models.sampling import Sampling
from regard.models.trunk import check_tokens

if TYPE_CHECKING:
    from regard.models.gpt import GPT, GPTConfig

IMPLS = ("plain", "lean", "graph")
GROWS_BY = 1024  # tokens for which an unbounded cache gets room ahead of need

Prompts = Tensor | Sequence[Tensor]
# The latest decoder of each model, so that its memory and its graphs serve the next call too. Taking one
# out and putting one back are single steps, so that of two threads one gets it and the other makes its own.
DECODERS: WeakKeyDictionary[GPT, Any] = WeakKeyDictionary()


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
    from regard.models.decode_fused import no_fused

    plain = no_fused(model)
    kernels = "our kernels" if plain is None else f"torch's kernels ({plain})"
    return Choice("graph", f"one CUDA graph per step over {kernels}")


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


def run(
    model: GPT,
    prompts: Sequence[Tensor],
    count: int,
    *,
    how: Sampling,
    segments: Tensor | None,
    generator: torch.Generator | None,
    impl: str,
) -> Iterator[Tensor]:
    """Yield (B,) tokens up to `count` times; arguments are checked already."""
    impl = choose(model, len(prompts)).impl if impl == "auto" else impl
    device = prompts[0].device
    stops = torch.tensor(how.stop, dtype=torch.long, device=device)
    how = replace(how, stop=())  # a graph that is recorded serves any of them
    if count == 0:
        return iter(())
    steps: Any = {"plain": _plain, "lean": _lean}.get(impl)
    if impl == "graph":
        from regard.models.decode_graph import replay as steps
    return _in_own_dtype(steps(model, prompts, count, how, stops, segments, generator), device.type)


def _in_own_dtype(steps: Iterator[Tensor], device: str) -> Iterator[Tensor]:
    """The same tokens inside an autocast as outside: memory and weights have the model's dtype."""
    while True:
        with torch.autocast(device, enabled=False):
            token = next(steps, None)
        if token is None:
            return
        yield token


@torch.no_grad()
def _plain(
    model: GPT,
    prompts: Sequence[Tensor],
    count: int,
    how: Sampling,
    stops: Tensor,
    segments: Tensor | None,
    generator: torch.Generator | None,
) -> Iterator[Tensor]:
    """The definition: rows of unequal length one by one through the model itself."""
    together = len({len(prompt) for prompt in prompts}) == 1
    groups = [torch.stack(list(prompts))] if together else [prompt[None] for prompt in prompts]
    caches = [model.cache(group.shape[1] + count) for group in groups]
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=prompts[0].device)
    last = torch.stack([prompt[-1] for prompt in prompts])
    for _ in range(count):
        logits = torch.cat(
            [
                model.logits(model.features(group, segments=segments, cache=cache)[:, -1])
                for group, cache in zip(groups, caches, strict=True)
            ]
        )
        last = _next(logits, last, ended, how, generator)
        yield last
        ended = ended | torch.isin(last, stops)
        if bool(ended.all()):
            return
        groups = [last[:, None]] if together else list(last[:, None, None])
        segments = None if segments is None else segments[:, -1:]


@torch.no_grad()
def _lean(
    model: GPT,
    prompts: Sequence[Tensor],
    count: int,
    how: Sampling,
    stops: Tensor,
    segments: Tensor | None,
    generator: torch.Generator | None,
) -> Iterator[Tensor]:
    """The same step on fixed memory, as plain torch without the modules' overhead."""
    longest = max(map(len, prompts))
    kind = Decoder if no_packing(model, count) is not None else PackedDecoder
    with kept(model, obtain(model, len(prompts), longest + min(count, GROWS_BY), kind)) as held:
        decoder = held[0]
        logits = decoder.fill(model, prompts, segments)
        last = torch.stack([prompt[-1] for prompt in prompts])
        ended = torch.zeros(len(prompts), dtype=torch.bool, device=last.device)
        for i in range(count):
            if i:
                if longest + i > decoder.capacity:
                    decoder = held[0] = grow(model, decoder, longest + i)
                decoder.token.copy_(last)
                decoder.at += 1
                decoder.together = None if decoder.together is None else decoder.together + 1
                logits = decoder.step()
            last = _next(logits, last, ended, how, generator)
            yield last
            if len(stops):
                ended = ended | torch.isin(last, stops)
                if bool(ended.all()):
                    return


@contextmanager
def kept(model: GPT, decoder: Any) -> Iterator[list[Any]]:
    """A decoder in use, in a list so that a larger one may take its place: the model's next call gets the
    last, unless something failed."""
    held = [decoder]
    try:
        yield held
    except GeneratorExit:  # whoever read the stream has had enough, and the decoder is as good as before
        _put_back(model, held[0])
        raise
    _put_back(model, held[0])


def _put_back(model: GPT, decoder: Any) -> None:
    if isinstance(decoder, PackedDecoder):
        decoder.release()
    DECODERS[model] = decoder


@torch.inference_mode(False)
@torch.no_grad()
def obtain(model: GPT, batch: int, capacity: int, kind: type[Decoder] = Decoder) -> Decoder:
    """A decoder with room for so many positions: the model's latest where it fits, else a new one.

    Its memory is ordinary even where the call is in inference mode: the next one may not be.
    """
    found = DECODERS.pop(model, None)  # taken while in use: another stream gets one of its own
    if type(found) is kind and fits(found, model, batch) and found.capacity >= capacity:
        return found
    return kind(model, batch, 1 << (capacity - 1).bit_length())


def fits(decoder: Decoder, model: GPT, batch: int) -> bool:
    """Whether a decoder still belongs to the model's weights and to a batch of this size."""
    return decoder.batch == batch and decoder.pointers == pointers(model)


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
    if low < 0 or high >= config.vocab:
        raise ValueError(f"tokens must be from 0 to {config.vocab - 1}, got {low} to {high}")
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
