"""`linear_attend` against its quadratic definition: values, gradients, states, segments, refusals."""

from math import exp

import pytest
import torch
from torch import Tensor
from torch.autograd import grad

from regard.attention.linear.attend import chosen_linear, linear_attend
from regard.attention.linear.features import elu1, identity, relu

IMPLS = ("reference", "chunked")
RATES = (0.3, 0.02)  # of two key heads: after a chunk of 64 one has forgotten all, one has not
DECAYS = pytest.mark.parametrize("decay", [None, RATES], ids=["kept", "decay"])


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64, positive: bool = False) -> Tensor:
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return (x.abs() + 0.1 if positive else x).to(dtype).requires_grad_()


def inputs(N: int, M: int, *, H: int = 4, G: int = 2, D: int = 6, E: int = 5, **kind: object) -> list[Tensor]:
    shapes = ((2, H, N, D), (2, G, M, D), (2, G, M, E))
    return [drawn(*shape, seed=seed, **kind) for seed, shape in enumerate(shapes)]


def with_gradients(xs: list[Tensor], **options: object) -> list[Tensor]:
    out = linear_attend(*xs, **options)
    assert isinstance(out, Tensor)
    weight = drawn(*out.shape, seed=9, dtype=out.dtype).detach()
    return [out, *grad(out, xs, weight)]


def written_out(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool,
    segments: Tensor | None,
    decay: tuple[float, ...] = (0.0, 0.0),
) -> Tensor:
    """The definition, pair by pair, sharing nothing with the code under test."""
    (B, H, N, _), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    out = torch.zeros(B, H, N, E, dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            g = h // (H // G)
            for i in range(N):
                at = i + M - N
                seen = [j for j in range(M) if not causal or j <= at]
                if segments is not None:
                    seen = [j for j in seen if segments[b, j] == segments[b, at] >= 0]
                weights = [q[b, h, i] @ k[b, g, j] * exp(-decay[g] * (at - j)) for j in seen]
                if seen:
                    out[b, h, i] = sum(w * v[b, g, j] for w, j in zip(weights, seen, strict=True)) / sum(
                        weights
                    )
    return out


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("segmented", [False, True])
@pytest.mark.parametrize("impl", IMPLS)
def test_definition(impl: str, causal: bool, segmented: bool) -> None:
    q, k, v = inputs(5, 7, positive=True)
    segments = torch.tensor([[0, 0, 3, 3, -1, 0, 3], [-1, -1, 2, 2, 2, 2, 2]]) if segmented else None
    got = linear_attend(q, k, v, causal=causal, segments=segments, impl=impl)
    torch.testing.assert_close(got, written_out(q, k, v, causal, segments))
    if causal:
        got = linear_attend(q, k, v, causal=True, segments=segments, decay=(0.5, 0.1), impl=impl)
        torch.testing.assert_close(got, written_out(q, k, v, causal, segments, (0.5, 0.1)))


@pytest.mark.parametrize("feature", [identity, relu, elu1], ids=lambda f: f.__name__)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("N", "M"), [(1, 1), (7, 7), (127, 127), (129, 129), (1000, 1000), (1, 129), (70, 129)]
)
def test_chunked_equals_reference(N: int, M: int, causal: bool, feature: object) -> None:
    xs = inputs(N, M, H=2, positive=feature is not elu1)
    options = {"causal": causal, "feature": feature}
    want = with_gradients(xs, impl="reference", **options)
    for got, expected in zip(with_gradients(xs, impl="chunked", **options), want, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("decay", [(0.3, 0.02), (0.0, 40.0), (0.0, 0.0)])
@pytest.mark.parametrize(
    ("N", "M"),
    [(1, 1), (7, 7), (64, 64), (127, 127), (129, 129), (1000, 1000), (1, 129), (70, 129), (64, 129)],
)
def test_decay_chunked_equals_reference(N: int, M: int, decay: tuple[float, ...]) -> None:
    xs, options = inputs(N, M), {"causal": True, "feature": elu1, "decay": decay}
    want = with_gradients(xs, impl="reference", **options)
    for got, expected in zip(with_gradients(xs, impl="chunked", **options), want, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)
    if decay == (0.0, 0.0):
        torch.testing.assert_close(want[0], linear_attend(*xs, causal=True, feature=elu1))
    elif N > 1:
        assert not torch.allclose(want[0], linear_attend(*xs, causal=True, feature=elu1))


SEGMENTS = {
    "documents": lambda M: torch.arange(M) // 50,
    "short documents": lambda M: torch.arange(M) // 3,
    "padding both ends": lambda M: torch.where((torch.arange(M) - M // 2).abs() < M // 3, 4, -1),
    "one key each": torch.arange,
    "scattered": lambda M: torch.randint(-1, 4, (M,), generator=torch.Generator().manual_seed(5)),
    "all padding": lambda M: torch.full((M,), -1),
}


@pytest.mark.parametrize("kind", SEGMENTS)
@pytest.mark.parametrize(("causal", "decay"), [(False, None), (True, None), (True, RATES)])
@pytest.mark.parametrize(("N", "M"), [(7, 7), (200, 200), (70, 200)])
def test_segments(N: int, M: int, causal: bool, decay: tuple[float, ...] | None, kind: str) -> None:
    xs = inputs(N, M, H=4, positive=True)
    segments = torch.stack([SEGMENTS[kind](M), SEGMENTS["documents"](M)])
    options = {"causal": causal, "segments": segments, "decay": decay}
    want = with_gradients(xs, impl="reference", **options)
    got = with_gradients(xs, impl="chunked", **options)
    for ours, expected in zip(got, want, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)
    blind = segments[0, M - N :] < 0
    for rows in (got[0], got[1]):  # outputs and query gradients
        assert (rows[0][:, blind] == 0).all()


@DECAYS
@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("cut", [0, 1, 64, 99, 129])
def test_a_sequence_may_be_cut_anywhere(impl: str, cut: int, decay: tuple[float, ...] | None) -> None:
    xs, options = inputs(129, 129, positive=True), {"causal": True, "return_state": True, "decay": decay}
    whole, (S, z) = linear_attend(*xs, impl="reference", **options)
    head, state = linear_attend(*(x[:, :, :cut] for x in xs), impl=impl, **options)
    tail, after = linear_attend(*(x[:, :, cut:] for x in xs), state=state, impl=impl, **options)
    both = torch.cat((head, tail), 2)
    torch.testing.assert_close(both, whole)
    torch.testing.assert_close(after, (S, z))
    weight = drawn(*whole.shape, seed=9).detach()
    for got, want in zip(grad(both, xs, weight), grad(whole, xs, weight), strict=True):
        torch.testing.assert_close(got, want)


@DECAYS
@pytest.mark.parametrize("feature", [identity, elu1], ids=lambda f: f.__name__)
def test_recurrent_steps_equal_the_parallel_form(feature: object, decay: tuple[float, ...] | None) -> None:
    xs = [x.detach().float() for x in inputs(20, 20, positive=feature is identity)]
    options = {"causal": True, "feature": feature, "decay": decay}
    whole = linear_attend(*xs, **options)
    state, steps = None, []
    for i in range(20):
        out, state = linear_attend(
            *(x[:, :, i : i + 1] for x in xs), state=state, return_state=True, **options
        )
        steps.append(out)
    assert state is not None
    assert {part.dtype for part in state} == {torch.float32}
    torch.testing.assert_close(torch.cat(steps, 2), whole)


@pytest.mark.parametrize("impl", IMPLS)
def test_the_state_has_a_gradient_and_serves_the_full_form(impl: str) -> None:
    q, k, v = inputs(30, 100, positive=True)
    state = drawn(2, 2, 6, 5, seed=6), drawn(2, 2, 6, seed=7, positive=True)
    for causal, decay in ((False, None), (True, None), (True, RATES)):
        results = []
        for name in (impl, "reference"):
            options = {"causal": causal, "decay": decay, "impl": name}
            out, after = linear_attend(q, k, v, state=state, return_state=True, **options)
            loss = out.square().sum() + after[0].square().sum() + after[1].square().sum()
            results.append((out, *after, *grad(loss, (q, k, v, *state))))
        for got, want in zip(*results, strict=True):
            torch.testing.assert_close(got, want)
    # A state in place of keys: the same as the keys themselves.
    _, earlier = linear_attend(q[:, :, :0], k[:, :, :60], v[:, :, :60], return_state=True)
    carried = linear_attend(q, k[:, :, 60:], v[:, :, 60:], state=earlier, impl=impl)
    torch.testing.assert_close(carried, linear_attend(q, k, v))


@pytest.mark.parametrize(("causal", "decay"), [(False, None), (True, None), (True, (0.05,))])
@pytest.mark.parametrize("feature", ["identity", "elu1"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_error_at_most_twice_the_definition_s_own(
    dtype: torch.dtype, feature: str, causal: bool, decay: tuple[float, ...] | None
) -> None:
    xs = inputs(300, 300, H=2, G=1, D=16, E=24, dtype=dtype, positive=feature == "identity")
    options = {"causal": causal, "feature": feature, "decay": decay}
    exact = with_gradients([x.detach().double().requires_grad_() for x in xs], impl="reference", **options)
    plain = with_gradients(xs, impl="reference", **options)
    for ours, theirs, true in zip(with_gradients(xs, impl="chunked", **options), plain, exact, strict=True):
        assert ours.dtype == dtype
        assert (ours - true).norm() <= 2 * (theirs - true).norm()


@pytest.mark.parametrize("impl", IMPLS)
def test_layouts_and_lone_heads(impl: str) -> None:
    xs = [x.detach() for x in inputs(33, 33, H=1, G=1, positive=True)]
    want = linear_attend(*xs, causal=True, impl=impl)
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2)[..., ::1] for x in xs]
    strided = [torch.stack((x, x), -1).flatten(-2)[..., ::2] for x in turned]
    assert not strided[0].is_contiguous()
    torch.testing.assert_close(linear_attend(*strided, causal=True, impl=impl), want)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("causal", [False, True])
def test_nothing_to_see(impl: str, causal: bool) -> None:
    q, k, v = inputs(0, 0)
    assert linear_attend(q, k, v, causal=causal, impl=impl).shape == (2, 4, 0, 5)
    q, k, v = inputs(3, 0)
    out = linear_attend(q, k, v, impl=impl)
    assert (out == 0).all()
    assert (grad(out.sum(), q)[0] == 0).all()


def test_unsafe_denominators_are_explained() -> None:
    q = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])[None, None]
    k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])[None, None]
    v = torch.arange(3.0).view(1, 1, 3, 1)
    for impl in IMPLS:
        linear_attend(q[:, :, :2], k[:, :, :2], v[:, :, :2], causal=True, impl=impl)
        with pytest.raises(
            ValueError, match=r"batch 0, head 0, position 2\) is 0,.*feature=elu1.*check=False"
        ):
            linear_attend(q, k, v, causal=True, impl=impl)
        assert linear_attend(q, k, v, causal=True, impl=impl, check=False)[0, 0, 2].item() == 0
        assert linear_attend(q, k, v, causal=True, impl=impl, feature=elu1).isfinite().all()
        with pytest.raises(ValueError, match="position 0"):  # a query that relu silences
            linear_attend(-q, k, v, feature=relu, impl=impl)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("excess", [0.5, 2.0])
def test_the_rule_of_the_denominator(impl: str, excess: float) -> None:
    # den = ε; ‖q‖ = 1 and Σ‖k‖ = 2, so the border lies at 2e-6; a negative denominator is legal.
    epsilon = excess * 2e-6
    q = torch.tensor([[1.0, 0.0]], dtype=torch.float64)[None, None]
    k = torch.tensor([[1.0, 0.0], [-1.0 - epsilon, 0.0]], dtype=torch.float64)[None, None]
    v = torch.ones(1, 1, 2, 1, dtype=torch.float64)
    for causal in (False, True):
        if excess < 1:
            with pytest.raises(ValueError, match="position 0"):
                linear_attend(q, k, v, causal=causal, impl=impl)
        else:
            assert linear_attend(q, k, v, causal=causal, impl=impl).item() == pytest.approx(1.0)
    # The same two keys, the first of them inside a state: what is left of it is ‖z‖ = 1.
    state = torch.ones(1, 1, 2, 1, dtype=torch.float64), k[:, :, 0].clone()
    if excess < 1:
        with pytest.raises(ValueError, match="position 0"):
            linear_attend(q, k[:, :, 1:], v[:, :, 1:], causal=True, state=state, impl=impl)


@pytest.mark.parametrize("impl", IMPLS)
def test_padding_and_other_segments_do_not_raise(impl: str) -> None:
    q = k = torch.tensor([[1.0], [0.0], [-1.0], [2.0]])[None, None]
    v = torch.ones(1, 1, 4, 1)
    segments = torch.tensor([[0, -1, 1, 1]])
    out = linear_attend(q, k, v, causal=True, segments=segments, impl=impl)
    assert out.flatten().tolist() == [1.0, 0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="position 1"):  # alone in a segment of its own, it does
        linear_attend(q, k, v, causal=True, segments=torch.tensor([[0, 9, 1, 1]]), impl=impl)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("causal", [False, True])
def test_padding_may_hold_anything(impl: str, causal: bool) -> None:
    clean = inputs(50, 80, positive=True)
    segments = torch.where(torch.arange(80) % 40 < 25, 1, -1).expand(2, 80)
    dirty = [x.detach().clone() for x in clean]
    for x in dirty:
        x[:, :, segments[0, 80 - x.shape[2] :] < 0] = float("nan")
    dirty = [x.requires_grad_() for x in dirty]
    options = {"causal": causal, "segments": segments, "impl": impl}
    for got, want in zip(with_gradients(dirty, **options), with_gradients(clean, **options), strict=True):
        torch.testing.assert_close(got, want)


def test_any_function_can_be_the_feature() -> None:
    q, k, v = inputs(40, 40)

    def squares(x: Tensor) -> Tensor:
        return torch.cat((x.square(), torch.ones_like(x[..., :1])), -1)

    got = linear_attend(q, k, v, causal=True, feature=squares)
    torch.testing.assert_close(got, linear_attend(squares(q), squares(k), v, causal=True, impl="reference"))
    with pytest.raises(ValueError, match=r"keep all axes but the last"):
        linear_attend(q, k, v, feature=lambda x: x.mean(1))


def test_bad_input_is_named() -> None:
    q, k, v = (x.detach() for x in inputs(5, 5))
    bad = [
        (r"4 axes.*query \(4, 5, 6\)", (q[0], k, v), {}),
        (r"one floating dtype.*torch.float32", (q, k.float(), v), {}),
        (r"query \(2, 4, 5, 4\), key \(2, 2, 5, 6\)", (q[..., :4], k, v), {}),
        (r"divide the query heads, got H=3, G=2", (q[:, :3], k, v), {}),
        (r"N=5 > M=4", (q, k[:, :, :4], v[:, :, :4]), {"causal": True}),
        (
            r"segments must be integers.*\(2, 5\).*\(2, 4\)",
            (q, k, v),
            {"segments": torch.zeros(2, 4, dtype=torch.long)},
        ),
        (r"segments must be integers.*bool", (q, k, v), {"segments": torch.zeros(2, 5, dtype=torch.bool)}),
        (r"not both", (q, k, v), {"segments": torch.zeros(2, 5, dtype=torch.long), "return_state": True}),
        (
            r"state's z must be \(2, 2, 6\)",
            (q, k, v),
            {"state": (q.new_zeros(2, 2, 6, 5), q.new_zeros(2, 2, 5))},
        ),
        (r"feature='gelu'", (q, k, v), {"feature": "gelu"}),
        (r"impl='fast'", (q, k, v), {"impl": "fast"}),
        (r"kernels are causal", (q, k, v), {"impl": "triton"}),
        (r"float64.*impl='chunked'", (q, k, v), {"impl": "triton", "causal": True}),
        (r"know no decay", (q, k, v), {"impl": "triton", "causal": True, "decay": RATES}),
        (r"decay is for causal attention.*causal=False", (q, k, v), {"decay": RATES}),
        (r"decay must be 2 finite rates.*\(0\.3,\)", (q, k, v), {"causal": True, "decay": [0.3]}),
        (r"decay must be 2 .*\(0\.3, -1\.0\)", (q, k, v), {"causal": True, "decay": (0.3, -1)}),
        (r"decay must be 2 .*nan", (q, k, v), {"causal": True, "decay": (0.3, float("nan"))}),
    ]
    for message, tensors, options in bad:
        with pytest.raises(ValueError, match=message):
            linear_attend(*tensors, **options)


def test_what_the_kernels_lack_is_said() -> None:
    asked = torch.bfloat16, torch.device("cuda"), (64, 64), True
    choice = chosen_linear(*asked, decays=True)
    assert choice.impl == "chunked"
    assert choice.why == "plain torch in linear time, because the kernels know no decay"
    assert "decay" not in chosen_linear(*asked).why
