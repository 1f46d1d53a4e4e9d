"""Image completion: what a pixel may know, that growing an image is the forward pass, and that it learns."""

import pytest
import torch

from regard.models.completion import GridCompletion, GridCompletionConfig


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def model_of(layers: int, levels: int = 3, hidden: int = 8) -> GridCompletion:
    config = GridCompletionConfig(levels=levels, hidden=hidden, layers=layers)
    return GridCompletion(config, generator=seeded(layers)).double()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("row", "col"), [(0, 0), (0, 4), (2, 0), (1, 2), (3, 4)])
def test_a_prediction_ignores_its_pixel_and_later_ones(layers: int, row: int, col: int) -> None:
    model = model_of(layers)
    image = torch.randint(3, (1, 4, 5), generator=seeded(7))
    changed = image.clone()
    place = row * 5 + col
    changed.view(-1)[place:] = torch.randint(3, (20 - place,), generator=seeded(8))
    changed.view(-1)[place] = (image.view(-1)[place] + 1) % 3
    before, after = (model(i).view(20, 3) for i in (image, changed))
    assert torch.equal(before[: place + 1], after[: place + 1])
    if place < 19:
        assert not torch.equal(before[place + 1 :], after[place + 1 :])  # the control: later ones do notice


@pytest.mark.parametrize("layers", [1, 2])
def test_a_prediction_sees_every_earlier_pixel(layers: int) -> None:
    model = model_of(layers)
    cells = model._cells("images", torch.randint(3, (1, 4, 5), generator=seeded(9))).requires_grad_()
    for row, col in [(0, 3), (2, 0), (2, 2), (3, 4)]:
        out = model._features(cells)[-1][0, row, col].sum()
        seen = torch.autograd.grad(out, cells)[0].abs().sum((0, 3)).view(-1) > 0
        place = row * 5 + col
        assert seen.tolist() == [True] * place + [False] * (20 - place)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(("known", "rows", "cols"), [(1, 4, 3), (2, 5, 6), (3, 4, 1)])
def test_growing_an_image_is_the_forward_pass(layers: int, known: int, rows: int, cols: int) -> None:
    model = model_of(layers)
    top = torch.randint(3, (2, known, cols), generator=seeded(rows))
    whole = model.complete(top, rows)
    assert whole.shape == (2, rows, cols)
    assert torch.equal(whole[:, :known], top)
    assert torch.equal(model(whole)[:, known:].argmax(3), whole[:, known:])
    cells = model._cells("top", whole[:, :known])
    above = [grid[:, -1] for grid in (cells, *model._features(cells))]
    pixels, states = model._next_row(above, None)
    full = [model._cells("top", whole), *model._features(model._cells("top", whole))]
    assert torch.equal(pixels, whole[:, known])
    for grown, grid in zip(states, full, strict=True):
        assert torch.allclose(grown, grid[:, known], atol=1e-12)


def test_samples_follow_the_generator_and_the_model() -> None:
    model = model_of(1, levels=2)
    top = torch.randint(2, (400, 1, 4), generator=seeded(3)).to(torch.uint8)
    first, again, other = (model.complete(top, 2, generator=seeded(seed)) for seed in (5, 5, 6))
    assert first.dtype == torch.uint8
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    # The first new pixel depends on `top` alone: its mean over draws is what the model says.
    chance = model(first.long())[:, 1, 0].softmax(1)[:, 1].mean().item()
    assert abs(first[:, 1, 0].float().mean().item() - chance) < 4 * 0.5 / 400**0.5


def test_learns_to_continue_columns() -> None:
    model = GridCompletion(GridCompletionConfig(levels=2, hidden=16, layers=1), generator=seeded())
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    generator = seeded(4)
    for _ in range(80):
        first = torch.randint(2, (32, 1, 5), generator=generator)
        optimiser.zero_grad()
        loss = model.loss(first.expand(-1, 6, -1), known=1)
        loss.backward()
        optimiser.step()
    assert loss < 0.1  # a guess costs log 2 = 0.69
    top = torch.randint(2, (16, 3, 5), generator=generator)[:, :1].expand(-1, 3, -1)
    assert torch.equal(model.complete(top, 6), top[:, :1].expand(-1, 6, -1))


def test_loss_is_over_the_rows_below_the_known_ones() -> None:
    model = model_of(1)
    images = torch.randint(3, (2, 4, 3), generator=seeded(1))
    chosen = model(images).log_softmax(3).gather(3, images[..., None])[..., 0]
    assert torch.isclose(model.loss(images, known=2), -chosen[:, 2:].mean())
    assert torch.isclose(model.loss(images), -chosen.mean())


def test_bad_arguments_are_named() -> None:
    model = model_of(1)
    with pytest.raises(ValueError, match="levels must be at least 2, got levels=1"):
        GridCompletionConfig(levels=1)
    with pytest.raises(
        ValueError, match=r"images must be integers \(B, rows, cols\).* got \(1, 2, 3\) of torch.float32"
    ):
        model(torch.zeros(1, 2, 3))
    with pytest.raises(ValueError, match=r"top must be integers \(B, rows, cols\), every side at least 1"):
        model.complete(torch.zeros(1, 0, 3, dtype=torch.long), 4)
    with pytest.raises(ValueError, match="images must hold levels from 0 to 2, got 0 to 3"):
        model(torch.tensor([[[0, 3]]]))
    with pytest.raises(ValueError, match="rows must be at least 2, got rows=1"):
        model.complete(torch.zeros(1, 2, 3, dtype=torch.long), 1)
    with pytest.raises(ValueError, match="known must be less than the rows of images, got known=2, 2 rows"):
        model.loss(torch.zeros(1, 2, 3, dtype=torch.long), known=2)
