"""`regard bench generate`: tokens per second beside transformers, at sizes whose tokens are compared first.

Steady state: the time of a long generation less that of a short one, over the tokens between, so that
prompts, compilation and the first recording are outside for everyone. The floor reads every weight once.
A part that fails leaves its error in the file, which is written after every part.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from regard.bench.compiles import compilations
from regard.bench.generate_sizes import LARGE, LLAMA, SMALL, TINY, TINY_LLAMA, Size, absent, ours, peer
from regard.bench.machine import H200_BYTES
from regard.bench.report import BenchReport
from regard.bench.timing import Timed, failed, seconds
from regard.cost.memory import model_floor
from regard.models import GPT, from_huggingface
from regard.models.decode_cost import compare, weights_read

CERTAIN = 1e-3  # a greedy token counts where its logit leads by more
# Everyone in turn. On a GPU the best counts; a CPU is seldom left alone, and its median is what one meets.
ROUNDS = {"cuda": 3, "cpu": 10}
COUNTS: dict[str, Callable[[list[float]], float]] = {"cuda": min, "cpu": statistics.median}
PEERS = {"transformers, default": {}, "transformers, static cache": {"cache_implementation": "static"}}
Span = tuple[int, int]  # tokens of the short and of the long generation
Generate = Callable[[int], Tensor]  # so many new tokens -> all tokens
PARTS = ("one", "many", "124m", "xl", "llama", "llama-many", "prefill", "prompts", "training")


def run(device: str, quick: bool, folder: Path | None = None, only: Sequence[str] = ()) -> BenchReport:
    """Check, then time each part: beside transformers, beside the memory's speed, beside training."""
    unknown = [name for name in only if name not in PARTS]
    if unknown:
        raise ValueError(f"only must be some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    size, cuda = TINY if quick else SMALL, device == "cuda"
    llama = TINY_LLAMA if quick else LLAMA
    dtype = torch.bfloat16 if cuda else torch.float32
    span = (4, 12) if quick else (32, 288) if cuda else (32, 96)
    settings: dict[str, object] = {"device": device, "quick": quick, "dtype": str(dtype), "tokens": span}
    settings |= {"parts": ", ".join(only)} if only else {}
    report = BenchReport("generate", settings)
    settings["checks"] = [check(size, device), check(TINY_LLAMA, device)]
    many = 2 if quick else 64 if cuda else 8
    parts: dict[str, Callable[[], None]] = {
        "one": lambda: _beside(report, size, 1, device, dtype, span),
        "many": lambda: _beside(report, size, many, device, dtype, span),
        "124m": lambda: _alone(report, LARGE[0], device, dtype, span),
        "xl": lambda: _alone(report, LARGE[1], device, dtype, span),
        "llama": lambda: _alone(report, llama, device, dtype, span, int8=True),
        "llama-many": lambda: _beside(report, llama, many, device, dtype, span),
        "prefill": lambda: _prefill(report, llama, device, dtype, 24 if quick else 8192 - 1),
        "prompts": lambda: _prompts(report, size, device, dtype),
        "training": lambda: _training(report, size, device, dtype),
    }
    large = ("124m", "xl") if quick else ("124m", "xl", "llama", "llama-many", "prefill")
    skipped = () if cuda and not quick else large  # gigabytes, and floors that are the GPU's
    for name, part in parts.items():
        if name in only or not (only or name in skipped):
            try:
                part()
                if cuda:
                    torch.cuda.empty_cache()
            except Exception as error:  # the other parts are still worth measuring
                report.add(name, failed(error))
            if folder is not None:
                report.save(folder)
    return report


def check(size: Size, device: str) -> str:
    """Raise unless ours and transformers choose the same greedy tokens, in float32, where one leads."""
    if (why := absent()) is not None:
        return f"{size}: not compared, transformers {why}"
    theirs = peer(size, device)
    mine = from_huggingface(theirs)
    assert isinstance(mine, GPT)
    mine.to(device)
    tokens = torch.randint(size.vocab, (3, 5), generator=torch.Generator().manual_seed(1)).to(device)
    count = min(40, size.context - 5)
    found = mine.generate(tokens, max_new_tokens=count)
    with torch.no_grad():
        logits = theirs(found).logits[:, 4:-1]
    best = logits.topk(2).values
    certain = best[..., 0] - best[..., 1] > CERTAIN
    wrong = int((certain & (logits.argmax(-1) != found[:, 5:])).sum())
    text = f"{size}: {int(certain.sum())} of {certain.numel()} tokens are certain, {wrong} of them differ"
    if wrong or not certain.any():
        raise ValueError(f"{text} from transformers'; not timed")
    return text


def _rates(calls: dict[str, tuple[Generate, Span]], batch: int, device: str) -> dict[str, Timed]:
    """Milliseconds per step in steady state, and the tokens per second of the whole batch.

    All are timed in turn, so that what else the machine does falls on everyone.
    """
    out: dict[str, Timed] = {}
    spent: dict[tuple[str, int], list[float]] = defaultdict(list)
    for turn in range(-1, ROUNDS[device]):
        for who, (call, (low, high)) in calls.items():
            if who in out:
                continue
            try:
                if turn < 0:
                    for count in (low, high, high):  # compile, record, replay
                        seconds(
                            partial(call, count), device
                        )  # which waits, so that faults are whose they are
                    continue
                for count in (low, high):
                    spent[who, count].append(seconds(partial(call, count), device))
            except Exception as error:  # a peer that fails is a row that says so
                out[who] = failed(error)
    for who, (_, (low, high)) in calls.items():
        if who not in out:
            long, short = (COUNTS[device](spent[who, count]) for count in (high, low))
            step = max(1e-9, (long - short) / (high - low))
            out[who] = Timed(forward=1e3 * step, note=f"{batch / step:,.0f} tokens/s")
    return out


def _floor(model: GPT, batch: int = 1, span: Span | None = None) -> float:
    """Milliseconds of an H200's memory to read the weights once; with a span, and what is cached by then."""
    if span is None:
        return 1e3 * weights_read(model) / H200_BYTES
    return 1e3 * model_floor(model, 8 + span[0], span[1] - span[0], batch).bytes_a_token / H200_BYTES


def _beside(report: BenchReport, size: Size, batch: int, device: str, dtype: torch.dtype, span: Span) -> None:
    tokens = torch.randint(size.vocab, (batch, 8), generator=torch.Generator().manual_seed(0)).to(device)
    model = ours(size, device, dtype)
    floor = _floor(model, batch, span if batch > 1 else None)
    calls: dict[str, tuple[Generate, Span]] = {
        "regard": (lambda count: model.generate(tokens, max_new_tokens=count), span)
    }
    untimed: dict[str, Timed] = {}
    theirs: Callable[..., Tensor] | None = None
    if (why := absent()) is None:
        theirs = cast("Callable[..., Tensor]", peer(size, device, dtype).generate)
    for name, options in PEERS.items():
        if theirs is None or (options and device != "cuda"):
            untimed[name] = Timed(note=why or "compiled on a GPU only")
        else:
            # On a GPU the default is slow and steady, so a few tokens will do.
            short = not options and device == "cuda"
            calls[name] = (
                partial(_greedy, theirs, tokens, options),
                (span[0] // 4, span[0]) if short else span,
            )
    found = _rates(calls, batch, device) | untimed
    mine = _beside_predicted(found.pop("regard"), model, batch, span)
    if device == "cuda" and mine.forward is not None:
        mine = replace(mine, note=f"{mine.note}; {100 * floor / mine.forward:.0f}% of the floor's speed")
    report.add(f"{size}, batch {batch}", mine, found, floor if device == "cuda" else None)


def _beside_predicted(timed: Timed, model: GPT, batch: int, span: Span) -> Timed:
    """The measured step with what `regard cost --decode` predicts of it: weights and cache read once."""
    if timed.forward is None:
        return timed
    floor = model_floor(model, 8 + span[0], span[1] - span[0], batch)
    told = f"predicted at least {floor.milliseconds:.3g} ms at {floor.bandwidth / 1e9:,.0f} GB/s"
    return replace(timed, note=f"{timed.note}; {told}, measured {timed.forward:.3g} ms")


def _greedy(generate: Callable[..., Tensor], tokens: Tensor, options: dict[str, str], count: int) -> Tensor:
    """So many tokens by transformers, the likeliest each."""
    mask = torch.ones_like(tokens)
    lengths = {"min_new_tokens": count, "max_new_tokens": count}
    return generate(tokens, attention_mask=mask, do_sample=False, pad_token_id=0, **lengths, **options)


def _alone(
    report: BenchReport, size: Size, device: str, dtype: torch.dtype, span: Span, *, int8: bool = False
) -> None:
    tokens = torch.randint(size.vocab, (1, 8), generator=torch.Generator().manual_seed(0)).to(device)
    model = ours(size, device, dtype)
    calls: dict[str, tuple[Generate, Span]] = {
        "regard": (lambda count: model.generate(tokens, max_new_tokens=count), span)
    }
    if int8:
        calls["regard, int8 weights"] = (
            lambda count: model.generate(tokens, max_new_tokens=count, impl="int8"),
            span,
        )
    found = _rates(calls, 1, device)
    mine, floor = found.pop("regard"), _floor(model)
    if mine.forward is not None:
        share = f"weights read at {100 * floor / mine.forward:.0f}% of {H200_BYTES / 1e12} TB/s"
        mine = replace(mine, note=f"{mine.note}; {share}")
    mine = _beside_predicted(mine, model, 1, span)
    report.add(f"{size}, batch 1", mine, found, floor)


def _prefill(report: BenchReport, size: Size, device: str, dtype: torch.dtype, length: int) -> None:
    """A long prompt read, up to its first new token, beside transformers with SDPA."""
    tokens = torch.randint(size.vocab, (1, length), generator=torch.Generator().manual_seed(0)).to(device)
    calls: dict[str, Callable[[], Tensor]] = {
        "regard": partial(ours(size, device, dtype).generate, tokens, max_new_tokens=1)
    }
    found: dict[str, Timed] = {}
    if (why := absent()) is None:
        theirs = cast("Callable[..., Tensor]", peer(size, device, dtype).generate)
        calls["transformers, SDPA"] = partial(_greedy, theirs, tokens, {}, 1)
    else:
        found["transformers, SDPA"] = Timed(note=why)
    best = dict.fromkeys(calls, float("inf"))
    for turn in range(-1, ROUNDS[device]):
        for who, call in calls.items():
            spent = seconds(call, device)
            best[who] = best[who] if turn < 0 else min(best[who], spent)
    found |= {
        who: Timed(forward=1e3 * spent, note=f"{length / spent:,.0f} tokens/s read")
        for who, spent in best.items()
    }
    report.add(f"{size}, a prompt of {length:,}", found.pop("regard"), found)


def _prompts(report: BenchReport, size: Size, device: str, dtype: torch.dtype) -> None:
    """Prompts of lengths not met before: what is compiled for them, and how soon the first token comes."""
    model = ours(size, device, dtype)
    lengths = [n for n in (5, 17, 64, 200) if n + 16 <= size.context]

    def begin(length: int) -> float:
        tokens = torch.zeros(1, length, dtype=torch.long, device=device)
        stream = model.stream(tokens, max_new_tokens=16)
        first = seconds(lambda: int(next(stream)), device)
        for _ in stream:
            pass
        return 1e3 * first

    warming = begin(8)
    with compilations() as compiled:
        times = {length: begin(length) for length in lengths}
    report.settings["prompts"] = {"first": warming, "ms to first token": times, "compiled": compiled}
    count = f"{len(compiled)} compilations" if compiled else "nothing compiled"
    text = ", ".join(f"{n}: {ms:.2f} ms" for n, ms in times.items())
    note = f"{count} after a prompt of 8 ({warming:,.0f} ms with all recording); to the first token {text}"
    report.add(f"{size}, new prompt lengths", Timed(forward=max(times.values()), note=note))


def _training(report: BenchReport, size: Size, device: str, dtype: torch.dtype) -> None:
    """Generating some tokens beside one training step on as many."""
    found = compare(ours(size, device, dtype), min(128, size.context // 2))
    note = (
        f"{found.depth_generating:,} layers in sequence, {found.bytes_generating / 1e6:,.0f} MB of weights "
        f"read; training {found.depth_training} and {found.bytes_training / 1e6:,.0f} MB"
    )
    mine = Timed(forward=1e3 * found.seconds_generating, note=note)
    step = Timed(
        forward=1e3 * found.seconds_training, note=f"generating takes {found.slower:.1f} times as long"
    )
    report.add(f"{size}, {found.tokens} tokens generated", mine, {"one training step on them": step})
    report.settings["training"] = found.as_dict()
