"""The One token room: what a model makes of a text, step by step, with its mask as the visitor edited it."""

from __future__ import annotations

from base64 import b64encode

import torch
from torch import Tensor

from regard.layers import LinearAttention, Parallel, PostNorm, Rotary
from regard.models import GPT
from regard.studio import limits
from regard.studio.api.body import Body
from regard.studio.limits import FieldError
from regard.studio.models import here
from regard.studio.speech import end_of, label, writers
from regard.studio.walk import Mixed, Walk, walk
from regard.train.runs.language import LanguageRun

DEFAULT = "zoo:dialogue"
TOKENS = 48  # of a text: each has a row and a column
CELLS = 1 << 17  # of all layers' and heads' weights that are sent as small pictures
NAMED = 64  # of the likeliest tokens whose text is sent
EDITS = 4_096  # edited rows, of all layers and heads


def models(body: Body) -> dict[str, object]:
    """The models that can be walked through, the one to begin with first."""
    return writers(DEFAULT)


def read(body: Body) -> tuple[LanguageRun, list[int]]:
    """The model and the tokens of the text, a start in front where the model knows it so."""
    run = here().open(body.text("model", 200), LanguageRun)
    text = body.text("text", limits.TEXT)
    if not text.strip():
        raise FieldError("text", "give some text: a word is enough")
    try:
        ids = list(run.encoded(text, "text")[0])
    except ValueError as error:
        raise FieldError("text", str(error)) from error
    limits.tokens("text", ids, min(TOKENS, run.positions or TOKENS))
    return run, ids


def step(body: Body) -> dict[str, object]:
    """All that the room shows of one token, layer and head: every number as the model computed it."""
    run, ids = read(body)
    gpt, reader, N = run.gpt, run.reader, len(ids)
    config = gpt.config
    layer = body.whole("layer", 1, config.depth, 1) - 1
    head = body.whole("head", 1, config.heads, 1) - 1
    token = body.whole("token", -1, N - 1, -1) % N
    edits = edited(body, (config.depth, config.heads, N))
    for at in edits:
        if isinstance(config.mixers[at], LinearAttention):
            raise FieldError("edits", f"layer {at + 1} mixes linearly: it has no mask that could be edited")
    seen = walk(gpt, ids, edits)
    logits = seen.logits[token]
    order = logits.argsort(descending=True, stable=True)[:NAMED].tolist()
    ends, banned = end_of(run)
    return {
        "model": _facts(gpt, layer),
        "tokens": [label(reader, i) for i in ids],
        "token": token,
        "notice": run.encoded(body.text("text", limits.TEXT), "text")[1],
        "vectors": _vectors(gpt, seen, layer, token),
        "attention": _attention(seen.mixed[layer], head, gpt.config.heads),
        "maps": _maps(seen, layer),
        "lens": _lens(run, seen, token, order[0]),
        "logits": packed(logits),
        "unedited": packed(walk(gpt, ids).logits[token]) if edits else None,
        "named": [[i, label(reader, i), i not in ends] for i in order],
        "banned": banned,
    }


def append(body: Body) -> dict[str, object]:
    """The text with a token behind it."""
    run, ids = read(body)
    token = body.whole("token", 0, run.reader.vocab - 1)
    if token in (*end_of(run)[0], *end_of(run)[1]):
        raise FieldError("token", "this token is no text that could be added")
    ids = ids[1:] if ids[0] == run.reader.start else ids
    given, text = run.reader.shown(ids), body.text("text", limits.TEXT)
    more = run.reader.shown([*ids, token])
    return {"text": text.rstrip() + more[len(given) :] if more.startswith(given) else more}


def packed(x: Tensor) -> dict[str, object]:
    """A tensor in float32, as its bytes."""
    data = x.detach().to("cpu", torch.float32).contiguous()
    return {
        "shape": list(data.shape),
        "data": b64encode(data.numpy().astype("<f4").tobytes()).decode("ascii"),
    }


def edited(body: Body, sizes: tuple[int, int, int]) -> dict[int, Tensor]:
    """Which cells of which layers' masks (H,N,N) change, from rows "layer.head.row.columns".

    Layers and heads count from 1, rows from 0; the columns are the bits of a hexadecimal number. What lies
    beyond the text changes nothing: the text may be shorter than when it was edited.
    """
    layers, heads, N = sizes
    out: dict[int, Tensor] = {}
    for one in body.items("edits", EDITS, []):
        try:
            layer, head, row, bits = str(one)[:80].split(".")
            at, columns = (int(layer) - 1, int(head) - 1, int(row)), int(bits, 16)
        except ValueError:
            raise FieldError("edits", f"edits are layer.head.row.columns, got {str(one)[:40]!r}") from None
        if not (0 <= at[0] < layers and 0 <= at[1] < heads and 0 <= at[2] < TOKENS and columns >= 0):
            raise FieldError("edits", f"no such layer, head or row: {str(one)[:40]!r}")
        if at[2] < N:
            mask = out.setdefault(at[0], torch.zeros(heads, N, N, dtype=torch.bool))
            mask[at[1], at[2]] ^= torch.tensor([bool(columns >> k & 1) for k in range(N)])
    return {layer: mask for layer, mask in out.items() if bool(mask.any())}


def _facts(gpt: GPT, layer: int) -> dict[str, object]:
    config, block = gpt.config, gpt.config.block
    mixer, position = config.mixers[layer], config.positions[layer]
    scale = softcap = None
    if not isinstance(mixer, LinearAttention):
        scale, softcap = config.head_size**-0.5 if mixer.scale is None else mixer.scale, mixer.softcap
    return {
        "layers": config.depth, "heads": config.heads, "groups": config.kv_heads or config.heads,
        "width": config.width, "head": config.head_size, "vocab": config.vocab_size,
        "position": type(position).__name__.lower(), "turned": isinstance(position, Rotary),
        "pattern": str(config.patterns[layer]), "linear": isinstance(mixer, LinearAttention),
        "scale": scale, "softcap": softcap, "block": type(block).__name__, "tied": gpt.head is None,
        "norm": type(block.norm).__name__, "feedforward": type(block.feedforward).__name__,
    }  # fmt: skip


def _vectors(gpt: GPT, seen: Walk, layer: int, token: int) -> dict[str, object]:
    """What the token was at each stage, by name; a stage that the model does not have is not there."""
    block, name = gpt.config.block, f"blocks.{layer}"
    embedded, position = seen.before
    out = {
        "embedding": embedded,
        "position": position,
        "entering": seen.stream[0],
        "in": seen.inputs[name],
        "normed": seen.outputs[f"{name}.attention_norm"]
        if block.norms_attention and not isinstance(block, PostNorm)
        else None,
        "joined": seen.inputs[f"{name}.attention.out"],
        "attended": seen.outputs[f"{name}.attention_after"],
        # What the feed-forward's branch starts from; parallel branches start from what came in.
        "between": None
        if isinstance(block, Parallel)
        else seen.inputs[f"{name}.feedforward"]
        if isinstance(block, PostNorm)
        else seen.inputs[f"{name}.feedforward_norm"],
        "ready": seen.inputs[f"{name}.feedforward"],
        "hidden": seen.inputs[f"{name}.feedforward.down"],
        "fed": seen.outputs[f"{name}.feedforward_after"],
        "out": seen.stream[layer + 1],
        "final": seen.outputs["output_norm"],
    }
    return {name: packed(x[token]) for name, x in out.items() if x is not None}


def _attention(mixed: Mixed, head: int, heads: int) -> dict[str, object]:
    group = head * len(mixed.key) // heads
    square = {"scores": mixed.scores, "bias": mixed.bias, "weights": mixed.weights}
    return {
        "query": packed(mixed.query[head]),
        "key": packed(mixed.key[group]),
        "value": packed(mixed.value[group]),
        "mixture": packed(mixed.out[head]),
        **{name: None if x is None else packed(x[head]) for name, x in square.items()},
        "own": None if mixed.own is None else _bits(mixed.own),
        "mask": None if mixed.mask is None else _bits(mixed.mask[head]),
    }


def _bits(mask: Tensor) -> list[str]:
    return ["".join("1" if one else "0" for one in row) for row in mask.tolist()]


def _maps(seen: Walk, layer: int) -> dict[str, object]:
    """The weights of every head as bytes, 255 for a whole; of one layer alone where all would be too much.

    With each goes what it does most: the mean weight on the token before, on itself and on the first one.
    """
    weights = torch.stack([mixed.weights.float().cpu() for mixed in seen.mixed])  # L H N N
    whole = weights.numel() <= CELLS
    shown = weights if whole else weights[layer : layer + 1]
    N = shown.shape[-1]
    before = shown.diagonal(-1, 2, 3).mean(-1) if N > 1 else torch.zeros(shown.shape[:2])
    does = [before, shown.diagonal(0, 2, 3).mean(-1), shown[..., 0].mean(-1)]
    return {
        "first": 0 if whole else layer,
        "data": b64encode((shown * 255).round().clamp(0, 255).to(torch.uint8).numpy().tobytes()).decode(
            "ascii"
        ),
        "does": torch.stack(does, -1).tolist(),
    }


def _lens(run: LanguageRun, seen: Walk, token: int, likeliest: int) -> list[list[object]]:
    """At each depth, were the model to end there: the likeliest next token, its chance, the final one's."""
    logits = seen.lens(run.gpt, token).float()
    logits[:, [*end_of(run)[1]]] = -torch.inf
    chances = logits.softmax(-1)
    best = chances.argmax(-1)
    return [
        [label(run.reader, int(i)), float(row[i]), float(row[likeliest])]
        for i, row in zip(best, chances, strict=True)
    ]
