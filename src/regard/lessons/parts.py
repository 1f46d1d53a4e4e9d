"""What a lesson is made of: frozen values that know what they say, and nothing about where it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.lessons.mathml import mathml

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    value: Any  # a sympy expression, equation or matrix
    as_written: bool = False  # keep the order of the terms, which sympy would sort

    def latex(self) -> str:
        """For papers and notebooks."""
        import sympy

        shape = "array" if _wide(self.value) else "matrix"
        text = sympy.latex(self.value, mat_delim="(", mat_str=shape, order=self._order())
        return str(text).replace(r"\phi", r"\varphi")  # the φ of the prose

    def plain(self) -> str:
        """For the terminal."""
        import sympy

        text = sympy.pretty(self.value, use_unicode=True, wrap_line=False, order=self._order())
        return "\n".join(line.rstrip() for line in text.split("\n"))

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
        lines = [f"| {' | '.join(map(_cell, row))} |" for row in (self.head, *self.rows)]
        rule = "|" + "|".join("---" if self.left(i) else "---:" for i in range(len(self.head))) + "|"
        return "\n".join([*([self.says, ""] if self.says else []), lines[0], rule, *lines[1:]])

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
        from io import BytesIO

        out = BytesIO()
        self.draw().savefig(out, format="png", dpi=110)
        return out.getvalue()


Part = Prose | Formula | Check | Table | Block | Picture


def table(head: Sequence[str], rows: Sequence[Sequence[object]], says: str = "") -> Table:
    """A table from values of any kind: whole numbers get their commas, others three figures.

    >>> table(["n", "ms"], [[65536, 0.12345]]).rows
    (('65,536', '0.123'),)
    """
    return Table(tuple(head), tuple(tuple(map(number, row)) for row in rows), says)


def number(value: object) -> str:
    """A value as a table shows it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return (f"{value:,}" if isinstance(value, int) else f"{value:.3g}").replace("-", "−")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _wide(value: Any) -> bool:
    return len(getattr(value, "shape", ())) == 2
