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
    Natural,
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
    what, asked = KINDS[name](draw)
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
            number = price(*_changed(what, asked, values))
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
