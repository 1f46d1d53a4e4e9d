"""One set of rules makes numbers and formulas, so that they agree wherever both exist."""

import pytest
import sympy

from regard.cost import (
    AttentionShape,
    GridRNNShape,
    PooledAttentionShape,
    RNNShape,
    WeightlessShape,
    price,
)
from regard.cost.formulas import big_o, smooth
from regard.cost.result import COUNTS
from regard.layers import (
    Alibi,
    Learned,
    LinearAttention,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Softmax,
    SwiGLU,
)
from regard.models import EncoderConfig, GPTConfig, GridRNNConfig, Untied, ViTConfig
from regard.models.huggingface.shapes import DecoderShape
from regard.paper.formulas import written
from regard.pattern import Causal, Dilated, Global, Prefix, SparseFixed, SparseStrided, Strided, Windowed

n, B, d = sympy.symbols("n B d")


def same(formula, number, values):
    for name in COUNTS:
        left = sympy.sympify(getattr(formula, name)).subs(values)
        assert left == getattr(number, name), name
    assert {kind: sympy.sympify(count).subs(values) for kind, count in formula.other.items()} == number.other


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "pattern",
    [
        Causal(),
        Strided(back=3),
        Windowed(size=4),
        Dilated(back=2, step=3),
        SparseStrided(stride=3),
        SparseFixed(stride=4, summary=1),
        Prefix(length=3),
        Strided(back=2) | Global(first=1),
        None,
    ],
    ids=str,
)
def test_formulas_are_the_numbers(pattern, training):
    mixed = {"mixer": (LinearAttention(), Softmax())} if pattern is None else {"pattern": pattern}
    config = GPTConfig(vocab=50, context=64, depth=2, width=24, heads=4, kv_heads=2, **mixed)
    formula = price(config, tokens=1, training=training).formula("n", "B")
    for tokens, batch in ((1, 1), (3, 2), (4, 1), (13, 5), (64, 3)):
        same(formula, price(config, tokens=tokens, batch=batch, training=training), {n: tokens, B: batch})


@pytest.mark.parametrize(
    "block", [PreNorm(), PostNorm(), PreNorm(norm=RMSNorm(), feedforward=SwiGLU(hidden=7))], ids=str
)
@pytest.mark.parametrize("position", [Learned(), Rotary(), Alibi()], ids=str)
def test_fields_as_letters(block, position):
    def config(vocab, depth, width):
        return GPTConfig(
            vocab=vocab, context=32, depth=depth, width=width, heads=4, block=block, position=position,
            head=Untied(),
        )  # fmt: skip

    formula = price(config(9, 2, 24), tokens=5).formula("n", "vocab", "depth", "width")
    for tokens, vocab, depth, width in ((5, 9, 2, 24), (7, 50, 3, 40)):
        values = {n: tokens, "V": vocab, "L": depth, "d": width}
        same(formula, price(config(vocab, depth, width), tokens=tokens), values)


def test_formulas_of_other_models():
    vit = ViTConfig(image=(8, 12), patch=4, classes=10, depth=2, width=24, heads=4)
    same(price(vit).formula("n", "B"), price(vit, batch=3), {n: 7, B: 3})
    encoder = EncoderConfig(vocab=50, context=16, classes=3, types=2, depth=2, width=24, heads=4)
    same(price(encoder, tokens=1).formula(), price(encoder, tokens=9, batch=2), {n: 9, B: 2})
    grid = GridRNNConfig(image=(4, 6), classes=3, hidden=8)
    same(price(grid).formula("B"), price(grid, batch=4), {B: 4})
    decoder = DecoderShape(vocab=99, depth=3, width=24, heads=4, kv_heads=2, hidden=40)
    formula = price(decoder, tokens=4).formula("n", "depth", "width", "hidden")
    same(formula, price(decoder, tokens=6), {n: 6, "L": 3, "d": 24, "h": 40})


def test_a_self_attention_layer():
    layer = price(AttentionShape(width="d", heads="H"), tokens="n")
    assert sympy.expand(layer.macs - (4 * n * d**2 + 2 * n**2 * d)) == 0
    assert layer.order("flops") == "O(d²n + dn²)"
    assert layer.order("parameters") == "O(d²)"


def test_a_grid_rnn():
    h, c, R, C = sympy.symbols("h c R C")
    cost = price(GridRNNShape(channels="c", hidden="h"), image=("R", "C"))
    assert sympy.expand(cost.parameters - (2 * h**2 + h * c)) == 0
    assert sympy.expand(cost.multiplies - (R * C * h * c + (2 * R * C - R - C) * h**2)) == 0
    assert sympy.expand(cost.adds - (R * C * h * (c - 1) + (2 * R * C - R - C) * h**2)) == 0
    assert sympy.expand(cost.depth - (R + C - 1)) == 0


def test_orders_side_by_side():
    def order(shape, *letters):
        return price(shape, tokens=16).order("flops", *letters)

    assert order(AttentionShape(width=8, pattern=Windowed(size=4)), "n") == "O(n)"
    assert order(AttentionShape(width=8, pattern=Windowed(size=4)), "n", "w") == "O(nw)"
    assert order(AttentionShape(width=8, pattern=Strided(back=4)), "n", "t") == "O(nt + t²)"
    assert order(AttentionShape(width=8, pattern=Causal()), "n") == "O(n²)"
    assert order(AttentionShape(width=8, mixer=LinearAttention()), "n") == "O(n)"
    assert order(RNNShape(channels=8, hidden=8), "n", "hidden") == "O(h²n)"
    assert order(WeightlessShape(width=8), "n", "width") == "O(dn²)"
    pooled = {"width": 8, "head_width": 4, "value_width": 8}
    assert order(PooledAttentionShape(**pooled), "n") == "O(n)"
    assert order(PooledAttentionShape(**pooled, arrangement="plain"), "n") == "O(n²)"
    assert price(RNNShape(channels=8, hidden=8), tokens=16).order("depth", "n") == "O(n)"


def test_what_has_no_formula():
    from regard.pattern import Axial

    cost = price(AttentionShape(width=8, pattern=Axial(rows=4, cols=4)), tokens=16)
    with pytest.raises(ValueError, match="has no formula in n"):
        cost.formula("n")
    two = GPTConfig(vocab=9, context=64, depth=2, pattern=[Causal(), Strided(back=3)])
    mixed = GPTConfig(vocab=9, context=64, depth=2, mixer=[Softmax(), LinearAttention()])
    for config in (two, mixed):
        with pytest.raises(ValueError, match="a letter only where all blocks have one pattern and one mixer"):
            price(config, tokens=8).formula("depth")
    with pytest.raises(ValueError, match="which queries see nothing depends on n"):
        price(AttentionShape(width=8, pattern=~Causal()), tokens=8).formula("n")


def test_how_they_are_written():
    assert written(12_345) == "12,345"
    assert written(n**2 / 2 - n) == "n²/2 − n"
    assert written(d / n) == "d/n"
    assert written(sympy.Integer(0)) == "0"
    assert written(sympy.Min(n, 4) * d) == "d·min(4, n)"
    assert "otherwise" in written(Strided(back=3).formula())
    assert "if 4 divides n" in written(Windowed(size=4).formula())
    assert big_o(sympy.Integer(3)) == "O(1)"
    assert big_o(n / d) == "O(n/d)"
    assert smooth(Windowed(size=4).formula()) == 5 * n / 2
