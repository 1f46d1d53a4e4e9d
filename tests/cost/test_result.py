from dataclasses import replace
from fractions import Fraction

import pytest

from regard.cost import Cost, price
from regard.cost.result import COUNTS, tree
from regard.models.presets import PRESETS, preset

LAYER = Cost(parameters=12, multiplies=6, adds=3, pairs=2, depth=1, other={"gelu": 4})


def test_costs_add_and_scale():
    both = LAYER + 2 * LAYER
    assert both == LAYER * 3
    assert both.flops == 27
    assert both.other == {"gelu": 12}
    assert both.depth == 3
    assert both != LAYER
    with pytest.raises(TypeError):
        LAYER + 1


def test_what_nobody_measured_stays_unknown():
    assert (replace(LAYER, parameters=None) + LAYER).parameters is None
    assert (replace(LAYER, parameters=None) * 2).parameters is None


def test_costs_compare():
    found = LAYER.compare(Cost(multiplies=9, adds=1, pairs=1))
    assert found["multiplies"] == Fraction(3, 2)
    assert found["pairs"] == Fraction(1, 2)
    assert found["cache_bytes"] is None
    assert found["flops"] == Fraction(10, 9)


def test_a_tree_sums_to_its_whole():
    cost = price(preset("gpt2"), tokens=64, batch=2, training=True)
    assert [name for _, name, _ in cost.walk(depth=1)] == [
        "embed", "position", "blocks ×12", "output_norm", "head (tied)", "output", "loss",
    ]  # fmt: skip

    def check(whole: Cost) -> int:
        if not whole.parts:
            return 1
        total = sum((part for _, part in whole.parts), Cost())
        assert {name: getattr(total, name) for name in COUNTS} == {n: getattr(whole, n) for n in COUNTS}
        assert total.other == whole.other
        return sum(check(part) for _, part in whole.parts)

    assert check(cost) > 12


def test_parts_without_cost_are_not_shown():
    assert [name for name, _ in tree([("a", LAYER), ("b", Cost())]).parts] == ["a"]


def test_as_dict_is_plain():
    data = price(preset("attention"), tokens="n").as_dict()
    assert isinstance(data["flops"], str)
    assert data["parameters"] == 1_050_624
    assert data["parts"][0]["name"] == "qkv"


def test_only_a_price_has_a_formula():
    with pytest.raises(ValueError, match="only what price"):
        (LAYER + LAYER).formula("n")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_price(name):
    config = preset(name)
    kind = type(config).__name__
    image = (28, 20) if kind in ("GridRNNShape", "ConvolutionShape", "GridCompletionConfig") else None
    sequence = (
        kind not in ("ViTConfig", "ViTShape", "ConvNetConfig", "MLPConfig", "GridRNNConfig") and not image
    )
    cost = price(config, tokens=64 if sequence else None, image=image)
    assert cost.flops > 0
    assert cost.notices == ()
