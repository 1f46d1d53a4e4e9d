"""Rules of the models, from their configs alone: no weight is ever made."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from regard.cost import recurrent
from regard.cost.blocks import (
    block,
    decoded,
    elements,
    embedding,
    heads_of,
    loss,
    mean,
    norm,
    position,
    stack,
)
from regard.cost.dense import convolution, kept, linear, shared_product, weights
from regard.cost.result import Cost, Number, together, tree
from regard.cost.setting import Setting, is_symbolic
from regard.layers import LayerNorm
from regard.models import Untied
from regard.sharing.sizes import pair

Parts = list[tuple[str, Cost]]


def need_tokens(s: Setting) -> Number:
    """How many tokens, or a ValueError that asks for them."""
    if s.tokens is None:
        raise ValueError("tokens must be given for a model of sequences, such as tokens=1024")
    return s.tokens


def trunk(s: Setting, c: Any, n: Number, *, kv_heads: Any = None, head_width: Any = None) -> Parts:
    """The norm of the inputs and the blocks."""
    h = heads_of(c.width, c.heads, kv_heads, head_width)
    part = getattr(c, "position", None)
    normed = norm(s, c.block.norm, s.batch * n, c.width) if c.block.norms_input else Cost()
    blocks = stack(c.patterns, c.depth, lambda pattern: block(s, c.block, h, pattern, part, n))
    return [("input_norm", normed), *blocks]


def gpt(c: Any, s: Setting) -> Cost:
    """Embedding, positions, blocks, logits at every position."""
    n = need_tokens(s)
    rows = s.batch * n
    parts: Parts = [
        ("embed", embedding(s, rows, c.vocab, c.width)),
        ("position", position(s, c.position, n, c.context, c.width)),
        *trunk(s, c, n, kv_heads=c.kv_heads, head_width=c.head_width),
        ("output_norm", norm(s, c.block.norm, rows, c.width) if c.block.norms_output else Cost()),
    ]
    if isinstance(c.head, Untied):
        parts.append(("head", linear(s, rows, c.width, c.vocab, bias=c.head.bias)))
    else:
        parts.append(("head (tied)", shared_product(s, rows, c.width, c.vocab)))
    parts.append(("output", Cost(moved_bytes=rows * c.vocab * s.each)))
    if s.training:
        parts.append(("loss", loss(s, rows, c.vocab)))
    return decoded(s, tree(parts))


def encoder_trunk(c: Any, s: Setting) -> Parts:
    """Embedding, types, positions and blocks, up to the last hidden states."""
    n = need_tokens(s)
    rows = s.batch * n
    types = Cost(adds=rows * c.width) + weights(s, c.types * c.width) if c.types != 0 else Cost()
    return [
        ("embed", embedding(s, rows, c.vocab, c.width)),
        ("types", types),
        ("position", position(s, c.position, n, c.context, c.width)),
        *trunk(s, c, n),
        ("output_norm", norm(s, c.block.norm, rows, c.width) if c.block.norms_output else Cost()),
    ]


def pooler(s: Setting, width: Number) -> Cost:
    """Linear and tanh on the class token."""
    return linear(s, s.batch, width, width) + elements("tanh", s.batch * width)


def encoder(c: Any, s: Setting) -> Cost:
    """Hidden states, one pooled vector, a classifier."""
    if c.pool == "class":
        pooled = ("pooler", pooler(s, c.width))
    else:
        pooled = ("mean", segment_mean(s, need_tokens(s), c.width))
    return tree([*encoder_trunk(c, s), pooled, *classifier(s, c.width, c.classes)])


def gru_layers(s: Setting, c: Any, n: Number, inputs: Number, *, first: bool) -> Parts:
    """Stacked GRUs, both directions at once; padding is read like any token."""
    sides = 2 if c.bidirectional else 1

    def layer(channels: Number, first: bool) -> Cost:
        return recurrent.beside([recurrent.gru(s, n, channels, c.hidden, first=first)] * sides)

    parts: Parts = [("reader.0", layer(inputs, first))]
    if is_symbolic(c.layers) or c.layers > 1:
        parts.append((f"reader ×{c.layers - 1}", layer(c.hidden * sides, False) * (c.layers - 1)))
    return [*parts, *classifier(s, c.hidden * sides, c.classes)]


def gru_classifier(c: Any, s: Setting) -> Cost:
    """Embedding, GRUs, a classifier of their last states."""
    n = need_tokens(s)
    embed = embedding(s, s.batch * n, c.vocab, c.width)
    return tree([("embed", embed), *gru_layers(s, c, n, c.width, first=False)])


def bert_gru(c: Any, s: Setting) -> Cost:
    """A frozen encoder's hidden states, without gradients even in training; GRUs, a classifier."""
    bert, frozen = c.bert, replace(s, training=False)
    unused = bert.width * (bert.width + 1) if bert.pool == "class" else 0
    unused += 0 if bert.classes is None else (bert.width + 1) * bert.classes
    held = Cost(parameters=unused, weight_bytes=unused * s.each)  # pooler and head come along, and rest
    hidden = tree([*encoder_trunk(bert, frozen), ("unused", held)])
    return tree([("bert", hidden), *gru_layers(s, c, need_tokens(s), bert.width, first=True)])


def segment_mean(s: Setting, n: Number, width: Number) -> Cost:
    """The mean over the tokens that are no padding; without segments over all."""
    out = mean(s, n, width)
    if s.segments is None:
        return out
    # Padding is multiplied away, and the real tokens are counted.
    return out + Cost(multiplies=s.batch * n * width, adds=s.batch * (n - 1))


def classifier(s: Setting, width: Number, classes: Number | None) -> Parts:
    """The linear head of a pooled vector, and its loss."""
    outputs = width if classes is None else classes
    parts: Parts = [] if classes is None else [("head", linear(s, s.batch, width, classes))]
    parts.append(("output", Cost(moved_bytes=s.batch * outputs * s.each)))
    return [*parts, ("loss", loss(s, s.batch, outputs))] if s.training and classes is not None else parts


def vit(c: Any, s: Setting) -> Cost:
    """Patches, positions, blocks, the class token or the mean, a classifier."""
    high, wide = pair("patch", c.patch, 1)
    extra = 1 if c.pool == "class" else 0
    patches = _patches(c, s, (high, wide), extra)
    n = patches + extra
    table = c.grid[0] * c.grid[1] if not is_symbolic(patches) else patches
    taps = c.channels * high * wide
    embed = linear(s, s.batch * patches, taps, c.width, first=True)
    embed += Cost(moved_bytes=s.batch * patches * taps * s.each)
    placed = Cost(adds=s.batch * patches * c.width) + kept(s, s.batch * n * c.width)
    placed += weights(s, (table + extra) * c.width)
    if table != patches:
        placed += elements("interpolate", patches * c.width)
    read = s.batch if extra else s.batch * n
    parts: Parts = [
        ("patches", embed),
        ("position", placed),
        *trunk(s, c, n, head_width=c.head_width),
        ("output_norm", norm(s, c.block.norm, read, c.width) if c.block.norms_output else Cost()),
        ("mean", Cost() if extra else segment_mean(s, n, c.width)),
    ]
    return tree([*parts, *classifier(s, c.width, c.classes)])


def _patches(c: Any, s: Setting, patch: tuple[int, int], extra: int) -> Number:
    if s.tokens is not None and is_symbolic(s.tokens):
        return s.tokens - extra
    rows, cols = pair("image", c.image if s.image is None else s.image, 1)
    if rows % patch[0] or cols % patch[1]:
        raise ValueError(f"patches must tile the image, got image={(rows, cols)}, patch={patch}")
    return (rows // patch[0]) * (cols // patch[1])


def fixed_image(c: Any, s: Setting) -> tuple[int, int]:
    """The config's image; another one is refused, as the model would."""
    size = pair("image", c.image, 1)
    if s.image is not None and pair("image", s.image, 1) != size:
        raise ValueError(f"the model takes images of {size} alone, got image={s.image}")
    return size


def convnet(c: Any, s: Setting) -> Cost:
    """Convolutions with ReLU, maxima between them, the mean over places, a classifier."""
    size = fixed_image(c, s)
    parts: Parts = [("input", Cost(moved_bytes=s.batch * c.channels * size[0] * size[1] * s.each))]
    sides, before = [c.channels, *c.widths], None
    for i, ((a, b), (rows, cols)) in enumerate(zip(pairwise(sides), c.grids, strict=True)):
        places = s.batch * rows * cols
        pooled = elements("max", places * a) if before is not None else Cost()
        before = places
        conv = convolution(s, places, a * c.kernel**2, b, inputs=places * a, first=i == 0)
        parts.append((f"layers.{i}", together(pool=pooled, conv=conv, relu=elements("relu", places * b))))
    rows, cols = c.grids[-1]
    parts.append(("mean", mean(s, rows * cols, sides[-1])))
    return tree([*parts, *classifier(s, sides[-1], c.classes)])


def mlp(c: Any, s: Setting) -> Cost:
    """Linear layers with ReLU between them."""
    fixed_image(c, s)
    parts: Parts = [("input", Cost(moved_bytes=s.batch * c.inputs * s.each))]
    sides = [c.inputs, *c.widths]
    for i, (a, b) in enumerate(pairwise(sides)):
        layer = linear(s, s.batch, a, b, first=i == 0)
        parts.append((f"layers.{i}", together(linear=layer, relu=elements("relu", s.batch * b))))
    head = linear(s, s.batch, sides[-1], c.classes, first=len(sides) == 1)
    parts += [("head", head), ("output", Cost(moved_bytes=s.batch * c.classes * s.each))]
    return tree([*parts, ("loss", loss(s, s.batch, c.classes))] if s.training else parts)


def grid_layers(  # noqa: PLR0913 - a rule of its sizes
    s: Setting,
    grid: tuple[Number, Number],
    inputs: Number,
    hidden: Number,
    *,
    layers: Number,
    starts: int,
    activation: str,
    bias: bool,
    first: bool,
) -> Parts:
    """Stacked recurrences over a grid, each layer from several corners at once."""

    def layer(channels: Number, first: bool) -> Cost:
        scan = recurrent.grid_rnn(s, *grid, channels, hidden, activation=activation, bias=bias, first=first)
        return recurrent.beside([scan] * starts)

    parts: Parts = [("scans.0", layer(inputs, first))]
    if is_symbolic(layers) or layers > 1:
        parts.append((f"scans ×{layers - 1}", layer(hidden * starts, False) * (layers - 1)))
    return parts


def grid_classifier(c: Any, s: Setting) -> Cost:
    """Recurrences over the grid of patches, the mean over all cells, a norm, a classifier."""
    fixed_image(c, s)
    rows, cols = c.grid if s.image is None or not is_symbolic(s.image[0]) else s.image
    width = c.hidden * len(c.starts)
    scans = grid_layers(
        s,
        (rows, cols),
        c.cell,
        c.hidden,
        layers=c.layers,
        starts=len(c.starts),
        activation=c.activation,
        bias=True,
        first=True,
    )
    parts: Parts = [
        ("input", Cost(moved_bytes=s.batch * rows * cols * c.cell * s.each)),
        *scans,
        ("mean", mean(s, rows * cols, width)),
        ("norm", norm(s, LayerNorm(), s.batch, width)),
    ]
    return tree([*parts, *classifier(s, width, c.classes)])


def grid_completion(c: Any, s: Setting) -> Cost:
    """Two recurrences over all pixels, and logits for the level of each."""
    if s.image is None:
        raise ValueError("image must be given for a model of images of any size, such as image=(28, 28)")
    rows, cols = s.image
    pixels, width = s.batch * rows * cols, 2 * c.hidden
    factor = 0 if c.levels == 3 else 1  # a level is times 2/(levels − 1), which for 3 is 1
    scans = grid_layers(
        s,
        (rows, cols),
        2,
        c.hidden,
        layers=c.layers,
        starts=2,
        activation=c.activation,
        bias=True,
        first=True,
    )
    parts: Parts = [
        ("cells", Cost(multiplies=factor * pixels, adds=pixels, moved_bytes=8 * pixels)),
        *scans,
        ("head", linear(s, pixels, width, c.levels)),
        ("output", Cost(moved_bytes=pixels * c.levels * s.each)),
    ]
    return tree([*parts, ("loss", loss(s, pixels, c.levels))] if s.training else parts)
