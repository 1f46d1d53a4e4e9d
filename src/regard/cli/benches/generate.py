"""`regard bench generate`: tokens per second beside transformers, with the same weights and the same tokens.

Steady state: the time of a long generation less that of a short one, over the tokens between, so that
prompts, compilation and the first recording are outside for everyone. The floor reads every weight once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.cli.benches.harness import Report, Timed
from regard.layers import Gelu, PreNorm, Rotary
from regard.models import GPT, GPTConfig, from_huggingface
from regard.models.decode_cost import weights_read
from regard.pattern import Strided

BANDWIDTH = 4.3e12  # bytes per second of an H200, as in DESIGN.md
CERTAIN = 1e-3  # a greedy token counts where its logit leads by more
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


def run(device: str, quick: bool) -> Report:
    """Check, then time: the small shape beside transformers, the large ones beside the memory's speed."""
    shape = TINY if quick else SMALL
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    span = (4, 12) if quick else (32, 288) if device == "cuda" else (8, 40)
    settings: dict[str, Any] = {"device": device, "quick": quick, "dtype": str(dtype), "tokens": span}
    report = Report("generate", settings)
    settings["checks"] = [check(shape, device)]
    for batch in (1, 2) if quick else (1, 64) if device == "cuda" else (1, 8):
        _beside(report, shape, batch, device, dtype, span)
    if device == "cuda" and not quick:
        for large in LARGE:
            _alone(report, large, device, dtype, span)
    _forever(report, device, dtype, 2_000 if quick else 1_000_000 if device == "cuda" else 20_000)
    return report


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


def _rate(generate: Generate, batch: int, span: tuple[int, int], device: str) -> Timed:
    """Milliseconds per step in steady state, and the tokens per second of the whole batch."""
    low, high = span
    for count in (low, high, high):  # compile, record, replay
        generate(count)
    best = {count: min(_seconds(generate, count, device) for _ in range(3)) for count in span}
    step = max(1e-9, (best[high] - best[low]) / (high - low))
    return Timed(forward=1e3 * step, note=f"{batch / step:,.0f} tokens/s")


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


def _beside(
    report: Report, shape: Shape, batch: int, device: str, dtype: torch.dtype, span: tuple[int, int]
) -> None:
    tokens = torch.randint(shape.vocab, (batch, 8), generator=torch.Generator().manual_seed(0)).to(device)
    model = _ours(shape, device, dtype)
    ours = _rate(lambda count: model.generate(tokens, max_new_tokens=count), batch, span, device)
    peers: dict[str, Timed] = {}
    why = _absent()
    any_peer: Any = None if why is not None else _peer(shape).to(device, dtype)
    for name, cache in (("transformers, default", None), ("transformers, static cache", "static")):
        if any_peer is None or (cache is not None and device != "cuda"):
            peers[name] = Timed(note=why or "compiled on a GPU only")
            continue

        def theirs(count: int, cache: str | None = cache) -> Tensor:
            options = {} if cache is None else {"cache_implementation": cache}
            return any_peer.generate(
                tokens,
                attention_mask=torch.ones_like(tokens),
                min_new_tokens=count,
                max_new_tokens=count,
                do_sample=False,
                pad_token_id=0,
                **options,
            )

        short = span if cache else (span[0] // 4, span[0])  # the default is slow and steady
        peers[name] = _rate(theirs, batch, short, device)
    floor = _floor(model) if device == "cuda" else None
    report.add(f"{shape}, batch {batch}", ours, peers, floor)


def _alone(report: Report, shape: Shape, device: str, dtype: torch.dtype, span: tuple[int, int]) -> None:
    tokens = torch.randint(shape.vocab, (1, 8), generator=torch.Generator().manual_seed(0)).to(device)
    model = _ours(shape, device, dtype)
    ours = _rate(lambda count: model.generate(tokens, max_new_tokens=count), 1, span, device)
    report.add(f"{shape}, batch 1", ours, {}, _floor(model))


def _forever(report: Report, device: str, dtype: torch.dtype, count: int) -> None:
    """Many tokens with a pattern that forgets: milliseconds per token and megabytes, at ten places."""
    config = GPTConfig(
        vocab=SMALL.vocab if count > 2_000 else 100,
        context=1024,
        depth=6 if count > 2_000 else 2,
        width=256 if count > 2_000 else 32,
        heads=4,
        pattern=Strided(back=256 if count > 2_000 else 16),
        position=Rotary(),
        block=PreNorm(feedforward=Gelu(tanh=True)),
    )
    model = GPT(config, generator=torch.Generator().manual_seed(0)).to(device, dtype).eval()
    stream = model.stream(torch.zeros(1, 8, dtype=torch.long, device=device), max_new_tokens=count)
    times: dict[int, float] = {}
    bytes_: dict[int, float] = {}
    part = count // 10
    next(stream)
    for i in range(1, 11):
        size = part - 1 if i == 10 else part
        before = time.perf_counter()
        for _ in range(size):
            next(stream)
        if device == "cuda":
            torch.cuda.synchronize()
        times[i * part] = 1e3 * (time.perf_counter() - before) / size
        bytes_[i * part] = _megabytes(device)
    report.series["ms per token, strided"] = times
    report.settings["million"] = {"tokens": count, "ms per token": times, "megabytes": bytes_}
    early, late = times[2 * part], times[10 * part]
    memory = f"memory {bytes_[2 * part]:.1f} to {bytes_[10 * part]:.1f} MB"
    note = f"{count:,} tokens; second tenth {early:.3f}, last {late:.3f} ms; {memory}"
    report.add(f"{config.pattern}, endless", Timed(forward=late, note=note), {})


def _megabytes(device: str) -> float:
    """What the process holds: on a GPU all tensors, else the resident memory."""
    if device == "cuda":
        return torch.cuda.memory_allocated() / 1e6
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text(encoding="ascii").split()[1]) if statm.exists() else 0
    return pages * 4096 / 1e6
