"""Positions: their values, their shift properties, and their limits."""

import math

import pytest
import torch

from regard.attention import attend
from regard.layers import Alibi, Attention, Learned, Natural, Rotary, Scaled, Sinusoidal
from regard.pattern import Causal


def test_natural_counts_from_one_and_scaled_divides():
    assert Natural().encode(4).tolist() == [[1.0], [2.0], [3.0], [4.0]]
    assert Natural().encode(2, start=5).tolist() == [[6.0], [7.0]]
    assert Scaled(longest=8).encode(2, start=5).tolist() == [[0.75], [0.875]]
    with pytest.raises(ValueError, match="longest must be at least 1, got longest=0"):
        Scaled(longest=0)


@pytest.mark.parametrize("position", [Natural(), Scaled(longest=10)])
def test_a_column_is_added_to_all_components(position):
    x = torch.randn(2, 5, 3)
    added = position.build(5, 3)(x) - x
    torch.testing.assert_close(added, position.encode(5).expand(2, 5, 3))


@pytest.mark.parametrize("width", [6, 7])
def test_sinusoidal_interleaves_sine_and_cosine_from_zero(width):
    table = Sinusoidal().encode(50, width)
    assert table.shape == (50, width)
    for t in (0, 1, 49):
        for c in range(width):
            angle = t / 10_000 ** (2 * (c // 2) / width)
            assert table[t, c] == pytest.approx(math.cos(angle) if c % 2 else math.sin(angle), abs=1e-6)


def test_sinusoidal_products_know_the_shift_alone():
    table = Sinusoidal().encode(300, 16)
    near, far = table[:100] @ table[7:107].T, table[193:293] @ table[200:300].T
    torch.testing.assert_close(near.diagonal(), far.diagonal())
    torch.testing.assert_close(near, far)
    assert not torch.allclose(near[0], near[5])


def test_sinusoidal_shift_is_one_linear_map():
    table = Sinusoidal().encode(200, 8).double()
    shift = torch.linalg.lstsq(table[:100], table[9:109]).solution
    torch.testing.assert_close(table[90:190] @ shift, table[99:199], atol=1e-4, rtol=0)


def test_rotary_scores_know_the_shift_alone():
    g = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 9, 8, generator=g), torch.randn(2, 9, 8, generator=g)

    def scores(start):
        return Rotary().turn(q, start) @ Rotary().turn(k, start).mT

    torch.testing.assert_close(scores(0), scores(100_000), atol=1e-4, rtol=1e-4)
    shifted = Rotary().turn(q, 3) @ Rotary().turn(k, 0).mT
    assert not torch.allclose(scores(0), shifted, atol=1e-2)


def test_rotary_turns_half_split_pairs():
    x = torch.zeros(2, 6)
    x[:, 1] = 1.0
    angle = 10_000 ** (-2 / 6)  # pair 1 of three: components 1 and 4
    turned = Rotary().turn(x)[1]
    torch.testing.assert_close(turned, torch.tensor([0, math.cos(angle), 0, 0, math.sin(angle), 0]))


def test_rotary_needs_pairs():
    with pytest.raises(ValueError, match="even, got 5"):
        Rotary().turn(torch.zeros(1, 5))
    with pytest.raises(ValueError, match="head_width=5"):
        Attention(10, heads=2, position=Rotary())


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [2**-8]),
        (8, [2.0**-h for h in range(1, 9)]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
    ],
)
def test_alibi_slopes(heads, slopes):
    assert list(Alibi().bias(heads).slopes) == pytest.approx(slopes)


def test_alibi_scores_know_the_shift_alone():
    x = torch.zeros(1, 3, 20, 4)
    _, weights = attend(x, x, x, Causal(), bias=Alibi().bias(3), return_weights=True)
    ratio = weights[0, :, 10:, 10:] / weights[0, :, 10:, 10:].diagonal(dim1=1, dim2=2)[..., None]
    early = weights[0, :, :10, :10] / weights[0, :, :10, :10].diagonal(dim1=1, dim2=2)[..., None]
    torch.testing.assert_close(ratio, early)


def test_learned_names_its_rows_when_they_run_out():
    table = Learned().build(4, 8)
    table(torch.zeros(1, 2, 8), start=2)
    with pytest.raises(ValueError, match="4 rows, got positions 3 to 4"):
        table(torch.zeros(1, 2, 8), start=3)


def test_learned_resizes_a_grid_without_mixing_rows_and_columns():
    table = Learned().build(3 * 4, 2)
    ramp = torch.arange(3.0)[:, None].expand(3, 4), torch.arange(4.0)[None].expand(3, 4)
    with torch.no_grad():
        table.weight.copy_(torch.stack(ramp, -1).flatten(0, 1))
    assert table.resized((3, 4), (3, 4)) is table.weight
    big = table.resized((3, 4), (6, 8)).unflatten(0, (6, 8))
    # The first component grows along rows only, the second along columns only.
    torch.testing.assert_close(big[:, :1, 0].expand(6, 8), big[..., 0])
    torch.testing.assert_close(big[:1, :, 1].expand(6, 8), big[..., 1])
    assert big[5, 0, 0] > big[0, 0, 0]
    assert big[0, 7, 1] > big[0, 0, 1]


@pytest.mark.parametrize("position", [Sinusoidal(), Rotary(), Alibi(), Natural(), Scaled(longest=4)])
def test_these_accept_any_length(position):
    from regard.models import GPT, GPTConfig

    model = GPT(GPTConfig(vocab=9, context=4, depth=1, width=8, heads=2, position=position))
    assert model(torch.zeros(1, 40, dtype=torch.long)).shape == (1, 40, 9)
