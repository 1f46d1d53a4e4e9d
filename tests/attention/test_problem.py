"""Bad input is refused before anything runs, with the names and the values."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import BACKENDS, DistanceBias, attend, choose
from regard.attention.inputs import problem_of
from regard.attention.problem import same_segment
from regard.pattern import Axial, Causal, Documents, Full, Global, Neighbourhood, Strided, Windowed


def zeros(*shape: int, **options: Any) -> Tensor:
    return torch.zeros(*shape, **options)


def good() -> dict[str, Any]:
    return {
        "query": zeros(2, 6, 4, 8),
        "key": zeros(2, 3, 5, 8),
        "value": zeros(2, 3, 5, 7),
        "pattern": Causal(),
        "bias": None,
        "segments": None,
    }


BAD = [
    ({"query": zeros(4, 8)}, r"must have 4 axes .* got query \(4, 8\), key \(2, 3, 5, 8\)"),
    ({"query": zeros(6, 4, 8)}, r"must have 4 axes .* got query \(6, 4, 8\), key \(2, 3, 5, 8\)"),
    ({"value": zeros(2, 3, 5, 7, 1)}, r"must have 4 axes .* value \(2, 3, 5, 7, 1\)"),
    ({"key": zeros(1, 3, 5, 8)}, r"one batch size, got query \(2, 6, 4, 8\), key \(1, 3, 5, 8\)"),
    ({"value": zeros(3, 3, 5, 7)}, r"one batch size, got .* value \(3, 3, 5, 7\)"),
    (
        {"key": zeros(2, 3, 5, 9)},
        r"query and key must have one width, got query \(2, 6, 4, 8\), key \(2, 3, 5, 9\)",
    ),
    (
        {"value": zeros(2, 3, 6, 7)},
        r"key and value must have the same heads and length, .* value \(2, 3, 6, 7\)",
    ),
    (
        {"value": zeros(2, 6, 5, 7)},
        r"key and value must have the same heads and length, .* value \(2, 6, 5, 7\)",
    ),
    (
        {"key": zeros(2, 4, 5, 8), "value": zeros(2, 4, 5, 7)},
        "key heads must divide the query heads, got H=6, G=4",
    ),
    ({"key": zeros(2, 12, 5, 8), "value": zeros(2, 12, 5, 7)}, "must divide the query heads, got H=6, G=12"),
    ({"key": zeros(2, 0, 5, 8), "value": zeros(2, 0, 5, 7)}, "must divide the query heads, got H=6, G=0"),
    (
        {"query": zeros(2, 6, 4, 0), "key": zeros(2, 3, 5, 0)},
        r"width must be at least 1, got query \(2, 6, 4, 0\)",
    ),
    ({"key": zeros(2, 3, 5, 8).half()}, r"one floating dtype, got query torch.float32, key torch.float16"),
    ({"value": zeros(2, 3, 5, 7).double()}, r"one floating dtype, got .* value torch.float64"),
    (
        {name: good()[name].long() for name in ("query", "key", "value")},
        "one floating dtype, got query torch.int64",
    ),
    ({"key": zeros(2, 3, 5, 8, device="meta")}, r"on one device, got query cpu, key meta, value cpu"),
    ({"segments": zeros(2, 5, device="meta").long()}, r"on one device, got .* segments meta"),
    ({"bias": zeros(4, 5, device="meta")}, r"on one device, got .* bias meta"),
    ({"pattern": Causal}, r"pattern must be a regard.pattern value or its text, got <class"),
    ({"pattern": Causal().dense(4, 5)}, r"pattern must be .* got a tensor; masks go to mask="),
    ({"query": zeros(2, 6, 6, 8)}, r"n ≤ m is needed, got n=6, m=5"),
    (
        {"query": zeros(2, 6, 5, 8), "pattern": Documents((2, 2))},
        r"documents\(\(2, 2\)\) covers 4 positions, got n=5",
    ),
    ({"pattern": Documents((2, 2))}, r"documents\(\(2, 2\)\) covers 4 positions, got m=5 keys"),
    ({"query": zeros(2, 6, 5, 8), "pattern": Axial(2, 3)}, r"axial\(2, 3\) covers 6 positions, got n=5"),
    (
        {"pattern": Causal() & ~Neighbourhood(1, 4, 1)},
        r"neighbourhood\(1, 4, 1\) covers 4 positions, got m=5 keys",
    ),
    (
        {"bias": zeros(6, 4, 4)},
        r"broadcast to \(B, H, N, M\) = \(2, 6, 4, 5\), got \(6, 4, 4\) torch.float32",
    ),
    ({"bias": zeros(1, 2, 6, 4, 5)}, r"broadcast to .* got \(1, 2, 6, 4, 5\)"),
    ({"bias": zeros(4, 5).int()}, r"bias must be floating .* got \(4, 5\) torch.int32"),
    ({"bias": 0.5}, "bias must be a tensor or a DistanceBias, got float"),
    ({"bias": DistanceBias((1.0, 0.5))}, "one slope per head, got 2 slopes, H=6"),
    ({"segments": zeros(2, 4).long()}, r"shape \(B, M\) = \(2, 5\), got \(2, 4\) torch.int64"),
    ({"segments": zeros(1, 5).long()}, r"shape \(B, M\) = \(2, 5\), got \(1, 5\) torch.int64"),
    ({"segments": zeros(2, 5)}, r"segments must be integers .* got \(2, 5\) torch.float32"),
    ({"segments": zeros(2, 5).bool()}, r"segments must be integers .* got \(2, 5\) torch.bool"),
    (
        {"query": zeros(2, 6, 6, 8), "pattern": Full(), "segments": zeros(2, 5).long()},
        r"segments need at most as many queries as keys, got N=6, M=5",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_every_door_refuses(change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`attend` under each name and `choose` say the same, and no backend is even imported."""
    monkeypatch.setattr("regard.attention.engine.import_module", pytest.fail)
    monkeypatch.setattr("regard.attention.reference.attend", pytest.fail)
    arguments = good() | change
    for impl in ("auto", *BACKENDS):
        with pytest.raises(ValueError, match=message) as found:
            attend(**arguments, impl=impl)
        assert "\n" not in str(found.value)
    with pytest.raises(ValueError, match=message):
        choose(**arguments)


def test_the_good_arguments_are_good() -> None:
    assert attend(**good()).shape == (2, 6, 4, 7)
    assert choose(**good()).impl in BACKENDS


@pytest.mark.parametrize("impl", ["Reference", "cuda", "", "triton_tiles", "blocks_cpu"])
def test_an_unknown_backend_is_told_the_names(impl: str) -> None:
    names = "reference, sdpa, folded, chunked, gathered, packed, triton, hopper, short, flash, mixed, slots"
    with pytest.raises(ValueError, match=f"impl must be 'auto' or one of {names}, flex, got impl='{impl}'"):
        attend(**good(), impl=impl)


@pytest.mark.parametrize(
    "bias",
    [torch.zeros(()), zeros(5), zeros(4, 1), zeros(6, 1, 5), zeros(2, 1, 1, 1), DistanceBias((1.0,) * 6)],
)
def test_a_bias_broadcasts(bias: Tensor | DistanceBias) -> None:
    for impl in ("reference", "sdpa"):
        assert attend(**good() | {"bias": bias}, impl=impl).shape == (2, 6, 4, 7)


def test_more_queries_than_keys_for_full_only() -> None:
    arguments = good() | {"query": zeros(2, 6, 9, 8), "pattern": Full()}
    assert attend(**arguments).shape == (2, 6, 9, 7)
    for pattern in (Strided(back=9), Windowed(size=99), Full() & Full()):
        with pytest.raises(ValueError, match="n ≤ m is needed, got n=9, m=5"):
            attend(**arguments | {"pattern": pattern})


def test_the_scale_is_one_over_the_root_of_the_width_unless_given() -> None:
    x = zeros(1, 1, 3, 16)
    assert problem_of(x, x, x, Full()).scale == 0.25
    assert problem_of(x, x, x, Full(), scale=0.0).scale == 0.0


def test_negative_segments_are_nobodys() -> None:
    a, b = torch.tensor([0, 1, -1, -1]), torch.tensor([0, 0, -1, -2])
    assert same_segment(a, b).tolist() == [True, False, False, False]


@pytest.mark.parametrize("given", [[[[[1.0]]]], torch.zeros(1, 1, 1, 1).numpy(), 3.0, None], ids=type)
def test_what_is_no_tensor_is_named(given: Any) -> None:
    x = zeros(1, 1, 1, 1)
    for arguments, name in (((given, x, x), "query"), ((x, given, x), "key"), ((x, x, given), "value")):
        with pytest.raises(ValueError, match=f"{name} must be a torch tensor, got {type(given).__name__}"):
            attend(*arguments)
    if given is not None:
        for name in ("segments", "mask", "key_segments", "cu_seqlens"):
            with pytest.raises(
                ValueError, match=f"{name} must be a torch tensor, got {type(given).__name__}"
            ):
                attend(x, x, x, **{name: given})


IMPLS = ("reference", "sdpa", "chunked", "gathered", "slots", "auto")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint32])
def test_segments_of_any_integers(dtype: torch.dtype) -> None:
    xs, numbers = torch.randn(3, 1, 2, 9, 8), torch.tensor([[0] * 4 + [7] * 5])
    want = attend(*xs, Strided(back=2), segments=numbers, impl="reference")
    for impl in IMPLS:
        got = attend(*xs, Strided(back=2), segments=numbers.to(dtype), impl=impl)
        torch.testing.assert_close(got, want, msg=impl)


def test_segments_are_told_apart_in_all_their_bits() -> None:
    xs = torch.randn(3, 1, 2, 40, 8)
    numbers = torch.tensor([5, 5 + (1 << 32), 5 - (1 << 32), 5 + (1 << 62)])[torch.arange(40) // 10][None]
    want = attend(*xs, Causal() & Documents((10,) * 4), impl="reference")
    want[:, :, 20:30] = 0  # a negative number is padding
    for impl in ("reference", "sdpa", "gathered", "auto"):
        torch.testing.assert_close(attend(*xs, Causal(), segments=numbers, impl=impl), want, msg=impl)


@pytest.mark.parametrize("n", [1, 8, 64, 700])
def test_autocast_decides_the_type_and_not_the_length(n: int) -> None:
    for pattern in (Full(), Causal(), Strided(back=9), Windowed(size=8), Strided(back=3) | Global(first=1)):
        xs = torch.randn(3, 1, 2, n, 8)
        with torch.autocast("cpu", torch.bfloat16):
            assert attend(*xs, pattern).dtype == torch.bfloat16
            assert attend(*xs.double(), pattern).dtype == torch.float64
            assert attend(*xs, pattern, bias=zeros(n, n)).dtype == torch.bfloat16


def test_products_of_float16_do_not_overflow() -> None:
    x = torch.full((1, 1, 4, 64), 300.0, dtype=torch.float16)  # 64 · 300² is 88 times the largest float16
    for impl in IMPLS:
        assert torch.equal(attend(x, x, x, Strided(back=1), impl=impl), x), impl


def test_a_row_that_a_bias_hides_is_zero_everywhere() -> None:
    xs = torch.randn(3, 1, 2, 4, 8, requires_grad=True)
    bias = torch.zeros(4, 4)
    bias[2] = -torch.inf
    for impl in ("reference", "sdpa", "slots", "auto"):
        out = attend(*xs, bias=bias, impl=impl)
        assert not out[:, :, 2].any()
        (grad,) = torch.autograd.grad(out.sum(), xs)
        assert grad.isfinite().all()
        assert not grad[0, :, :, 2].any()


@pytest.mark.parametrize("n", [500, (300, 500)])
def test_alibi_is_not_rounded_to_halves(n: int | tuple[int, int]) -> None:
    """Distances of 500 have nine bits, bfloat16 has eight."""
    N, M = n if isinstance(n, tuple) else (n, n)
    bias = DistanceBias((0.5, 1 / 3))
    q, k, v = torch.randn(1, 2, N, 16), torch.randn(1, 2, M, 16), torch.randn(1, 2, M, 16)
    for dtype, near in ((torch.bfloat16, 0.03), (torch.float16, 0.004), (torch.float64, 1e-12)):
        xs = [x.to(dtype) for x in (q, k, v)]
        want = attend(*(x.double() for x in xs), Causal(), bias=bias, impl="reference")
        for impl in ("reference", "sdpa", "gathered", "auto"):
            got = attend(*xs, Causal(), bias=bias, impl=impl)
            assert float((got.double() - want).abs().max()) < near, impl


def test_slopes_of_float64_are_not_of_float32() -> None:
    one, zero = torch.tensor([[1]]), torch.tensor([[0]])
    assert float(DistanceBias((1 / 3,)).dense(one, zero, torch.float64)) == -1 / 3


def test_two_devices_have_two_block_masks() -> None:
    """And "cuda" is whichever is current: nothing is kept under that word."""
    from regard.attention import flex

    flex._block_mask.cache_clear()
    for device in ("cpu", "meta"):
        assert flex.block_mask(Causal(), 256, device).kv_indices.device.type == device
    assert flex._block_mask.cache_info().currsize == 2
