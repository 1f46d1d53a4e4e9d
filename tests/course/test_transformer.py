"""The layers: where they add, where they norm, and that none shares its weights."""

import copy

import pytest
import torch
from torch import nn

from regard.course import FFN, AttentionResidual, Transformer
from regard.pattern import Causal


def test_ffn_is_norm_linear_gelu_linear(generator):
    ffn = FFN(5, 7).double()
    norm, widen, gelu, narrow = ffn
    assert isinstance(norm, nn.LayerNorm)
    assert isinstance(gelu, nn.GELU)
    assert (widen.in_features, widen.out_features) == (5, 7)
    assert (narrow.in_features, narrow.out_features) == (7, 5)
    nn.init.normal_(norm.weight, generator=generator)
    nn.init.normal_(norm.bias, generator=generator)
    x = torch.randn(2, 3, 5, dtype=torch.float64, generator=generator)
    centred = x - x.mean(dim=-1, keepdim=True)
    normed = centred / (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()
    wide = (normed * norm.weight + norm.bias) @ widen.weight.T + widen.bias
    bent = wide * (1 + torch.erf(wide / 2**0.5)) / 2  # the exact GELU, not its tanh likeness
    torch.testing.assert_close(ffn(x), bent @ narrow.weight.T + narrow.bias, rtol=1e-12, atol=1e-12)


def test_a_layer_adds_twice_and_does_not_norm_before_attention(generator):
    layer = AttentionResidual(5, 4, 7, num_heads=2)
    x = torch.randn(3, 6, 5, generator=generator)
    got, alphas = layer(x, Causal())
    found, want_alphas = layer.attn(x, Causal())
    torch.testing.assert_close(got, x + found + layer.ffn(x + found))
    assert torch.equal(alphas, want_alphas)
    assert sum(isinstance(m, nn.LayerNorm) for m in layer.modules()) == 1
    assert sum(isinstance(m, nn.LayerNorm) for m in layer.ffn.modules()) == 1


def test_a_layer_leaves_its_input_as_it_was(generator):
    x = torch.randn(3, 6, 5, generator=generator)
    kept = x.clone()
    AttentionResidual(5, 4, 7, num_heads=2)(x, None)
    assert torch.equal(x, kept)


def test_layers_and_heads_share_nothing():
    """Classic mistake: `[layer] * num_layers`, which is one layer many times."""
    transformer = Transformer(5, 4, 7, num_heads=2, num_layers=3)
    assert len(transformer.layers) == 3
    one = sum(1 for _ in AttentionResidual(5, 4, 7, num_heads=2).parameters())
    every = list(transformer.parameters())
    assert len(every) == 3 * one
    assert len({p.data_ptr() for p in every}) == 3 * one
    starts = {h.W_Q.weight[0, 0].item() for layer in transformer.layers for h in layer.attn.heads}
    assert len(starts) == 6  # and none is a copy of another


def test_a_step_on_one_layer_leaves_the_others_alone():
    transformer = Transformer(5, 4, 7, num_heads=2, num_layers=3)
    before = copy.deepcopy(transformer.state_dict())
    with torch.no_grad():
        for parameter in transformer.layers[1].parameters():
            parameter.add_(1)
    changed = {k for k, v in transformer.state_dict().items() if not torch.equal(v, before[k])}
    assert changed == {k for k in before if k.startswith("layers.1.")}


@pytest.mark.parametrize("mask", [None, torch.ones(6, 6).tril(), torch.ones(3, 6, 6).triu().bool(), Causal()])
def test_the_layers_run_in_order_under_one_mask(mask, generator):
    transformer = Transformer(5, 4, 7, num_heads=2, num_layers=3)
    x = torch.randn(3, 6, 5, generator=generator)
    out, alphas = transformer(x, mask, return_attn=True)
    assert alphas.shape == (3, 3, 2, 6, 6)  # B L H T T
    for depth, layer in enumerate(transformer.layers):
        x, want = layer(x, mask)
        assert torch.equal(alphas[:, depth], want)
    assert torch.equal(out, x)


def test_asking_for_attention_changes_nothing_else(generator):
    transformer = Transformer(5, 4, 7, num_heads=2, num_layers=3)
    x = torch.randn(4, 6, 5, generator=generator)
    quiet, nothing = transformer(x, Causal())
    loud, alphas = transformer(x, Causal(), return_attn=True)
    assert nothing is None
    assert alphas.shape == (4, 3, 2, 6, 6)
    assert torch.equal(quiet, loud)


def test_without_positions_a_transformer_follows_a_permutation(generator):
    transformer = Transformer(5, 4, 7, num_heads=2, num_layers=2).double()
    x = torch.randn(2, 6, 5, dtype=torch.float64, generator=generator)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(transformer(x[:, order])[0], transformer(x)[0][:, order])


def test_examples_of_a_batch_do_not_meet(generator):
    transformer = Transformer(5, 4, 7, num_heads=2, num_layers=2).double()
    x = torch.randn(3, 6, 5, dtype=torch.float64, generator=generator)
    alone = torch.cat([transformer(example[None])[0] for example in x])
    torch.testing.assert_close(transformer(x)[0], alone)


def test_a_wrong_mask_is_named_with_both_shapes():
    with pytest.raises(
        ValueError, match=r"attn_mask must have shape \(6, 6\) or \(1, 6, 6\) or \(3, 6, 6\), got \(5, 6\)"
    ):
        Transformer(5, 4, 7, num_heads=2, num_layers=1)(torch.zeros(3, 6, 5), torch.ones(5, 6))
