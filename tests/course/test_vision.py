"""Patches in their order, positions on patches alone, and the class token first."""

import pytest
import torch
from torch import nn

from regard.course import PatchEmbed, VisionTransformer


def vit(**changes):
    sizes = {
        "n_channels": 3,
        "nout": 5,
        "img_size": 12,
        "patch_size": 4,
        "dim": 6,
        "attn_dim": 4,
        "mlp_dim": 7,
    }
    return VisionTransformer(**{**sizes, "num_heads": 2, "num_layers": 2, **changes})


@pytest.mark.parametrize(
    ("img_size", "patch_size", "count"), [(32, 4, 64), (28, 4, 49), (12, 3, 16), (5, 5, 1)]
)
def test_the_number_of_patches(img_size, patch_size, count):
    embed = PatchEmbed(img_size, patch_size, nin=3, nout=6)
    assert embed.num_patches == count
    assert embed(torch.zeros(2, 3, img_size, img_size)).shape == (2, count, 6)


@pytest.mark.parametrize(
    ("img_size", "patch_size", "nin", "nout"), [(12, 4, 3, 7), (6, 2, 1, 9), (4, 1, 2, 3)]
)
def test_every_token_is_its_own_patch_through_one_linear_map(img_size, patch_size, nin, nout, generator):
    """Classic mistake: a reshape to (B,P,nout) where a transpose is meant; even nout = P must tell."""
    embed = PatchEmbed(img_size, patch_size, nin, nout)
    img = torch.randn(2, nin, img_size, img_size, generator=generator)
    tokens = embed(img)
    weight = embed.conv.weight.reshape(nout, -1)
    per_side = img_size // patch_size
    for row in range(per_side):
        for col in range(per_side):
            rows = slice(row * patch_size, (row + 1) * patch_size)
            cols = slice(col * patch_size, (col + 1) * patch_size)
            want = img[:, :, rows, cols].reshape(2, -1) @ weight.T + embed.conv.bias
            torch.testing.assert_close(tokens[:, row * per_side + col], want)


def test_patches_are_embedded_by_one_strided_convolution():
    parameters = dict(PatchEmbed(12, 4, nin=3, nout=7).named_parameters())
    assert {name: tuple(p.shape) for name, p in parameters.items()} == {
        "conv.weight": (7, 3, 4, 4),
        "conv.bias": (7,),
    }


def test_touching_one_pixel_changes_one_token():
    embed = PatchEmbed(12, 4, nin=3, nout=7)
    img = torch.zeros(1, 3, 12, 12)
    img[0, 1, 5, 10] = 1.0  # row 5 is in patch row 1, column 10 in patch column 2
    changed = (embed(img) != embed(torch.zeros_like(img))).any(dim=-1)
    assert changed[0].nonzero().flatten().tolist() == [1 * 3 + 2]


def test_the_logits_are_put_together_as_the_lecture_says(generator):
    model = vit().double()
    img = torch.randn(4, 3, 12, 12, dtype=torch.float64, generator=generator)
    logits, alphas = model(img, return_attn=True)
    assert logits.shape == (4, 5)
    assert alphas.shape == (4, 2, 2, 10, 10)  # B L H 1+P 1+P
    sequences = []
    for tokens in model.patch_embed(img):
        with_positions = [tokens[p] + model.pos_E(torch.tensor(p)) for p in range(9)]
        sequences.append(torch.stack([model.cls_token[0, 0], *with_positions]))
    x, want_alphas = model.transformer(torch.stack(sequences), return_attn=True)
    norm, linear = model.head
    assert isinstance(norm, nn.LayerNorm)
    torch.testing.assert_close(logits, linear(norm(x[:, 0])), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(alphas, want_alphas, rtol=1e-12, atol=1e-12)


def test_asking_for_attention_changes_nothing_else(generator):
    model, img = vit(), torch.randn(2, 3, 12, 12, generator=generator)
    quiet, nothing = model(img)
    assert nothing is None
    assert torch.equal(quiet, model(img, return_attn=True)[0])


def test_positions_tell_where_a_patch_is(generator):
    model, img = vit(), torch.randn(1, 3, 12, 12, generator=generator)
    moved = img.roll(4, dims=-1)  # the same patches, elsewhere
    assert (model(img)[0] - model(moved)[0]).abs().max() > 1e-4
    nn.init.zeros_(model.pos_E.weight)
    torch.testing.assert_close(model(img)[0], model(moved)[0])


def test_a_vision_transformer_learns_where_the_light_is(generator):
    model = vit(n_channels=1, nout=9, dim=16, attn_dim=8, mlp_dim=32, num_layers=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    place = torch.arange(9).repeat(4)
    img = 0.1 * torch.randn(36, 1, 12, 12, generator=generator)
    for b, p in enumerate(place.tolist()):
        img[b, 0, 4 * (p // 3) : 4 * (p // 3) + 4, 4 * (p % 3) : 4 * (p % 3) + 4] += 1
    for _ in range(60):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(img)[0], place)
        loss.backward()
        optimiser.step()
    assert (model(img)[0].argmax(dim=-1) == place).all()


def test_a_model_on_another_device_stays_there():
    logits, alphas = vit().to("meta")(torch.zeros(2, 3, 12, 12, device="meta"), return_attn=True)
    assert logits.device.type == alphas.device.type == "meta"
