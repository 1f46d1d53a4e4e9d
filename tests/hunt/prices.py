"""Formulas against numbers: random models, sizes left open at random, and random numbers put in for them.

Whatever `price` can be asked with letters must equal, with every letter replaced by a number, what `price`
says of those numbers; or it is refused in one line.
"""

import random
from dataclasses import replace

import sympy
import torch

from regard.cost import (
    AttentionShape,
    ConvolutionShape,
    EmbeddingShape,
    FeedForwardShape,
    GridRNNShape,
    LinearShape,
    LossShape,
    NormShape,
    PatchShape,
    PooledAttentionShape,
    RNNShape,
    WeightlessShape,
    price,
)
from regard.cost.pricing import LETTERS
from regard.cost.result import COUNTS
from regard.layers import (
    Alibi,
    CourseBlock,
    Gelu,
    LayerNorm,
    Learned,
    LinearAttention,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Sinusoidal,
    Softmax,
    SwiGLU,
)
from regard.models import (
    BERTGRUConfig,
    ConvNetConfig,
    EncoderConfig,
    GPTConfig,
    GridCompletionConfig,
    GridRNNConfig,
    GRUConfig,
    MLPConfig,
    Tied,
    Untied,
    ViTConfig,
)
from regard.models.huggingface.shapes import DecoderShape
from regard.pattern import (
    Blocks,
    Causal,
    Dilated,
    Full,
    Global,
    Prefix,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)
from tests.hunt.found import Found

SETTINGS = ("tokens", "batch", "rows", "cols")


def hunt(times: int, seed: int) -> Found:
    """So many questions with letters."""
    found = Found()
    for number in range(times):
        draw = random.Random(f"prices {seed} {number}")
        kind, fault = one(draw)
        found.add(kind, None if fault is None else f"seed {seed}, try {number}: {fault}")
    return found


def one(draw):
    """(what was asked, what is wrong with the answer or None)."""
    name = draw.choice(sorted(KINDS))
    try:
        what, asked = KINDS[name](draw)
    except ValueError as error:
        return "no such model", _one_line(error, name, {})
    asked |= {"dtype": draw.choice([torch.float32, torch.bfloat16, torch.int8])}
    if asked.get("decode") is None:
        asked["training"] = draw.random() < 0.4
    try:
        cost = price(what, **asked)
    except ValueError as error:
        return "refused as numbers", _one_line(error, what, asked)
    chosen = [letter for letter in cost.question.letters() if draw.random() < 0.5] or ["batch"]
    try:
        formula = cost.formula(*chosen)
    except ValueError as error:
        return f"{name} refused", _one_line(error, what, asked)
    for _ in range(3):
        values = {letter: draw.choice([1, 1, 2, 3, 4, 6, 8, 12, draw.randint(1, 40)]) for letter in chosen}
        try:
            changed, question = _changed(what, asked, values)
            number = price(changed, **question)
        except ValueError:
            continue  # no such model
        fault = difference(formula, number, values)
        if fault is not None:
            return name, f"{what} asked {asked} with {values}: {fault}"
    return name, None


def difference(formula, number, values):
    """The first count that differs, or None."""
    put = {sympy.Symbol(LETTERS.get(name, name)): value for name, value in values.items()}
    for count in COUNTS:
        told = sympy.sympify(getattr(formula, count)).subs(put)
        if told != getattr(number, count):
            return f"{count} is {told}, by the number {getattr(number, count)}"
    other = {kind: sympy.sympify(count).subs(put) for kind, count in formula.other.items()}
    kinds = {kind: count for kind, count in other.items() if count != 0}
    mine = {kind: count for kind, count in number.other.items() if count != 0}
    return None if kinds == mine else f"other is {kinds}, by the number {mine}"


def _one_line(error, what, asked):
    return f"{what} asked {asked} is refused in several lines" if "\n" in str(error) else None


def _changed(what, asked, values):
    """The question with numbers for the letters."""
    asked, put = dict(asked), {}
    image = asked.get("image")
    for name, value in values.items():
        if name in ("rows", "cols"):
            image = (value, image[1]) if name == "rows" else (image[0], value)
        elif name in ("tokens", "batch"):
            asked[name] = value
        elif hasattr(what, name):
            put[name] = value
        else:
            put["pattern"] = _with_field(put.get("pattern", what.pattern), name, value)
    if image is not None:
        asked["image"] = image
    return (replace(what, **put) if put else what), asked


def _with_field(pattern, short, value):
    name = next(name for name, own in pattern.letters.items() if own == short)
    return replace(pattern, **{name: value})


def _pattern(draw):
    few = draw.randint(1, 5)
    return draw.choice(
        [
            Full(),
            Causal(),
            Strided(back=few),
            Windowed(size=few),
            Blocks(size=few),
            Dilated(back=few, step=draw.randint(1, 3)),
            SparseStrided(stride=few),
            SparseFixed(stride=few + 1, summary=1),
            Prefix(length=few),
            Strided(back=few) | Global(first=1),
            Global(first=few) & Causal() | Strided(back=2),
        ]
    )


def _mixing(draw):
    if draw.random() < 0.2:
        return {"mixer": LinearAttention(), "pattern": draw.choice([Full(), Causal()])}
    return {"mixer": Softmax(), "pattern": _pattern(draw)}


def _of_tokens(draw, **more):
    return {"tokens": draw.randint(1, 20), "batch": draw.randint(1, 3)} | more


def _heads(draw):
    heads = draw.choice([1, 2, 4])
    return {"heads": heads, "width": heads * draw.choice([1, 2, 4, 6])}


def _block(draw):
    parts = {
        "norm": draw.choice([LayerNorm(), RMSNorm()]),
        "feedforward": draw.choice([Gelu(), Gelu(hidden=7), SwiGLU(), SwiGLU(hidden=5)]),
    }
    return draw.choice([PreNorm, PostNorm])(**parts)


def _attention_layer(draw):
    sizes, kv = _heads(draw), draw.choice([None, 1, 2])
    position = draw.choice([None, Rotary(), Alibi()])
    shape = AttentionShape(**sizes, kv_heads=kv, position=position, **_mixing(draw))
    return shape, _of_tokens(draw)


def _gpt(draw):
    config = GPTConfig(
        vocab=draw.randint(2, 60),
        context=64,
        depth=draw.randint(1, 3),
        **_heads(draw),
        **_mixing(draw),
        position=draw.choice([Learned(), Rotary(), Sinusoidal()]),
        block=draw.choice([_block(draw), CourseBlock()]),
        head=draw.choice([Tied(), Untied(), Untied(bias=False)]),
    )
    return config, _of_tokens(draw, **({"decode": True} if draw.random() < 0.3 else {}))


def _encoder(draw):
    config = EncoderConfig(
        vocab=draw.randint(2, 60),
        context=64,
        types=draw.choice([0, 2]),
        classes=draw.choice([None, 3]),
        depth=draw.randint(1, 3),
        **_heads(draw),
        pattern=_pattern(draw),
        position=draw.choice([Learned(), Rotary()]),
        block=_block(draw),
        pool=draw.choice(["class", "mean"]),
    )
    return config, _of_tokens(draw)


def _vit(draw):
    config = ViTConfig(
        image=(8, 12),
        patch=draw.choice([2, 4]),
        channels=draw.choice([1, 3]),
        classes=draw.choice([None, 10]),
        depth=draw.randint(1, 3),
        **_heads(draw),
        block=_block(draw),
        pool=draw.choice(["class", "mean"]),
    )
    return config, {"batch": draw.randint(1, 3)}


def _decoder(draw):
    shape = DecoderShape(
        vocab=draw.randint(2, 60),
        depth=draw.randint(1, 3),
        **_heads(draw),
        kv_heads=draw.choice([None, 1]),
        hidden=draw.randint(1, 9),
        pattern=draw.choice([Causal(), Strided(back=draw.randint(1, 5))]),
        tied=draw.random() < 0.5,
        head_norm=draw.random() < 0.5,
    )
    return shape, _of_tokens(draw, **({"decode": True} if draw.random() < 0.5 else {}))


def _segmented(draw):
    shape, _ = draw.choice([_attention_layer, _encoder])(draw)
    batch, tokens = draw.randint(1, 3), draw.randint(1, 9)
    rows = [[draw.choice([-1, 0, 0, 1]) for _ in range(tokens)] for _ in range(batch)]
    return shape, {"segments": torch.tensor(rows)}


def _small_layer(draw):
    a, b = draw.randint(1, 6), draw.randint(1, 6)
    shape = draw.choice(
        [
            LinearShape(inputs=a, outputs=b, bias=draw.random() < 0.5),
            FeedForwardShape(width=a, hidden=b),
            FeedForwardShape(width=a, gated=True, hidden=b),
            NormShape(width=a, norm=draw.choice([LayerNorm(), RMSNorm()])),
            EmbeddingShape(vocab=a, width=b),
            LossShape(classes=a),
            RNNShape(channels=a, hidden=b, layers=draw.randint(1, 3)),
            WeightlessShape(width=a, scale=draw.choice([1.0, 0.5])),
            PooledAttentionShape(
                width=a, head_width=b, value_width=a, arrangement=draw.choice(["linear", "plain"])
            ),
        ]
    )
    return shape, _of_tokens(draw)


def _over_a_grid(draw):
    channels, hidden = draw.randint(1, 4), draw.randint(1, 6)
    starts = tuple(draw.sample(["top-left", "top-right", "bottom-left", "bottom-right"], draw.randint(1, 4)))
    named = {"channels": channels, "hidden": hidden, "layers": draw.randint(1, 3)}
    what = draw.choice(
        [
            GridRNNShape(**named, starts=len(starts), bias=draw.random() < 0.5),
            ConvolutionShape(inputs=channels, outputs=hidden, kernel=draw.choice([1, 3]), padding="same"),
            PatchShape(channels=channels, width=hidden, patch=(2, 3)),
            GridCompletionConfig(levels=draw.choice([2, 3, 4]), hidden=hidden, layers=draw.randint(1, 2)),
        ]
    )
    return what, {"image": (6, 6), "batch": draw.randint(1, 3)}


def _of_images(draw):
    channels, classes = draw.randint(1, 4), draw.randint(1, 9)
    named = {"image": draw.choice([8, (8, 12)]), "channels": channels, "classes": classes}
    what = draw.choice(
        [
            MLPConfig(**named, widths=(draw.randint(1, 9), 4)),
            ConvNetConfig(**named, widths=(4, 6), kernel=3),
            GridRNNConfig(**named, patch=draw.choice([1, 2]), hidden=draw.randint(1, 6)),
        ]
    )
    return what, {"batch": draw.randint(1, 3)}


def _of_words(draw):
    sizes = {"hidden": draw.randint(1, 6), "classes": draw.randint(1, 4), "layers": draw.randint(1, 2)}
    both = draw.random() < 0.5
    bert = EncoderConfig(vocab=30, context=64, depth=1, width=8, heads=2)
    what = draw.choice(
        [
            GRUConfig(
                vocab=draw.randint(2, 40), context=64, width=draw.randint(1, 8), bidirectional=both, **sizes
            ),
            BERTGRUConfig(bert=bert, bidirectional=both, **sizes),
        ]
    )
    return what, _of_tokens(draw)


KINDS = {
    "attention": _attention_layer,
    "gpt": _gpt,
    "encoder": _encoder,
    "vit": _vit,
    "decoder": _decoder,
    "segments": _segmented,
    "layer": _small_layer,
    "grid": _over_a_grid,
    "images": _of_images,
    "words": _of_words,
}
