"""Recurrent layers against the functions they hold weights for."""

import pytest
import torch

from regard.layers.recurrent import RNN, GridRNNStack, GridScan
from regard.recurrence import ACTIVATIONS, STARTS, grid_rnn, rnn


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_stacked_rnn_is_a_chain_of_recurrences(activation: str) -> None:
    layer = RNN(3, 5, layers=2, activation=activation, generator=seeded()).double()
    x, h0 = (
        torch.randn(2, 4, 3, generator=seeded(1)).double(),
        torch.randn(2, 2, 5, generator=seeded(2)).double(),
    )
    first, second = layer.layers
    phi = ACTIVATIONS[activation]
    below = rnn(x, first.W_x, first.W_h, first.b, h0[0], phi, impl="reference")
    expected = rnn(below, second.W_x, second.W_h, second.b, h0[1], phi, impl="reference")
    assert torch.allclose(layer(x, h0), expected, atol=1e-12)
    assert torch.allclose(layer(x), layer(x, torch.zeros_like(h0)), atol=1e-12)


@pytest.mark.parametrize("starts", [("top-left",), ("top-right", "bottom-left"), tuple(STARTS)])
def test_stacked_grid_joins_its_corners(starts: tuple[str, ...]) -> None:
    layer = GridRNNStack(3, 5, layers=2, starts=starts, generator=seeded()).double()
    x = torch.randn(2, 3, 4, 3, generator=seeded(1)).double()
    expected = x
    for scans in layer.layers:
        expected = torch.cat(
            [
                grid_rnn(expected, s.W_in, s.W_left, s.W_top, start=start, impl="reference")
                for s, start in zip(scans, starts, strict=True)
            ],
            3,
        )
    assert expected.shape[3] == layer.width
    assert torch.allclose(layer(x), expected, atol=1e-12)


def test_no_bias_by_default_and_every_weight_learns() -> None:
    layer = GridRNNStack(2, 4, layers=2, starts=("top-left", "bottom-right"))
    assert not any(name.endswith("b") for name, _ in layer.named_parameters())
    layer = GridRNNStack(2, 4, layers=2, starts=("top-left", "bottom-right"), bias=True)
    layer(torch.randn(1, 3, 5, 2, generator=seeded())).square().sum().backward()
    for name, weight in layer.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.abs().sum() > 0, name


@pytest.mark.parametrize("bias", [False, True])
def test_cell_by_cell_is_the_scan(bias: bool) -> None:
    scan = GridScan(3, 4, "top-left", "tanh", bias, seeded()).double()
    if bias:
        torch.nn.init.normal_(scan.b, generator=seeded(3))
    x = torch.randn(2, 3, 5, 3, generator=seeded(1)).double()
    expected = scan(x)
    state: dict[tuple[int, int], torch.Tensor] = {}
    for row in range(3):
        for col in range(5):
            state[row, col] = scan.cell(x[:, row, col], state.get((row, col - 1)), state.get((row - 1, col)))
            assert torch.allclose(state[row, col], expected[:, row, col], atol=1e-12)


def test_the_generator_decides_the_weights_and_signals_keep_their_size() -> None:
    a, b, c = (GridRNNStack(3, 6, generator=seeded(seed)) for seed in (0, 0, 1))
    for p, q, r in zip(a.parameters(), b.parameters(), c.parameters(), strict=True):
        assert torch.equal(p, q)
        assert not torch.equal(p, r)
    deep = GridRNNStack(1, 32, activation="identity", generator=seeded())
    corner = torch.zeros(1, 40, 40, 1)
    corner[0, 0, 0] = 1.0
    norms = deep(corner)[0].norm(dim=2)
    assert norms.max() <= 1.01 * norms[0, 0]  # two neighbours, each turned and halved: it cannot grow


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RNN(0, 5), "channels must be at least 1, got channels=0"),
        (lambda: RNN(3, 5, layers=0), "layers must be at least 1, got layers=0"),
        (
            lambda: RNN(3, 5, activation="gelu"),
            "activation must be one of tanh, relu, sigmoid, identity, got",
        ),
        (
            lambda: RNN(3, 5)(torch.zeros(2, 4, 3), torch.zeros(2, 5)),
            r"h0 must be \(layers=1, B, hidden\), got",
        ),
        (lambda: RNN(3, 5)(torch.zeros(2, 4, 2)), r"W_x must have shape \(h, c\) with c=2, got"),
        (
            lambda: GridRNNStack(3, 5, starts=()),
            "starts must be different ones of top-left, .*, got starts=()",
        ),
        (lambda: GridRNNStack(3, 5, starts=("top-left", "top-left")), "starts must be different ones of"),
        (lambda: GridRNNStack(3, 5, starts="top-left"), "starts must be different ones of"),
        (lambda: GridRNNStack(3, 5, starts=("left",)), "starts must be different ones of"),
        (lambda: GridRNNStack(3, 5)(torch.zeros(2, 4, 3)), r"x must have shape \(B, rows, cols, c\), got"),
    ],
)
def test_bad_arguments_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
