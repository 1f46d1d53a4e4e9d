from dataclasses import replace

import pytest

from regard.cost import AttentionShape, price
from regard.cost.sweep import figure, overtakings, sweep
from regard.layers import Alibi, Learned, LinearAttention
from regard.models import GPTConfig, ViTConfig
from regard.paper.quantities import binary
from regard.pattern import Causal, Windowed, parse

LAYER = AttentionShape(width=64, heads=4)


def test_crossings_are_exact():
    found = sweep(LAYER, 16, 4096, ["causal", "windowed(100)", "linear", "rnn"])
    assert found.lengths[0] == 16
    assert found.lengths[-1] == 4096
    for one in found.crossings:

        def flops(name, n):
            from regard.cost import RNNShape

            if name == "rnn":
                what = RNNShape(channels=64, hidden=64)
            elif name == "linear":
                what = replace(LAYER, pattern=Causal(), mixer=LinearAttention())
            else:
                what = replace(LAYER, pattern=parse(name))
            return price(what, tokens=n).flops

        assert flops(one.cheaper, one.n) < flops(one.dearer, one.n)
        assert flops(one.cheaper, one.n - 1) >= flops(one.dearer, one.n - 1)
    assert (101, "windowed(100)", "causal") in [(o.n, o.cheaper, o.dearer) for o in found.crossings]


def test_crossings_before_the_picture_are_told():
    found = sweep(LAYER, 1024, 4096, ["causal", "windowed(100)"])
    assert [text for _, _, text in overtakings(found)] == [
        "from n = 101 windowed(100) is cheaper than causal"
    ]
    assert found.as_dict()["crossings"][0]["n"] == 101


def test_a_curve_is_of_its_own_mixer():
    curves = ["causal", "linear"]
    want = sweep(LAYER, 16, 1024, curves)
    assert sweep(replace(LAYER, mixer=LinearAttention()), 16, 1024, curves) == want


def test_where_scores_are_biased_no_curve_is_linear():
    biased = GPTConfig(vocab=50, context=16, depth=2, width=32, heads=4, position=Alibi())
    assert "linear" in sweep(replace(biased, position=Learned()), 16, 64).curves
    assert list(sweep(biased, 16, 64).curves) == ["causal", "windowed(256)", "strided(1024)"]
    with pytest.raises(ValueError, match=r"Alibi\(\) adds to the scores of a softmax"):
        sweep(biased, 16, 64, ["linear"])


def test_a_whole_model():
    config = GPTConfig(vocab=50, context=16, depth=2, width=32, heads=4)
    found = sweep(config, 16, 256, ["causal", "windowed(8)"])
    assert found.curves["causal"][-1] > found.curves["windowed(8)"][-1]
    assert "GPT of 2 layers" in found.what
    assert Causal().pairs(9) > Windowed(size=8).pairs(9)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: sweep(LAYER, 0, 4), "first must be at least 1"),
        (lambda: sweep(LAYER, 8, 8), "last must be at least 9"),
        (
            lambda: sweep(ViTConfig(image=8, patch=4), 1, 8),
            "a sweep is over a GPTConfig or an AttentionShape",
        ),
        (lambda: sweep(LAYER, 1, 8, ["windwed(3)"]), "did you mean 'windowed'"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


def test_the_picture(tmp_path):
    found = sweep(LAYER, 16, 1024, ["causal", "windowed(100)", "linear"])
    drawn = figure(found)
    assert len(drawn.axes) == 2
    assert [text.get_text() for text in drawn.axes[1].get_legend().get_texts()] == list(found.curves)
    drawn.savefig(tmp_path / "s.svg")
    drawn.savefig(tmp_path / "s.png")
    assert (tmp_path / "s.png").stat().st_size > 10_000


def test_short_names():
    assert [binary(n) for n in (1, 1000, 2048, 3 << 20)] == ["1", "1000", "2k", "3M"]
