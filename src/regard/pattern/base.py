"""The pattern as a value: what every pattern can do, and the algebra of `&`, `|` and `~`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, TypeVar

import torch
from torch import Tensor

from regard.errors import check_int
from regard.importing import finds

# These serve the methods below, and import this file back for its types alone: a pattern is their argument.
from regard.pattern import (
    counting,
    dealing,
    exchange,
    figure,
    formulas,
    looking,
    picture,
    svg,
    tiling,
    widget,
)
from regard.pattern.spans import CacheBound, Positions, Span, bound_of_all, bound_of_any

if TYPE_CHECKING:
    import sympy
    from anywidget import AnyWidget
    from matplotlib.figure import Figure

T = TypeVar("T", int, Tensor)  # sets of bits, or masks

MOST = (1 << 31) - 1  # of a field: products of two stay far inside 64 bits
MOST_CELLS = 1 << 36  # of a mask: 64 GiB
MOST_TILED = 1 << 28  # positions that are cut into tiles


class Pattern:
    """Which keys each query may look at: a frozen value that draws, counts, masks and tiles itself.

    Query i of n stands at position i + m − n of m, so the n queries are always the *last* n positions.
    """

    any_shape: ClassVar[bool] = False  # may have more queries than keys

    def allows(self, q: Positions, k: Positions) -> Positions:
        """Whether the query at position q may look at key k; elementwise on integers or tensors."""
        raise NotImplementedError

    def atoms(self) -> list[Atom]:
        """The distinct single values of the expression, in order of appearance."""
        raise NotImplementedError

    def fold(self, value_of: Callable[[Atom], T]) -> T:
        """The expression computed with `&`, `|`, `~` on what `value_of` gives for each single value."""
        raise NotImplementedError

    def _kept(self, negated: bool) -> CacheBound | None:
        raise NotImplementedError

    def kept(self) -> CacheBound | None:
        """Which keys decoding must keep: the latest, the first and others (None: everything)."""
        return self._kept(negated=False)

    def keys_kept(self) -> int | None:
        """At most how many keys k ≤ q can still be seen by queries from q on (None: no bound).

        >>> from regard.pattern import Causal, Global, Strided
        >>> (Strided(back=3) | Global(first=2) & Causal()).keys_kept()
        6
        """
        kept = self.kept()
        bounds = [atom.total for atom in self.atoms() if atom.total is not None]
        return min([*bounds, *([] if kept is None else [kept.total])], default=None)

    @property
    def by_distance(self) -> bool:
        """Whether q − k alone decides."""
        return all(atom.distance for atom in self.atoms())

    def resolve(self, n: int, m: int | None = None) -> tuple[int, int]:
        """(n, m) with m filled in, or a ValueError when this pattern does not fit n queries and m keys."""
        n = check_int("n", n, 0)
        m = n if m is None else check_int("m", m, 0)
        if n > m and not self.any_shape and not all(atom.fixed for atom in self.atoms()):
            raise ValueError(f"queries are the last n of m positions, so n ≤ m is needed, got {n=}, {m=}")
        for atom in self.atoms():
            atom.check(n, m)
        return n, m

    def dense(self, n: int, m: int | None = None) -> Tensor:
        """The mask, a bool tensor (n, m)."""
        n, m = self.resolve(n, m)
        if n * m > MOST_CELLS:
            raise ValueError(f"a mask has at most {MOST_CELLS:,} cells, got {n=}, {m=}; pairs needs no mask")
        q = torch.arange(m - n, m)[:, None]
        k = torch.arange(m)[None, :]
        return self.allows(q, k).expand(n, m).contiguous()

    def pairs(self, n: int, m: int | None = None) -> int:
        """The exact number of allowed query-key pairs, without building the mask."""
        return counting.pairs(self, *self.resolve(n, m))

    def row_pairs(self, n: int, m: int | None = None) -> Tensor:
        """The number of keys that each query may see: int64 (n,)."""
        return counting.row_pairs(self, *self.resolve(n, m))

    def formula(self, symbolic: bool = False) -> sympy.Expr:
        """`pairs(n)` as a sympy expression in n, exact for every n ≥ 1; ValueError where there is none.

        With `symbolic`, the fields of a single value stay letters, as in the lectures.
        """
        return formulas.formula(self, symbolic)

    def tiles(self, n: int, m: int | None = None, size: int = 128) -> tiling.TileMap:
        """Which size×size tiles are full and which partial; empty ones are not stored."""
        size = check_int("size", size, 1)
        n, m = self.resolve(n, m)
        if n + m > MOST_TILED:
            raise ValueError(f"tiles are listed for at most {MOST_TILED:,} positions, got {n=}, {m=}")
        return tiling.tiles(self, n, m, size)

    def exchange(
        self, n: int, ranks: int, deal: str | Sequence[int] | dealing.Deal = "auto"
    ) -> exchange.Exchange:
        """Which keys must go where if n positions lie on so many ranks, dealt out as `deal` says.

        >>> from regard.pattern import Strided
        >>> plan = Strided(back=256).exchange(n=1 << 20, ranks=8)
        >>> plan.keys, plan.share_of_ring < 0.001
        (1792, True)
        """
        return exchange.exchange(self, self.resolve(n)[0], ranks, deal)

    def draw(self, n: int, m: int | None = None) -> str:
        """A text grid, one line per query: '#' seen, '.' not."""
        return picture.text(self.dense(n, m))

    def svg(self, n: int, m: int | None = None) -> str:
        """The pattern as an SVG picture; above 512 positions, the density of tiles."""
        return svg.svg(self, *self.resolve(n, m))

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; nothing where no length fits."""
        try:
            return self.svg(picture.usual_length(self))
        except ValueError:
            return None

    def figure(self, n: int, m: int | None = None) -> Figure:
        """The pattern as a matplotlib figure (needs the extra `plot`)."""
        return figure.figure(self, *self.resolve(n, m))

    def widget(self, n: int | None = None) -> AnyWidget:
        """The pattern to play with in a notebook, by sliders and pointing (needs the extra `notebook`)."""
        return widget.widget(self, min(picture.usual_length(self), widget.LONGEST) if n is None else n)

    def __and__(self, that: Pattern) -> Pattern:
        return And((self, that)) if isinstance(that, Pattern) else NotImplemented

    def __or__(self, that: Pattern) -> Pattern:
        return Or((self, that)) if isinstance(that, Pattern) else NotImplemented

    def __invert__(self) -> Pattern:
        return Not(self)

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(
            f"a pattern is frozen: {kind} must be a @dataclass(frozen=True) with field {name!r}"
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"a pattern is neither true nor false; combine with &, | and ~, not and/or/not: {self}"
        )


def check_field(name: str, value: object, least: int, most: int = MOST) -> None:
    """Raise unless a field of a value is an integer in its range."""
    if not isinstance(value, int):  # a NumPy integer would overflow, and print as one
        raise ValueError(f"{name} must be an integer, got {name}={value!r}")
    check_int(name, value, least, most)


@dataclass(frozen=True)
class Atom(Pattern):
    """A single value: a frozen dataclass below this one, with `allows`.

    Everything else below is a hook: it may be left out, and is then found out by looking at `allows`, slowly.
    A hook is believed, so `check_pattern` holds each against `allows`.
    """

    registry: ClassVar[dict[str, type[Atom]]] = {}
    word: ClassVar[str]  # its name in a text
    letters: ClassVar[dict[str, str]] = {}  # the lecture's letter for each field, where it has one
    # Promises: what they say holds for all positions. Left out, nothing is promised.
    distance: ClassVar[bool] = False  # q − k alone decides, and allows(q − k, 0) says it, negative ones too
    sees_itself: ClassVar[bool | None] = None  # every query sees its own key; None: find out
    fixed: ClassVar[bool] = False  # it is for so many queries and keys alone, as `check` says
    monotone: ClassVar[bool] = False  # down the rows each of the `spans` moves one way, without a gap
    repeats: ClassVar[bool] = False  # period and horizon say all: see the proof in `repeating`

    def __init_subclass__(cls, word: str = "") -> None:
        cls.word = word or cls.__dict__.get("word") or cls.__name__.lower()
        own, *others = [base.__name__ for base in cls.__mro__ if "allows" in base.__dict__]
        if others and others[0] != "Pattern":
            # Values are recognised by class, and believed: a subclass may add hooks, not another meaning.
            raise TypeError(
                f"{cls.__name__} would have the allows of {own} and the promises of {others[0]}: "
                "write it below Atom"
            )
        if cls.__name__.startswith("_"):  # what several values share is no value of its own
            return
        known = cls.registry.get(cls.word)
        if (
            known is not None
            and known.__module__.startswith("regard.")
            and known.__module__ != cls.__module__
        ):
            raise TypeError(
                f"a pattern is already called {cls.word!r}; rename {cls.__name__}, "
                f"or say class {cls.__name__}(Atom, word=…)"
            )
        cls.registry[cls.word] = cls
        if outside := cls.outside():
            cls.registry[outside] = cls

    @classmethod
    def outside(cls) -> str | None:
        """Its name as code, `module:Class`, where it is defined outside this package and has one."""
        inside = cls.__module__.startswith("regard.") or "<" in cls.__qualname__
        return None if inside else f"{cls.__module__}:{cls.__qualname__}"

    @classmethod
    def gives(cls, hook: str) -> bool:
        """Whether the value has a hook of its own, and not the one that looks at `allows`."""
        return getattr(cls, hook) is not getattr(Atom, hook)

    @property
    def total(self) -> int | None:
        """The length that the value's own geometry fixes: no position from there on has a meaning.

        Left out: None, any length.
        """
        return None

    @property
    def period(self) -> int | None:
        """After how many positions the value repeats.

        With period P and horizon (B, F): allows(q + P, k + P) = allows(q, k) for q, k ≥ F, and where q and k
        are B + P or more apart, the later one may move on by P alone, if it is at least F.
        Left out: None, and expressions have no formula.
        """
        return None

    @property
    def horizon(self) -> tuple[int, int] | None:
        """(how far back, how many first positions) it treats specially; see `period`.

        Left out: None, and expressions have no formula.
        """
        return None

    @property
    def horizon_ahead(self) -> int:
        """From how many positions ahead on all keys are alike, where that is more than its period.

        Left out: 0, and a value that `repeats` tells keys further ahead than its period no longer apart.
        """
        return 0

    @property
    def turns(self) -> list[tuple[int, int]] | None:
        """Queries at which the end of a span jumps or turns: (place, period or 0); None: see `repeats`."""
        return None

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """The keys in [0, m) that the queries at positions q see, as disjoint spans; ends may lie outside.

        Left out: the runs of allowed keys, by looking; counting then looks at every pair.
        """
        return looking.spans(self, q, m)

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """The queries lo ≤ q < hi, of those before k, that see k; (k, k) where none ever does.

        Left out: None, not known; formulas of expressions then look at every pair.
        """
        return None

    def tile_groups(self, q0: Tensor, q1: Tensor, m: int, size: int) -> list[list[tiling.TileSpan]]:
        """The spans of a tile of queries q0 ≤ q < q1; several groups where rows jump inside a tile.

        Left out: those of its first and last row if the value is `monotone`, else every tile is looked at.
        """
        if self.monotone and self.gives("spans"):
            return [tiling.tile_spans(self.spans(q0, m), self.spans(q1 - 1, m))]
        return [[tiling.TileSpan.unsure(torch.zeros_like(q0), torch.full_like(q0, m))]]

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """Numbers that decide the content of the tile at (q0, k0): equal numbers, equal content.

        Left out: the place itself, so that no two tiles share a mask.
        """
        return [q0, k0]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """`pairs(n)` for n ≥ 1, with the fields given as numbers or symbols; ValueError where there is none.

        Left out: no formula.
        """
        if self.total is not None:
            raise ValueError(f"{self} has no formula in n: its geometry fixes the length")
        raise ValueError(f"{self} has no formula in n: {type(self).__name__} gives no closed_form")

    def kept(self) -> CacheBound | None:
        """Which keys k ≤ q queries from q on may still see: the latest, the first, and how many others.

        Left out: None, everything.
        """
        return None

    def complement_kept(self) -> CacheBound | None:
        """The same for the complement. Left out: None, everything."""
        return None

    def check(self, n: int, m: int) -> None:
        """Raise where the value's geometry does not fit n queries and m keys."""
        total = self.total
        if total is None:
            return
        if n == m and m != total:
            raise ValueError(f"{self} covers {total} positions, got {n=}")
        if n < m and m > total:
            raise ValueError(f"{self} covers {total} positions, got m={m} keys")

    def atoms(self) -> list[Atom]:
        """The value itself."""
        return [self]

    def fold(self, value_of: Callable[[Atom], T]) -> T:
        """What `value_of` gives for it."""
        return value_of(self)

    def _kept(self, negated: bool) -> CacheBound | None:
        return self.complement_kept() if negated else self.kept()

    def called(self, word: str) -> str:
        """Its text under this name."""
        arguments = ", ".join(str(getattr(self, field.name)) for field in fields(self) if field.init)
        return f"{word}({arguments})" if arguments else word

    def __str__(self) -> str:
        name = self.outside()
        # One made in a function, or redefined since, has no name that leads to it; its word does.
        return self.called(name if name is not None and finds(name, type(self)) else self.word)


@dataclass(frozen=True, repr=False)
class _Joined(Pattern):
    parts: tuple[Pattern, ...]
    sign: ClassVar[str]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not isinstance(self.parts, tuple) or not all(isinstance(part, Pattern) for part in self.parts):
            raise ValueError(f"{kind} takes one tuple of patterns, got parts={self.parts!r}")
        if len(self.parts) < 2:
            raise ValueError(f"{kind} joins at least two patterns, got parts={self.parts!r}")
        object.__setattr__(self, "parts", _flatten(type(self), *self.parts))

    @staticmethod
    def join(a: T, b: T) -> T:
        """What two parts say together."""
        raise NotImplementedError

    def allows(self, q: Positions, k: Positions) -> Positions:
        """What the parts allow, joined."""
        return reduce(self.join, (part.allows(q, k) for part in self.parts))

    def fold(self, value_of: Callable[[Atom], T]) -> T:
        """The parts' values, joined."""
        return reduce(self.join, (part.fold(value_of) for part in self.parts))

    def atoms(self) -> list[Atom]:
        """Those of all parts, each once."""
        return list(dict.fromkeys(atom for part in self.parts for atom in part.atoms()))

    def _kept(self, negated: bool) -> CacheBound | None:
        intersects = isinstance(self, And) != negated  # the complement of a union is an intersection
        bounds = [part._kept(negated) for part in self.parts]
        return bound_of_all(bounds) if intersects else bound_of_any(bounds)

    def _joined(self, show: Callable[[Pattern], str]) -> str:
        # An Or inside an And needs brackets; And binds tighter than Or, so the reverse does not.
        return f" {self.sign} ".join(
            f"({show(part)})" if isinstance(self, And) and isinstance(part, Or) else show(part)
            for part in self.parts
        )

    def __str__(self) -> str:
        return self._joined(str)

    def __repr__(self) -> str:
        return self._joined(repr)


@dataclass(frozen=True, repr=False)
class And(_Joined):
    """Allowed where every part allows; written `a & b`."""

    sign = "&"

    @staticmethod
    def join(a: T, b: T) -> T:
        """Both."""
        return a & b


@dataclass(frozen=True, repr=False)
class Or(_Joined):
    """Allowed where some part allows; written `a | b`."""

    sign = "|"

    @staticmethod
    def join(a: T, b: T) -> T:
        """Either."""
        return a | b


@dataclass(frozen=True, repr=False)
class Not(Pattern):
    """Allowed where the part does not allow, future keys included; written `~a`."""

    part: Pattern

    def allows(self, q: Positions, k: Positions) -> Positions:
        """Whether the part does not allow."""
        out = self.part.allows(q, k)
        return not out if isinstance(out, bool) else ~out

    def atoms(self) -> list[Atom]:
        """Those of the part."""
        return self.part.atoms()

    def fold(self, value_of: Callable[[Atom], T]) -> T:
        """`~` of the part's value."""
        return ~self.part.fold(value_of)

    def _kept(self, negated: bool) -> CacheBound | None:
        return self.part._kept(not negated)

    def __invert__(self) -> Pattern:
        return self.part

    def __str__(self) -> str:
        return f"~({self.part})" if isinstance(self.part, _Joined) else f"~{self.part}"

    def __repr__(self) -> str:
        return f"~({self.part!r})" if isinstance(self.part, _Joined) else f"~{self.part!r}"


def _flatten(kind: type[_Joined], *parts: Pattern) -> tuple[Pattern, ...]:
    return tuple(inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,)))
