"""How costs grow: the formula for large letters, and its O(…)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.layers.letters import Number
from regard.paper.quantities import RAISED

if TYPE_CHECKING:
    from sympy import Expr, Piecewise, Symbol

LARGE = 10**40  # beyond every threshold of a pattern


def big_o(expression: Number) -> str:
    """The terms that no other term outgrows, as O(…).

    >>> from sympy.abc import d, n
    >>> big_o(4 * n * d**2 + 2 * n**2 * d + 7 * n * d + 5)
    'O(d²n + dn²)'
    >>> big_o(12)
    'O(1)'
    """
    import sympy

    far = smooth(sympy.sympify(expression))
    letters = sorted(far.free_symbols, key=str)
    if not letters:
        return "O(1)"
    top, bottom = sympy.fraction(sympy.together(sympy.expand(far)))
    below = sympy.Poly(bottom, *letters).monoms()
    if len(below) > 1:
        raise ValueError(f"no O(…) of a sum in the denominator: {far}")
    powers = [
        tuple(a - b for a, b in zip(one, below[0], strict=True)) for one in sympy.Poly(top, *letters).monoms()
    ]
    leading = [one for one in powers if not any(_outgrows(other, one) for other in powers)]
    return "O(" + " + ".join(_monomial(one, letters) for one in sorted(leading, reverse=True)) + ")"


def _outgrows(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def _monomial(powers: tuple[int, ...], letters: list[Symbol]) -> str:
    shown = [
        str(letter) + (str(power).translate(RAISED) if power != 1 else "")
        for letter, power in zip(letters, powers, strict=True)
        if power > 0
    ]
    below = "".join(str(letter) for letter, power in zip(letters, powers, strict=True) if power < 0)
    return ("".join(shown) or "1") + (f"/{below}" if below else "")


def smooth(expression: Expr) -> Expr:
    """What the expression is for large letters: the last case, no remainders, no floors.

    >>> from regard.pattern import Strided
    >>> smooth(Strided(back=3).formula())
    4*n - 6
    """
    import sympy

    def case(piecewise: Piecewise) -> Expr:
        # Pattern fields are letters that n outgrows.
        far = {s: LARGE if s.name in ("n", "R", "C") else 10**6 for s in piecewise.free_symbols}
        for value, condition in piecewise.args:
            holds = condition if isinstance(condition, bool) else condition.subs(far)
            # A size that must not have one value has it nowhere far out.
            if holds == True or isinstance(condition, sympy.Eq | sympy.Ne):  # noqa: E712 - sympy's own truth
                return value
        return piecewise.args[-1][0]

    out = expression.replace(lambda e: isinstance(e, sympy.Piecewise), case)
    out = out.replace(lambda e: isinstance(e, sympy.floor | sympy.ceiling), lambda e: e.args[0])
    out = out.replace(lambda e: isinstance(e, sympy.Mod), lambda e: sympy.Integer(0))
    # Of a minimum the part without n, of a maximum the part with it.
    out = out.replace(
        lambda e: isinstance(e, sympy.Min), lambda e: min(e.args, key=lambda a: len(a.free_symbols))
    )
    return out.replace(
        lambda e: isinstance(e, sympy.Max), lambda e: max(e.args, key=lambda a: len(a.free_symbols))
    )
