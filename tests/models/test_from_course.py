"""The production models agree with the course's, which define, in value and gradient."""

import pytest
import torch
from torch import nn

from regard.course import DialogueGPT, Transformer, VisionTransformer
from regard.models import from_course
from regard.pattern import Causal, Full, Strided


def lively(model):
    """Norms and biases that would show if they were forgotten."""
    for weight in model.parameters():
        if weight.ndim == 1:
            nn.init.normal_(weight, 0.5)
    return model


@pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=2)])
@pytest.mark.parametrize(("attn_dim", "num_heads"), [(4, 3), (5, 1), (3, 4)])
def test_transformer(pattern, attn_dim, num_heads):
    course = lively(Transformer(dim=8, attn_dim=attn_dim, mlp_dim=11, num_heads=num_heads, num_layers=3))
    x = torch.randn(2, 7, 8, requires_grad=True)
    want, _ = course(x, pattern)
    stack = from_course(course, pattern)
    got = stack(x)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)
    tangent = torch.randn_like(got)
    got, want = (torch.autograd.grad(out, x, tangent)[0] for out in (got, want))
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


def test_vit():
    course = lively(VisionTransformer(3, 10, 12, 4, dim=8, attn_dim=5, mlp_dim=11, num_heads=3, num_layers=2))
    images = torch.randn(2, 3, 12, 12)
    vit = from_course(course)
    torch.testing.assert_close(vit(images), course(images)[0], atol=1e-5, rtol=1e-5)


def test_dialogue():
    course = lively(DialogueGPT(11, max_N=9, dim=8, attn_dim=5, mlp_dim=13, num_heads=3, num_layers=2))
    tokens = torch.randint(11, (3, 9))
    gpt = from_course(course)
    torch.testing.assert_close(gpt(tokens), course(tokens)[0], atol=1e-5, rtol=1e-5)
    assert torch.equal(gpt.generate(tokens[:, :4], max_new_tokens=5), course.generate(tokens[:, :4], 5))


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_that_of_the_given_model(training):
    sizes = {"dim": 8, "attn_dim": 4, "mlp_dim": 16, "num_heads": 2, "num_layers": 1}
    models = [
        Transformer(**sizes),
        VisionTransformer(1, 3, 4, 2, **sizes),
        DialogueGPT(11, 6, **sizes),
    ]
    for model in models:
        found = from_course(model.train(training))
        assert all(part.training == training for part in found.modules())


def test_the_weights_are_copies():
    course = Transformer(dim=8, attn_dim=4, mlp_dim=16, num_heads=2, num_layers=1)
    x = torch.randn(1, 3, 8)
    want, _ = course(x)
    stack = from_course(course)
    with torch.no_grad():
        for weight in stack.parameters():
            weight.zero_()
    assert torch.equal(course(x)[0], want)


def test_other_models_are_refused():
    with pytest.raises(ValueError, match="got Linear"):
        from_course(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="pattern is for a course Transformer"):
        from_course(DialogueGPT(11, 9, 8, 4, 16, 2, 1), Causal())
