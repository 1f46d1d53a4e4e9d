"""Formulas of costs: how they are written, and their O(…)."""

from __future__ import annotations

from typing import Any

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGE = 10**40  # beyond every threshold of a pattern


def big_o(expression: Any) -> str:
    """The terms that no other term outgrows, as O(…).

    >>> from sympy.abc import d, n
    >>> big_o(4 * n * d**2 + 2 * n**2 * d + 7 * n * d + 5)
    'O(d²n + dn²)'
    >>> big_o(12)
    'O(1)'
    """
    import sympy

    expression = smooth(sympy.sympify(expression))
    letters = sorted(expression.free_symbols, key=str)
    if not letters:
        return "O(1)"
    top, bottom = sympy.fraction(sympy.together(sympy.expand(expression)))
    below = sympy.Poly(bottom, *letters).monoms()
    if len(below) > 1:
        raise ValueError(f"no O(…) of a sum in the denominator: {expression}")
    powers = [
        tuple(a - b for a, b in zip(one, below[0], strict=True)) for one in sympy.Poly(top, *letters).monoms()
    ]
    leading = [one for one in powers if not any(_outgrows(other, one) for other in powers)]
    return "O(" + " + ".join(_monomial(one, letters) for one in sorted(leading, reverse=True)) + ")"


def _outgrows(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def _monomial(powers: tuple[int, ...], letters: list[Any]) -> str:
    shown = [
        str(letter) + (str(power).translate(SUPERSCRIPTS) if power != 1 else "")
        for letter, power in zip(letters, powers, strict=True)
        if power > 0
    ]
    below = "".join(str(letter) for letter, power in zip(letters, powers, strict=True) if power < 0)
    return ("".join(shown) or "1") + (f"/{below}" if below else "")


def smooth(expression: Any) -> Any:
    """What the expression is for large letters: the last case, no remainders, no floors.

    >>> from regard.pattern import Strided
    >>> smooth(Strided(back=3).formula())
    4*n - 6
    """
    import sympy

    def case(piecewise: Any) -> Any:
        # Pattern fields are letters that n outgrows.
        far = {s: LARGE if s.name in ("n", "R", "C") else 10**6 for s in piecewise.free_symbols}
        for value, condition in piecewise.args:
            holds = condition if isinstance(condition, bool) else condition.subs(far)
            if holds == True or isinstance(condition, sympy.Eq):  # noqa: E712 - sympy's own truth
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


def written(expression: Any, letters: tuple[str, ...] = ()) -> str:
    """A formula on one line, as a person would write it; powers of n first.

    >>> from sympy.abc import d, n
    >>> written(2 * d * n**2 + 4 * d**2 * n - 3)
    '2dn² + 4d²n − 3'
    """
    import sympy

    if isinstance(expression, int):
        return f"{expression:,}"
    expression = sympy.sympify(expression)
    if expression.has(sympy.Piecewise):
        folded = sympy.piecewise_fold(expression)
        if isinstance(folded, sympy.Piecewise):
            cases = [f"{written(value)} {_when(condition)}".strip() for value, condition in folded.args]
            return ", ".join(cases)
    terms = sympy.Add.make_args(sympy.expand(expression))
    terms = sorted(terms, key=_size, reverse=True)
    out = ""
    for term in terms:
        negative = term.could_extract_minus_sign()
        shown = _term(-term if negative else term)
        out += (" − " if negative else " + ") + shown if out else ("−" if negative else "") + shown
    return out or "0"


def _size(term: Any) -> tuple[int, int, str]:
    powers = term.as_powers_dict()
    n = sum(int(p) for b, p in powers.items() if str(b) in ("n", "R", "C") and p.is_integer)
    all_ = sum(int(p) for b, p in powers.items() if b.is_Symbol and p.is_integer)
    return all_, n, str(term)


def _term(term: Any) -> str:
    import sympy

    coefficient, rest = term.as_coeff_Mul()
    factors = sorted(sympy.Mul.make_args(rest), key=str) if rest != 1 else []
    above = [f for f in factors if not (f.is_Pow and f.exp.is_negative)]
    below = [1 / f for f in factors if f.is_Pow and f.exp.is_negative]
    number = "" if coefficient.p == 1 and above else f"{coefficient.p:,}"
    plain, functions = ([_factor(f) for f in above if _is_power(f) == kind] for kind in (True, False))
    shown = "·".join(part for part in (number + "".join(plain), *functions) if part)
    bottom = ([f"{coefficient.q:,}"] if coefficient.q != 1 else []) + [_factor(f) for f in below]
    return shown + (f"/{''.join(bottom)}" if bottom else "")


def _is_power(factor: Any) -> bool:
    return bool((factor.base if factor.is_Pow else factor).is_Symbol)


def _factor(factor: Any) -> str:  # noqa: PLR0911 - a list of cases
    import sympy

    if factor.is_Pow and factor.exp.is_Integer:
        return _factor(factor.base) + str(factor.exp).translate(SUPERSCRIPTS)
    if factor.is_Symbol:
        return str(factor)
    if isinstance(factor, sympy.floor):
        return f"⌊{written(factor.args[0])}⌋"
    if isinstance(factor, sympy.ceiling):
        return f"⌈{written(factor.args[0])}⌉"
    if isinstance(factor, sympy.Mod):
        return f"({factor.args[0]} mod {factor.args[1]})"
    if isinstance(factor, sympy.Min):
        return f"min({', '.join(written(a) for a in factor.args)})"
    return f"({written(factor)})" if factor.is_Add else str(factor)


def _when(condition: Any) -> str:
    import sympy

    if condition == True:  # noqa: E712 - sympy's own truth
        return "otherwise"
    if isinstance(condition, sympy.Eq) and isinstance(condition.lhs, sympy.Mod):
        return f"if {condition.lhs.args[1]} divides {condition.lhs.args[0]}"
    return "for " + str(condition).replace(">=", "≥").replace("<=", "≤")
