"""Values that depend on the distance between query and key alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from regard.pattern.base import Atom, check_field
from regard.pattern.spans import CacheBound, Positions, Span

if TYPE_CHECKING:
    import sympy


def nobody(k: Tensor) -> tuple[Tensor, Tensor]:
    """No queries before k: what a value that never looks ahead answers."""
    return k, k


def triangle(n: sympy.Expr) -> sympy.Expr:
    """1 + 2 + … + n."""
    return n * (n + 1) / 2


@dataclass(frozen=True)
class Full(Atom):
    """Every query sees every key.

    >>> print(Full().draw(2, 3))
    ###
    ###
    """

    distance = True
    repeats = True
    any_shape = True
    sees_itself = True
    monotone = True
    period = 1
    horizon = (0, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """Always."""
        return (q == q) & (k == k)  # noqa: PLR0124 - true, in the shape of both

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """All keys."""
        return [Span(torch.zeros_like(q), torch.full_like(q, m))]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """All earlier queries."""
        return torch.zeros_like(k), k

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """All tiles are alike."""
        return []

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """n²."""
        return n**2

    def complement_kept(self) -> CacheBound | None:
        """Nothing is ever seen."""
        return CacheBound()


@dataclass(frozen=True)
class Causal(Atom):
    """A query sees itself and everything before it; the lectures say autoregressive.

    >>> print(Causal().draw(4))
    #...
    ##..
    ###.
    ####
    """

    distance = True
    repeats = True
    sees_itself = True
    monotone = True
    period = 1
    horizon = (0, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """k ≤ q."""
        return k <= q

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """[0, q]."""
        return [Span(torch.zeros_like(q), q + 1)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """It never looks ahead."""
        return nobody(k)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The distance; far tiles are all alike."""
        return [(q0 - k0).clamp(-size, size)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """n(n+1)/2."""
        return triangle(n)

    def complement_kept(self) -> CacheBound | None:
        """The complement sees later keys only."""
        return CacheBound()


@dataclass(frozen=True)
class Strided(Atom):
    """A query sees itself and at most `back` earlier positions, that is back + 1 keys.

    >>> print(Strided(back=1).draw(4))
    #...
    ##..
    .##.
    ..##
    """

    back: int
    distance = True
    repeats = True
    letters: ClassVar = {"back": "t"}
    sees_itself = True
    monotone = True
    period = 1

    def __post_init__(self) -> None:
        check_field("back", self.back, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """0 ≤ q − k ≤ back."""
        return (k <= q) & (q - k <= self.back)

    @property
    def horizon(self) -> tuple[int, int]:
        """back + 1 positions."""
        return self.back + 1, 0

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """[q − back, q]."""
        return [Span(q - self.back, q + 1)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """It never looks ahead."""
        return nobody(k)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The distance; far tiles are all alike."""
        return [(q0 - k0).clamp(-size, self.back + size)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """(t+1)(2n−t)/2 from n > t on, a triangle before."""
        from sympy import Piecewise

        t = fields["back"]
        return Piecewise(((t + 1) * (2 * n - t) / 2, n > t), (triangle(n), True))

    def kept(self) -> CacheBound | None:
        """The latest back + 1 keys."""
        return CacheBound(recent=self.back + 1)


@dataclass(frozen=True)
class Local(Atom):
    """A query sees itself and at most `reach` positions on either side, whatever the length.

    >>> print(Local(reach=1).draw(4))
    ##..
    ###.
    .###
    ..##
    """

    reach: int
    distance = True
    repeats = True
    letters: ClassVar = {"reach": "r"}
    sees_itself = True
    monotone = True
    period = 1

    def __post_init__(self) -> None:
        check_field("reach", self.reach, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """|q − k| ≤ reach."""
        return (q - k <= self.reach) & (k - q <= self.reach)

    @property
    def horizon(self) -> tuple[int, int]:
        """reach + 1 positions."""
        return self.reach + 1, 0

    @property
    def horizon_ahead(self) -> int:
        """reach + 1 positions."""
        return self.reach + 1

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """[q − reach, q + reach]."""
        return [Span(q - self.reach, q + self.reach + 1)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """The latest `reach` queries before the key."""
        return (k - self.reach).clamp(min=0), k

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The distance; far tiles are all alike."""
        return [(q0 - k0).clamp(-self.reach - size, self.reach + size)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """(2r+1)n − r(r+1) from n > r on, everything before."""
        from sympy import Piecewise

        r = fields["reach"]
        return Piecewise(((2 * r + 1) * n - r * (r + 1), n > r), (n**2, True))

    def kept(self) -> CacheBound | None:
        """The latest reach + 1 keys."""
        return CacheBound(recent=self.reach + 1)


@dataclass(frozen=True)
class Dilated(Atom):
    """A query sees itself and the `back` positions at distances step, 2·step, …, back·step.

    >>> print(Dilated(back=2, step=2).draw(6))
    #.....
    .#....
    #.#...
    .#.#..
    #.#.#.
    .#.#.#
    """

    back: int
    step: int
    distance = True
    repeats = True
    letters: ClassVar = {"back": "t", "step": "s"}
    sees_itself = True
    monotone = True
    period = 1  # past its last key nothing repeats

    def __post_init__(self) -> None:
        check_field("back", self.back, 0)
        check_field("step", self.step, 1)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """q − k one of 0, step, …, back·step."""
        return (k <= q) & (q - k <= self.back * self.step) & ((q - k) % self.step == 0)

    @property
    def horizon(self) -> tuple[int, int]:
        """back·step + 1 positions."""
        return self.back * self.step + 1, 0

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """[q − back·step, q] in steps."""
        return [Span(q - self.back * self.step, q + 1, step=self.step)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """It never looks ahead."""
        return nobody(k)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The distance; far tiles are all alike."""
        return [(q0 - k0).clamp(-size, self.back * self.step + size)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """n + (n − s) + (n − 2s) + …, t + 1 terms or as many as are positive."""
        from sympy import Piecewise, ceiling

        t, s = fields["back"], fields["step"]
        fit = ceiling(n / s)
        return Piecewise(
            ((t + 1) * (2 * n - s * t) / 2, n > s * t), (fit * (2 * n - s * (fit - 1)) / 2, True)
        )

    def kept(self) -> CacheBound | None:
        """The latest back·step + 1 keys: each may be hit by a later query."""
        return CacheBound(recent=self.back * self.step + 1)


@dataclass(frozen=True)
class SparseStrided(Atom):
    """The strided factorised pattern of Child et al. 2019: the latest `stride` and every stride-th before.

    >>> print(SparseStrided(stride=3).draw(7))
    #......
    ##.....
    ###....
    ####...
    .####..
    ..####.
    #..####
    """

    stride: int
    distance = True
    repeats = True
    letters: ClassVar = {"stride": "l"}
    sees_itself = True
    monotone = True

    def __post_init__(self) -> None:
        check_field("stride", self.stride, 1)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """k ≤ q, and q − k at most stride or divisible by it."""
        return (k <= q) & ((q - k <= self.stride) | ((q - k) % self.stride == 0))

    @property
    def period(self) -> int:
        """The stride."""
        return self.stride

    @property
    def horizon(self) -> tuple[int, int]:
        """stride + 1 positions."""
        return self.stride + 1, 0

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """The latest ones whole, those before in steps."""
        recent = q - self.stride
        return [Span(recent, q + 1), Span(torch.zeros_like(q), recent, step=self.stride)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """It never looks ahead."""
        return nobody(k)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The distance, beyond the band only its residue."""
        far = self.stride + size
        distance = (q0 - k0).clamp(min=-size)
        return [torch.where(distance > far, far + 1 + distance % self.stride, distance)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """The band of l, then n − 2l, n − 3l, … as long as they are positive."""
        from sympy import Piecewise, ceiling

        l = fields["stride"]  # noqa: E741 - the paper's letter
        fit = ceiling(n / l)
        band, steps = (l + 1) * (2 * n - l) / 2, (fit - 2) * (2 * n - l * (fit + 1)) / 2
        return Piecewise((band + steps, n > l), (triangle(n), True))
