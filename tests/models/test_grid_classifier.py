"""The three image classifiers without attention: shapes, sizes, learning and errors."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from regard.models.convnet import ConvNet, ConvNetConfig
from regard.models.grid import GridRNN, GridRNNConfig
from regard.models.mlp import MLP, MLPConfig
from regard.recurrence import grid_rnn


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(kind: str, seed: int = 0) -> nn.Module:
    generator = seeded(seed)
    if kind == "grid":
        config = GridRNNConfig(image=(4, 6), patch=(1, 2), channels=2, classes=3, hidden=6)
        return GridRNN(config, generator=generator)
    if kind == "conv":
        return ConvNet(ConvNetConfig(image=(4, 6), channels=2, classes=3, widths=(6, 8)), generator=generator)
    return MLP(MLPConfig(image=(4, 6), channels=2, classes=3, widths=(12,)), generator=generator)


KINDS = ["grid", "conv", "mlp"]


@pytest.mark.parametrize("kind", KINDS)
def test_learns_which_half_is_bright(kind: str) -> None:
    model = small(kind)
    generator = seeded(1)
    labels = torch.randint(3, (48,), generator=generator)
    images = 0.3 * torch.randn(48, 2, 4, 6, generator=generator)
    for i, label in enumerate(labels.tolist()):
        images[i, :, :, 2 * label : 2 * label + 2] += 1.0  # a bright band in one of three places
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimiser.zero_grad()
        cross_entropy(model(images), labels).backward()
        optimiser.step()
    accuracy = (model(images).argmax(1) == labels).float().mean()
    assert accuracy > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_the_generator_decides_the_weights(kind: str) -> None:
    images = torch.randn(2, 2, 4, 6, generator=seeded(5))
    first, again, other = (small(kind, seed)(images) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


def test_default_models_have_comparable_sizes() -> None:
    models = [
        GridRNN(GridRNNConfig(image=28, classes=10)),
        ConvNet(ConvNetConfig(image=28, classes=10)),
        MLP(MLPConfig(image=28, classes=10)),
    ]
    sizes = [sum(p.numel() for p in model.parameters()) for model in models]
    assert sizes[0] == 134_922
    assert max(sizes) / min(sizes) < 1.05


def test_grid_reads_patches_in_place() -> None:
    model = small("grid")
    images = torch.arange(2 * 4 * 6, dtype=torch.float32).view(1, 2, 4, 6) / 48
    config = model.config
    assert (config.grid, config.cell, config.width) == ((4, 3), 4, 24)
    cells = torch.empty(1, 4, 3, 4)
    for row in range(4):
        for col in range(3):
            cells[0, row, col] = images[0, :, row, 2 * col : 2 * col + 2].flatten()
    expected = cells
    for scans in model.scans.layers:
        expected = torch.cat(
            [
                grid_rnn(expected, s.W_in, s.W_left, s.W_top, b=s.b, start=s.start, impl="reference")
                for s in scans
            ],
            3,
        )
    assert torch.allclose(model.features(images), expected, atol=1e-6)


def test_convnet_pools_between_convolutions() -> None:
    model = small("conv")
    assert model.config.grids == ((4, 6), (2, 3))
    images = torch.randn(1, 2, 4, 6, generator=seeded(3))
    first, second = model.layers
    x = torch.relu(first(images))
    x = torch.relu(second(x.unfold(2, 2, 2).unfold(3, 2, 2).amax((4, 5))))
    assert torch.allclose(model(images), model.head(x.mean((2, 3))), atol=1e-6)


def test_configs_are_values() -> None:
    assert GridRNNConfig(image=28, classes=10) == GridRNNConfig(image=(28, 28), classes=10)
    assert hash(MLPConfig(image=4, classes=2, widths=[3])) == hash(MLPConfig(image=4, classes=2, widths=(3,)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridRNNConfig(image=0, classes=2), "image must be at least 1, got image=0"),
        (lambda: GridRNNConfig(image=8, classes=0), "classes must be at least 1, got classes=0"),
        (lambda: GridRNNConfig(image=(8, 9), patch=2, classes=2), r"tile the image, got image=\(8, 9\)"),
        (lambda: GridRNNConfig(image=8, classes=2, starts=("up",)), "starts must be different ones of"),
        (lambda: GridRNNConfig(image=8, classes=2, activation="silu"), "activation must be one of"),
        (lambda: ConvNetConfig(image=8, classes=2, kernel=4), "kernel must be odd, .* got kernel=4"),
        (lambda: ConvNetConfig(image=(3, 9), classes=2), r"after 2 halvings, got image=\(3, 9\)"),
        (lambda: ConvNetConfig(image=8, classes=2, widths=()), r"at least 1 integers, got widths=\(\)"),
        (lambda: MLPConfig(image=8, classes=2, widths=(4, 0)), "widths must be at least 1, got widths=0"),
        (lambda: small("mlp")(torch.zeros(1, 2, 6, 4)), r"images must be \(B, 2, 4, 6\), got \(1, 2, 6, 4\)"),
        (
            lambda: small("conv")(torch.zeros(1, 1, 4, 6)),
            r"images must be \(B, 2, 4, 6\), got \(1, 1, 4, 6\)",
        ),
        (lambda: small("grid")(torch.zeros(2, 4, 6)), r"images must be \(B, 2, 4, 6\), got \(2, 4, 6\)"),
    ],
)
def test_bad_arguments_are_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
