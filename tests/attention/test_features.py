"""What can be asked of `attend` beside a pattern: each as its definition, on every backend that takes it."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import DistanceBias, attend
from regard.attention.drops import kept
from regard.pattern import Causal, Documents, Full, Global, Pattern, Strided, Windowed
from tests.attention.matching import COMPOSITE, CPU, assert_matches, inputs

IMPLS = ("reference", "sdpa", "folded", "chunked", "gathered", "slots", "auto")


def on_each(xs: Any, pattern: Pattern, **options: Any) -> dict[str, Any]:
    """What every backend gives that does not refuse."""
    out = {}
    for impl in IMPLS:
        generator = torch.Generator().manual_seed(5)
        try:
            out[impl] = attend(*xs, pattern, impl=impl, generator=generator, **options)
        except ValueError as error:
            assert str(error).startswith(f"impl={impl!r} cannot: "), error  # noqa: PT017
    assert {"reference", "auto"} <= set(out)
    return out


class TestWhatCallersHave:
    def test_is_causal_joins_the_pattern(self) -> None:
        xs = inputs(9)
        torch.testing.assert_close(attend(*xs, is_causal=True), attend(*xs, Causal()))
        torch.testing.assert_close(
            attend(*xs, Global(first=2), is_causal=True), attend(*xs, Global(first=2) & Causal())
        )

    def test_is_causal_has_the_last_queries_at_the_end(self) -> None:
        """Torch's own aligns the first ones."""
        xs = inputs((2, 9))
        torch.testing.assert_close(attend(*xs, is_causal=True), attend(*xs, Causal(), impl="reference"))

    def test_a_pattern_as_text(self) -> None:
        xs = inputs(9)
        torch.testing.assert_close(attend(*xs, "strided(2) | global(1)"), attend(*xs, Strided(2) | Global(1)))
        with pytest.raises(ValueError, match="no pattern is called 'strode'"):
            attend(*xs, "strode(2)")

    def test_inputs_without_heads(self) -> None:
        q, k, v = (x[:, 0] for x in inputs(9, B=3, H=1, G=1))
        out, weights, lse = attend(q, k, v, Strided(back=2), return_weights=True, return_lse=True)
        assert (out.shape, weights.shape, lse.shape) == ((3, 9, 16), (3, 9, 9), (3, 9))
        want = attend(q[:, None], k[:, None], v[:, None], Strided(back=2))
        torch.testing.assert_close(out, want[:, 0])

    def test_one_pattern_a_head(self) -> None:
        xs = inputs(40, B=2, H=4, G=2)
        given = [Causal(), "strided(3)", Strided(back=3), Causal()]
        out, weights = attend(*xs, given, return_weights=True)
        for h, pattern in enumerate((Causal(), Strided(3), Strided(3), Causal())):
            want, seen = attend(*xs, pattern, return_weights=True)
            torch.testing.assert_close(out[:, h], want[:, h])
            torch.testing.assert_close(weights[:, h], seen[:, h])
        with pytest.raises(ValueError, match="one for each of H=4 heads, got 3"):
            attend(*xs, given[:3])

    def test_a_head_has_its_own_bias_mask_slopes_and_sinks(self) -> None:
        xs, H = inputs(12, H=4, G=2), 4
        mask, sinks = torch.rand(H, 12, 12) < 0.8, torch.randn(H)
        given = [Causal(), Strided(back=3), Causal(), Full()]
        for options in (
            {"mask": mask, "sinks": sinks},
            {"bias": torch.randn(H, 1, 12)},
            {"bias": DistanceBias((1.0, 0.5, 0.2, 0.1))},
        ):
            out = attend(*xs, given, **options)  # type: ignore[arg-type]
            for h, pattern in enumerate(given):
                want = attend(*xs, pattern, impl="reference", **options)  # type: ignore[arg-type]
                torch.testing.assert_close(out[:, h], want[:, h])

    @pytest.mark.parametrize("shape", [(9, 9), (1, 9), (2, 1, 9, 9), (2, 9, 9), (1, 2, 9, 9), (2, 1, 1, 9)])
    def test_masks(self, shape: tuple[int, ...]) -> None:
        mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.6
        xs = inputs(9, B=2)
        want = attend(*xs, Causal(), bias=torch.zeros(shape).masked_fill(~mask, -torch.inf))
        for impl, got in on_each(xs, Causal(), mask=mask).items():
            torch.testing.assert_close(got, want, msg=impl)

    def test_a_mask_of_numbers_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"mask must be boolean .* got \(9, 9\) torch.float32"):
            attend(*inputs(9), mask=torch.ones(9, 9))

    def test_key_padding_of_cross_attention(self) -> None:
        xs = inputs((5, 9), B=2)
        keys = torch.tensor([[4] * 9, [0] * 6 + [-1] * 3])
        want = attend(*xs, mask=(keys >= 0)[:, None, None])
        for impl, got in on_each(xs, Full(), key_segments=keys).items():
            torch.testing.assert_close(got, want, msg=impl)

    def test_more_queries_than_keys_with_padding(self) -> None:
        xs = inputs((9, 5), B=2)
        keys = torch.tensor([[0] * 5, [0, 0, -1, -1, -1]])
        torch.testing.assert_close(
            attend(*xs, key_segments=keys), attend(*xs, mask=(keys >= 0)[:, None, None], impl="reference")
        )

    def test_queries_and_keys_of_several_documents(self) -> None:
        xs = inputs((4, 6), B=1)
        own, keys = torch.tensor([[0, 1, 1, -1]]), torch.tensor([[0, 0, 1, 1, 2, -1]])
        mask = (own[:, :, None] == keys[:, None]) & (keys >= 0)[:, None]
        want = attend(*xs, mask=mask[:, None], impl="reference")
        for impl, got in on_each(xs, Full(), segments=own, key_segments=keys).items():
            torch.testing.assert_close(got, want, msg=impl)

    def test_packed_documents(self) -> None:
        xs = inputs(12)
        cu = torch.tensor([0, 5, 6, 12], dtype=torch.int32)
        want = attend(*xs, Documents((5, 1, 6)) & Causal())
        for impl, got in on_each(xs, Causal(), cu_seqlens=cu).items():
            torch.testing.assert_close(got, want, msg=impl)
        short = attend(*xs, Causal(), cu_seqlens=cu[:3])  # what follows the last document is padding
        assert not short[:, :, 6:].any()
        torch.testing.assert_close(short[:, :, :6], want[:, :, :6])

    def test_what_cu_seqlens_do_not_go_with(self) -> None:
        cu = torch.tensor([0, 4])
        with pytest.raises(ValueError, match="cu_seqlens and segments say the same"):
            attend(*inputs(4), cu_seqlens=cu, segments=torch.zeros(1, 4).long())
        with pytest.raises(ValueError, match=r"for one packed row, B=1, got .* B=2"):
            attend(*inputs(4, B=2), cu_seqlens=cu)

    @pytest.mark.parametrize("pattern", [Causal(), Strided(back=3), COMPOSITE], ids=str)
    def test_an_offset_a_row(self, pattern: Pattern) -> None:
        q, k, v = inputs((3, 20), B=3)
        offset = torch.tensor([0, 4, 17])
        for impl, got in on_each((q, k, v), pattern, offset=offset).items():
            for b, start in enumerate(offset.tolist()):
                end = start + 3
                want = attend(q[b : b + 1], k[b : b + 1, :, :end], v[b : b + 1, :, :end], pattern)
                torch.testing.assert_close(got[b : b + 1], want, msg=impl)
        same = attend(q, k, v, pattern, offset=17)
        torch.testing.assert_close(same, attend(q, k, v, pattern))


class TestScores:
    @pytest.mark.parametrize("pattern", [Causal(), Strided(back=20), COMPOSITE, Windowed(size=30)], ids=str)
    def test_softcap(self, pattern: Pattern) -> None:
        xs = inputs(90, H=2, G=1, spread=6.0)
        _, plain = attend(*xs, Full(), scale=0.5, softcap=2.0, return_weights=True)
        scores = 2.0 * torch.tanh(0.5 * xs[0] @ xs[1].mT / 2.0)
        torch.testing.assert_close(plain, scores.softmax(-1))
        ran = assert_matches(xs, pattern, CPU, softcap=2.0)
        assert {"gathered", "auto"} <= set(ran)
        with pytest.raises(ValueError, match=r"softcap must be positive, got softcap=0.0"):
            attend(*xs, pattern, softcap=0.0)

    def test_softcap_comes_before_the_bias(self) -> None:
        xs = inputs(6, spread=5.0)
        bias = torch.randn(6, 6)
        _, weights = attend(*xs, bias=bias, softcap=1.5, return_weights=True)
        scores = 1.5 * torch.tanh(xs[0] @ xs[1].mT / 4 / 1.5) + bias
        torch.testing.assert_close(weights, scores.softmax(-1))

    @pytest.mark.parametrize("pattern", [Full(), Strided(back=20), COMPOSITE], ids=str)
    def test_normalisers(self, pattern: Pattern) -> None:
        xs = inputs(90, H=2, G=1)
        scores = (xs[0] @ xs[1].mT / 4).masked_fill(~pattern.dense(90), -torch.inf)
        for impl, (_, lse) in on_each(xs, pattern, return_lse=True).items():
            torch.testing.assert_close(lse, scores.logsumexp(-1), msg=impl)

    def test_a_row_without_keys_has_a_normaliser_of_minus_infinity(self) -> None:
        for _, (out, lse) in on_each(inputs(5), ~Causal(), return_lse=True).items():
            assert torch.equal(lse == -torch.inf, torch.tensor([False] * 4 + [True]).expand(1, 2, 5))
            assert not out[:, :, 4].any()

    @pytest.mark.parametrize("pattern", [Strided(back=20), COMPOSITE], ids=str)
    def test_the_gradient_of_normalisers(self, pattern: Pattern) -> None:
        def gradients(impl: str) -> list[Tensor]:
            q, k, v = (x.double().requires_grad_() for x in inputs(90, H=2, G=1))
            out, lse = attend(q, k, v, pattern, impl=impl, return_lse=True)
            return list(torch.autograd.grad((out.square().sum() + lse.cos().sum()), (q, k, v)))

        want = gradients("reference")
        for impl in ("gathered", "auto"):
            for got, true in zip(gradients(impl), want, strict=True):
                torch.testing.assert_close(got, true)

    @pytest.mark.parametrize("pattern", [Full(), Strided(back=20), COMPOSITE, ~Causal()], ids=str)
    def test_sinks_are_a_key_without_a_value(self, pattern: Pattern) -> None:
        """A row divides by exp(sink) more; a row without keys gives its whole weight to the sink."""

        def run(impl: str, dtype: torch.dtype) -> list[Tensor]:
            q, k, v = (x.to(dtype).requires_grad_() for x in inputs(90, H=2, G=1))
            sinks = torch.tensor([0.5, -40.0], dtype=dtype, requires_grad=True)
            out, lse = attend(q, k, v, pattern, sinks=sinks, impl=impl, return_lse=True)
            return [out, lse, *torch.autograd.grad(out.square().sum() + lse.sum(), (q, k, v, sinks))]

        q, k, v = (x.double().requires_grad_() for x in inputs(90, H=2, G=1))
        sinks = torch.tensor([0.5, -40.0], dtype=torch.float64, requires_grad=True)
        scores = (q @ k.mT.repeat(1, 2, 1, 1) / 4).masked_fill(~pattern.dense(90), -torch.inf)
        wide = torch.cat([scores, sinks[:, None, None].expand(1, 2, 90, 1)], -1)
        out, lse = wide.softmax(-1)[..., :90] @ v.repeat(1, 2, 1, 1), wide.logsumexp(-1)
        want = [out, lse, *torch.autograd.grad(out.square().sum() + lse.sum(), (q, k, v, sinks))]
        for impl in ("reference", "gathered", "auto"):
            for got, true in zip(run(impl, torch.float64), want, strict=True):
                torch.testing.assert_close(got, true, msg=impl)
            for got, true in zip(run(impl, torch.float32), want, strict=True):
                torch.testing.assert_close(got.double(), true, atol=1e-3, rtol=1e-4, msg=impl)

    def test_sinks_are_one_a_head(self) -> None:
        with pytest.raises(ValueError, match=r"sinks must be .* \(H,\) = \(2,\), got \(3,\) torch.float32"):
            attend(*inputs(4), sinks=torch.zeros(3))

    @pytest.mark.parametrize("pattern", [Full(), Strided(back=20), COMPOSITE], ids=str)
    @pytest.mark.parametrize("learned", [True, False])
    def test_slopes_as_a_tensor(self, pattern: Pattern, learned: bool) -> None:
        def run(impl: str) -> list[Tensor]:
            q, k, v = (x.double().requires_grad_() for x in inputs(90, B=2, H=4, G=2))
            slopes = torch.tensor([1.0, 0.5, 0.1, 0.0], dtype=torch.float64, requires_grad=learned)
            out = attend(q, k, v, pattern, bias=DistanceBias(slopes), impl=impl)
            leaves = (q, k, v, *((slopes,) if learned else ()))
            return [out.detach(), *torch.autograd.grad(out.square().sum(), leaves)]

        want = run("reference")
        for impl in ("sdpa", "gathered", "auto"):
            for got, true in zip(run(impl), want, strict=True):
                torch.testing.assert_close(got, true)

    @pytest.mark.parametrize("impl", ["reference", "sdpa", "slots", "auto"])
    def test_a_scale_may_be_learned(self, impl: str) -> None:
        xs = inputs(8)
        scale = torch.tensor(0.3, requires_grad=True)
        (got,) = torch.autograd.grad(attend(*xs, scale=scale, impl=impl).square().sum(), scale)
        up, down = (attend(*xs, scale=0.3 + step).square().sum().double() for step in (1e-2, -1e-2))
        torch.testing.assert_close(float(got), float(up - down) / 2e-2, rtol=1e-2, atol=0)

    @pytest.mark.parametrize("shape", [(2, 40, 40), (40, 1), (1, 1, 1, 40)])
    def test_a_bias_gets_its_gradient_outside_the_definition(self, shape: tuple[int, ...]) -> None:
        bias = torch.randn(shape, generator=torch.Generator().manual_seed(2)).requires_grad_()
        found = {
            impl: torch.autograd.grad(out.square().sum(), bias)[0]
            for impl, out in on_each(inputs(40), Strided(back=9), bias=bias).items()
        }
        assert {"reference", "sdpa", "auto"} <= set(found)
        for impl, grad in found.items():
            torch.testing.assert_close(grad, found["reference"], msg=impl)


class TestDropout:
    @pytest.mark.parametrize("pattern", [Causal(), Strided(back=20), COMPOSITE], ids=str)
    def test_every_backend_drops_the_same(self, pattern: Pattern) -> None:
        def run(impl: str) -> list[Tensor]:
            q, k, v = (x.double().requires_grad_() for x in inputs((70, 90), B=2, H=4, G=2))
            options: dict[str, Any] = {"dropout": 0.3, "generator": torch.Generator().manual_seed(3)}
            out = attend(q, k, v, pattern, impl=impl, bias=DistanceBias((0.1,) * 4), **options)
            return [out.detach(), *torch.autograd.grad(out.square().sum(), (q, k, v))]

        want = run("reference")
        for impl in ("gathered", "auto", *(("chunked",) if pattern == Strided(back=20) else ())):
            for got, true in zip(run(impl), want, strict=True):
                torch.testing.assert_close(got, true, msg=impl)

    def test_it_is_the_share_asked_for_and_no_two_places_are_alike(self) -> None:
        places = torch.arange(200)
        drawn = [
            kept(torch.tensor([seed]), 0.3, torch.tensor(head), places[:, None], places)
            for seed in (1, 2, 1 << 40)
            for head in (0, 1)
        ]
        for one in drawn:
            assert abs(float(one.double().mean()) - 0.7) < 4 * math.sqrt(0.21 / 200**2)
            for axis in (0, 1):  # rows and columns too
                assert float((one.double().mean(axis) - 0.7).abs().max()) < 5 * math.sqrt(0.21 / 200)
        for i, one in enumerate(drawn):
            for other in drawn[:i]:
                both = float((one & other).double().mean())
                assert abs(both - 0.49) < 4 * math.sqrt(0.25 / 200**2)

    def test_neighbours_do_not_follow_each_other(self) -> None:
        places = torch.arange(400)
        one = kept(torch.tensor([9]), 0.5, torch.tensor(0), places[:, None], places).double() - 0.5
        for a, b in ((one[1:], one[:-1]), (one[:, 1:], one[:, :-1]), (one[1:, 1:], one[:-1, :-1])):
            assert abs(float((a * b).mean())) < 4 * 0.25 / 400


class TestPackedDocuments:
    def segments(self) -> Tensor:
        rows = [[0] * 100 + [1] * 60 + [-1] * 20 + [2] * 20, [-1] * 20 + [5] * 180, [9] * 200]
        return torch.tensor(rows)

    @pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=30), ~Causal()], ids=str)
    @pytest.mark.parametrize("options", [{}, {"softcap": 2.0}, {"bias": DistanceBias((0.1,) * 4)}], ids=str)
    def test_each_is_a_problem_of_its_own(self, pattern: Pattern, options: dict[str, Any]) -> None:
        xs = inputs(200, B=3, H=4, G=2)
        ran = assert_matches(xs, pattern, ("packed", "auto"), segments=self.segments(), **options)
        assert ran == ["packed", "auto"]

    def test_no_pair_of_two_documents_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("regard.attention.cpu.gathered.attend", pytest.fail)
        attend(*inputs(2000), Causal(), segments=torch.arange(2000)[None] // 250)

    def test_normalisers(self) -> None:
        xs = inputs(200, B=3)
        found = [
            attend(*xs, Causal(), segments=self.segments(), impl=impl, return_lse=True)
            for impl in ("packed", "reference")
        ]
        for got, want in zip(*found, strict=True):
            torch.testing.assert_close(got, want)

    @pytest.mark.parametrize("kind", ["pieces", "many", "nothing"])
    def test_what_does_not_lie_in_one_piece(self, kind: str) -> None:
        ids = {
            "pieces": torch.arange(300) // 70 % 2,
            "many": torch.arange(300),
            "nothing": torch.full((300,), -1),
        }
        assert_matches(inputs(300), Causal(), ("packed",), segments=ids[kind][None])


@pytest.mark.parametrize("pattern", [Strided(back=9), Strided(back=9) & Causal()], ids=str)
@pytest.mark.parametrize("N", [1, 5])
def test_a_band_from_an_offset_reads_its_own_keys(pattern: Pattern, N: int) -> None:
    xs = inputs((N, 200), B=3, H=4, G=2)
    segments = torch.arange(200).expand(3, 200) // 7
    for options in ({}, {"segments": segments}, {"bias": DistanceBias((0.3,) * 4)}):
        for offset in (torch.tensor([0, 3, 195]), 100, torch.tensor([199, 198, 0])):
            assert_matches(xs, pattern, ("auto",), offset=offset, **options)  # type: ignore[arg-type]


class TestWhatIsChangedInBetween:
    """A backward pass that reads what was changed since must not give a gradient of something else."""

    @pytest.mark.parametrize("impl", ["chunked", "gathered", "packed"])
    def test_segments(self, impl: str) -> None:
        q, k, v = inputs(300)
        q.requires_grad_()
        segments = torch.arange(300)[None] // 100
        out = attend(q, k, v, Strided(back=5), segments=segments, impl=impl)
        segments.zero_()
        if impl == "packed":  # has read them already
            assert q.grad is None
            out.sum().backward()
            return
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()

    @pytest.mark.parametrize("impl", ["chunked", "gathered"])
    def test_slopes(self, impl: str) -> None:
        q, k, v = inputs(300)
        slopes = torch.tensor([0.1, 0.2])
        out = attend(q.requires_grad_(), k, v, Strided(back=5), bias=DistanceBias(slopes), impl=impl)
        slopes.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()

    @pytest.mark.parametrize("n", [300, 320])
    @pytest.mark.parametrize("impl", ["chunked", "gathered"])
    def test_the_result(self, impl: str, n: int) -> None:
        """As of torch's own kernel: noticed, or a copy."""
        q, k, v = inputs(n)
        out = attend(q.requires_grad_(), k, v, Strided(back=5), impl=impl)
        out += 1
        if n % 64:
            out.sum().backward()
            assert q.grad is not None
            return
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()

    @pytest.mark.parametrize("impl", ["chunked", "gathered"])
    def test_a_second_derivative_says_who_has_it(self, impl: str) -> None:
        q, k, v = (x.requires_grad_() for x in inputs(300))
        out = attend(q, k, v, Strided(back=5), impl=impl)
        (grad,) = torch.autograd.grad(out.square().sum(), q, create_graph=True)
        with pytest.raises(RuntimeError, match="no second derivative; impl='reference' has"):
            grad.sum().backward()


class TestEdges:
    def test_an_endless_cap_is_none(self) -> None:
        xs = inputs(9)
        assert torch.equal(attend(*xs, softcap=math.inf), attend(*xs))

    @pytest.mark.parametrize("impl", ["reference", "chunked", "gathered", "auto"])
    def test_a_sink_that_takes_nothing_beside_a_row_without_keys(self, impl: str) -> None:
        q, k, v = (x.requires_grad_() for x in inputs(40))
        segments = torch.tensor([[0] * 20 + [-1] * 20])
        sinks = torch.tensor([-math.inf, 0.0], requires_grad=True)
        out, lse = attend(
            q, k, v, Strided(back=5), segments=segments, sinks=sinks, return_lse=True, impl=impl
        )
        assert torch.equal(lse[0, 0, 20:], torch.full((20,), -math.inf))
        assert torch.equal(lse[0, 1, 20:], torch.zeros(20))
        (out.sum() + lse[..., :20].sum()).backward()
        for x in (q, k, v, sinks):
            assert x.grad is not None
            assert x.grad.isfinite().all()

    @pytest.mark.parametrize("cu", [[5, 9], [0, 6, 3, 9], [0, 10]])
    def test_documents_that_do_not_follow_one_another(self, cu: list[int]) -> None:
        with pytest.raises(ValueError, match="cu_seqlens must grow from 0 to at most M=9"):
            attend(*inputs(9), cu_seqlens=torch.tensor(cu))

    def test_an_offset_below_zero(self) -> None:
        with pytest.raises(ValueError, match="offset must"):
            attend(*inputs((1, 9)), offset=-1)
        with pytest.raises(ValueError, match="offset must not be negative"):
            attend(*inputs((1, 9)), offset=torch.tensor([-1]))

    def test_autocast_takes_mixed_types(self) -> None:
        q, k, v = inputs(9)
        with torch.autocast("cpu", torch.bfloat16):
            assert attend(q.bfloat16(), k, v).dtype == torch.bfloat16

    def test_slots_are_as_exact_as_the_definition(self) -> None:
        for dtype in (torch.bfloat16, torch.float16):
            assert_matches(inputs((128, 257), dtype=dtype), Causal(), ("slots",), scale=3.0)

    def test_nothing_for_slots(self) -> None:
        assert attend(*inputs((0, 9)), Causal(), impl="slots").shape == (1, 2, 0, 16)

    def test_functions_and_numbers_are_told_where_to_go(self) -> None:
        with pytest.raises(ValueError, match=r"`allows` of a class below regard.pattern.Atom"):
            attend(*inputs(9), lambda q, k: k <= q)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="numbers go to bias="):
            attend(*inputs(9), mask=torch.zeros(9, 9))
        with pytest.raises(ValueError, match=r"of a padding mask make torch.where\(padding, -1, 0\)"):
            attend(*inputs(9), key_segments=torch.zeros(1, 9).bool())
