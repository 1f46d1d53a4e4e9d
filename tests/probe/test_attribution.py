import pytest
import torch
from torch import nn

from regard.models import MLP, MLPConfig
from regard.probe import input_gradient, integrated_gradients
from tests.probe.conftest import draw, encoder, gpt, pictures, strong, vit


def linear():
    return MLP(MLPConfig(image=(2, 3), channels=2, classes=4, widths=()), generator=draw())


@pytest.mark.parametrize("method", [input_gradient, integrated_gradients])
def test_a_linear_model_is_attributed_exactly(method):
    model, x = linear(), torch.randn(5, 2, 2, 3, generator=draw())
    target = torch.tensor([3, 0, 1, 1, 2])
    found = method(model, x, target=target)
    want = (model.head.weight[target].view(5, 2, 2, 3) * x).sum(1)
    assert torch.allclose(found.scores, want, atol=1e-6)
    assert found.gap.abs().max() < 1e-5
    assert torch.equal(found.target, target)


@pytest.mark.parametrize(
    "make", [vit, encoder, lambda: encoder(pool="mean"), gpt], ids=["vit", "class", "mean", "gpt"]
)
def test_integrated_gradients_add_up(make):
    model = make().double()
    images = hasattr(model.config, "image")
    x = (
        torch.randn(2, 1, 4, 6, generator=draw()).double()
        if images
        else torch.randint(11, (2, 7), generator=draw())
    )
    coarse, fine = (integrated_gradients(model, x, steps=steps) for steps in (2, 96))
    reached = fine.scores.flatten(1).sum(1) - fine.gap
    assert (fine.gap.abs() <= 0.01 * reached.abs() + 2e-3).all()
    assert fine.gap.abs().sum() < coarse.gap.abs().sum()
    assert fine.scores.shape == ((2, 4, 6) if images else (2, 7))


def test_the_gradient_of_tokens_is_that_of_their_embedding():
    model, tokens = strong(encoder()), torch.tensor([[1, 5, 5, 2]])
    found = input_gradient(model, tokens)
    # Every position gets a row of its own, so that the table's gradient is the gradient of positions.
    other = strong(encoder())
    rows = other.embed.weight.detach()[tokens[0]].clone().requires_grad_()
    other.embed = nn.Embedding.from_pretrained(rows, freeze=False)
    other.embed.weight = nn.Parameter(rows.detach().clone())
    logits = other(torch.arange(4)[None])[0]
    (slope,) = torch.autograd.grad(logits[logits.argmax()], other.embed.weight)
    assert torch.allclose(found.scores[0], (slope * rows).sum(1).detach(), atol=1e-6)
    assert int(found.target[0]) == int(logits.argmax())


def test_padding_changes_nothing():
    model, tokens = strong(encoder(pool="mean")), torch.tensor([[1, 5, 2]])
    alone = integrated_gradients(model, tokens, steps=4).scores
    padded, segments = torch.tensor([[1, 5, 2, 9]]), torch.tensor([[0, 0, 0, -1]])
    beside = integrated_gradients(model, padded, segments=segments, steps=4).scores
    assert torch.allclose(beside[:, :3], alone, atol=1e-5)
    assert float(beside[0, 3]) == 0


def test_the_model_is_left_as_it_was():
    model = encoder(dropout=0.5).train()
    a, b = (integrated_gradients(model, torch.tensor([[1, 2]]), steps=2).scores for _ in range(2))
    assert torch.equal(a, b)
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())
    assert not model.embed._forward_hooks


def test_frozen_weights_are_no_obstacle():
    model = vit()
    model.requires_grad_(False)
    assert input_gradient(model, pictures(2) / 255).scores.abs().max() > 0


def test_errors():
    with pytest.raises(ValueError, match="target must lie from 0 to 3, got"):
        input_gradient(linear(), torch.zeros(1, 2, 2, 3), target=torch.tensor([4]))
    with pytest.raises(ValueError, match="target must be 1 integers"):
        input_gradient(linear(), torch.zeros(1, 2, 2, 3), target=torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="steps must be at least 1"):
        integrated_gradients(linear(), torch.zeros(1, 2, 2, 3), steps=0)
    with pytest.raises(ValueError, match="token embedding called embed, got MLP"):
        input_gradient(linear(), torch.zeros(1, 4, dtype=torch.long))
