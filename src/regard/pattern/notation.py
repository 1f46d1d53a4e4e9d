"""Formulas as a lecturer writes them: "4n − 6 for n > 3, n(n+1)/2 otherwise"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Written:
    """A formula in plain text: its cases as (value, condition), and what its extra letters stand for."""

    cases: tuple[tuple[str, str], ...]
    where: tuple[str, ...]

    def __str__(self) -> str:
        cases = [f"{value} {condition}".strip() for value, condition in self.cases]
        return ", ".join(cases) + "".join(f"; {letter}" for letter in self.where)


def write(formula: sympy.Expr) -> Written:
    """The plain text of what `Pattern.formula` gives.

    >>> from regard.pattern import Strided, Windowed
    >>> print(write(Strided(back=3).formula()))
    4n − 6 for n > 3, n(n+1)/2 otherwise
    >>> print(write(Windowed(size=4).formula(symbolic=True)))
    n(w+1)/2 if w divides n, ⌊n/w⌋w(w+1)/2 + r(r+1)/2 otherwise; r = n mod w
    """
    from sympy import Mod, Piecewise, Symbol, ceiling, floor

    letters: dict[sympy.Expr, sympy.Symbol] = {}
    where = []
    for part in sorted(formula.atoms(Mod), key=str):
        letters[part] = Symbol("r")
    for part in sorted(formula.atoms(floor, ceiling), key=str):
        inner = f"⌊{_term(part.args[0])}⌋" if part.func is floor else f"⌈{_term(part.args[0])}⌉"
        often = any(value.count(part) > 1 for value, _ in _pieces(formula))
        letters[part] = Symbol("f" if often else inner)
        where += [f"f = {inner}"] if often else []
    assert len(set(letters.values())) == len(letters), f"one letter for two things in {formula}"
    cases = [(_value(value.xreplace(letters)), _condition(when, letters)) for value, when in _pieces(formula)]
    for part in formula.atoms(Mod):
        if any("r" in _names(piece.xreplace(letters)) for pair in _pieces(formula) for piece in pair):
            where.append(f"r = n mod {_term(part.args[1])}")
    if formula.has(Piecewise):
        cases[-1] = (cases[-1][0], "otherwise")
    return Written(tuple(cases), tuple(where))


def _pieces(formula: sympy.Expr) -> list[tuple[Any, Any]]:
    from sympy import Piecewise, true

    return (
        [(arg.expr, arg.cond) for arg in formula.args]
        if isinstance(formula, Piecewise)
        else [(formula, true)]
    )


def _condition(when: Any, letters: dict[Any, Any]) -> str:
    from sympy import Eq, Mod, true

    if when == true:
        return ""
    if isinstance(when, Eq):
        assert isinstance(when.lhs, Mod), when
        assert when.rhs == 0, when
        return f"if {_term(when.lhs.args[1])} divides n"
    when = when if "n" in _names(when.lhs) else when.reversed
    sign = {">=": "≥", "<=": "≤"}.get(when.rel_op, when.rel_op)
    return f"for {_term(when.lhs.xreplace(letters))} {sign} {_term(when.rhs)}"


def _names(piece: Any) -> set[str]:
    return {symbol.name for symbol in piece.free_symbols}


def _value(value: sympy.Expr) -> str:
    """The value of one case; where only n, f and r occur, one group of terms for each."""
    from sympy import Symbol

    n, f, r = map(Symbol, "nfr")
    names = _names(value)
    if not names <= {"n", "f", "r"} or not value.is_polynomial(n, f, r):
        return _sum(_terms(value), " ")
    groups: dict[Any, list[Any]] = {f: [], r: [], n: []}
    for term in value.expand().as_ordered_terms():
        groups[next((x for x in (f, r) if term.has(x)), n)].append(term)
    mixed = [term for term in groups[r] if term.has(n)]
    rest = [term for term in groups[r] if not term.has(n)]
    terms = [sum(groups[f]).factor() if groups[f] else 0, *_grouped(sum(groups[n]), n), *mixed]
    terms += _grouped(sum(rest), r)
    return _sum(sorted((_signed(term) for term in terms if term != 0), key=lambda term: term.is_number), " ")


def _signed(term: Any) -> Any:
    """f(2n−3f) rather than −f(3f−2n), and −r(4−r), whose bracket is positive, rather than r(r−4)."""
    bracket = next((factor for factor in term.args if factor.is_Add), None) if term.is_Mul else None
    if bracket is None:
        return term
    leads = _terms(bracket)[0]
    lowest = bracket.subs(dict.fromkeys(bracket.free_symbols, 0))
    wrong = leads.as_coeff_Mul()[0] < 0 if "n" in _names(bracket) else _names(bracket) == {"r"} and lowest < 0
    others = [factor for factor in term.args if factor is not bracket]
    return term.func(-1, *others) * -bracket if wrong else term


def _grouped(value: Any, x: Any) -> list[Any]:
    """A polynomial in one letter as few terms: factored where it factors, else with the constant apart."""
    from sympy import Poly, sympify

    value = sympify(value)
    poly = Poly(value, x)
    if poly.degree() < 2:
        return _terms(value.expand())
    if len(poly.factor_list()[1]) > 1 or poly.is_monomial:
        return [value.factor()]
    constant = poly.eval(0)
    return [(value - constant).factor(), constant]


def _terms(value: Any) -> list[Any]:
    return sorted(value.args, key=_rank) if value.is_Add else [value]


def _rank(term: Any) -> tuple[int, ...]:
    """Terms with n come first, the higher power before the lower; r and numbers come last."""
    from sympy import degree

    names = _names(term)
    n = next((s for s in term.free_symbols if s.name == "n"), None)
    power = int(degree(term.expand(), n)) if n is not None else 0
    return -power, term.is_number, "r" in names, "f" in names


def _sum(terms: list[Any], gap: str) -> str:
    out = ""
    for term in sorted(terms, key=_minus) if terms and _minus(terms[0]) else terms:  # 4−r, not −r+4
        minus = _minus(term)
        shown = _term(-term if minus else term)
        out += (
            (f"{gap}−{gap}" if minus else f"{gap}+{gap}") + shown if out else ("−" if minus else "") + shown
        )
    return out or "0"


def _minus(term: Any) -> bool:
    return bool(term.as_coeff_Mul()[0] < 0)


def _term(term: Any) -> str:
    """One product: number, letters, brackets, and what all is divided by."""
    from sympy import fraction

    top, bottom = fraction(term.together() if term.is_Add else term)
    factors = list(top.args) if top.is_Mul else [top]
    number = "".join(str(f) for f in factors if f.is_number and f != 1).replace("-", "−")
    letters = sorted((f for f in factors if not f.is_number), key=lambda f: (f.is_Add, _order(f)))
    alone = bottom == 1 and len(factors) == 1
    shown = number + "".join(_factor(f, alone) for f in letters) or "1"
    return shown if bottom == 1 else f"{shown}/{_factor(bottom, False)}"


def _order(factor: Any) -> tuple[bool, bool, str]:
    # (t+1)(2n−t): brackets without n first; among letters n itself, then ⌊…⌋, then by the alphabet.
    name = str(factor)
    has_n = "n" in _names(factor)
    return (has_n if factor.is_Add else not has_n), not name.startswith(("⌊", "⌈")), name


def _factor(factor: Any, alone: bool) -> str:
    if factor.is_Pow:
        base, power = factor.args
        return _factor(base, False) + str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    if factor.is_Add:
        inner = _sum(_terms(factor), "")
        return inner if alone else f"({inner})"
    return str(factor) if not factor.is_Mul else _term(factor)
