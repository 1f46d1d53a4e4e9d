"""A cost: exact counts that add, scale, compare, and break down as a tree of named parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from regard.layers.letters import Number, if_any, largest

if TYPE_CHECKING:
    from sympy import Symbol

    from regard.cost.pricing import PriceQuestion  # which makes costs: for its type alone

CONVENTIONS = (
    "a sum of k terms is k−1 adds; flops = multiplies + adds; macs are the multiplies of matrix products",
    "attention counts the pairs that its pattern allows; a mask, a missing neighbour, h0=None cost nothing",
    "the zeros of a convolution's padding count as inputs; a mean's division is one multiply per result",
    "softmax, norms, activations, look-ups and losses are elements in `other`, never multiplies or adds",
    "training adds the gradients of products and biases, and no optimiser",
    "experts: as if every token chose the same ones; their choice changes no multiplies, but bytes moved",
    "activation_bytes is an estimate: training keeps each intermediate result once, else it is what the "
    "widest part reads and makes at once; attention weights never",
)


@dataclass(frozen=True)
class Cost:
    """What something costs, by the conventions above: exact integers, or formulas.

    >>> layer = Cost(parameters=12, multiplies=6, adds=3, depth=1)
    >>> (layer + 2 * layer).flops, (2 * layer).depth
    (27, 2)
    """

    parameters: Number = 0
    idle_parameters: Number = 0  # of experts that a token does not visit
    multiplies: Number = 0
    adds: Number = 0
    macs: Number = 0
    product_adds: Number = 0  # the adds of matrix products, as macs are their multiplies
    pairs: Number = 0
    computed_pairs: Number = 0
    weight_bytes: Number = 0
    activation_bytes: Number = 0
    cache_bytes: Number = 0
    moved_bytes: Number = 0
    exchanged_bytes: Number = 0  # between ranks that share a sequence
    depth: Number = 0
    other: Mapping[str, Number] = field(default_factory=dict)
    uncounted: Mapping[str, int] = field(default_factory=dict)  # operations without a rule, and how often
    notices: tuple[str, ...] = ()
    parts: tuple[tuple[str, Cost], ...] = field(default=(), compare=False)
    question: PriceQuestion | None = field(default=None, compare=False, repr=False)

    @property
    def active_parameters(self) -> Number | None:
        """The parameters that work on one token: all of them, unless a router chooses among experts."""
        if self.parameters is None or self.idle_parameters is None:
            return None  # nobody measured it
        return self.parameters - self.idle_parameters

    @property
    def flops(self) -> Number:
        """Multiplies and adds together."""
        return self.multiplies + self.adds

    @property
    def exps(self) -> Number:
        """The exponentials of softmax: one for each pair."""
        return self.other.get("softmax", 0)

    def __add__(self, that: Cost) -> Cost:
        if not isinstance(that, Cost):
            return NotImplemented
        counts = {name: _plus(getattr(self, name), getattr(that, name)) for name in COUNTS}
        return Cost(
            **counts,  # type: ignore[arg-type]
            other=_merge(self.other, that.other),
            uncounted=_merge(self.uncounted, that.uncounted),
            notices=tuple(dict.fromkeys(self.notices + that.notices)),
            parts=self.parts + that.parts if self.parts and that.parts else (),
        )

    def __mul__(self, times: Number) -> Cost:
        counts = {name: None if (x := getattr(self, name)) is None else x * times for name in COUNTS}
        return Cost(
            **counts,
            other={kind: count * times for kind, count in self.other.items()},
            uncounted={name: count * times for name, count in self.uncounted.items()},
            notices=self.notices,
            parts=tuple((name, part * times) for name, part in self.parts),
        )

    __rmul__ = __mul__

    def compare(self, that: Cost) -> dict[str, Fraction | None]:
        """Each count of `that` as a multiple of this one's; None where this one's is 0 or not known.

        >>> full, windowed = Cost(multiplies=64, pairs=16), Cost(multiplies=40, pairs=4)
        >>> str(full.compare(windowed)["pairs"])
        '1/4'
        """
        out: dict[str, Fraction | None] = {}
        for name in (*COUNTS, "flops"):
            mine, other = getattr(self, name), getattr(that, name)
            known = isinstance(mine, int) and isinstance(other, int) and mine != 0
            out[name] = Fraction(other, mine) if known else None
        return out

    def walk(self, depth: int | None = None) -> Iterator[tuple[int, str, Cost]]:
        """The tree below, as (level, name, cost), parts before what follows them."""
        for name, part in self.parts:
            yield 0, name, part
            if depth is None or depth > 1:
                for level, inner, cost in part.walk(None if depth is None else depth - 1):
                    yield level + 1, inner, cost

    def formula(self, *symbols: str | Symbol) -> Cost:
        """The same price with sizes left as letters: "n" tokens, "B" batch, and any field of the config.

        >>> from regard.cost import AttentionShape, price
        >>> layer = price(AttentionShape(width=64, heads=4), tokens=10).formula("n", "width")
        >>> layer.macs.expand()
        4*d**2*n + 2*d*n**2
        """
        if self.question is None:
            raise ValueError("only what price() gave has a formula: a sum or a measurement has none")
        return self.question.formula(symbols)

    def order(self, count: str, *symbols: str | Symbol) -> str:
        """O(…) of one count in the chosen letters, or in all that the formula has.

        >>> from regard.cost import AttentionShape, price
        >>> price(AttentionShape(width=64, heads=4), tokens=10).order("flops", "n", "width")
        'O(d²n + dn²)'
        """
        from regard.cost.formulas import big_o

        known = (*COUNTS, "flops", "exps")
        if count not in known:
            raise ValueError(f"count must be one of {', '.join(known)}, got {count=}")
        value = getattr(self, count)
        asked = symbols or isinstance(value, int)  # what was asked with letters is a formula already
        return big_o(getattr(self.formula(*symbols), count) if asked and self.question is not None else value)

    def __str__(self) -> str:
        """The counts that are not zero, one a line, exactly and about."""
        from regard.cost.report import text  # which reads costs

        return text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from regard.cost.report import html  # which reads costs

        return html(self)

    def as_dict(self) -> dict[str, object]:
        """What was asked, counts, notices and parts as JSON can hold them; formulas as text."""
        asked = {} if self.question is None else {"asked": self.question.as_dict()}
        out: dict[str, object] = asked | {name: _plain(getattr(self, name)) for name in COUNTS}
        out |= {name: _plain(getattr(self, name)) for name in ("active_parameters", "flops", "exps")}
        out |= {"other": {kind: _plain(count) for kind, count in self.other.items()}}
        out |= {"uncounted": dict(self.uncounted), "notices": list(self.notices)}
        return out | {"parts": [{"name": name, **part.as_dict()} for name, part in self.parts]}


COUNTS = tuple(one.name for one in fields(Cost) if one.default == 0)


def tree(parts: list[tuple[str, Cost]], *, at_once: bool = True) -> Cost:
    """The sum of parts by name, one after another; parts without any cost are left out of the tree.

    Unless what they make is there `at_once`, as training keeps it, that of the widest part is enough.
    """
    total = Cost()
    for _, part in parts:
        total = total + part
    if not at_once:
        total = replace(total, activation_bytes=widest([part for _, part in parts]))
    return replace(total, parts=tuple((name, part) for name, part in parts if part != Cost()))


def widest(costs: list[Cost]) -> Number:
    """The activation bytes of the one that has most."""
    out: Number = 0
    for cost in costs:
        out = largest(out, cost.activation_bytes)
    return out


def repeated(cost: Cost, times: Number, *, at_once: bool = True) -> Cost:
    """The same over and over; what each makes is there `at_once`, or is gone when the next begins."""
    return cost * times if at_once else _with_activations(cost * times, cost, times)


def _with_activations(cost: Cost, that: Cost, times: Number) -> Cost:
    parts = zip(cost.parts, that.parts, strict=True)
    mended = tuple((name, _with_activations(mine, theirs, times)) for (name, mine), (_, theirs) in parts)
    return replace(cost, activation_bytes=if_any(times, that.activation_bytes), parts=mended)


def _plus(a: Number | None, b: Number | None) -> Number | None:
    return None if a is None or b is None else a + b  # nobody measured it


def _merge(a: Mapping[str, Number], b: Mapping[str, Number]) -> dict[str, Number]:
    return {name: a.get(name, 0) + b.get(name, 0) for name in dict.fromkeys([*a, *b])}


def _plain(value: Number | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else str(value)
