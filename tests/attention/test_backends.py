"""Every path on a CPU against the definition: output and gradients, or a refusal that says why."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import DistanceBias, attend
from regard.pattern import (
    And,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Pattern,
    SparseStrided,
    Strided,
    Windowed,
)
from tests.attention.matching import COMPOSITE, CPU, assert_matches, gradients, inputs, patterns
from tests.pattern.strategies import cases, combined, shapes

SLOPES = DistanceBias((1.0, 0.5, 0.25, 0.03))
# One for each way of going about it, and one with rows that see nothing.
FEW: list[Pattern] = [
    Full(), Causal(), Strided(back=20), Windowed(size=24), Blocks(size=50), Dilated(back=3, step=5),
    COMPOSITE, Causal() & ~Strided(back=20),
]  # fmt: skip


def segments_of(B: int, m: int) -> Tensor:
    """Runs of every length, interleaved numbers, and padding in front, between and behind."""
    numbers = torch.randint(-1, 3, (B, m), generator=torch.Generator().manual_seed(m))
    numbers[0] = torch.arange(m) // 50 - 1
    return numbers


@pytest.mark.parametrize("n", [1, 7, 127, 129])
@pytest.mark.parametrize("index", range(len(patterns(1))))
def test_every_pattern_at_odd_lengths(n: int, index: int) -> None:
    pattern = patterns(n)[index]
    ran = assert_matches(inputs(n, D=12, E=20), pattern)
    assert {"sdpa", "gathered", "auto"} <= set(ran)
    last = pattern.parts[0] if isinstance(pattern, And) and pattern.parts[-1] == Causal() else pattern
    folds = isinstance(last, Documents) or isinstance(pattern, Windowed | Blocks | Dilated)
    assert ("folded" in ran) == folds
    assert ("chunked" in ran) == isinstance(pattern, Strided | Dilated)


@pytest.mark.parametrize("pattern", patterns(1000), ids=str)
def test_every_pattern_at_1000(pattern: Pattern) -> None:
    assert_matches(inputs(1000, H=2, G=1), pattern)


@pytest.mark.parametrize("n", [(1, 7), (1, 1000), (7, 129), (126, 129), (127, 300)], ids=str)
@pytest.mark.parametrize("index", range(len(patterns(1))))
def test_queries_are_the_last_positions(n: tuple[int, int], index: int) -> None:
    pattern = patterns(n[1], exact=False)[index]
    ran = assert_matches(inputs(n, H=2, G=1), pattern)
    # Of a window the keys in front of the queries are left out; then a window of one begins with each query.
    assert ("folded" in ran) == (pattern == Windowed(size=1))


@settings(max_examples=60)
@given(cases(most=200), st.integers(0, 99))
def test_random_expressions(case: tuple[Pattern, int, int], seed: int) -> None:
    pattern, n, m = case
    assert {"sdpa", "gathered", "auto"} <= set(assert_matches(inputs((n, m), seed=seed, D=8, E=8), pattern))


BANDS: st.SearchStrategy[Pattern] = combined(
    st.one_of(
        st.just(Causal()),
        st.builds(Strided, st.integers(0, 150)),
        st.builds(Dilated, st.integers(0, 9), st.integers(1, 20)),
        st.builds(SparseStrided, st.integers(1, 40)),
    ),
    4,
)


@settings(max_examples=60)
@given(BANDS, st.integers(0, 200), shapes(300))
def test_random_bands(inner: Pattern, back: int, n: tuple[int, int]) -> None:
    """What the distance decides and a band bounds goes by chunks, if it is known to hold anything."""
    pattern = inner & Strided(back=back)
    assert ("chunked" in assert_matches(inputs(n, D=8, E=8), pattern)) == (pattern.keys_kept() != 0)


@settings(max_examples=30)
@given(cases(most=150), st.booleans(), st.booleans())
def test_random_expressions_with_bias_and_segments(
    case: tuple[Pattern, int, int], biased: bool, cut: bool
) -> None:
    pattern, n, m = case
    options: dict[str, Any] = {"bias": SLOPES} if biased else {}
    options |= {"segments": segments_of(2, m)} if cut else {}
    assert_matches(inputs((n, m), B=2, H=4, G=2, D=8, E=8), pattern, **options)


@pytest.mark.parametrize("pattern", FEW, ids=str)
class TestEachWay:
    @pytest.mark.parametrize(("H", "G"), [(1, 1), (6, 2), (4, 1), (3, 3)])
    @pytest.mark.parametrize("B", [1, 3])
    def test_grouped_heads(self, pattern: Pattern, B: int, H: int, G: int) -> None:
        assert_matches(inputs(129, B=B, H=H, G=G), pattern)
        assert_matches(inputs((70, 129), B=B, H=H, G=G), pattern)

    @pytest.mark.parametrize(("D", "E"), [(8, 256), (256, 8), (64, 128), (33, 20), (1, 1)])
    def test_widths(self, pattern: Pattern, D: int, E: int) -> None:
        assert_matches(inputs(100, H=2, G=1, D=D, E=E), pattern)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
    def test_dtypes(self, pattern: Pattern, dtype: torch.dtype) -> None:
        for n in (1, 129, (60, 300)):
            assert_matches(inputs(n, H=4, G=2, dtype=dtype), pattern)
        assert_matches(
            inputs(129, B=2, H=4, G=2, dtype=dtype), pattern, bias=SLOPES, segments=segments_of(2, 129)
        )

    @pytest.mark.parametrize("scale", [0.0, -0.3, 1.0, 7.5])
    def test_scales(self, pattern: Pattern, scale: float) -> None:
        assert_matches(inputs(130), pattern, scale=scale)

    @pytest.mark.parametrize(
        ("dtype", "scale"), [(torch.float32, 2500.0), (torch.float16, 1000.0), (torch.bfloat16, 2500.0)]
    )
    def test_scores_of_ten_thousand(self, pattern: Pattern, dtype: torch.dtype, scale: float) -> None:
        """q·k spreads by 4 at D = 16, so that scores are ±10,000 and most weights 0 or 1."""
        assert_matches(inputs(129, dtype=dtype), pattern, scale=scale)
        assert_matches(inputs((20, 129), dtype=dtype), pattern, scale=-scale)

    def test_segments(self, pattern: Pattern) -> None:
        for n in (129, (50, 129)):
            xs = inputs(n, B=2, H=4, G=2)
            ran = assert_matches(xs, pattern, segments=segments_of(2, 129))
            assert ran == assert_matches(xs, pattern, segments=segments_of(2, 129).int(), bias=SLOPES)
            assert "folded" not in ran

    def test_all_padding(self, pattern: Pattern) -> None:
        xs, grad = inputs(70, B=2), torch.ones(2, 2, 70, 16)
        segments = torch.stack([torch.full((70,), -1), torch.zeros(70, dtype=torch.int64)])
        for impl in assert_matches(xs, pattern, segments=segments):
            for x in gradients(xs, grad, pattern, segments=segments, impl=impl):
                assert not x[0].any(), impl

    @pytest.mark.parametrize("shape", [(), (130,), (130, 1), (4, 1, 130), (2, 1, 130, 130)])
    def test_bias_tensors(self, pattern: Pattern, shape: tuple[int, ...]) -> None:
        bias = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(5))
        assert assert_matches(inputs(130, B=2, H=4, G=2), pattern, bias=bias) == ["sdpa", "slots", "auto"]

    def test_inputs_and_gradients_of_any_stride(self, pattern: Pattern) -> None:
        # B N H D, as a layer has them; every second of a longer run; one head for all; one number for all.
        q = inputs(129, B=2, H=4)[0].transpose(1, 2).contiguous().transpose(1, 2)
        k = inputs(258, B=2, H=4, D=32)[0][:, :, ::2, ::2]
        v = inputs(129, B=2, H=1)[0].expand(2, 4, 129, 16)
        for grad in (
            None,
            torch.ones(()).expand(2, 4, 129, 16),
            inputs(129, B=2, H=16, D=4)[0].transpose(1, 3),
        ):
            assert_matches((q, k, v), pattern, grad=None if grad is None else grad.reshape(2, 4, 129, 16))
        assert_matches((q.mT.contiguous().mT, k, v), pattern, grad=torch.ones(()).expand(2, 4, 129, 16))

    @pytest.mark.parametrize("empty", ["B", "H", "N", "E", "M"])
    def test_nothing_gives_nothing(self, pattern: Pattern, empty: str) -> None:
        sizes = {"B": 2, "H": 2, "E": 5, empty: 0}
        n: Any = {"N": (0, 9), "M": 0}.get(empty, 9)
        xs = inputs(n, B=sizes["B"], H=sizes["H"], G=sizes["H"], E=sizes["E"])
        grad = torch.ones(*xs[0].shape[:3], sizes["E"])
        assert {"sdpa", "gathered", "auto"} <= set(assert_matches(xs, pattern, grad=grad))
        for impl in ("auto", "reference"):
            assert not any(x.any() for x in gradients(xs, grad, pattern, impl=impl))

    def test_only_what_asks_gets_a_gradient(self, pattern: Pattern) -> None:
        q, k, v = inputs(129)
        for impl in CPU:
            v = v.detach().requires_grad_()
            try:
                out = attend(q, k, v, pattern, impl=impl)
            except ValueError:
                continue
            (dv,) = torch.autograd.grad(out.square().sum(), v)
            want = attend(q, k, v, pattern, impl="reference")
            torch.testing.assert_close(
                dv, torch.autograd.grad(want.square().sum(), v)[0], rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_long_sums(dtype: torch.dtype) -> None:
    """Of the gradient of a key that very many tiles of queries see."""
    xs = inputs(3000, H=1, G=1, D=8, E=8, dtype=dtype)
    grad = torch.ones_like(xs[0])  # all of one sign, so that the sum grows
    assert_matches(xs, Global(first=4) & Causal(), ("gathered",), grad=grad)
    xs = inputs(2000, H=1, G=1, D=8, E=8, dtype=dtype)
    assert_matches(xs, Strided(back=1500), ("chunked",), grad=grad[:, :, :2000])


def test_no_keys_at_all() -> None:
    """Large half-precision numbers must not leak into the zeros."""
    q, k = torch.full((1, 1, 9, 4), 6e4, dtype=torch.float16), torch.zeros(1, 1, 0, 4, dtype=torch.float16)
    for impl in ("reference", "sdpa", "gathered", "auto"):
        assert torch.equal(attend(q, k, k, Full(), impl=impl), torch.zeros_like(q))


def test_a_plan_made_without_gradients_serves_training() -> None:
    xs = inputs(300)
    for pattern in (Global(first=3) & Causal(), Strided(back=31), Dilated(back=3, step=7)):
        with torch.inference_mode():
            attend(*xs, pattern, impl="gathered")
            attend(*xs, pattern)
        assert_matches(xs, pattern)


def test_a_second_derivative_is_right_or_an_error() -> None:
    q, k, v = (x.requires_grad_() for x in inputs(40, D=4, E=4))
    for impl, pattern in (("chunked", Strided(back=3)), ("gathered", COMPOSITE)):
        (dq,) = torch.autograd.grad(attend(q, k, v, pattern, impl=impl).square().sum(), q, create_graph=True)
        with pytest.raises(RuntimeError, match="has no second derivative; impl='reference' has"):
            torch.autograd.grad(dq.square().sum(), q)


REFUSALS: list[tuple[str, Pattern, dict[str, Any], str]] = [
    ("folded", Strided(back=3), {}, r"strided\(3\) has no windows or residue classes to fold"),
    ("folded", Windowed(size=4) & Strided(back=2), {}, "is a band inside windows"),
    ("folded", Windowed(size=4), {"n": (5, 8)}, "the queries start inside a window, N=5, M=8"),
    (
        "folded",
        Windowed(size=4),
        {"bias": DistanceBias((1.0, 1.0))},
        "it does not take a DistanceBias",
    ),
    (
        "folded",
        Blocks(size=4),
        {"segments": torch.zeros(1, 8).long()},
        "it does not take segments",
    ),
    ("chunked", Causal(), {}, "causal is not a band behind the query"),
    ("chunked", Windowed(size=4), {}, r"windowed\(4\) is not a band behind the query"),
    ("chunked", ~Strided(back=3), {}, r"~strided\(3\) is not a band behind the query"),
    ("chunked", Strided(back=3) | ~Causal(), {}, "is not a band behind the query"),
    ("chunked", Strided(back=3), {"bias": torch.zeros(8, 8)}, "it does not take a bias tensor"),
    ("gathered", Causal(), {"bias": torch.zeros(8, 8)}, "it does not take a bias tensor"),
    ("flex", Causal(), {}, "it has no backward on a CPU, the query is on cpu"),
]


@pytest.mark.parametrize(("impl", "pattern", "options", "why"), REFUSALS, ids=lambda x: str(x)[:30])
def test_a_named_backend_runs_or_says_why_not(
    impl: str, pattern: Pattern, options: dict[str, Any], why: str
) -> None:
    options = dict(options)
    xs = inputs(options.pop("n", 8))
    with pytest.raises(ValueError, match=f"^impl='{impl}' cannot: .*{why}"):
        attend(*xs, pattern, impl=impl, **options)
    assert attend(*xs, pattern, **options).shape == xs[0].shape


def test_a_bias_tensor_gets_its_gradient() -> None:
    xs = inputs(9)
    bias = torch.randn(2, 9, 9, generator=torch.Generator().manual_seed(1)).requires_grad_()
    found = [
        torch.autograd.grad(attend(*xs, Documents((4, 5)), bias=bias, impl=impl).square().sum(), bias)[0]
        for impl in ("reference", "sdpa", "auto")
    ]
    assert found[0].any()
    for got in found[1:]:
        torch.testing.assert_close(got, found[0])
