"""Decoding in every way against the full forward: random windows, patterns, room, batches and calls in a row.

The reference keeps no cache: all tokens of a row go through the model at once, and the logits of every step
must be those that it gives at that place. The ways are "plain", "lean", "prepacked" (weights laid out anew),
"graph" (the recorded step, here run again instead of replayed) and "fused" (the same over our kernels, which
need TRITON_INTERPRET=1 where there is no GPU and therefore a process of their own).
"""

import json
import os
import random
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch

from regard.layers import Alibi, Learned, LinearAttention, Rotary, Sinusoidal, Softmax
from regard.models import (
    GPT,
    GPTConfig,
    decode,
    decode_fused,
    decode_graph,
    decode_loop,
    decode_prepacked,
    gpt,
)
from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Global,
    Neighbourhood,
    Prefix,
    SparseFixed,
    Strided,
    Windowed,
)
from tests.hunt.found import Found

VOCAB = 13
LONGEST = 300  # the widest window
NEAR = 1e-4  # of the spread of the logits; one key of 300 more or less moves them by ten times that
WAYS = ("plain", "lean", "prepacked", "graph")


def hunt(times: int, seed: int) -> Found:
    """So many models in the ways that need no kernels, and a fifth as many over the kernels."""
    found = tries(times, seed, WAYS)
    code = (
        "import json, sys; from tests.hunt.windows import tries; "
        "found = tries(int(sys.argv[1]), int(sys.argv[2]), ('fused',)); "
        "print(json.dumps([found.tried, found.faults]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(max(1, times // 5)), str(seed)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        found.add("fused", f"the process ended with {run.returncode}: {run.stderr[-2000:]}")
        return found
    tried, faults = json.loads(run.stdout.splitlines()[-1])
    found.tried |= tried
    found.faults += faults
    return found


def tries(times: int, seed: int, ways: tuple[str, ...]) -> Found:
    """So many random models, each asked several times in a row in these ways."""
    found = Found()
    for number in range(times):
        draw = random.Random(f"windows {seed} {number}")
        most = 16 if ways == ("fused",) else draw.choice([12, 40, LONGEST])  # the interpreter is slow
        model = a_model(draw, most, "fused" in ways)
        for _ in range(draw.randint(1, 4)):
            way = draw.choice(ways)
            if way == "graph" and _geometry(model) is not None:
                way = "lean"
            call = a_call(draw, model, most)
            fault = wrong(model, way, call)
            of = model.config
            told = f"seed {seed}, try {number}: {of.pattern}, {of.mixer}, {of.position}, {call}"
            found.add(way, None if fault is None else f"{told}: {fault}")
    return found


def a_window(draw, most):
    """Any width, often at a power of two, where capacities lie too."""
    power = 1 << draw.randint(0, most.bit_length() - 1)
    return draw.choice([draw.randint(1, most), power, max(1, power + draw.choice([-1, 1]))])


def a_pattern(draw, most, kernels):
    w, first = a_window(draw, most), draw.randint(1, most)
    bounded = [
        Strided(back=w - 1),
        Windowed(size=w),
        Dilated(back=draw.randint(0, 4), step=max(1, w // 4)),
        Strided(back=w - 1) | Global(first=first),
        Strided(back=max(0, w - first - 1)) | Global(first=min(first, w)),  # together as many as w
        Blocks(size=w),
        Global(first=w),
        Windowed(size=w) & ~Strided(back=0) | Dilated(back=1, step=w),
    ]
    others = [Causal(), Prefix(length=w), SparseFixed(stride=w, summary=1), ~Strided(back=w)]
    geometries = [
        Axial(rows=6, cols=8),
        Neighbourhood(rows=6, cols=8, reach=2),
        Documents(lengths=(20, 3, 25)),
    ]
    if kernels:
        return draw.choice([*bounded, *others])
    return draw.choice([*bounded, *bounded, *others, None, draw.choice(geometries)])  # None: linear


def a_model(draw, most, kernels=False):
    """A small model whose weights are large enough for each of its keys to matter."""
    patterns = [a_pattern(draw, most, kernels) for _ in range(draw.randint(1, 3))]
    positions = [Rotary(), Sinusoidal(), Learned()]
    positions += [] if None in patterns else [Alibi()]
    config = GPTConfig(
        vocab=VOCAB,
        context=4 * most,
        depth=len(patterns),
        width=12,
        heads=4,
        kv_heads=draw.choice([1, 2, 4]),
        head_width=4,
        pattern=[Causal() if one is None else one for one in patterns],
        mixer=[LinearAttention() if one is None else Softmax() for one in patterns],
        position=draw.choice(positions),
    )
    model = GPT(config, generator=torch.Generator().manual_seed(draw.randint(0, 1 << 30))).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8) if weight.ndim > 1 else weight.add_(0.1)
    return model


def a_call(draw, model, most):
    """Lengths of the prompts, of what follows, segments or not, room ahead of need, and where to leave."""
    total = _geometry(model)
    end = 3 * most if total is None else total
    longest = draw.randint(1, max(1, min(end - 1, draw.choice([2 * most, most // 3]))))
    batch = draw.choice([1, 1, 2, 3, 5])
    equal = draw.random() < 0.5
    lengths = [longest] + [longest if equal else draw.randint(1, longest) for _ in range(batch - 1)]
    count = min(draw.randint(1, most + 8), end - longest)
    return {
        "lengths": lengths,
        "count": count,
        "segments": equal and draw.random() < 0.3,
        "grows_by": draw.choice([1, 8, 1024]),
        "left_after": draw.randint(1, count) if draw.random() < 0.2 else count,
        "seed": draw.randint(0, 1 << 30),
    }


def wrong(model, way, call):
    """What is wrong with one call, or None."""
    g = torch.Generator().manual_seed(call["seed"])
    prompts = [torch.randint(VOCAB, (length,), generator=g) for length in call["lengths"]]
    segments = None
    if call["segments"]:
        segments = torch.zeros(len(prompts), len(prompts[0]), dtype=torch.long)
        for row in segments:
            row[: int(torch.randint(len(row), (1,), generator=g))] -= 1
    given = prompts if segments is None else torch.stack(prompts)
    try:
        with watched(way, call["grows_by"]) as logits:
            stream = model.stream(given, max_new_tokens=call["count"], segments=segments, impl=_impl(way))
            tokens = [next(stream) for _ in range(call["left_after"])]
            stream.close()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return _compared(model, prompts, torch.stack(tokens, 1), torch.stack(logits, 1), segments)


def _compared(model, prompts, tokens, logits, segments):
    for b, prompt in enumerate(prompts):
        n, row = len(prompt), torch.cat([prompt, tokens[b]])
        total = _geometry(model)
        more = 0 if total is None else total - len(row)  # a grid wants all its cells
        own = None
        if segments is not None:
            own = torch.cat([segments[b], segments[b, -1:].expand(len(row) - n + more)])[None]
        with torch.no_grad():
            want = model(torch.cat([row, row.new_zeros(more)])[None], segments=own)
            want = want[0, n - 1 : len(row) - 1]
        got = logits[b, : len(want)]
        off = (got - want).abs().amax(1) / (want.amax() - want.amin())
        if not bool((off <= NEAR).all()):
            step = int((off > NEAR).logical_or(off.isnan()).nonzero()[0, 0])
            return f"row {b}, step {step} of {len(want)}: the logits are off by {float(off[step]):.2g}"
        if not torch.equal(got.argmax(1), tokens[b]):
            return f"row {b}: the tokens are not the likeliest ones"
    return None


def _geometry(model):
    """How many positions the patterns' own geometry has, if any has one."""
    totals = [atom.total for pattern in model.config.patterns for atom in pattern.atoms()]
    return min((total for total in totals if total is not None), default=None)


def _impl(way):
    return {"prepacked": "lean", "fused": "graph"}.get(way, way)


@contextmanager
def watched(way, grows_by):
    """One way of decoding, with the logits of each step in a list; growth comes early."""
    seen = []

    def seeing(work):
        def run(*given):
            out = work(*given)
            seen.append(out.clone())
            return out

        return run

    choose = decode_loop._next

    def choosing(logits, *rest):
        seen.append(logits.clone())
        return choose(logits, *rest)

    with ExitStack() as stack:

        def put(where, name, value):
            stack.enter_context(patch.object(where, name, value))

        put(decode_prepacked, "PAYS_FROM", 1 if way == "prepacked" else 1 << 30)
        put(decode_loop, "GROWS_BY", grows_by)
        if way == "plain":
            put(decode_loop, "_next", choosing)
        else:
            put(decode.Decoder, "fill", seeing(decode.Decoder.fill))
            put(decode.Decoder, "step", seeing(decode.Decoder.step))
        if way in ("graph", "fused"):
            put(decode_graph, "GROWS_BY", grows_by)
            put(decode_graph, "LEAST", 1)
            put(decode_graph.Recorded, "_record", _again)
            put(gpt, "refused", lambda model, batch, impl: None)
            if way == "graph":
                put(decode_loop, "no_fused", lambda model: "left out")
            else:
                put(decode_graph.FusedDecoder, "step", seeing(decode_graph.FusedDecoder.step))
                put(decode_fused, "PROGRAMS", 3)  # few with many rows: they run one by one
        yield seen


class _Again:
    """In place of a recording: the steps themselves."""

    def __init__(self, advance, steps):
        self.advance, self.steps = advance, steps

    def replay(self):
        for _ in range(self.steps):
            self.advance()


def _again(recorded):
    recorded.graphs = {steps: _Again(recorded.advance, steps) for steps in (1, decode_graph.AT_ONCE)}
