"""One training of `benchmarks/cheaper.py`: what is compared, how it is trained, timed and scored.

    python benchmarks/cheaper_runs.py causal-0 --work WORK --data-dir DATA

Weights stay in WORK; `record.json` beside them is what comes back.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from collect import trace
from regard import recipes
from regard.attention import attend, linear_attend
from regard.bench.charging import CODE_POINT
from regard.bench.reading import bits
from regard.bench.timing import seconds
from regard.cost import price
from regard.data import Corpus, Source, Tokenizer, load
from regard.data.draws import generator, seed_of
from regard.files import write_json
from regard.layers import Gelu, Learned, LinearAttention, PreNorm, Projections, Rotary
from regard.models import GPT, GPTConfig
from regard.models.files import read_tensors
from regard.pattern import parse
from regard.train import AdamW, Checks, Cosine, Recipe, override, train
from regard.train.devices import chosen_device
from regard.train.distributed import ALONE
from regard.train.ema import Averages
from regard.train.environment import history
from regard.train.steps import Step
from regard.train.switches import switched
from regard.train.task import TaskSetting
from regard.train.tasks.building import context_of
from regard.train.tasks.dialogues import dialogues_of
from regard.values import Json

CONTEXTS = (256, 1024)
BATCH = {256: 128, 1024: 32}  # as many tokens a step
HEADS = ("dilated(64, 1)", "dilated(64, 2)", "dilated(64, 4)")  # two heads each
HELD = 0.1
STRIDE = 32  # characters that a window says: all others are its context
BETWEEN = "\n\n"  # dialogues
TIMED = (5, 20)  # rounds of steps
SPAN = (512, 1024)  # tokens generated, whose difference is timed
BATCHES = (1, 64)  # of decoding
WAIT = 150.0  # seconds for quiet
CACHED, VOCAB = 1024, 68  # tokens; the vocabulary decides about no cache
RECORD = "record.json"


class Mix(nn.Module):
    """Where `dropout` is that of the model."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout


class ByHead(Mix):
    """Softmax attention with a pattern for each third of the heads, which lie beside each other."""

    patterns = tuple(map(parse, HEADS))

    def mix(self, q: Tensor, k: Tensor, v: Tensor, pattern: object, **_: object) -> Tensor:
        parts = zip(*(x.chunk(len(HEADS), 1) for x in (q, k, v)), self.patterns, strict=True)
        return torch.cat([attend(*part) for part in parts], 1)


class SoftmaxFeatures(Mix):
    """Causal linear attention whose features are a softmax over (x, −x), as in Hedgehog but not learned."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor, pattern: object, **_: object) -> Tensor:
        out = linear_attend(_both(q), _both(k), v, causal=True, check=False)
        assert isinstance(out, Tensor)
        return out


def _both(x: Tensor) -> Tensor:
    return torch.cat([x, -x], -1).float().softmax(-1).to(x.dtype)


class Dropped(Mix):
    """Causal softmax attention with dropout of its weights too, as nanoGPT has it."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor, pattern: object, **_: object) -> Tensor:
        share = self.dropout if self.training else 0.0
        return scaled_dot_product_attention(q, k, v, dropout_p=share, is_causal=True)


MIXES: dict[str, type[Mix]] = {"heads": ByHead, "softmax": SoftmaxFeatures, "nanogpt": Dropped}


@dataclass(frozen=True)
class OwnGPT:
    """A GPT whose layers mix as no config says; fields are as of `GPTConfig`."""

    mix: str
    context: int
    depth: int
    width: int
    heads: int
    position: Rotary | Learned
    block: PreNorm
    dropout: float

    @classmethod
    def like(cls, config: GPTConfig, mix: str) -> OwnGPT:
        """Of the sizes of a config."""
        return cls(mix, **{one.name: getattr(config, one.name) for one in fields(cls)[1:]})

    def config(self, vocab: int) -> GPTConfig:
        """The config that it differs from by its mixing alone."""
        return GPTConfig(vocab=vocab, **{one.name: getattr(self, one.name) for one in fields(self)[1:]})

    def build(self, vocab: int, generator: torch.Generator) -> nn.Module:
        """The model, with the weights that the config alone would begin with."""
        model = GPT(self.config(vocab), generator=generator)
        for block in model.blocks:
            del block.attention.mixer  # a value, where a module comes
            block.attention.mixer = MIXES[self.mix](self.dropout)
        if self.mix == "nanogpt":
            for module in model.modules():
                if isinstance(module, nn.LayerNorm):
                    module.bias = None
        return model


@dataclass(frozen=True)
class Variant:
    """What differs from `shakespeare-char`, and under which name it is recorded."""

    record: str
    set: tuple[str, ...] = ()
    own: str | None = None


def _of(name: str, *changes: str, own: str | None = None) -> Variant:
    return Variant(f"shakespeare-char-{name}" if name else "shakespeare-char", changes, own)


def _pattern(text: str) -> str:
    return f"task.model.pattern={text}"


COMPARED = {
    "causal": _of(""),
    "strided-32": _of("strided-32", _pattern("strided(32)")),
    "strided-64": _of("strided", _pattern("strided(64)")),
    "strided-128": _of("strided-128", _pattern("strided(128)")),
    "windowed": _of("windowed", _pattern("windowed(64)")),
    "sinks": _of("sinks", _pattern("strided(63) | global(4) & causal")),
    "mixed": _of("mixed", _pattern("strided(64);strided(64);strided(64);causal")),
    "dilated-heads": _of("dilated-heads", own="heads"),
    "linear": _of("linear", "task.model.mixer=LinearAttention()"),
    "linear-softmax": _of("linear-softmax", own="softmax"),
    "linear-decay": _of("linear-decay", "task.model.mixer=LinearAttention(decay='alibi')"),
}
DIALOGUES = ("dialogue-ours", "dialogue-nanogpt")
NANOGPT = Recipe(
    name="nanogpt",
    task=recipes.get("shakespeare-char").task,
    optimizer=AdamW(lr=1e-3, beta2=0.99, decay=0.1),
    schedule=Cosine(warmup=0.02, floor=0.1),
    batch=64,
    steps=5000,
    checks=Checks(validate_every=250, read_every=50, save_every=5000),
)
PLAIN = PreNorm(feedforward=Gelu(bias=False), projections=Projections(qkv_bias=False, out_bias=False))


@dataclass(frozen=True)
class Job:
    """One run: a variant, a seed and a context; `plain` compiles in place of recording one graph.

    >>> Job.read("strided-64-2-1024"), str(Job("causal", 1))
    (Job(name='strided-64', seed=2, context=1024, plain=False), 'causal-1-256')
    """

    name: str
    seed: int = 0
    context: int = CONTEXTS[0]
    plain: bool = False

    def __str__(self) -> str:
        return f"{self.name}-{self.seed}-{self.context}{'-plain' if self.plain else ''}"

    @classmethod
    def read(cls, text: str) -> Job:
        """The inverse."""
        text, plain, _ = text.partition("-plain")
        name, seed, context = text.rsplit("-", 2)
        return cls(name, int(seed), int(context), bool(plain))


def own_changes(job: Job) -> list[str]:
    """What is set beside the seed."""
    changes = list(COMPARED[job.name].set) if job.name in COMPARED else []
    if job.context != CONTEXTS[0]:
        changes += [f"task.model.context={job.context}", f"batch={BATCH[job.context]}"]
    return changes


def recipe_of(job: Job, more: list[str], dialogues: tuple[Path, float] | None = None) -> Recipe:
    """The recipe of a run."""
    recipe = override(recipes.get("shakespeare-char"), [*own_changes(job), *more])
    own = COMPARED[job.name].own if job.name in COMPARED else None
    if job.name == "dialogue-nanogpt":
        sizes = replace(recipe.task.model, position=Learned(), dropout=0.2, block=PLAIN)
        recipe = override(
            replace(NANOGPT, task=replace(recipe.task, model=sizes, hide=0.0)),
            [one for one in more if not one.startswith("task.")],
        )
        own = "nanogpt"
    task = recipe.task
    if own is not None:
        task = replace(task, model=OwnGPT.like(task.model, own), context=task.model.context)
    if dialogues is not None:
        task = replace(task, data=Source(str(dialogues[0])), validation=dialogues[1])
    recipe = recipe.but(task=task, seed=job.seed)
    return recipe.but(compile="compile") if job.plain else recipe


def written(corpus: Corpus, work: Path) -> tuple[Path, float, list[str]]:
    """The dialogues as one text whose end is held out, what share that is, and the dialogues held out."""
    learn, held = dialogues_of(corpus, HELD)
    first, last = BETWEEN.join([*learn, ""]), BETWEEN.join(held)
    path = work / "dialogues.txt"
    path.write_text(first + last, "utf-8")
    return path, (len(last) - 0.5) / (len(first) + len(last)), held


def one(job: Job, work: Path, data: Path, more: list[str], time_it: bool) -> None:
    """Train, record, score dialogues, and time the variant if nobody has."""
    folder, device = work / "runs" / str(job), chosen_device(None)
    folder.mkdir(parents=True, exist_ok=True)
    held, dialogues = [], None
    if job.name in DIALOGUES:
        text = work / "text" / str(job)
        text.mkdir(parents=True, exist_ok=True)
        corpus = load(recipe_of(Job("causal"), more).task.data, folder=data)
        assert isinstance(corpus, Corpus)
        path, share, held = written(corpus, text)
        dialogues = path, share
    recipe = recipe_of(job, more, dialogues)
    begin = time.time()
    train(recipe, folder, data_dir=data, quiet=False)
    record = recorded(job, folder, recipe)
    write_json(folder / RECORD, record)  # it is there whatever fails from here on
    task = recipe.task.build(TaskSetting(device, recipe.seed, data))
    model = task.model(generator(recipe.seed, "weights")).to(device)
    if held:
        model.load_state_dict(read_tensors(folder / "model" / "model.safetensors")[0])
        record["bits"] = scored(model.eval(), task.tokenizer, held, task.per_example, device)
        write_json(folder / RECORD, record)
    if time_it:
        try:
            with switched(recipe.execution, device):
                record["timing"] = timed(recipe, task, model, device, work / "quiet" / str(job))
        except Exception as error:
            traceback.print_exc()
            record["timing"] = {"error": f"{type(error).__name__}: {error}"[:300]}
    record["wall"] = time.time() - begin
    write_json(folder / RECORD, record)


def recorded(job: Job, folder: Path, recipe: Recipe) -> Json:
    """What the run came to, as in the files of recipes, and what its model costs."""
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    (*_, facts) = history(folder)
    tokens = context_of(recipe.task.model, recipe.task.context)
    return {
        "variant": job.name,
        "context": job.context,
        "set": own_changes(job),
        "parameters": summary["parameters"],
        "model": json.loads((folder / "model" / "config.json").read_text("utf-8")),
        "cache_bytes": cache_bytes(recipe.task.model),
        "seed": job.seed,
        "steps": summary["steps"],
        "best_step": summary["best_step"],
        "validation": summary["scores"],
        "seconds": summary["seconds"],
        "tokens_per_second": summary["examples_per_second"] * tokens,
        "device": facts["device"],
        "torch": facts["torch"],
        "date": facts["date"],
        "compile": "compile" if job.plain else recipe.execution.compile,
        "validation_trace": trace(folder, "loss"),
    }


def cache_bytes(model: GPTConfig | OwnGPT) -> int | None:
    """What decoding keeps after `CACHED` tokens in bfloat16, of a pattern for each head its share."""
    config = model.config(VOCAB) if isinstance(model, OwnGPT) else replace(model, vocab=VOCAB)
    if not isinstance(config.position, Rotary):
        return None  # learned positions end before

    def of(config: GPTConfig) -> int:
        return int(price(config, CACHED, decode=True, dtype=torch.bfloat16).cache_bytes)

    if isinstance(model, GPTConfig):
        return of(config)
    if model.mix == "heads":
        return sum(of(replace(config, pattern=one)) for one in HEADS) // len(HEADS)
    # Features of twice the width: a state and a sum of features of twice the size, in float32.
    return 2 * of(replace(config, mixer=LinearAttention()))


def scored(
    model: nn.Module, tokenizer: Tokenizer, held: list[str], context: int, device: torch.device
) -> Json:
    """Bits per character of held-out dialogues: read one after another, and each by itself.

    Blank lines between them are read and cost nothing, as for all models that are compared.
    """
    begin = time.perf_counter()
    between, rows = tokenizer.encode(BETWEEN), [tokenizer.encode(text) for text in held]
    alone = [[*between, *row] for row in rows]
    counted = [[False] * len(between) + [True] * len(row) for row in rows]
    characters = sum(map(len, held))
    strange = sum(token == tokenizer.unk for row in rows for token in row)
    extra = strange * CODE_POINT / characters
    through = [token for row in alone for token in row], [one for row in counted for one in row]
    how: Any = {"context": context, "stride": min(STRIDE, context), "device": device}
    return {
        "on": bits(model, [through[0]], [through[1]], **how) / characters + extra,
        "alone": bits(model, alone, counted, **how) / characters + extra,
        "unknown": strange / characters,
        "characters": characters,
        "context": context,
        "stride": how["stride"],
        "seconds": time.perf_counter() - begin,
    }


@contextmanager
def quiet(path: Path) -> Iterator[bool]:
    """While all other trainings are stopped; without a queue that does so, at once."""
    ask, go = path.with_suffix(".ask"), path.with_suffix(".go")
    if not path.parent.is_dir():
        yield False
        return
    ask.touch()
    until = time.monotonic() + WAIT
    while not go.exists() and time.monotonic() < until:
        time.sleep(0.02)
    try:
        yield go.exists()
    finally:
        ask.unlink(missing_ok=True)
        go.unlink(missing_ok=True)


def timed(recipe: Recipe, task: Any, model: nn.Module, device: torch.device, path: Path) -> Json:
    """Tokens a second of training steps and milliseconds a token of decoding, all warmed up before."""
    rounds, many = TIMED if device.type == "cuda" else (2, 2)
    optimizer = recipe.optimizer.build(model.train())
    averages = None if recipe.checks.ema is None else Averages(model)
    step = Step(task, model, optimizer, averages, recipe, ALONE)
    step.warm_up(task.batch(0, recipe.batch))
    done = 0

    def steps() -> None:
        nonlocal done
        for _ in range(many):
            step(task.batch(done, recipe.batch), multiplier=0.1, kept=0.5, seed=seed_of(0, "timing", done))
            done += 1

    steps()
    found: Json = {}
    decoding = decoders(model, device, found)
    with quiet(path) as alone:
        times = [seconds(steps, device.type) / many for _ in range(rounds)]
        found["quiet"] = alone
        found["tokens_per_second"] = recipe.batch * task.per_example / statistics.median(times)
        found["ms_per_step"] = [1e3 * one for one in times]
        for batch, generate in decoding.items():
            found[f"decoding_ms_batch_{batch}"] = _ms_per_token(generate, device)
    return found


def decoders(model: nn.Module, device: torch.device, told: Json) -> dict[int, Callable[[int], object]]:
    """What generates so many tokens for each batch, warmed up; nothing for what rereads its whole context."""
    out: dict[int, Callable[[int], object]] = {}
    if not isinstance(model, GPT):
        return out
    reader = GPT(model.config).to(device, torch.bfloat16 if device.type == "cuda" else torch.float32).eval()
    told["decoding_span"] = span_of(device)
    for batch in BATCHES:
        tokens = torch.randint(model.config.vocab_size, (batch, 8), device=device)
        generate = partial(_generate, reader, tokens)
        told[f"decoding_{batch}"] = reader.decoding(batch).why
        try:
            for count in 2 * span_of(device):
                generate(count)
        except Exception as error:  # its training is timed all the same
            traceback.print_exc()
            told[f"decoding_{batch}"] = f"{type(error).__name__}: {error}"[:300]
        else:
            out[batch] = generate
    return out


def _generate(reader: GPT, tokens: Tensor, count: int) -> Tensor:
    return reader.generate(tokens, max_new_tokens=count)


def span_of(device: torch.device) -> tuple[int, int]:
    """Two numbers of tokens: what the larger takes longer is timed."""
    return SPAN if device.type == "cuda" else (4, 8)


def _ms_per_token(generate: Callable[[int], object], device: torch.device) -> float:
    low, high = span_of(device)
    best = {low: inf, high: inf}
    begin = time.perf_counter()
    while best[high] == inf or (time.perf_counter() - begin < 0.5):
        for count, before in best.items():
            best[count] = min(before, seconds(partial(generate, count), device.type))
    return 1e3 * (best[high] - best[low]) / (high - low)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("job", type=Job.read)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--timed", action="store_true")
    given = parser.parse_args()
    one(given.job, given.work, given.data_dir, given.set, given.timed)


if __name__ == "__main__":
    main()
