"""`regard bench generate`: tokens per second beside transformers, in shapes whose tokens are compared first.

Steady state: the time of a long generation less that of a short one, over the tokens between, so that
prompts, compilation and the first recording are outside for everyone. The floor reads every weight once.
A part that fails leaves its error in the file, which is written after every part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.cli.benches.compiles import Compiles
from regard.cli.benches.harness import Report, Timed
from regard.layers import Gelu, PreNorm
from regard.models import GPT, GPTConfig, from_huggingface
from regard.models.decode_cost import compare, weights_read

BANDWIDTH = 4.3e12  # bytes per second of an H200, as in DESIGN.md
CERTAIN = 1e-3  # a greedy token counts where its logit leads by more
ROUNDS = {"cuda": 3, "cpu": 8}  # everyone in turn, and the best counts: a CPU is seldom left alone
Span = tuple[int, int]  # tokens of the short and of the long generation
Generate = Callable[[int], Tensor]  # so many new tokens -> all tokens


@dataclass(frozen=True)
class Shape:
    """A GPT-2 of this size."""

    name: str
    depth: int
    width: int
    heads: int
    vocab: int
    context: int = 1024

    def __str__(self) -> str:
        return f"{self.name} {self.depth}×{self.width}"


SMALL = Shape("GPT-2 shape", 6, 256, 4, 12_000)
LARGE = (Shape("GPT-2 124M", 12, 768, 12, 50_257), Shape("GPT-2 XL", 48, 1600, 25, 50_257))
TINY = Shape("tiny", 2, 32, 2, 100, 64)


PARTS = ("one", "many", "124m", "xl", "prompts", "training")


def run(device: str, quick: bool, folder: Path | None = None, only: Sequence[str] = ()) -> Report:
    """Check, then time each part: beside transformers, beside the memory's speed, beside training."""
    unknown = [name for name in only if name not in PARTS]
    if unknown:
        raise ValueError(f"only must be some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    shape, cuda = TINY if quick else SMALL, device == "cuda"
    dtype = torch.bfloat16 if cuda else torch.float32
    span = (4, 12) if quick else (32, 288) if cuda else (32, 96)
    settings: dict[str, Any] = {"device": device, "quick": quick, "dtype": str(dtype), "tokens": span}
    settings |= {"parts": ", ".join(only)} if only else {}
    report = Report("generate", settings)
    settings["checks"] = [check(shape, device)]
    many = 2 if quick else 64 if cuda else 8
    parts: dict[str, Callable[[], None]] = {
        "one": lambda: _beside(report, shape, 1, device, dtype, span),
        "many": lambda: _beside(report, shape, many, device, dtype, span),
        "124m": lambda: _alone(report, LARGE[0], device, dtype, span),
        "xl": lambda: _alone(report, LARGE[1], device, dtype, span),
        "prompts": lambda: _prompts(report, shape, device, dtype),
        "training": lambda: _training(report, shape, device, dtype),
    }
    skipped = () if cuda and not quick else ("124m", "xl")  # gigabytes, and a floor that is the GPU's
    for name, part in parts.items():
        if name in only or not (only or name in skipped):
            try:
                part()
            except Exception as error:  # the other parts are still worth measuring
                report.add(name, Timed(note=_failure(error)), {})
            if cuda:
                torch.cuda.empty_cache()
            if folder is not None:
                report.save(folder)
    return report


def _failure(error: Exception) -> str:
    return f"failed: {type(error).__name__}: {(str(error).strip().splitlines() or ['no message'])[0]}"


def _config(shape: Shape) -> GPTConfig:
    return GPTConfig(
        vocab=shape.vocab,
        context=shape.context,
        depth=shape.depth,
        width=shape.width,
        heads=shape.heads,
        block=PreNorm(feedforward=Gelu(tanh=True)),
    )


def _peer(shape: Shape) -> Any:
    transformers = import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    config = transformers.GPT2Config(
        vocab_size=shape.vocab,
        n_positions=shape.context,
        n_layer=shape.depth,
        n_embd=shape.width,
        n_head=shape.heads,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():  # at birth many are zero or one, and all tokens alike
            spread = 0.3 if weight.ndim == 1 else 2 * weight.shape[0] ** -0.5
            weight.normal_(0.5 if weight.ndim == 1 else 0.0, spread, generator=generator)
    return model


def _absent() -> str | None:
    try:
        import_module("transformers.models.gpt2.modeling_gpt2")
    except ImportError as error:
        return f"cannot be imported: {str(error).splitlines()[0]}"
    return None


def check(shape: Shape, device: str) -> str:
    """Raise unless ours and transformers choose the same greedy tokens, in float32, where one leads."""
    if (why := _absent()) is not None:
        return f"{shape}: not compared, transformers {why}"
    peer = _peer(shape).to(device)
    ours = from_huggingface(peer)
    assert isinstance(ours, GPT)
    ours.to(device)
    tokens = torch.randint(shape.vocab, (3, 5), generator=torch.Generator().manual_seed(1)).to(device)
    count = min(40, shape.context - 5)
    found = ours.generate(tokens, max_new_tokens=count)
    with torch.no_grad():
        logits = peer(found).logits[:, 4:-1]
    best = logits.topk(2).values
    certain = best[..., 0] - best[..., 1] > CERTAIN
    wrong = int((certain & (logits.argmax(-1) != found[:, 5:])).sum())
    text = f"{shape}: {int(certain.sum())} of {certain.numel()} tokens are certain, {wrong} of them differ"
    if wrong or not certain.any():
        raise ValueError(f"{text} from transformers'; not timed")
    return text


def _rates(calls: dict[str, tuple[Generate, Span]], batch: int, device: str) -> dict[str, Timed]:
    """Milliseconds per step in steady state, and the tokens per second of the whole batch.

    All are timed in turn, so that what else the machine does falls on everyone.
    """
    out: dict[str, Timed] = {}
    best: dict[tuple[str, int], float] = {}
    for turn in range(-1, ROUNDS[device]):
        for who, (call, (low, high)) in calls.items():
            if who in out:
                continue
            try:
                if turn < 0:
                    for count in (low, high, high):  # compile, record, replay
                        call(count)
                    continue
                for count in (low, high):
                    best[who, count] = min(best.get((who, count), 1e9), _seconds(call, count, device))
            except Exception as error:  # a peer that fails is a row that says so
                out[who] = Timed(note=_failure(error))
    for who, (_, (low, high)) in calls.items():
        if who not in out:
            step = max(1e-9, (best[who, high] - best[who, low]) / (high - low))
            out[who] = Timed(forward=1e3 * step, note=f"{batch / step:,.0f} tokens/s")
    return out


def _seconds(generate: Generate, count: int, device: str) -> float:
    before = time.perf_counter()
    generate(count)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - before


def _floor(model: GPT) -> float:
    return 1e3 * weights_read(model) / BANDWIDTH


def _ours(shape: Shape, device: str, dtype: torch.dtype) -> GPT:
    generator = torch.Generator(device).manual_seed(0)
    with torch.device(device):
        return GPT(_config(shape), generator=generator).to(dtype).eval()


def _beside(report: Report, shape: Shape, batch: int, device: str, dtype: torch.dtype, span: Span) -> None:
    tokens = torch.randint(shape.vocab, (batch, 8), generator=torch.Generator().manual_seed(0)).to(device)
    model = _ours(shape, device, dtype)
    calls: dict[str, tuple[Generate, Span]] = {
        "regard": (lambda count: model.generate(tokens, max_new_tokens=count), span)
    }
    absent: dict[str, Timed] = {}
    why = _absent()
    peer: Any = None if why is not None else _peer(shape).to(device, dtype)
    for name, cache in (("transformers, default", None), ("transformers, static cache", "static")):
        if peer is None or (cache is not None and device != "cuda"):
            absent[name] = Timed(note=why or "compiled on a GPU only")
            continue

        def theirs(count: int, cache: str | None = cache) -> Tensor:
            options = {} if cache is None else {"cache_implementation": cache}
            out: Tensor = peer.generate(
                tokens,
                attention_mask=torch.ones_like(tokens),
                min_new_tokens=count,
                max_new_tokens=count,
                do_sample=False,
                pad_token_id=0,
                **options,
            )
            return out

        # On a GPU the default is slow and steady, so a few tokens will do.
        calls[name] = (theirs, (span[0] // 4, span[0]) if cache is None and device == "cuda" else span)
    found = _rates(calls, batch, device) | absent
    ours = found.pop("regard")
    report.add(f"{shape}, batch {batch}", ours, found, _floor(model) if device == "cuda" else None)


def _alone(report: Report, shape: Shape, device: str, dtype: torch.dtype, span: Span) -> None:
    tokens = torch.randint(shape.vocab, (1, 8), generator=torch.Generator().manual_seed(0)).to(device)
    model = _ours(shape, device, dtype)
    call: Generate = lambda count: model.generate(tokens, max_new_tokens=count)  # noqa: E731
    ours = _rates({"regard": (call, span)}, 1, device)["regard"]
    floor = _floor(model)
    if ours.forward is not None:
        share = f"weights read at {100 * floor / ours.forward:.0f}% of {BANDWIDTH / 1e12} TB/s"
        ours = Timed(ours.forward, note=f"{ours.note}; {share}")
    report.add(f"{shape}, batch 1", ours, {}, floor)


def _prompts(report: Report, shape: Shape, device: str, dtype: torch.dtype) -> None:
    """Prompts of lengths not met before: what is compiled for them, and how soon the first token comes."""
    model = _ours(shape, device, dtype)
    lengths = [n for n in (5, 17, 64, 200) if n + 16 <= shape.context]

    def begin(length: int) -> float:
        tokens = torch.zeros(1, length, dtype=torch.long, device=device)
        before = time.perf_counter()
        stream = model.stream(tokens, max_new_tokens=16)
        int(next(stream))
        first = time.perf_counter() - before
        for _ in stream:
            pass
        return 1e3 * first

    warming = begin(8)
    with Compiles() as compiled:
        times = {length: begin(length) for length in lengths}
    report.settings["prompts"] = {"first": warming, "ms to first token": times, "compiled": compiled.names}
    count = f"{len(compiled.names)} compilations" if compiled.names else "nothing compiled"
    text = ", ".join(f"{n}: {ms:.2f} ms" for n, ms in times.items())
    note = f"{count} after a prompt of 8 ({warming:,.0f} ms with all recording); to the first token {text}"
    report.add(f"{shape}, new prompt lengths", Timed(forward=max(times.values()), note=note), {})


def _training(report: Report, shape: Shape, device: str, dtype: torch.dtype) -> None:
    """Generating some tokens beside one training step on as many."""
    found = compare(_ours(shape, device, dtype), min(128, shape.context // 2))
    note = (
        f"{found.depth_generating:,} layers in sequence, {found.bytes_generating / 1e6:,.0f} MB of weights "
        f"read; training {found.depth_training} and {found.bytes_training / 1e6:,.0f} MB"
    )
    ours = Timed(forward=1e3 * found.seconds_generating, note=note)
    step = Timed(
        forward=1e3 * found.seconds_training, note=f"generating takes {found.slower:.1f} times as long"
    )
    report.add(f"{shape}, {found.tokens} tokens generated", ours, {"one training step on them": step})
    report.settings["training"] = found.as_dict()
