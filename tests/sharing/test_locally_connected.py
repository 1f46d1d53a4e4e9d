"""Unshared windows: equal to a convolution when tied, to a loop over places otherwise."""

import pytest
import torch
from torch import nn

from regard.sharing import LocallyConnected1d, LocallyConnected2d


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 0), (2, 1)])
@pytest.mark.parametrize("bias", [True, False])
def test_tied_2d_is_the_convolution(stride: tuple[int, int], padding: tuple[int, int], bias: bool) -> None:
    conv = nn.Conv2d(2, 3, (2, 3), stride, padding, bias=bias).double()
    layer = LocallyConnected2d.from_conv(conv, (5, 7))
    x = drawn(4, 2, 5, 7)
    assert layer.weight.dtype == torch.float64
    assert torch.allclose(layer(x), conv(x), atol=1e-13)


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 2)])
def test_tied_1d_is_the_convolution(stride: int, padding: int) -> None:
    conv = nn.Conv1d(2, 3, 4, stride, padding).double()
    layer = LocallyConnected1d.from_conv(conv, 9)
    x = drawn(4, 2, 9)
    assert torch.allclose(layer(x), conv(x), atol=1e-13)
    layer.tie(2 * conv.weight, conv.bias)
    assert not torch.allclose(layer(x), conv(x))


def test_every_place_has_its_own_weights_and_gradient() -> None:
    layer = LocallyConnected2d(2, 3, (4, 5), (2, 3), (2, 1), (0, 1)).double()
    x = drawn(2, 2, 4, 5).requires_grad_()
    out = layer(x)
    padded = nn.functional.pad(x, (1, 1, 0, 0))
    expected = torch.empty_like(out)
    for row in range(2):
        for col in range(5):
            window = padded[:, :, 2 * row : 2 * row + 2, col : col + 3].flatten(1)
            place = row * 5 + col
            expected[:, :, row, col] = window @ layer.weight[place] + layer.bias[place]
    assert torch.allclose(out, expected, atol=1e-13)
    G = drawn(*out.shape)
    inputs = [x, layer.weight, layer.bias]
    for a, b in zip(
        torch.autograd.grad(out, inputs, G), torch.autograd.grad(expected, inputs, G), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-12)


def test_gradient_of_a_shared_kernel_is_the_sum_over_places() -> None:
    conv = nn.Conv1d(1, 1, 3, bias=False).double()
    layer = LocallyConnected1d.from_conv(conv, 9)
    x = drawn(2, 1, 9)
    layer(x).square().sum().backward()
    conv(x).square().sum().backward()
    assert torch.allclose(layer.weight.grad.sum(0).flatten(), conv.weight.grad.flatten(), atol=1e-12)


def test_one_product_for_all_places() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            self.seen.append(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    layer = LocallyConnected2d(1, 2, 30, 3)
    with torch.no_grad(), Calls() as calls:
        layer(torch.zeros(2, 1, 30, 30))
    assert [name for name in calls.seen if "mm" in name] == ["baddbmm"]
    assert len(calls.seen) < 20


def test_twenty_one_weights_for_nine_inputs() -> None:
    layer = LocallyConnected1d(1, 1, size=9, kernel=3, bias=False)
    assert sum(p.numel() for p in layer.parameters()) == 21
    assert layer.bias is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LocallyConnected1d(0, 1, 9, 3), "in_channels must be at least 1, got in_channels=0"),
        (lambda: LocallyConnected1d(1, 1, 2, 3), "got kernel=3, n=2, padding=0"),
        (lambda: LocallyConnected1d(1, 1, 9, 0), "kernel must be at least 1, got kernel=0"),
        (lambda: LocallyConnected2d(1, 1, (4, 5, 6), 3), r"size must be an integer or \(rows, cols\)"),
        (lambda: LocallyConnected2d(1, 1, 4, 3)(torch.zeros(1, 4, 4)), r"x must have shape \(B, 1, 4, 4\)"),
        (lambda: LocallyConnected1d(2, 1, 4, 3)(torch.zeros(1, 1, 4)), r"x must have shape \(B, 2, 4\), got"),
        (lambda: LocallyConnected1d(1, 1, 4, 3).tie(torch.zeros(3)), r"kernel must have shape \(1, 1, 3\)"),
        (
            lambda: LocallyConnected1d(1, 1, 4, 3).tie(torch.zeros(1, 1, 3)),
            "bias must be given exactly if the layer has one, got bias=None",
        ),
        (lambda: LocallyConnected1d.from_conv(nn.Conv2d(1, 1, 1), 3), "conv must be a Conv1d, got Conv2d"),  # type: ignore[arg-type]
        (
            lambda: LocallyConnected1d.from_conv(nn.Conv1d(2, 2, 1, groups=2), 3),
            "conv must have groups 1, got conv.groups=2",
        ),
        (
            lambda: LocallyConnected2d.from_conv(nn.Conv2d(1, 1, 2, dilation=2), 5),
            r"conv must have dilation \(1, 1\), got conv.dilation=\(2, 2\)",
        ),
        (
            lambda: LocallyConnected2d.from_conv(nn.Conv2d(1, 1, 3, padding="same"), 5),
            "conv must have its padding in numbers, got conv.padding='same'",
        ),
    ],
)
def test_bad_arguments_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
