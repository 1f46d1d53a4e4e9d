import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.models.quantise import grow, shrink
from tests.train.runs.conftest import draw


@given(st.integers(1, 5), st.integers(1, 7), st.floats(-20, 20), st.integers(0, 99))
def test_int8_is_off_by_half_a_step_at_most(rows, cols, power, seed):
    weight = torch.randn(rows, cols, generator=draw(seed)) * 10.0**power
    back = grow(shrink({"w": weight}, "int8"))["w"]
    step = weight.abs().amax(1, keepdim=True) / 127
    assert ((back - weight).abs() <= step * 0.5001).all()
    assert back.dtype == torch.float32


def test_the_largest_of_a_row_is_kept():
    weight = torch.tensor([[0.5, -3.0], [0.0, 0.0], [1e-30, 0.0]])
    back = grow(shrink({"w": weight}, "int8"))["w"]
    assert back[0, 1] == -3.0
    assert back[1].tolist() == [0.0, 0.0]
    assert back[2, 0] == pytest.approx(1e-30)


def test_shapes_and_kinds():
    weights = {
        "conv": torch.randn(4, 3, 2, 2),
        "bias": torch.randn(4),
        "count": torch.arange(3),
        "one": torch.ones(()),
    }
    small = shrink(weights, "int8")
    assert {name: tensor.dtype for name, tensor in small.items()} == {
        "conv": torch.int8, "conv::scale": torch.float32, "bias": torch.float32, "count": torch.int64,
        "one": torch.float32,
    }  # fmt: skip
    back = grow(small)
    assert {name: tensor.shape for name, tensor in back.items()} == {n: t.shape for n, t in weights.items()}
    assert torch.equal(back["bias"], weights["bias"])
    half = shrink(weights, "bfloat16")
    assert half["conv"].dtype == torch.bfloat16
    assert torch.equal(grow(half)["conv"], weights["conv"].bfloat16().float())


def test_errors():
    with pytest.raises(ValueError, match="dtype='int4'"):
        shrink({}, "int4")
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="infinities or NaN in w"):
            shrink({"w": torch.tensor([[value]])}, "int8")
    with pytest.raises(ValueError, match="got w::scale alone"):
        grow({"w::scale": torch.ones(1)})
    with pytest.raises(ValueError, match="w must be int8 with a scale per row"):
        grow({"w": torch.ones(2, 2, dtype=torch.int8), "w::scale": torch.ones(3)})
