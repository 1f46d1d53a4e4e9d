"""What `executed` sees: torch's own operations, foreign attention, and what it does not know."""

import sys
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.attention import DistanceBias, attend, linear_attend
from regard.attention.inputs import problem_of
from regard.attention.operation import run_compiled
from regard.cost import executed
from regard.pattern import Causal, Full, Strided, Windowed
from regard.recurrence import grid_rnn, linear_rnn, rnn
from tests.cost.agreeing import leaf


def attention_counts(pairs, queries, heads, D, E, scaled=True, biased=False):
    return {
        "multiplies": heads * (pairs * (D + E) + (pairs if scaled else 0)),
        "adds": heads * (pairs * (D - 1) + (pairs - queries) * E + (pairs if biased else 0)),
        "pairs": heads * pairs,
    }


def check(cost, expected):
    assert cost.uncounted == {}
    assert {name: getattr(cost, name) for name in expected} == expected


def test_products():
    check(executed(torch.mm, torch.ones(2, 3), torch.ones(3, 5)), {"multiplies": 30, "adds": 20, "macs": 30})
    linear = nn.Linear(3, 5)
    for context in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with context():
            check(executed(linear, torch.ones(2, 4, 3)), {"multiplies": 120, "adds": 120, "macs": 120})
    check(
        executed(torch.einsum, "bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5)),
        {"multiplies": 120, "adds": 90},
    )


def test_elementwise():
    x = torch.ones(3, 4)
    check(executed(lambda: x + x * 2 - 1), {"multiplies": 12, "adds": 24})
    check(executed(lambda: 1.0 * x), {"multiplies": 0})
    check(executed(lambda: torch.add(x, x, alpha=3)), {"multiplies": 12, "adds": 12})
    check(executed(lambda: x.sum() + x.mean(0).sum()), {"multiplies": 4, "adds": 11 + 8 + 3 + 1})
    check(executed(lambda: x.cumsum(1)), {"adds": 9})
    check(executed(lambda: torch.arange(5) * 2 + 1), {"multiplies": 0, "adds": 0})
    ran = executed(lambda: x.relu().exp().softmax(-1))
    assert ran.other == {"relu": 12, "exp": 12, "softmax": 12}
    assert ran.flops == 0


def test_what_is_not_known_is_named():
    x = torch.eye(3)
    ran = executed(lambda: torch.linalg.inv(x) @ x)
    assert ran.uncounted == {"linalg_inv_ex": 1}
    assert ran.multiplies == 27
    assert ran.parameters is None


@pytest.mark.parametrize("impl", ["reference", "sdpa", "auto"])
@pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=2), Windowed(size=3)], ids=str)
def test_attend_counts_its_definition_whatever_runs(pattern, impl):
    q, k, v = leaf(2, 4, 7, 3), leaf(2, 2, 7, 3), leaf(2, 2, 7, 5)
    ran = executed(attend, q, k, v, pattern, impl=impl)
    pairs = pattern.pairs(7)
    check(ran, attention_counts(2 * pairs, 2 * 7, 4, 3, 5))
    assert ran.pairs <= ran.computed_pairs <= 2 * 4 * 49
    ran = executed(lambda: attend(q, k, v, pattern, impl=impl).sum().backward())
    assert ran.macs == 3 * 4 * 2 * pairs * (3 + 5)
    assert ran.uncounted == {}


def test_attend_with_scale_bias_and_fewer_queries():
    q, k = leaf(1, 2, 3, 4), leaf(1, 2, 7, 4)
    pairs = Causal().pairs(3, 7)
    check(executed(attend, q, k, k, Causal(), scale=1.0), attention_counts(pairs, 3, 2, 4, 4, scaled=False))
    bias = DistanceBias((1.0, 0.5))
    check(executed(attend, q, k, k, Causal(), bias=bias), attention_counts(pairs, 3, 2, 4, 4, biased=True))
    out, weights = leaf(1, 1, 3, 3), []
    check(
        executed(lambda: weights.append(attend(out, out, out, return_weights=True))),
        attention_counts(9, 3, 1, 3, 3),
    )
    assert weights[0][1].shape == (1, 1, 3, 3)


def test_computed_pairs_follow_the_tiles():
    x = leaf(1, 1, 1024, 8)
    ran = executed(attend, x, x, x, Strided(back=15))
    assert ran.pairs == Strided(back=15).pairs(1024)
    assert ran.pairs < ran.computed_pairs < 1024 * 1024 // 4


def test_foreign_attention():
    q, k = leaf(2, 4, 5, 6), leaf(2, 4, 7, 6)
    sdpa = functional.scaled_dot_product_attention
    check(executed(sdpa, q, k, k), attention_counts(2 * 35, 2 * 5, 4, 6, 6))
    mask = torch.ones(5, 7, dtype=torch.bool).tril()
    check(executed(sdpa, q, k, k, mask), attention_counts(2 * 35, 2 * 5, 4, 6, 6))
    check(executed(sdpa, q, k, k, mask.float()), attention_counts(2 * 35, 2 * 5, 4, 6, 6, biased=True))
    check(executed(sdpa, q, k, k, is_causal=True), attention_counts(2 * 15, 2 * 5, 4, 6, 6))
    check(executed(sdpa, k, q, q, is_causal=True), attention_counts(2 * (15 + 10), 2 * 7, 4, 6, 6))
    ran = executed(lambda: sdpa(q, k, k, is_causal=True).sum().backward())
    assert ran.macs == 3 * 2 * 15 * 4 * 12
    assert ran.uncounted == {}
    with torch.no_grad():
        fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        check(executed(fused, q, k, k, 0.0, True), attention_counts(2 * 15, 2 * 5, 4, 6, 6))


def test_torch_attention_layer():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = leaf(1, 5, 8)
    ran = executed(layer, x, x, x, need_weights=False)
    assert ran.pairs == 2 * 25
    assert ran.macs == 4 * 5 * 64 + 2 * 25 * 8
    assert ran.uncounted == {}


def test_flex_attention():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    x = torch.randn(1, 2, 16, 8)
    mask = flex.create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 16, 16, device="cpu", BLOCK_SIZE=16)
    with warnings.catch_warnings():  # torch says once in a process that this is slow
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        ran = executed(flex.flex_attention, x, x, x, block_mask=mask)
    check(ran, attention_counts(136, 16, 2, 8, 8))


def _compiled(q):
    return run_compiled(problem_of(q, q, q, Strided(back=1)), "auto").out


def test_attention_inside_a_compiled_model():
    q = leaf(2, 2, 5, 4)
    ran = executed(_compiled, q)
    check(ran, attention_counts(2 * 9, 2 * 5, 2, 4, 4))
    ran = executed(lambda: _compiled(q).sum().backward())
    assert ran.macs == 3 * 2 * 9 * 2 * 8
    assert ran.uncounted == {}


def test_recurrences():
    x, W_x, W_h, h0 = leaf(2, 5, 3), leaf(4, 3), leaf(4, 4), leaf(2, 4)
    steps = {"multiplies": 2 * (5 * 12 + 4 * 16), "adds": 2 * (5 * 8 + 4 * 16)}
    check(executed(linear_rnn, x, W_x, W_h), steps)
    check(executed(rnn, x, W_x, W_h), steps)
    check(executed(rnn, x, W_x, W_h, impl="reference"), steps)
    check(executed(rnn, x, W_x, W_h, None, h0), {"multiplies": 2 * (5 * 12 + 5 * 16)})
    grid = leaf(2, 3, 4, 3)
    for impl in ("reference", "wavefront"):
        check(executed(grid_rnn, grid, W_x, W_h, W_h, impl=impl), {"multiplies": 2 * (12 * 12 + 17 * 16)})
    ran = executed(lambda: linear_rnn(x, W_x, W_h).sum().backward())
    assert ran.macs == 3 * steps["multiplies"]


def test_linear_attention_is_linear():
    def macs(n):
        x = torch.rand(1, 2, n, 4) + 1
        return executed(linear_attend, x, x, x, causal=True).macs

    assert macs(64) == 2 * macs(32)


def test_torch_lstm_is_counted_or_named():
    ran = executed(nn.LSTM(3, 4), torch.zeros(5, 2, 3))
    assert ran.uncounted == {} or "rnn" in str(ran.uncounted)
    assert ran.macs == 5 * 2 * 16 * (3 + 4)


def test_nothing_stays_switched_on():
    before = sys.getprofile()
    with pytest.raises(ValueError, match="heads"):
        executed(attend, torch.zeros(1, 3, 2, 2), torch.zeros(1, 2, 2, 2), torch.zeros(1, 2, 2, 2))
    assert sys.getprofile() is before
    ran = executed(lambda: torch.zeros(2) + 1)
    assert ran.adds == 2


def test_an_error_inside_a_rule_is_left_again():
    def careful():
        with pytest.raises(ValueError, match="heads"):
            attend(torch.zeros(1, 3, 2, 2), torch.zeros(1, 2, 2, 2), torch.zeros(1, 2, 2, 2))
        return torch.zeros(2) + 1

    assert executed(careful).adds == 2


def test_gradients_of_a_second_backward_are_counted_again():
    x = leaf(1, 1, 4, 2)
    out = attend(x, x, x).sum()
    assert executed(out.backward).pairs == 0  # what was built before is seen operation by operation
