"""`regard bench hub`: transformers' cache beside one that a pattern bounds, in bytes, time and perplexity.

Decoding is timed on a Llama of 97 million random weights, whose caches are filled with random keys; the two
take turns, and the median counts. Perplexity is that of a GPT of characters, trained here by our recipe and
run by transformers, over text that it has not seen.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard import recipes
from regard.bench.report import BenchReport, TimeRow
from regard.bench.timing import Timed, seconds
from regard.data import Corpus, load
from regard.errors import need
from regard.pattern import Global, Pattern, Strided
from regard.train import open_run, train
from regard.train.export import export_huggingface

if TYPE_CHECKING:
    from transformers import Cache, PreTrainedModel

SIZES = {
    "vocab_size": 32_000, "hidden_size": 640, "intermediate_size": 1_792, "num_hidden_layers": 12,
    "num_attention_heads": 10, "num_key_value_heads": 5, "max_position_embeddings": 131_072,
}  # fmt: skip
SMALL = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
KEPT = 1_024  # keys of a bounded cache: four first ones, and the latest
ROUNDS, STEPS = 7, 3  # turns, and tokens in each of them
CLOSE = 1e-3  # to which both caches must agree, of the largest logit, before anything is timed
FIRST = 4
PIECE = 256  # tokens that are read at once
MEASURE = "perplexity"
PARTS = ("decoding", MEASURE)
THEIRS = "transformers, its own cache"
Read = Callable[[Tensor], Iterator[Tensor]]  # tokens (1,N) to logits (n,V), piece by piece


def run(
    device: str,
    quick: bool,
    data_dir: Path | None = None,
    folder: Path | None = None,
    only: Sequence[str] = (),
) -> BenchReport:
    """Bytes and milliseconds by the length of the past, then perplexities of one text.

    With `only` one of the two is measured, and rows of the other stay as the folder has them.
    """
    if unknown := [name for name in only if name not in PARTS]:
        raise ValueError(f"only must be some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    need("transformers", "hub")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    settings = {
        "device": device, "quick": quick, "transformers": transformers.__version__, "keys kept": KEPT,
        "rounds": ROUNDS, "steps a round": STEPS, "dtype": "float32",
        "clock": "processor time" if device == "cpu" else "wall",
    }  # fmt: skip
    report = BenchReport("hub", settings)
    for part in PARTS:
        if only and part not in only:
            report.rows += _kept(report, folder, part)
        elif part == "decoding":
            lengths = [64, 128] if quick else [1_024, 4_096, 16_384, 65_536]
            _decoding(report, device, lengths, 48 if quick else KEPT)
        else:
            _perplexities(report, device, quick, data_dir)
    return report


def _kept(report: BenchReport, folder: Path | None, part: str) -> list[TimeRow]:
    """The rows of a part as an earlier run on this machine wrote them; the settings say so."""
    path = Path(folder or ".") / f"hub-{report.machine.slug}.json"
    if not path.exists():
        return []
    old = json.loads(path.read_text(encoding="utf-8"))
    report.settings |= {name: value for name, value in old["settings"].items() if name not in report.settings}
    clock, date = old["settings"].get("clock", "wall"), old["machine"]["date"]
    report.settings[f"{part} kept from"] = f"{date}, by {clock}"
    return [TimeRow(**row) for row in old["rows"] if (row["case"].startswith(MEASURE)) == (part == MEASURE)]


def _decoding(report: BenchReport, device: str, lengths: list[int], kept: int) -> None:
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    from regard.hub import PatternCache, use

    torch.manual_seed(0)
    config = LlamaConfig.from_dict(SIZES if kept == KEPT else SMALL)
    theirs = LlamaForCausalLM._from_config(config, attn_implementation="sdpa").eval().to(device)
    ours = LlamaForCausalLM._from_config(config, attn_implementation="regard").eval().to(device)
    ours.load_state_dict(theirs.state_dict())
    use(ours, Strided(back=kept - FIRST - 1) | Global(first=FIRST))
    count = sum(weight.numel() for weight in theirs.parameters())
    report.settings |= {"parameters": count}
    tokens = torch.arange(min(40, kept), device=device)[None]  # so few that nothing is let go
    with torch.no_grad():
        _check(theirs(tokens).logits, ours(tokens, past_key_values=PatternCache(ours)).logits)
    for length in lengths:
        caches = {"regard, PatternCache": PatternCache(ours), THEIRS: DynamicCache(config=config)}
        for cache in caches.values():
            _fill(cache, ours, length, device)
        models = dict(zip(caches, (ours, theirs), strict=True))
        times: dict[str, list[float]] = {name: [] for name in caches}
        for turn in range(ROUNDS + 1):
            for name, cache in caches.items():
                took = _seconds(partial(_steps, models[name], cache, STEPS, device), device)
                times[name] += [1e3 * took / STEPS] if turn else []  # the first turn warms up
        found = {
            name: Timed(statistics.median(times[name]), note=f"{held(cache):,} bytes of cache")
            for name, cache in caches.items()
        }
        mine = found.pop("regard, PatternCache")
        report.add(f"{count / 1e6:.0f} M, {length:,} before", mine, found)


@torch.no_grad()
def _fill(cache: Cache, model: PreTrainedModel, length: int, device: str) -> None:
    """So many random keys and values in every layer, as if they had been read."""
    config = model.config
    heads = config.num_key_value_heads or config.num_attention_heads
    width = config.hidden_size // config.num_attention_heads
    for layer in range(config.num_hidden_layers):
        keys, values = torch.randn(2, 1, heads, length, width, device=device)
        cache.update(keys, values, layer)


@torch.no_grad()
def _steps(model: PreTrainedModel, cache: Cache, count: int, device: str) -> None:
    token = torch.zeros(1, 1, dtype=torch.long, device=device)
    for _ in range(count):
        token = model(input_ids=token, past_key_values=cache).logits.argmax(-1)


def _seconds(call: Callable[[], object], device: str) -> float:
    """What a call takes: on a CPU the processor's time in it, whoever else computes."""
    if device != "cpu":
        return seconds(call, device)
    before = time.process_time()
    call()
    return time.process_time() - before


def held(cache: Cache) -> int:
    """The bytes of the keys and values in a cache."""
    tensors = (x for layer in cache.layers for x in (layer.keys, layer.values))  # type: ignore[union-attr]
    return sum(x.numel() * x.element_size() for x in tensors if x is not None)


def _check(want: Tensor, found: Tensor) -> None:
    off = float((found - want).abs().max())
    if off > CLOSE * max(1.0, float(want.abs().max())):
        raise ValueError(f"the two caches do not agree where nothing is let go: {off:.1e}")


def _perplexities(report: BenchReport, device: str, quick: bool, data_dir: Path | None) -> None:
    """The same characters read by each cache, and anew for every one of them."""
    from regard.hub import PatternCache, use
    from regard.hub.models import open_folder

    data = "play" if quick else "tinyshakespeare"
    recipe = recipes.get("shakespeare-char-cpu")
    recipe = replace(recipe, minutes=None, steps=20 if quick else 1_800, task=replace(recipe.task, data=data))
    with TemporaryDirectory() as folder:
        train(recipe, f"{folder}/run", device=device, data_dir=data_dir, quiet=True)
        trained = open_run(f"{folder}/run")
        export_huggingface(trained, Path(folder, "theirs"))
        model = open_folder(Path(folder, "theirs"))
        cast("torch.nn.Module", model).to(device)
        corpus = load(data, folder=data_dir)
        assert isinstance(corpus, Corpus)
        assert trained.tokenizer is not None
        text = corpus.text[-(len(corpus.text) // 10) :]  # which training held out
        tokens = torch.tensor([trained.tokenizer.encode(text)[: 512 if quick else 65_537]], device=device)
    context = recipe.task.model.context
    report.settings |= {"recipe": recipe.name, "steps": recipe.steps, "context": context, "text": data}
    window, sinks = Strided(back=context - 1), Strided(back=context - FIRST - 1) | Global(first=FIRST)
    ways: list[tuple[str, Pattern, str]] = [
        (f"{window}", window, "text"),
        (f"{sinks}", sinks, "text"),
        (f'{sinks}, positions="cache"', sinks, "cache"),
    ]
    case = f"{MEASURE} of {tokens.shape[1] - 1:,} characters"
    for name, pattern, positions in ways:
        use(model, pattern)
        bounded = PatternCache(model, positions=positions)
        report.record(_scored(case, name, tokens, partial(_by_cache, model, bounded), bounded))
    from transformers import DynamicCache

    use(model, None)
    model.set_attn_implementation("sdpa")
    cache = DynamicCache(config=model.config)
    report.record(_scored(case, THEIRS, tokens, partial(_by_cache, model, cache), cache))
    report.record(_scored(case, f"the last {context} read anew", tokens, partial(_anew, model, context)))


@torch.no_grad()
def _scored(case: str, name: str, tokens: Tensor, read: Read, cache: Cache | None = None) -> TimeRow:
    """Perplexities of the parts of a text, and the milliseconds for each token of it."""
    losses: list[Tensor] = []

    def score() -> None:
        at = 1
        for logits in read(tokens[:, :-1]):
            wanted = tokens[0, at : at + len(logits)]
            losses.append(cross_entropy(logits, wanted, reduction="none"))
            at += len(logits)

    took = _seconds(score, tokens.device.type)
    found = torch.cat(losses)
    ends = [end for end in (64, 1_024, 8_192) if end < len(found)]
    parts = zip([0, *ends], [*ends, len(found)], strict=True)
    told = [f"{end:,}: {math.exp(float(found[start:end].mean())):.3f}" for start, end in parts]
    size = "" if cache is None else f"; {held(cache):,} bytes of cache"
    whole = math.exp(float(found.mean()))
    return TimeRow(case, name, 1e3 * took / len(found), note=f"{whole:.3f}; up to {', '.join(told)}{size}")


def _by_cache(model: PreTrainedModel, cache: Cache, tokens: Tensor) -> Iterator[Tensor]:
    for piece in tokens.split(PIECE, dim=1):
        yield model(input_ids=piece, past_key_values=cache).logits[0]


def _anew(model: PreTrainedModel, context: int, tokens: Tensor) -> Iterator[Tensor]:
    """Every token after the `context` before it, as training saw them."""
    yield model(input_ids=tokens[:, :context]).logits[0]
    for rows in tokens[0].unfold(0, context, 1)[1:].split(PIECE):
        yield model(input_ids=rows).logits[:, -1]
