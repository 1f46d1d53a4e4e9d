"""Formulas for the site as MathML, which browsers draw by themselves: no script, no font to fetch."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from regard.paper.formulas import condition

if TYPE_CHECKING:
    import sympy


def mathml(value: sympy.Basic, order: str | None = None) -> str:
    """A sympy value as one displayed `<math>` element; the order of terms is sympy's, or "none" as written.

    >>> from sympy import Symbol
    >>> mathml(Symbol("n") / 2)
    '<math display="block"><mrow><mfrac><mi>n</mi><mn>2</mn></mfrac></mrow></math>'
    """
    return f'<math display="block">{_row(value, order)}</math>'


def _row(value: sympy.Basic, order: str | None) -> str:
    """Equations and cases are ours, since sympy writes cases as a function call; the rest is sympy's."""
    from sympy import Equality, Mod, Piecewise, Symbol
    from sympy.core.function import AppliedUndef
    from sympy.printing.mathml import mathml as printed

    if isinstance(value, Equality) and not isinstance(value.lhs, Mod):
        return f"<mrow>{_row(value.lhs, order)}<mo>=</mo>{_row(value.rhs, order)}</mrow>"
    if isinstance(value, Piecewise):
        rows = "".join(
            f"<mtr><mtd>{_row(piece, order)}</mtd><mtd><mtext>{escape(condition(when))}</mtext></mtd></mtr>"
            for piece, when in value.args
        )
        # Bars are the style sheet's: few systems have a font whose braces and brackets can grow.
        return f'<mtable class="cases" displaystyle="true">{rows}</mtable>'
    names = set()
    if hasattr(value, "atoms"):
        names = {call.func.__name__ for call in value.atoms(AppliedUndef)}  # phi_y: sympy lowers no y here
        value = value.xreplace({m: Symbol(f"({m.args[0]} mod {m.args[1]})") for m in value.atoms(Mod)})
    text = printed(value, printer="presentation", mul_symbol="&#8290;", order=order)
    for name in names:
        text = text.replace(f"<mi>{name}</mi>", printed(Symbol(name), printer="presentation"))
    text = text.replace("&InvisibleTimes;", "&#8290;").replace("<mo>-</mo>", "<mo>&#8722;</mo>")
    text = text.replace("&ExponentialE;", "e")  # which browsers draw with a double stroke
    text = re.sub(r"\s*\n\s*", "", text)
    text = re.sub(r"<mo>[\[(]</mo><mtable>", '<mtable class="matrix" displaystyle="true">', text)
    return re.sub(r"</mtable><mo>[\])]</mo>", "</mtable>", text)
