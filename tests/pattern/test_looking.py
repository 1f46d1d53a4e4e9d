"""A value with nothing but `allows` does everything that a shipped one does."""

import time
from dataclasses import dataclass
from typing import ClassVar

import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.pattern import Atom, Causal, Global, Pattern, Span, SparseFixed, Windowed, parse
from regard.pattern.picture import view
from tests.pattern.own import OWN, Early, Jumps, Near, Others, Roles
from tests.pattern.strategies import LINEAR, combined, shapes
from tests.pattern.test_tiling import judged

MIXED = (
    LINEAR | st.sampled_from(OWN) | st.builds(Jumps, st.integers(0, 9)) | st.builds(Near, st.integers(0, 5))
)


def agrees(pattern: Pattern, n: int, m: int, size: int) -> None:
    mask = pattern.dense(n, m)
    assert pattern.draw(n, m).count("#") == pattern.pairs(n, m) == int(mask.sum())
    assert torch.equal(pattern.row_pairs(n, m), mask.sum(1))
    assert pattern.tiles(n, m, size).dense().tolist() == judged(mask, size)
    assert parse(str(pattern)) == pattern


@settings(max_examples=150, deadline=None)
@given(combined(MIXED, 6), shapes(), st.integers(1, 12))
def test_any_expression_of_own_and_shipped_values(pattern, shape, size):
    agrees(pattern, *shape, size)


@pytest.mark.parametrize("pattern", [*OWN, Jumps(5) & Causal(), ~Near(1) | Windowed(9)])
def test_larger_sizes(pattern):
    agrees(pattern, 300, 300, 32)
    agrees(pattern, 77, 301, 100)


def test_a_table_is_never_asked_beyond_its_end():
    for size in (1, 5, 16, 128):
        agrees(Roles(3), 24, 24, size)
        agrees(Roles(2) & ~Causal(), 7, 20, size)
    with pytest.raises(ValueError, match="covers 24 positions, got n=25"):
        Roles(3).pairs(25)


@pytest.mark.parametrize("cells", [1, 7, 64, 1 << 21])
def test_chunks_do_not_show(cells, monkeypatch):
    monkeypatch.setattr("regard.pattern.looking.CELLS", cells)
    agrees(Jumps(3) | Global(2), 23, 31, 4)
    at = torch.tensor([5, 5, 5, 0, 9, 9])
    mask = Jumps(3).dense(12)
    for span in Jumps(3).spans(at, 12):
        for row, lo, hi in zip(at.tolist(), span.lo.tolist(), span.hi.tolist(), strict=True):
            assert mask[row, lo:hi].all()
    assert sum((s.hi - s.lo) for s in Jumps(3).spans(at, 12)).tolist() == mask[at].sum(1).tolist()


def test_pictures_and_figures():
    for pattern in (Jumps(3), Near(2) & ~Causal(), Others()):
        assert "<svg" in pattern.svg(9)
        assert "<svg" in pattern.svg(600)
        assert pattern.figure(9) is not None


@dataclass(frozen=True)
class Band(Atom):
    """Strided and Global together, but silent about it."""

    back: int

    def allows(self, q, k):
        return (k <= q) & ((q - k <= self.back) | (k < 40))


@pytest.mark.parametrize(("n", "m"), [(600, 600), (300, 700), (5000, 5000)])
def test_shades_are_those_of_the_same_pattern_with_hooks(n, m):
    shown, same = (
        view(p, n, m, formula=False) for p in (Band(70), parse("causal & (strided(70) | global(40))"))
    )
    assert torch.equal(shown.levels, same.levels)
    assert shown.caption == same.caption


def test_what_is_not_known_is_said():
    for pattern in (Near(2), Jumps(3), Near(2) & Causal()):
        with pytest.raises(ValueError, match=r"has no formula in n: (Near|Jumps) gives no closed_form"):
            pattern.formula()
        assert pattern.keys_kept() is None
    assert (Near(2) & parse("strided(4)")).keys_kept() == 5
    one = Near(2)
    assert (one.period, one.horizon, one.sees_itself, one.above(torch.arange(3)), one.total) == (None,) * 5


@dataclass(frozen=True)
class Half(Atom):
    """All that formulas ask for, but `spans` and `above`: the pairs are looked at."""

    reach: int
    letters: ClassVar = {"reach": "r"}
    period = 1

    @property
    def horizon(self):
        return self.reach + 1, 0

    def allows(self, q, k):
        return (q - k <= self.reach) & (k - q <= self.reach)

    def closed_form(self, n, fields):
        r = fields["reach"]
        return sympy.Piecewise(((2 * r + 1) * n - r * (r + 1), n > r), (n**2, True))


@dataclass(frozen=True)
class HalfSpans(Half):
    """`spans` without `above`: once counted as if it never looked ahead."""

    def spans(self, q, m):
        return [Span(q - self.reach, q + self.reach + 1)]


@dataclass(frozen=True)
class Silent(Half):
    """It has a formula, but does not say when it settles."""

    period = None


@pytest.mark.parametrize("one", [Half(3), HalfSpans(3)])
@pytest.mark.parametrize("other", [Causal(), ~Causal(), Global(2), SparseFixed(4, 1)])
def test_a_hook_left_out_never_gives_a_wrong_formula(one, other):
    for pattern in (one, one & other, one | other, ~one):
        formula = pattern.formula()
        for n in (*range(1, 20), 50):
            assert formula.subs("n", n) == int(pattern.dense(n).sum())


def test_without_a_period_an_expression_has_no_formula():
    assert Silent(2).formula().subs("n", 9) == Silent(2).pairs(9)
    with pytest.raises(ValueError, match=r"Silent\(2\) does not give its period and horizon"):
        (Silent(2) & Causal()).formula()


def test_looking_takes_bounded_memory_and_refuses_what_takes_for_ever():
    start = time.process_time()
    assert Early(4).pairs(3000) == 4 * 3000
    assert time.process_time() - start < 5
    with pytest.raises(ValueError, match=r"pairs to look at one by one, at most .*; Near would be counted"):
        Near(2).pairs(1 << 20)
