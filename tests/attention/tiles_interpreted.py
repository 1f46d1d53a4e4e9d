"""The attention kernels on a CPU, under TRITON_INTERPRET=1; `test_triton.py` runs this file.

The interpreter multiplies bfloat16 by its bit patterns, so bfloat16 is checked on a device only.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import DistanceBias, attend, sdpa
from regard.attention.joined import joined
from regard.attention.problem import Form, Problem, Segments
from regard.attention.triton import plain, plan, tile_lists
from regard.attention.triton.tiles import segment_bounds
from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Pattern,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)
from tests.attention.matching import Inputs, assert_matches, gradients, inputs
from tests.pattern.own import Jumps, Near, Roles

SLOPES = DistanceBias((1.0, 0.25))
COMPOSITE = Causal() & Strided(back=20) | Global(first=4) & Causal()  # lists: full, partial and empty tiles


def compare(xs: Inputs, pattern: Pattern, **options: Any) -> None:
    assert assert_matches(xs, pattern, ("triton",), **options) == ["triton"]


def segments_of(B: int, m: int) -> Tensor:
    """Packed runs with padding behind, and numbers in any order with padding anywhere."""
    runs = (torch.arange(m) // 37) * (torch.arange(m) < m - 5) - 1 * (torch.arange(m) >= m - 5)
    mixed = torch.randint(-1, 3, (m,), generator=torch.Generator().manual_seed(m))
    return torch.stack([runs, mixed])[:B]


# n (or N, M), pattern, and what else: lengths, heads, widths, bias, segments.
SHAPED: list[tuple[Any, Pattern, dict[str, Any]]] = [
    (1, Causal(), {}),
    (7, Full(), {"B": 2, "H": 4, "G": 2, "D": 20, "E": 8}),
    (129, Causal(), {"D": 8, "E": 33}),
    (150, Strided(back=20), {"H": 2, "G": 1}),
    (128, Strided(back=40), {"D": 32, "E": 16}),
    ((70, 150), Strided(back=45), {"B": 2, "H": 1, "G": 1}),
    ((60, 150), Causal(), {}),
    ((100, 70), Full(), {}),
    (150, Windowed(size=48), {}),
    ((45, 150), Windowed(size=40), {}),
    (130, Blocks(size=50), {}),
    (130, Windowed(size=48) & Strided(back=9), {}),
    (131, Dilated(back=5, step=3), {"H": 2, "G": 1}),
    (130, SparseStrided(stride=5), {"H": 1, "G": 1}),
    (140, Documents((70, 1, 69)) & Causal(), {"B": 2, "H": 1, "G": 1}),
]
LISTED: list[tuple[Any, Pattern, dict[str, Any]]] = [
    (7, Global(first=2), {}),
    (150, COMPOSITE, {"H": 2, "G": 1, "D": 20, "E": 8}),
    ((75, 140), COMPOSITE, {"B": 2, "H": 1, "G": 1}),
    ((75, 140), Dilated(back=3, step=4), {}),
    (128, Prefix(length=70), {"D": 32}),
    (150, Causal() & ~Strided(back=70), {"H": 1, "G": 1}),  # the first rows and the last keys are alone
    (100, ~Causal() & SparseFixed(stride=16, summary=3) | Axial(20, 5), {"H": 1, "G": 1}),
    (144, Neighbourhood(9, 16, 2) & ~RandomBlocks(16, 1, 3), {"H": 1, "G": 1}),
    ((70, 140), Jumps(3) | Near(2) & Causal(), {"H": 1, "G": 1}),  # nothing but `allows`
    (24, Roles(3), {"H": 1, "G": 1}),
]


@pytest.mark.parametrize(("n", "pattern", "sizes"), SHAPED + LISTED, ids=lambda x: str(x)[:40])
def test_patterns(n: Any, pattern: Pattern, sizes: dict[str, Any]) -> None:
    compare(inputs(n, **sizes), pattern)


@pytest.mark.parametrize("pattern", [Strided(back=40), COMPOSITE, Dilated(back=3, step=4), Full()], ids=str)
def test_segments_and_slopes(pattern: Pattern) -> None:
    xs = inputs((50, 100), B=2, H=1, G=1)
    compare(xs, pattern, segments=segments_of(2, 100).int())
    compare(inputs((20, 40)), pattern, segments=segments_of(1, 40), bias=SLOPES)


@pytest.mark.parametrize(
    "pattern", [Causal(), Dilated(back=9, step=3), SparseStrided(stride=4), COMPOSITE], ids=str
)
def test_slopes(pattern: Pattern) -> None:
    compare(inputs(70), pattern, bias=SLOPES)


@pytest.mark.parametrize("pattern", [Strided(back=40), COMPOSITE, SparseStrided(stride=4)], ids=str)
def test_half_precision(pattern: Pattern) -> None:
    compare(inputs(70, H=2, G=1, dtype=torch.float16), pattern)


@pytest.mark.parametrize("scale", [0.0, -0.3, 1e-5, 2500.0])
def test_scales(scale: float) -> None:
    """Of 2,500 the scores are ±10,000."""
    compare(inputs(70, H=1, G=1), Strided(back=20), scale=scale)
    compare(inputs(40, H=1, G=1), COMPOSITE, scale=scale)


@pytest.mark.parametrize(("D", "E"), [(256, 8), (8, 256)])
def test_widths(D: int, E: int) -> None:
    compare(inputs(40, H=1, G=1, D=D, E=E), Strided(back=9))


@pytest.mark.parametrize("pattern", [Full(), COMPOSITE], ids=str)
def test_rows_that_see_nothing_are_zero(pattern: Pattern) -> None:
    segments = torch.stack([torch.full((70,), -1), torch.arange(70) - 30])
    xs, grad = inputs(70, B=2, H=1, G=1, spread=50.0), torch.ones(2, 1, 70, 16)
    out, *grads = gradients(xs, grad, pattern, impl="triton", segments=segments)
    assert not any(x[0].any() for x in (out, *grads))
    assert not any(x[1, :, :30].any() for x in (out, *grads))
    assert out[1, :, 30:].any()


@pytest.mark.parametrize("pattern", [Strided(back=20), COMPOSITE], ids=str)
def test_strides(pattern: Pattern) -> None:
    q = inputs(70, H=2)[0].transpose(1, 2).contiguous().transpose(1, 2)
    k = inputs(140, H=2, D=32)[0][:, :, ::2, ::2]
    v = inputs(70, H=1)[0].expand(1, 2, 70, 16)
    compare((q, k, v), pattern, grad=torch.ones(()).expand(1, 2, 70, 16))


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("n", [13, 40])
def test_segment_bounds_leave_nothing_out(n: int, by_key: bool) -> None:
    m, rows, cols = 40, 4, 8
    packed = torch.arange(m) // 11
    padded = torch.where(torch.arange(m) < 30, packed, -1)
    mixed = torch.randint(-1, 3, (m,), generator=torch.Generator().manual_seed(2))
    segments = torch.stack([packed, padded, mixed, torch.full((m,), -1)])
    bounds = segment_bounds(Segments(segments[:, m - n :].contiguous(), segments), rows, cols, by_key)
    same = (segments[:, m - n :, None] == segments[:, None, :]) & (segments[:, None, :] >= 0)
    same = same.mT if by_key else same
    height = cols if by_key else rows
    for b in range(4):
        for tile, (lo, hi) in enumerate(bounds[b].tolist()):
            seen = same[b, tile * height : (tile + 1) * height].any(0).nonzero()
            assert 0 <= lo <= hi <= same.shape[2]
            if len(seen):
                assert lo <= int(seen.min())
                assert int(seen.max()) < hi
    assert not bounds[3].any()  # all padding: nothing to do
    if n == m and not by_key:
        assert bounds[0, 0].tolist() == [0, 16]  # and packed documents stay near their own


@pytest.fixture
def fresh_lists() -> Any:
    tile_lists.KEPT.clear()
    yield
    tile_lists.KEPT.clear()


@pytest.mark.usefixtures("fresh_lists")
@pytest.mark.parametrize(("name", "value"), [("LONGEST", 1), ("MOST_ENTRIES", 0)])
def test_what_only_long_sequences_do(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that many queries see are cut into pieces; very many tiles are listed by larger ones."""
    monkeypatch.setattr(tile_lists, name, value)
    compare(inputs(140, H=2, G=1, D=12), COMPOSITE)
    compare(inputs((90, 140), H=1, G=1), Global(first=5) | ~Causal())


SHAPES = [Strided(back=20), COMPOSITE, Dilated(back=5, step=3), SparseStrided(stride=4)]


def both(xs: Inputs, pattern: Pattern, extra: dict[str, Tensor], **options: Any) -> None:
    """Output, normalisers and every gradient are those of the definition; `extra` are leaves beside xs."""
    found = {}
    for impl in ("triton", "reference"):
        kind = torch.float32 if impl == "triton" else torch.float64
        leaves = [x.to(kind).detach().requires_grad_() for x in (*xs, *extra.values())]
        beside = dict(zip(extra, leaves[3:], strict=True))
        if "slopes" in beside:
            beside["bias"] = DistanceBias(beside.pop("slopes"))  # type: ignore[assignment]
        generator = torch.Generator().manual_seed(4)
        out, lse = attend(
            *leaves[:3], pattern, impl=impl, return_lse=True, generator=generator, **beside, **options
        )
        total = out.square().sum() + lse[lse > -torch.inf].cos().sum()
        found[impl] = [out.detach(), lse.detach(), *torch.autograd.grad(total, leaves)]
    for got, true in zip(found["triton"], found["reference"], strict=True):
        torch.testing.assert_close(
            got.double(), true, atol=3e-5 * float(true[true.isfinite()].abs().max()), rtol=1e-4
        )


@pytest.mark.parametrize("pattern", SHAPES, ids=str)
def test_everything_beside_the_scores(pattern: Pattern) -> None:
    xs = inputs(70, B=2, H=2, G=1)
    both(xs, pattern, {"sinks": torch.tensor([0.3, -1.0])}, dropout=0.3)
    both(xs, pattern, {"slopes": torch.tensor([0.3, 0.05])}, softcap=1.5)


def test_everything_at_once() -> None:
    xs = inputs((40, 70), B=2, H=2, G=1)
    extra = {"slopes": torch.tensor([0.3, 0.05]), "sinks": torch.tensor([0.3, -1.0])}
    both(xs, COMPOSITE, extra, softcap=2.0, dropout=0.2, segments=segments_of(2, 70))


@pytest.mark.parametrize("pattern", [Causal(), Strided(back=9), Windowed(size=16), Full()], ids=str)
def test_an_offset_a_row(pattern: Pattern) -> None:
    compare(inputs((20, 70), B=3), pattern, offset=torch.tensor([0, 13, 50]))
    compare(inputs((1, 70), B=2), pattern, offset=torch.tensor([69, 3]))


def test_keys_have_segments_of_their_own() -> None:
    keys = torch.where(torch.arange(70) < 50, 3, -1).expand(2, 70)
    compare(inputs((40, 70), B=2, H=1, G=1), Full(), key_segments=keys)
    compare(inputs((90, 70), B=2, H=1, G=1), Full(), key_segments=keys, segments=torch.full((2, 90), 3))


def test_segments_are_told_apart_in_all_their_bits() -> None:
    """Hashed ids that are equal modulo 2³² are other documents."""
    ids = torch.tensor([5, 5 + (1 << 32), 5 - (1 << 32), 5 + (1 << 62)])
    segments = ids[torch.arange(80) // 20][None]
    for pattern in (Causal(), COMPOSITE):
        compare(inputs(80), pattern, segments=segments)
        apart = attend(*inputs(80), pattern, impl="triton", segments=segments)
        assert torch.equal(apart[:, :, :20], attend(*inputs(80), pattern, impl="triton")[:, :, :20])


@pytest.mark.parametrize("far", [(1 << 31) - 1, (1 << 31) - 70, 1 << 30])
def test_bounds_near_the_end_of_32_bits(far: int) -> None:
    xs = inputs(70, H=1, G=1)
    for pattern in (
        Strided(back=far),
        Windowed(size=far),
        Dilated(back=far, step=3),
        SparseStrided(stride=far),
    ):
        compare(xs, pattern)
    compare(inputs(20, H=1, G=1), Dilated(back=3, step=far))


def test_rows_that_lie_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """64-bit offsets, here for tiles that would not need them."""
    monkeypatch.setattr(plan, "FAR", 1)
    plan.plan_of.cache_clear()
    for pattern in SHAPES:
        compare(inputs(70, H=2, G=1), pattern)
    plan.plan_of.cache_clear()


def test_which_rows_lie_far_apart() -> None:
    """Of a fused projection of 16 heads of 64 at 2²⁰ tokens, a tile of every 16,384th row."""
    n, width = 1 << 20, 3 * 16 * 64
    strides = (n * width, 64, width, 1)
    sizes = (1, 16, 16, n, n, 64, 64)
    for pattern, far in ((SparseStrided(stride=16384), [False, True]), (Strided(back=9), [False])):
        form = Form(sizes, torch.bfloat16, torch.device("cuda", 0), pattern, (), 0.125, (strides,) * 3)
        found = plan.plan_of(form, None, 0.0, False)
        x = torch.empty_strided((0, 16, n, 64), strides)  # no row of a batch, and so no memory
        a = plan.Arranged(x, x, x, found)
        assert [found.launch(i, "forward", a).kind.long for i in range(len(found.bands))] == far


def test_a_step_wider_than_the_sequence_is_one_program_a_tile() -> None:
    for pattern in (Dilated(back=3, step=10**6), SparseStrided(stride=10**6)):
        form = Form((1, 2, 2, 70, 70, 16, 16), torch.float32, torch.device("cpu"), pattern)
        found = plan.plan_of(form, None, 0.0, False)
        xs = inputs(70)
        a = plan.Arranged(*xs, found)
        assert [found.launch(i, "forward", a).programs for i in range(len(found.bands))] == [4]
        compare(xs, pattern)


def test_the_same_bits_again() -> None:
    """Columns of many pieces are added up in their order, not in that of arrival."""
    xs, grad = inputs(200, H=2, G=1), torch.randn(1, 2, 200, 16)
    first = gradients(xs, grad, COMPOSITE, impl="triton")
    for got, before in zip(gradients(xs, grad, COMPOSITE, impl="triton"), first, strict=True):
        assert torch.equal(got, before)


def test_a_second_derivative_is_an_error() -> None:
    """And never silently zero."""
    q, k, v = (x.requires_grad_() for x in inputs(9, H=1, G=1))
    (dq,) = torch.autograd.grad(attend(q, k, v, Causal(), impl="triton").square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(dq.square().sum() + q.sum(), q)


def test_what_the_kernels_refuse() -> None:
    for xs, options, why in (
        (inputs(8, dtype=torch.float64), {}, "they know bfloat16, float16 and float32, got torch.float64"),
        (inputs(8, D=257), {}, "they know widths up to 256, got D=257, E=16"),
        (inputs(8), {"bias": torch.zeros(8, 8)}, "a bias tensor is n×m; they take a DistanceBias"),
        (inputs(0), {}, "there is nothing to compute"),
    ):
        with pytest.raises(ValueError, match=f"impl='triton' cannot: {why}"):
            gradients(xs, xs[0], Causal(), impl="triton", **options)


def test_the_compilers_operation_runs_the_kernels() -> None:
    """Its gradients too, of the normalisers as well, from what the forward pass kept."""

    def run(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
        out, lse = attend(q, k, v, COMPOSITE, impl="triton", bias=DistanceBias(slopes), return_lse=True)
        return out.square().sum() + lse.cos().sum()

    leaves = [x.requires_grad_() for x in (*inputs((40, 70), H=2, G=1), torch.tensor([0.3, 0.1]))]
    fast = torch.compile(run, fullgraph=True, backend="aot_eager")
    for got, want in zip(*(torch.autograd.grad(f(*leaves), leaves) for f in (fast, run)), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("pattern", [Full(), Causal()], ids=str)
@pytest.mark.parametrize(("ahead", "back"), [("torch", "ours"), ("ours", "ours")])
def test_joined_kernels(pattern: Pattern, ahead: str, back: str) -> None:
    """One kernel's forward pass and another's backward pass meet the definition, and so do normalisers."""
    xs = [x.requires_grad_() for x in inputs(70, B=2)]
    problem = Problem(*xs, pattern, 0.25, lse=True)
    by_torch = sdpa.kept(Problem(*xs, pattern, 0.25).form)
    assert by_torch is not None
    found = joined(problem, by_torch if ahead == "torch" else plain.forward, plain.backward, "a join")
    exact = attend(*(x.double() for x in xs), pattern, scale=0.25, return_lse=True, impl="reference")
    results = []
    for out, lse in ((found.out, found.lse), exact):
        assert lse is not None
        total = out.double().square().sum() + lse.double().cos().sum()
        results.append([out, lse, *torch.autograd.grad(total, xs)])
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want.double(), atol=2e-5, rtol=2e-5)
