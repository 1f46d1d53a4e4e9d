"""What a lesson is made of: frozen values that know what they say, and nothing about where it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.paper import formulas, tables
from regard.paper.figures import drawn
from regard.paper.mathml import mathml
from regard.paper.quantities import number

if TYPE_CHECKING:
    import sympy
    from matplotlib.figure import Figure
    from torch import Tensor


@dataclass(frozen=True)
class Prose:
    """Paragraphs of the derivation: plain text with `code`, **bold** and *emphasis*."""

    text: str

    def _repr_markdown_(self) -> str:
        return self.text


@dataclass(frozen=True)
class Formula:
    """A formula that the package derived, as a sympy value, and a line on what it says.

    >>> from regard.pattern import Causal
    >>> print(Formula("autoregressive", Causal().formula()).plain())
    n⋅(n + 1)
    ─────────
        2
    """

    says: str
    value: sympy.Basic  # an expression, an equation or a matrix
    as_written: bool = False  # keep the order of the terms, which sympy would sort

    def latex(self) -> str:
        """For papers and notebooks."""
        return formulas.latex(self.value, self._order())

    def plain(self) -> str:
        """For the terminal."""
        return formulas.pretty(self.value, self._order())

    def mathml(self) -> str:
        """For the site, which loads no script."""
        return mathml(self.value, self._order())

    def _order(self) -> str | None:
        return "none" if self.as_written else None

    def _repr_markdown_(self) -> str:
        return f"{self.says}\n\n$$\n{self.latex()}\n$$"


@dataclass(frozen=True)
class Check:
    """A claim, whether it held when the code ran, and what was seen."""

    claim: str
    holds: bool
    seen: str

    @property
    def verdict(self) -> str:
        """One word."""
        return "holds" if self.holds else "FAILS"

    def _repr_markdown_(self) -> str:
        return f"**{self.verdict}:** {self.claim} — {self.seen}"


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; numbers were computed when the lesson ran."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    says: str = ""

    def _repr_markdown_(self) -> str:
        head, *rows = ([cell.replace("|", "\\|") for cell in row] for row in (self.head, *self.rows))
        right = [i for i in range(len(head)) if not self.left(i)]
        return "\n".join([*([self.says, ""] if self.says else []), tables.markdown(head, rows, right=right)])

    def left(self, column: int) -> bool:
        """Whether a column holds words; numbers stand on the right."""
        return not all(row[column][:1].isdigit() or row[column][:1] in "−–-" for row in self.rows)


@dataclass(frozen=True)
class Block:
    """Text whose spaces matter: a grid, a matrix, what a program printed."""

    text: str
    says: str = ""

    def _repr_markdown_(self) -> str:
        return "\n".join([*([self.says, ""] if self.says else []), "```text", self.text, "```"])


@dataclass(frozen=True)
class Picture:
    """A figure, drawn when asked for; `alt` says in words what it shows."""

    name: str
    draw: Callable[[], Figure]
    alt: str

    def _repr_png_(self) -> bytes:
        return drawn(self.draw(), "png", dpi=110)


Part = Prose | Formula | Check | Table | Block | Picture


def equal(claim: str, *pairs: tuple[Tensor, Tensor], within: float = 1e-12, says: str = "") -> Check:
    """Whether the two tensors of each pair agree, with the largest difference that was seen."""
    worst = max((a - b).abs().max().item() for a, b in pairs)
    return Check(claim, worst < within, f"{says}largest difference {worst:.1e}")


def table(head: Sequence[str], rows: Sequence[Sequence[object]], says: str = "") -> Table:
    """A table from values of any kind: whole numbers get their commas, others three figures.

    >>> table(["n", "ms"], [[65536, 0.12345]]).rows
    (('65,536', '0.123'),)
    """
    return Table(tuple(head), tuple(tuple(map(number, row)) for row in rows), says)
