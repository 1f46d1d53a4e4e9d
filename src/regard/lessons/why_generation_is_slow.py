"""Lesson: why writing a text takes so much longer than reading it, with and without a cache."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.cost import price
from regard.lessons.exercises.why_generation_is_slow import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import milliseconds, one_thread
from regard.lessons.parts import Check, Picture, Prose, Table, table
from regard.models import GPT, GPTConfig
from regard.pattern import Causal, Strided

CONFIG = GPTConfig(vocab=64, context=512, depth=2, width=64, heads=4)
LENGTHS = [16, 32, 64, 128]


def counted() -> list[Table]:
    """Reading 128 tokens at once, and writing them one by one, from the package's price."""
    rows: list[list[object]] = []
    for name, decode in (("read at once", False), ("written one by one, with cache", True)):
        cost = price(CONFIG, tokens=128, decode=decode)
        times = 128 if decode else 1
        rows.append([name, cost.flops, cost.depth, times, times * cost.weight_bytes])
    head = ["128 tokens", "flops", "steps in sequence", "times all weights are read", "bytes of weights read"]
    return [table(head, rows, "A GPT of two layers, width 64:")]


def by_hand() -> list[Check]:
    """A cache changes the work and not the words."""
    model = _model()
    prompt = torch.arange(5)[None]
    with torch.no_grad():
        cached = model.generate(prompt, max_new_tokens=40)
        assert isinstance(cached, Tensor)
        plain = _without_cache(model, prompt, 40)
    return [
        Check(
            "with and without cache the same 40 tokens are written",
            bool(torch.equal(cached, plain)),
            f"{cached.shape[1]} tokens compared, the 5 of the beginning among them",
        )
    ]


def _model() -> GPT:
    return GPT(CONFIG, generator=torch.Generator().manual_seed(0))


def _without_cache(model: GPT, tokens: Tensor, count: int) -> Tensor:
    for _ in range(count):
        tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], dim=1)
    return tokens


def measured() -> list[Table | Picture | Prose]:
    """Milliseconds to read T tokens at once, to write them with a cache, and without one."""
    model = _model()
    rows, read, cached, plain = [], [], [], []
    with torch.no_grad(), one_thread():
        for length in LENGTHS:
            tokens = torch.zeros(1, length, dtype=torch.long)
            first = tokens[:, :1]
            read.append(milliseconds(model, tokens, budget=0.05))
            cached.append(milliseconds(model.generate, first, max_new_tokens=length, budget=0.05))
            plain.append(milliseconds(_without_cache, model, first, length, budget=0.05))
            rows.append([length, read[-1], cached[-1], plain[-1], cached[-1] / read[-1]])
    series = {
        "without cache": (LENGTHS, plain),
        "with cache": (LENGTHS, cached),
        "read at once": (LENGTHS, read),
    }
    return [
        table(
            ["T", "read at once, ms", "write with cache, ms", "write without, ms", "write / read"],
            rows,
            "This model, on this machine:",
        ),
        Prose(
            f"Writing {LENGTHS[-1]} tokens took {cached[-1] / read[-1]:.0f} times as long as reading them. "
            "The flops are the same; the difference is waiting and reading weights again."
        ),
        Picture(
            "measured",
            lambda: curves(
                series, x="T", y="milliseconds", log="xy", title="Reading is one step, writing is T"
            ),
            "Time against T: writing without a cache grows fastest, with a cache it is a straight line, "
            "reading at once is far below both",
        ),
    ]


def cache_size() -> Table:
    """What the cache holds after T tokens, for two patterns."""
    rows = []
    for name, pattern in (("causal", Causal()), ("strided(31)", Strided(back=31))):
        config = GPTConfig(vocab=64, context=4096, depth=2, width=64, heads=4, pattern=pattern)
        rows.append([name, *(price(config, tokens=T, decode=True).cache_bytes for T in (64, 512, 4096))])
    return table(["pattern", "T = 64", "T = 512", "T = 4,096"], rows, "Bytes of keys and values held:")


LESSON = Lesson(
    name="why-generation-is-slow",
    title="Why generation is slow",
    question=(
        "A language model reads a thousand tokens in one go, and writes them one at a time. Why does writing "
        "take so much longer, although "
        "each token needs the same work, and what does a cache of keys and values change?"
    ),
    steps=(
        "**Depth.** When a text is read, all positions are known and go through each layer together. When it "
        "is written, token t + 1 cannot start before token t is "
        "chosen: T tokens are T passes in sequence, each through every layer.\n\n"
        "**Weight traffic.** A pass reads every weight once. Reading uses each weight for all T tokens; "
        "writing reads all of them again for every single token. One token needs about two "
        "flops per weight, and a processor can do many flops in the time it takes to fetch one weight, so "
        "it waits for memory. Writing many texts at once, a batch, shares the fetch.",
        counted,
        "**Cache.** Without a cache each new token recomputes keys and values of all tokens before it: 1 + 2 "
        "+ … + T token passes. Keys and values of the past do not change (they look back only), "
        "so they can be kept: T token passes, and attention over what is kept.",
        by_hand,
        measured,
        "The price of the cache is memory that grows with T, unless the pattern bounds what can still be "
        "seen.",
        cache_size,
    ),
    exercises=EXERCISES,
)
