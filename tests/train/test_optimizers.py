import pytest
import torch
from torch import nn

from regard.models import ViT, ViTConfig
from regard.train import AdamW, Muon
from regard.train.muon import COEFFICIENTS, ROUNDS, orthogonal
from regard.train.optimizers import inside


def vit(seed=0):
    config = ViTConfig(image=8, patch=4, channels=1, classes=3, depth=2, width=12, heads=2)
    return ViT(config, generator=torch.Generator().manual_seed(seed))


def grads(model, seed):
    draws = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.grad = torch.randn(weight.shape, generator=draws)


@pytest.mark.parametrize("shape", [(1, 5, 5), (3, 4, 7), (2, 7, 4)])
def test_orthogonal_is_the_iteration_on_each_matrix(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    a, b, c = COEFFICIENTS
    for got, one in zip(orthogonal(x), x, strict=True):
        u, s, v = torch.linalg.svd(one, full_matrices=False)
        s = s / s.square().sum().sqrt()
        for _ in range(ROUNDS):  # the polynomial acts on singular values alone
            s = a * s + b * s**3 + c * s**5
        torch.testing.assert_close(got, u @ s.diag() @ v, atol=1e-6, rtol=1e-6)


def test_adamw_is_torchs_with_decay_on_matrices_only():
    ours, theirs = vit(), vit()
    optimizer = AdamW(lr=0.01, decay=0.3).build(ours)
    groups = [
        {"params": [p for p in theirs.parameters() if p.ndim > 1], "weight_decay": 0.3},
        {"params": [p for p in theirs.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    reference = torch.optim.AdamW(groups, lr=0.01 * 0.5, betas=(0.9, 0.99))
    for seed in range(3):
        grads(ours, seed), grads(theirs, seed)
        optimizer.step(torch.tensor(0.5))
        reference.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


def test_muon_against_one_matrix_at_a_time():
    model, lr, momentum, decay = vit(), 0.02, 0.9, 0.1
    weights = {name: p.detach().clone() for name, p in model.named_parameters() if inside(name, p)}
    memory = {name: torch.zeros_like(w) for name, w in weights.items()}
    optimizer = Muon(lr=lr, momentum=momentum, decay=decay).build(model)
    for seed in range(3):
        grads(model, seed)
        for name, p in model.named_parameters():
            if name in weights:
                memory[name] = momentum * memory[name] + (1 - momentum) * p.grad
                ahead = (1 - momentum) * p.grad + momentum * memory[name]
                turned = orthogonal(ahead[None])[0] * 0.2 * max(p.shape) ** 0.5
                weights[name] = weights[name] * (1 - lr * decay) - lr * turned
        optimizer.step(torch.tensor(1.0))
    named = dict(model.named_parameters())
    assert len(weights) == 8
    for name, want in weights.items():
        torch.testing.assert_close(named[name].detach(), want, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("value", [AdamW(), Muon()])
def test_state_goes_out_and_in(value):
    one, other = vit(), vit()
    a, b = value.build(one), value.build(other)
    grads(one, 0)
    a.step(torch.tensor(1.0))
    other.load_state_dict(one.state_dict())
    b.load({name: tensor.clone() for name, tensor in a.state().items()})
    for optimizer, model in ((a, one), (b, other)):
        grads(model, 1)
        optimizer.step(torch.tensor(0.3))
    for x, y in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(x, y)


def test_muon_leaves_embeddings_positions_and_heads_to_adam():
    model = vit()
    chosen = [name for name, p in model.named_parameters() if inside(name, p)]
    assert all(name.startswith("blocks.") for name in chosen)
    groups = [group for part in Muon().build(model).parts for group in part.param_groups]
    names = [name for group in groups for name in group["names"]]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    with pytest.raises(ValueError, match="Muon needs matrices inside blocks, Linear has none"):
        Muon().build(nn.Linear(3, 1))


@pytest.mark.parametrize(("name", "value"), [("lr", -1.0), ("decay", "much"), ("lr", float("nan"))])
def test_wrong_rates(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number of at least 0"):
        AdamW(**{name: value})
