"""The heads against loops over single numbers, and every way in which a mask may go wrong."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from regard.course import AttentionHead, MultiHeadedAttention
from regard.pattern import Blocks, Causal, Full, Strided, Windowed

DEVICES = ["meta"] + (["cuda"] if torch.cuda.is_available() else [])


@torch.no_grad()
def by_loops(head, x, allowed=None):
    """The lecture's formulas in float64, one number at a time."""
    B, T, _ = x.shape
    q, k, v = (x.double() @ W.weight.double().T + W.bias.double() for W in (head.W_Q, head.W_K, head.W_V))
    out = torch.zeros(B, T, head.n_hidden, dtype=torch.float64)
    alpha = torch.zeros(B, T, T, dtype=torch.float64)
    for b in range(B):
        for i in range(T):
            seen = [j for j in range(T) if allowed is None or allowed[b][i][j]]
            exps = {j: math.exp(float(q[b, i] @ k[b, j]) / math.sqrt(head.n_hidden)) for j in seen}
            for j in seen:
                alpha[b, i, j] = exps[j] / sum(exps.values())
                out[b, i] += alpha[b, i, j] * v[b, j]
    return out, alpha


def random_mask(B, T, generator):
    """Masks in which every row sees something, but no two examples see the same."""
    return (torch.rand(B, T, T, generator=generator) < 0.5) | torch.eye(T, dtype=torch.bool)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("B", "T", "dim", "n_hidden"), [(1, 1, 3, 2), (2, 5, 7, 3), (3, 4, 2, 9)])
def test_a_head_is_the_lectures_formula(B, T, dim, n_hidden, masked, generator):
    head = AttentionHead(dim, n_hidden).double()
    x = 3 * torch.randn(B, T, dim, dtype=torch.float64, generator=generator)
    mask = random_mask(B, T, generator) if masked else None
    out, alpha = head(x, mask)
    want_out, want_alpha = by_loops(head, x, mask)
    assert out.shape == (B, T, n_hidden)
    torch.testing.assert_close(alpha, want_alpha, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(out, want_out, rtol=1e-12, atol=1e-14)


def test_a_head_agrees_with_torch_in_value_and_gradient(generator):
    head = AttentionHead(7, 3).double()
    x = torch.randn(2, 5, 7, dtype=torch.float64, generator=generator, requires_grad=True)
    mask = random_mask(2, 5, generator)
    out, _ = head(x, mask)
    peer = scaled_dot_product_attention(head.W_Q(x), head.W_K(x), head.W_V(x), attn_mask=mask)
    torch.testing.assert_close(out, peer, rtol=1e-12, atol=1e-12)
    along = torch.randn(out.shape, dtype=torch.float64, generator=generator)
    weights = [x, *head.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad(out, weights, along), torch.autograd.grad(peer, weights, along), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_the_scale_is_the_heads_width_and_nothing_else():
    """Classic mistake: dividing by sqrt(dim), or by the width of all heads together."""
    attention = MultiHeadedAttention(dim=9, n_hidden=4, num_heads=3)
    for head in attention.heads:
        for W in (head.W_Q, head.W_K):
            torch.nn.init.zeros_(W.weight)
            torch.nn.init.zeros_(W.bias)
        head.W_Q.bias.data[0] = 1.0
        head.W_K.weight.data[0, 0] = 1.0
    x = torch.zeros(1, 2, 9)
    x[0, 1, 0] = 2 * math.log(5)  # score log 5 after division by sqrt(4), so weights 1/6 and 5/6
    _, alphas = attention(x)
    torch.testing.assert_close(alphas, torch.tensor([1 / 6, 5 / 6]).expand(1, 3, 2, 2))


def test_masked_rows_still_sum_to_one(generator):
    """Classic mistake: masking after the softmax, which leaves rows that sum to less than one."""
    x = torch.randn(3, 6, 5, generator=generator)
    mask = random_mask(3, 6, generator)
    _, alphas = MultiHeadedAttention(5, 4, 2)(x, mask)
    torch.testing.assert_close(alphas.sum(dim=-1), torch.ones(3, 2, 6))
    assert (alphas[(~mask)[:, None].expand_as(alphas)] == 0).all()
    assert (alphas[mask[:, None].expand_as(alphas)] > 0).all()


def test_what_is_masked_cannot_be_felt(generator):
    head = AttentionHead(5, 4)
    x = torch.randn(2, 6, 5, generator=generator)
    changed = x.clone()
    changed[:, 4:] = 1e4
    before, _ = head(x, Causal())
    after, _ = head(changed, Causal())
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4:], after[:, 4:])


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64])
def test_masks_of_every_dtype_mean_the_same(dtype, generator):
    attention = MultiHeadedAttention(5, 4, 2)
    x = torch.randn(3, 6, 5, generator=generator)
    mask = random_mask(3, 6, generator)
    for want, got in zip(attention(x, mask), attention(x, mask.to(dtype)), strict=True):
        assert torch.equal(want, got)


@pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=2), Windowed(size=3), ~Blocks(size=2)])
def test_a_pattern_is_its_dense_mask_for_every_example(pattern, generator):
    attention = MultiHeadedAttention(5, 4, 2)
    x = torch.randn(3, 7, 5, generator=generator)
    dense = pattern.dense(7)
    for mask in (dense, dense.expand(3, 7, 7)):
        for want, got in zip(attention(x, pattern), attention(x, mask), strict=True):
            assert torch.equal(want, got)


def test_no_mask_and_a_mask_of_ones_are_the_same(generator):
    x = torch.randn(3, 6, 5, generator=generator)
    head = AttentionHead(5, 4)
    for want, got in zip(head(x), head(x, torch.ones(6, 6)), strict=True):
        assert torch.equal(want, got)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_row_that_may_attend_to_nothing_gives_zeros_and_no_gradient(dtype, generator):
    head = AttentionHead(5, 4).to(dtype)
    x = (8 * torch.randn(2, 4, 5, generator=generator)).to(dtype).requires_grad_()
    mask = torch.ones(2, 4, 4)
    mask[0, 2] = 0  # one row of one example
    mask[1] = 0  # and a whole example
    with torch.autograd.set_detect_anomaly(True):  # sees a NaN even where a later step would hide it
        out, alpha = head(x, mask)
        (out.sum() + (alpha**2).sum()).backward()
    for empty in (out[0, 2], alpha[0, 2], out[1], alpha[1], x.grad[1]):
        assert (empty == 0).all()
    assert (out[0, [0, 1, 3]] != 0).any(dim=-1).all()
    for gradient in (x.grad, *(p.grad for p in head.parameters())):
        assert torch.isfinite(gradient).all()


def test_a_batch_without_any_pair_moves_no_weight(generator):
    attention = MultiHeadedAttention(5, 4, 2)
    x = torch.randn(2, 4, 5, generator=generator, requires_grad=True)
    out, _ = attention(x, torch.zeros(4, 4))
    assert torch.equal(out, attention.W_O.bias.expand(2, 4, 5))
    out.sum().backward()
    assert (x.grad == 0).all()
    for parameter in (*attention.heads.parameters(), attention.W_O.weight):
        assert (parameter.grad == 0).all()


def test_gradients_around_empty_rows_are_those_of_finite_differences(generator):
    head = AttentionHead(3, 2).double()
    x = torch.randn(2, 3, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    mask = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1]])
    assert torch.autograd.gradcheck(lambda x: head(x, mask), (x,))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mask", [torch.ones(4, 4).tril(), torch.ones(3, 4, 4).bool(), Causal()])
def test_masks_move_to_the_device_of_x(device, mask):
    """Classic mistake: a mask left on the CPU. The meta device refuses to mix just as a GPU does."""
    out, alphas = MultiHeadedAttention(5, 4, 2).to(device)(torch.ones(3, 4, 5, device=device), mask)
    assert out.device.type == alphas.device.type == device


@pytest.mark.parametrize("shape", [(4,), (3, 4), (5, 5), (1, 5, 5), (2, 4, 4), (3, 1, 4), (3, 2, 4, 4)])
def test_masks_of_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="attn_mask must have shape") as caught:
        AttentionHead(5, 4)(torch.zeros(3, 4, 5), torch.ones(shape))
    assert str(caught.value) == f"attn_mask must have shape (4, 4) or (1, 4, 4) or (3, 4, 4), got {shape}"


@pytest.mark.parametrize("wrong", [-math.inf, 0.5, 2.0, math.nan])
def test_masks_that_are_not_of_ones_and_zeros_are_refused(wrong):
    mask = torch.ones(4, 4)
    mask[1, 3] = wrong
    with pytest.raises(ValueError, match=r"attn_mask must hold only 1 \(may attend\) and 0, got") as caught:
        AttentionHead(5, 4)(torch.zeros(3, 4, 5), mask)
    assert str(wrong) in str(caught.value)


@pytest.mark.parametrize("num_heads", [1, 3])
def test_heads_are_independent_and_joined_in_order(num_heads, generator):
    attention = MultiHeadedAttention(5, 4, num_heads).double()
    x = torch.randn(2, 6, 5, dtype=torch.float64, generator=generator)
    out, alphas = attention(x, Causal())
    assert out.shape == (2, 6, 5)
    assert alphas.shape == (2, num_heads, 6, 6)
    want = attention.W_O.bias.expand(2, 6, 5)
    for h, head in enumerate(attention.heads):
        part, alpha = head(x, Causal())
        assert torch.equal(alpha, alphas[:, h])
        want = want + part @ attention.W_O.weight[:, 4 * h : 4 * (h + 1)].T
    torch.testing.assert_close(out, want, rtol=1e-12, atol=1e-12)
    assert (attention.W_O.in_features, attention.W_O.out_features) == (4 * num_heads, 5)


def test_biases_of_values_and_output_are_felt():
    """Classic mistake: bias=False. With zero input only the biases speak."""
    attention = MultiHeadedAttention(5, 4, 2)
    for head in attention.heads:
        torch.nn.init.ones_(head.W_V.bias)
    torch.nn.init.ones_(attention.W_O.weight)
    torch.nn.init.constant_(attention.W_O.bias, 0.25)
    out, _ = attention(torch.zeros(1, 3, 5))
    torch.testing.assert_close(out, torch.full((1, 3, 5), 8.25))
