"""`check_pattern` passes what is right, and names each hook that is not."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.pattern import (
    And,
    Atom,
    Axial,
    CacheBound,
    Causal,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Not,
    RandomBlocks,
    Span,
    Strided,
    check_pattern,
)
from regard.pattern.tiling import TileSpan
from tests.pattern.own import OWN, Jumps, Roles
from tests.pattern.strategies import LINEAR, combined


@settings(max_examples=25, deadline=None)
@given(LINEAR)
def test_every_shipped_value_is_right(pattern):
    check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        Documents((3, 7, 2)),
        Documents((1,)),
        Axial(3, 4),
        Axial(1, 5),
        Neighbourhood(4, 5, 1),
        Neighbourhood(2, 9, 3),
        RandomBlocks(),
        Strided(100),
        *OWN,
        Roles(3),
        Jumps(2) & Strided(4) | ~Global(3),
    ],
)
def test_geometries_and_own_values_are_right(pattern):
    assert check_pattern(pattern) is None


@settings(max_examples=10, deadline=None)
@given(combined(LINEAR | st.sampled_from(OWN), 4))
def test_expressions_are_right(pattern):
    check_pattern(pattern, n=24)


@dataclass(frozen=True)
class Base(Atom):
    """Right in every hook: itself, two back, one ahead; each lie below changes one."""

    back: int = 2
    letters: ClassVar = {"back": "t"}
    distance = True
    sees_itself = True
    monotone = True
    period = 1
    horizon = (4, 0)

    def allows(self, q, k):
        return (q - k <= self.back) & (k - q <= 1)

    def spans(self, q, m):
        return [Span(q - self.back, q + 2)]

    def above(self, k):
        return k - 1, k

    def tile_key(self, q0, k0, size):
        return [(q0 - k0).clamp(-size - 2, self.back + size)]

    def closed_form(self, n, fields):
        from sympy import Piecewise

        t = fields["back"]
        behind = Piecewise(((t + 1) * (2 * n - t) / 2, n > t), (n * (n + 1) / 2, True))
        return behind + n - 1

    def kept(self):
        return CacheBound(recent=self.back + 1)


def test_the_base_of_all_lies_is_right():
    check_pattern(Base())
    check_pattern(Base() & Causal() | ~Base())


def lie(**body):
    """A class that is right but for what is given."""
    return dataclass(frozen=True)(type("Lie", (Base,), body))()


def wide(self, q, m):
    return [Span(q - self.back, q + 3)]


def short(self, q, m):
    return [Span(q - self.back, q + 1)]


def overlapping(self, q, m):
    return [Span(q - self.back, q + 1), Span(q, q + 2)]


def thinned(self, q, m):
    return [Span(q - self.back, q + 2, step=2)]


def by_place(self, q, m):
    return [Span(torch.arange(len(q)) - self.back, torch.arange(len(q)) + 2)]


def one_end(self, q, m):
    return [Span(q[:1] - self.back, q + 2)]


def no_tiles(self, q0, q1, m, size):
    return []


def too_sure(self, q0, q1, m, size):
    return [[TileSpan(q0 * 0, q0 * 0 + m, q0 - self.back, q1 + 1, sure=True)]]


LIES = {
    "wide spans": ("spans", "query 0, key 2, m=3: seen by spans, not seen by allows", {"spans": wide}),
    "short spans": ("spans", "query 0, key 1, m=2: not seen by spans, seen by allows", {"spans": short}),
    "overlapping spans": ("spans", "query 0, key 0, m=1: in 2 spans", {"spans": overlapping}),
    "thinning": ("spans", "query 0, key 1, m=2: not seen by spans", {"spans": thinned}),
    "spans by place": ("spans", "by spans", {"spans": by_place}),
    "spans of one end": ("spans", "ends must be", {"spans": one_end}),
    "spans that fail": ("spans", "fails: TypeError", {"spans": lambda self, q: []}),
    "above nobody": ("above", "query 0, key 1: not seen by above", {"above": lambda self, k: (k, k)}),
    "above all": ("above", "query 0, key 2: seen by above", {"above": lambda self, k: (k * 0, k)}),
    "tile_key constant": (
        "tile_key",
        "have equal keys, not equal",
        {"tile_key": lambda self, q0, k0, size: []},
    ),
    "tile_key clamped": (
        "tile_key",
        "have equal keys, not equal",
        {"tile_key": lambda self, q0, k0, size: [(q0 - k0).clamp(-1, size)]},
    ),
    "no tile_groups": ("tile_groups", "empty by tile_groups", {"tile_groups": no_tiles}),
    "sure tile_groups": ("tile_groups", "by tile_groups", {"tile_groups": too_sure}),
    "closed_form": (
        "closed_form",
        "n=1: 2 by closed_form, 1 by allows",
        {"closed_form": lambda self, n, fields: 2 * n},
    ),
    "closed_form fails": ("closed_form", "KeyError", {"closed_form": lambda self, n, fields: fields["size"]}),
    "letters": ("closed_form", "letters must be", {"letters": {"size": "t"}}),
    "kept": (
        "kept",
        "key 0 is not kept after position 2",
        {"kept": lambda self: CacheBound(recent=2)},
    ),
    "kept others": ("kept", "is not kept", {"kept": lambda self: CacheBound(first=5, other=2)}),
    "complement_kept": (
        "complement_kept",
        "is not kept",
        {"complement_kept": lambda self: CacheBound(recent=9)},
    ),
    "turns": (
        "turns",
        "lo of a span turns between queries 2 and 3, which is no turn",
        {
            "repeats": True,
            "period": 3,
            "spans": lambda self, q, m: [Span((q - self.back).clamp(min=0), q + 2)],
        },
    ),
    "turns of its own": (
        "turns",
        "which is no turn",
        {
            "turns": [(4, 7)],
            "spans": lambda self, q, m: [Span((q - self.back).clamp(min=0), q + 2)],
        },
    ),
    "horizon": ("period", r"horizon=\(0, 0\) promises", {"horizon": (0, 0)}),
    "total": ("total", "at least 1", {"total": 0}),
    "total unchecked": (
        "total",
        "31 positions are not refused",
        {"total": 30, "check": lambda self, n, m: None},
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_each_lie_is_caught_and_named(name):
    hook, says, body = LIES[name]
    with pytest.raises(ValueError, match=rf"^{hook} of lie\(2\).*{says}"):
        check_pattern(lie(**body))
    with pytest.raises(ValueError, match=rf"^{hook} of lie\(2\)"):
        check_pattern(Causal() & ~lie(**body))


def other(name="Lie2", **body):
    """A value without hooks but those given."""
    return dataclass(frozen=True)(type(name, (Atom,), body))()


def stripes(self, q, k):
    return (q + 2 * k) % 3 == 0


def spans_of_stripes(self, q, m):
    first = q % 3
    return [Span(first + 3 * i, first + 3 * i + 1) for i in range(m // 3 + 1)]


def five(self, q, m):
    return [Span(5 * q, 5 * q + 1)]


def jumping(self, q, m):
    return [Span(q * 7 % 5, q * 7 % 5 + 1)]


def clamped(self, q, m):
    return [Span(q * 0, q.clamp(min=0) + 4)]


OTHERS = {
    "distance": (
        "query 1, key 1: seen by the distance alone, not seen by allows",
        {"allows": lambda self, q, k: q * k == 0, "distance": True},
    ),
    "distance ahead": (
        "query 0, key 1: not seen by the distance alone",
        {"allows": lambda self, q, k: (k <= q) | (k > q) & (q >= 0), "distance": True},
    ),
    "sees_itself": (
        "query 1, key 1",
        {"allows": lambda self, q, k: (q != k) | (q == 0), "sees_itself": True},
    ),
    "period": (
        r"not the same when .* period=2, horizon=\(0, 0\)",
        {"allows": stripes, "period": 2, "horizon": (0, 0)},
    ),
    "repeats without more": ("must give its period, horizon and spans", {"allows": stripes, "repeats": True}),
    "repeats": (
        "repeats of .* later windows are told apart",
        {
            "allows": stripes,
            "spans": spans_of_stripes,
            "period": 3,
            "horizon": (0, 0),
            "repeats": True,
            "turns": [(0, 1)],
        },
    ),
    "first": ("period=1, horizon", {"allows": lambda self, q, k: k < 9, "period": 1, "horizon": (0, 8)}),
    "monotone with gaps": (
        "tile_groups of .* is partial by tile_groups, empty by allows",
        {"allows": lambda self, q, k: k == 5 * q, "spans": five, "monotone": True},
    ),
    "monotone that jumps": (
        "tile_groups of",
        {"allows": lambda self, q, k: k == q * 7 % 5, "spans": jumping, "monotone": True},
    ),
    "any_shape": (
        "counts of lie2: n=5, m=2: 10 pairs, allows gives 9",
        {"allows": lambda self, q, k: k <= q + 3, "spans": clamped, "any_shape": True},
    ),
    "ints": (
        "for integers, .* for tensors",
        {"allows": lambda self, q, k: (k <= q) if isinstance(q, int) else (k < q)},
    ),
    "chained": ("allows of .* fails: RuntimeError", {"allows": lambda self, q, k: 0 <= q - k <= 3}),
    "constant": ("must give a bool tensor", {"allows": lambda self, q, k: True}),
    "integer": ("must give a bool tensor .* got torch.int64", {"allows": lambda self, q, k: (q - k) * 0 + 1}),
    "tensor of ints": ("must be True or False", {"allows": lambda self, q, k: torch.as_tensor(k <= q)}),
    "shape": ("must fit", {"allows": lambda self, q, k: (torch.as_tensor(k <= q)).flatten()}),
    "random": (
        "for tensors|told something else",
        {"allows": lambda self, q, k: bool(q) if isinstance(q, int) else torch.rand((q + k).shape) < 0.5},
    ),
    "text": ("text of .*", {"allows": lambda self, q, k: k <= q, "__str__": lambda self: "causal"}),
    "table": (
        "total of .* fails: IndexError",
        {"allows": lambda self, q, k: torch.arange(9)[q] == torch.arange(9)[k], "total": 10},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_lies_are_caught(name):
    says, body = OTHERS[name]
    with pytest.raises(ValueError, match=says):
        check_pattern(other(**body))


def test_stripes_without_the_monotone_promise_are_right():
    check_pattern(other("Stripes", allows=stripes, spans=spans_of_stripes, period=3, horizon=(0, 0)))


@dataclass(frozen=True)
class Named(Atom):
    """A field that no text can hold."""

    name: str

    def allows(self, q, k):
        return k <= q


@dataclass(frozen=True)
class Listed(Atom):
    """A field that has no hash."""

    places: list

    def allows(self, q, k):
        return k <= q


@dataclass(frozen=True)
class Alike(Atom):
    """Values that are equal and allow other pairs."""

    reach: int = field(compare=False)

    def allows(self, q, k):
        return q - k <= self.reach


@dataclass(frozen=True, eq=False)
class Unequal(Atom):
    """No equality of its own: it would be that of a value without fields."""

    reach: int

    def allows(self, q, k):
        return q - k <= self.reach


class Bare(Atom):
    """No dataclass, but with something to hold."""

    def __init__(self, reach):
        object.__setattr__(self, "reach", reach)

    def allows(self, q, k):
        return q - k <= self.reach


@dataclass(frozen=True)
class Open(Atom):
    """It can be changed after all."""

    reach: int

    def allows(self, q, k):
        return q - k <= self.reach


Open.__setattr__ = object.__setattr__


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Open(3), "reach can be set"),
        (Named("x"), "text of named"),
        (Listed([1]), "fields of .*unhashable"),
        (Alike(3), "it equals the one with reach=4"),
        (Unequal(3), "it equals the one with reach=4"),
        (Bare(3), "holds reach and is no @dataclass"),
        (Not(Not(Causal())), "text of ~~causal: its text parses to Causal"),
    ],
)
def test_values_that_are_no_values(value, says):
    with pytest.raises(ValueError, match=says):
        check_pattern(value)


def test_a_value_is_frozen_from_birth():
    with pytest.raises(TypeError, match="non-frozen"):
        dataclass(type("Thawed", (Atom,), {"allows": stripes}))

    class Held(Atom):
        def __init__(self):
            self.reach = 1

    with pytest.raises(AttributeError, match=r"Held must be a @dataclass\(frozen=True\) with field 'reach'"):
        Held()


def test_promises_are_not_inherited_by_another_meaning():
    with pytest.raises(TypeError, match="Loose would have the allows of Loose and the promises of Strided"):
        type("Loose", (Strided,), {"allows": stripes})
    with pytest.raises(
        TypeError, match="the allows of Mixin and the promises of Strided: write it below Atom"
    ):
        type("Loose", (type("Mixin", (), {"allows": stripes}), Strided), {})
    with pytest.raises(TypeError, match="a pattern is already called 'causal'; rename Causal"):
        type("Causal", (Atom,), {"allows": stripes})
    check_pattern(type("Mixed", (type("Mixin", (), {"allows": stripes}), Atom), {})())
    slotted = dataclass(frozen=True, slots=True)(type("Slotted", (Atom,), {"allows": stripes}, word="slot"))
    assert str(slotted()) == "slot"
    check_pattern(slotted())


def test_a_formula_that_does_not_settle_is_refused():
    wrong = other(
        "Unsettled", allows=stripes, period=2, horizon=(0, 0), closed_form=lambda self, n, fields: n
    )
    with pytest.raises(ValueError, match="does not repeat as period and horizon promise: see check_pattern"):
        (wrong & Causal()).formula()


def test_what_cannot_be_checked():
    for wrong in ("causal", None, 3, Causal):
        with pytest.raises(ValueError, match="check_pattern takes a pattern, got"):
            check_pattern(wrong)
    with pytest.raises(ValueError, match="n must be at least 1, got n=0"):
        check_pattern(Full(), n=0)


def test_a_larger_n_finds_what_comes_late():
    late = other(
        "Late",
        allows=lambda self, q, k: (k <= q) | (q > 100),
        kept=lambda self: None,
        above=lambda self, k: (k, k),
    )
    check_pattern(late, n=90)
    with pytest.raises(
        ValueError, match="above of late: query 101, key 102: not seen by above, seen by allows"
    ):
        check_pattern(late, n=120)


def test_joining_nothing_is_refused():
    for parts in ((), (Causal(),)):
        with pytest.raises(ValueError, match=r"And joins at least two patterns, got parts=\("):
            And(parts)
    with pytest.raises(ValueError, match="takes one tuple of patterns"):
        And([Causal(), Full()])
    assert And((And((Causal(), Full())), Causal())) == And((Causal(), Full(), Causal()))
