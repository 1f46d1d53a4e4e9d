"""Long runs of models of transformers: random patterns against masks, and 64k tokens in a bounded cache."""

import random

import torch

from regard.hub import PatternCache, use
from regard.pattern import Causal, parse
from tests.hub.families import DECODERS, EAGER, close, logits, made, ours, padded, pair, tokens
from tests.hunt.found import Found

LONG = 65_536
KINDS = ["strided({a})", "windowed({b})", "strided({a}) | global({b}) & causal", "dilated({b}, {a})",
         "sparsestrided({b})", "sparsefixed({b}, 1)", "causal & ~strided({a}) | strided(0)"]  # fmt: skip


def hunt(times: int, seed: int) -> Found:
    """So many random patterns, and 64k tokens whose cache must not grow."""
    found, rng = Found(), random.Random(seed)
    for _ in range(times):
        name = rng.choice([name for name in DECODERS if name not in (*EAGER, "opt")])
        text = rng.choice(KINDS).format(a=rng.randint(1, 9), b=rng.randint(1, 9))
        found.add("pattern", _wrong(name, text, rng))
    found.add("64k tokens", _grows())
    return found


@torch.no_grad()
def _wrong(name: str, text: str, rng: random.Random) -> str | None:
    theirs, mine = pair(name, rng.randint(0, 99))
    use(mine, text)
    T = rng.randint(2, 60)
    x, mask = tokens(2, T), (parse(text) & Causal()).dense(T)[None, None]
    if not close(logits(mine, input_ids=x), logits(theirs, input_ids=x, attention_mask=mask)):
        return f"{name} with {text} at {T} is not the dense mask"
    cache, parts = PatternCache(mine), []
    while sum(parts) < T:
        parts.append(min(rng.choice([1, 1, 2, 7, 30]), T - sum(parts)))
    steps = [mine(input_ids=part, past_key_values=cache).logits for part in x.split(parts, dim=1)]
    if not close(torch.cat(steps, dim=1), logits(mine, input_ids=x)):
        return f"{name} with {text} in pieces of {parts} is not the whole"
    n = rng.randint(1, T)
    for side in ("left", "right"):
        said = logits(mine, input_ids=x, attention_mask=padded([T, n], T, side))[1:]
        part = slice(0, n) if side == "right" else slice(T - n, T)
        if name != "gpt2" and not close(said[:, part], logits(mine, input_ids=x[1:, part])):
            return f"{name} with {text}: {n} of {T} tokens padded at the {side} are not the row alone"
    return None


@torch.no_grad()
def _grows() -> str | None:
    mine = ours(made("llama", max_position_embeddings=2 * LONG))
    use(mine, "strided(1019) | global(4) & causal")
    cache, x, sizes = PatternCache(mine), tokens(1, 1030), set()
    while cache.get_seq_length() < LONG:
        x = mine(input_ids=x, past_key_values=cache).logits[:, -1:].argmax(-1)
        sizes.add(cache.nbytes)
    print(f"  {cache.get_seq_length():,} tokens, bytes of the cache: {sorted(sizes)}", flush=True)
    return None if len(sizes) == 1 else f"the cache had {sorted(sizes)} bytes"
