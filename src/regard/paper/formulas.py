"""Formulas as a lecturer writes them: "4n − 6 for n > 3, n(n+1)/2 otherwise"; and in LaTeX, or drawn in text.

`write` keeps a formula as it was factored, `written` multiplies it out. `mathml.py` writes for browsers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.paper.quantities import RAISED

if TYPE_CHECKING:
    import sympy

FIRST = ("n", "R", "C")  # the letters by whose powers terms are ordered: lengths outgrow what is fixed


@dataclass(frozen=True)
class PlainFormula:
    """A formula in plain text: its cases as (value, condition), and what its extra letters stand for."""

    cases: tuple[tuple[str, str], ...]
    where: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """One line for each case."""
        return [f"{value} {condition}".strip() for value, condition in self.cases]

    def __str__(self) -> str:
        return ", ".join(self.lines) + "".join(f"; {letter}" for letter in self.where)


def write(formula: sympy.Expr) -> PlainFormula:
    """A formula in n, with at most one remainder and one rounded quotient, in plain text.

    >>> from sympy import Piecewise
    >>> from sympy.abc import n
    >>> print(write(Piecewise((4 * n - 6, n > 3), (n * (n + 1) / 2, True))))
    4n − 6 for n > 3, n(n+1)/2 otherwise
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
    cases = [(_value(value.xreplace(letters)), condition(when, letters)) for value, when in _pieces(formula)]
    for part in formula.atoms(Mod):
        if any("r" in _names(piece.xreplace(letters)) for pair in _pieces(formula) for piece in pair):
            where.append(f"r = n mod {_term(part.args[1])}")
    cases[-1] = (cases[-1][0], "otherwise" if formula.has(Piecewise) else "")
    return PlainFormula(tuple(cases), tuple(where))


def _pieces(formula: sympy.Expr) -> list[tuple[sympy.Expr, sympy.Basic]]:
    from sympy import Piecewise, true

    return list(formula.args) if isinstance(formula, Piecewise) else [(formula, true)]


def condition(when: sympy.Basic, letters: Mapping[sympy.Expr, sympy.Symbol] | None = None) -> str:
    """When a case holds, in words; some parts may stand as letters.

    >>> from sympy import Eq, Mod, Ne
    >>> from sympy.abc import n, w
    >>> condition(n >= 3), condition(Eq(Mod(n, w), 0)), condition(Ne(w, 5) & (n >= 3))
    ('for n ≥ 3', 'if w divides n', 'for n ≥ 3 and w ≠ 5')
    """
    from sympy import And, Eq, Mod, true

    if when == true:
        return "otherwise"
    if isinstance(when, Eq) and isinstance(when.lhs, Mod) and when.rhs == 0:
        top, bottom = when.lhs.args
        return f"if {_term(bottom)} divides {_term(top)}"
    if isinstance(when, And):
        every = sorted(condition(one, letters) for one in when.args)
        return " and ".join([every[0], *(one.removeprefix("for ") for one in every[1:])])
    if not when.is_Relational:
        return f"for {when}".replace(">=", "≥").replace("<=", "≤")
    when = when.reversed if "n" in _names(when.rhs) and "n" not in _names(when.lhs) else when
    sign = {">=": "≥", "<=": "≤", "!=": "≠"}.get(when.rel_op, when.rel_op)
    return f"for {_term(when.lhs.xreplace(letters or {}))} {sign} {_term(when.rhs)}"


def _names(piece: sympy.Basic) -> set[str]:
    return {symbol.name for symbol in piece.free_symbols}


def _value(value: sympy.Expr) -> str:
    """The value of one case; where only n, f and r occur, one group of terms for each."""
    from sympy import Symbol

    n, f, r = map(Symbol, "nfr")
    names = _names(value)
    if not names <= {"n", "f", "r"} or not value.is_polynomial(n, f, r):
        return _sum(_terms(value), " ")
    groups: dict[sympy.Symbol, list[sympy.Expr]] = {f: [], r: [], n: []}
    for term in value.expand().as_ordered_terms():
        groups[next((x for x in (f, r) if term.has(x)), n)].append(term)
    mixed = [term for term in groups[r] if term.has(n)]
    rest = [term for term in groups[r] if not term.has(n)]
    terms = [sum(groups[f]).factor() if groups[f] else 0, *_grouped(sum(groups[n]), n), *mixed]
    terms += _grouped(sum(rest), r)
    return _sum(sorted((_signed(term) for term in terms if term != 0), key=lambda term: term.is_number), " ")


def _signed(term: sympy.Expr) -> sympy.Expr:
    """f(2n−3f) rather than −f(3f−2n), and −r(4−r), whose bracket is positive, rather than r(r−4)."""
    bracket = next((factor for factor in term.args if factor.is_Add), None) if term.is_Mul else None
    if bracket is None:
        return term
    leads = _terms(bracket)[0]
    lowest = bracket.subs(dict.fromkeys(bracket.free_symbols, 0))
    wrong = leads.as_coeff_Mul()[0] < 0 if "n" in _names(bracket) else _names(bracket) == {"r"} and lowest < 0
    others = [factor for factor in term.args if factor is not bracket]
    return term.func(-1, *others) * -bracket if wrong else term


def _grouped(value: sympy.Expr, x: sympy.Expr) -> list[sympy.Expr]:
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


def _terms(value: sympy.Expr) -> list[sympy.Expr]:
    return sorted(value.args, key=_rank) if value.is_Add else [value]


def _rank(term: sympy.Expr) -> tuple[int, ...]:
    """Terms with n come first, the higher power before the lower; r and numbers come last."""
    from sympy import degree

    names = _names(term)
    n = next((s for s in term.free_symbols if s.name == "n"), None)
    power = int(degree(term.expand(), n)) if n is not None else 0
    return -power, term.is_number, "r" in names, "f" in names


def _sum(terms: list[sympy.Expr], gap: str) -> str:
    return _signs(
        sorted(terms, key=_minus) if terms and _minus(terms[0]) else terms, _term, gap
    )  # 4−r, not −r+4


def _signs(terms: Iterable[sympy.Expr], show: Callable[[sympy.Expr], str], gap: str = " ") -> str:
    out = ""
    for term in terms:
        minus = _minus(term)
        sign = f"{gap}{'−' if minus else '+'}{gap}" if out else "−" if minus else ""
        out += sign + show(-term if minus else term)
    return out or "0"


def _minus(term: sympy.Expr) -> bool:
    return bool(term.as_coeff_Mul()[0] < 0)


def _term(term: sympy.Expr) -> str:
    """One product: number, letters, brackets, and what all is divided by."""
    from sympy import fraction

    top, bottom = fraction(term.together() if term.is_Add else term)
    factors = list(top.args) if top.is_Mul else [top]
    number = "".join(str(f) for f in factors if f.is_number and f != 1).replace("-", "−")
    letters = sorted((f for f in factors if not f.is_number), key=lambda f: (f.is_Add, _order(f)))
    alone = bottom == 1 and len(factors) == 1
    shown = number + "".join(_factor(f, alone) for f in letters) or "1"
    return shown if bottom == 1 else f"{shown}/{_factor(bottom, False)}"


def _order(factor: sympy.Expr) -> tuple[bool, bool, str]:
    # (t+1)(2n−t): brackets without n first; among letters n itself, then ⌊…⌋, then by the alphabet.
    name = str(factor)
    has_n = "n" in _names(factor)
    return (has_n if factor.is_Add else not has_n), not name.startswith(("⌊", "⌈")), name


def _factor(factor: sympy.Expr, alone: bool) -> str:
    if factor.is_Pow:
        base, power = factor.args
        return _factor(base, False) + str(power).translate(RAISED)
    if factor.is_Add:
        inner = _sum(_terms(factor), "")
        return inner if alone else f"({inner})"
    return str(factor) if not factor.is_Mul else _term(factor)


def written(expression: sympy.Expr | int) -> str:
    """A formula multiplied out on one line, as a person would write it; powers of n first.

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
            return ", ".join(f"{written(value)} {condition(when)}" for value, when in folded.args)
    return _signs(sorted(sympy.Add.make_args(sympy.expand(expression)), key=_size, reverse=True), _product)


def _size(term: sympy.Expr) -> tuple[int, int, str]:
    powers = {str(b): int(p) for b, p in term.as_powers_dict().items() if b.is_Symbol and p.is_integer}
    return sum(powers.values()), sum(powers.get(name, 0) for name in FIRST), str(term)


def _product(term: sympy.Expr) -> str:
    """A product with the letters by the alphabet, then functions after a dot, then what all is divided by."""
    import sympy

    coefficient, rest = term.as_coeff_Mul()
    factors = sorted(sympy.Mul.make_args(rest), key=str) if rest != 1 else []
    above = [f for f in factors if not (f.is_Pow and f.exp.is_negative)]
    below = [1 / f for f in factors if f.is_Pow and f.exp.is_negative]
    number = "" if coefficient.p == 1 and above else f"{coefficient.p:,}"
    letters = [f for f in above if (f.base if f.is_Pow else f).is_Symbol]
    functions = [_part(f) for f in above if f not in letters]
    shown = "·".join(part for part in (number + "".join(map(_part, letters)), *functions) if part)
    bottom = ([f"{coefficient.q:,}"] if coefficient.q != 1 else []) + [_part(f) for f in below]
    return shown + (f"/{''.join(bottom)}" if bottom else "")


def _part(factor: sympy.Expr) -> str:
    import sympy

    if factor.is_Pow and factor.exp.is_Integer:
        return _part(factor.base) + str(factor.exp).translate(RAISED)
    forms = {sympy.floor: "⌊{}⌋", sympy.ceiling: "⌈{}⌉", sympy.Mod: "({} mod {})", sympy.Add: "({})"}
    if factor.func in forms:
        inner = [factor] if factor.is_Add else factor.args
        return forms[factor.func].format(*map(written, inner))
    if isinstance(factor, sympy.Min | sympy.Max):
        name = "min" if isinstance(factor, sympy.Min) else "max"
        return f"{name}({', '.join(map(written, factor.args))})"
    return str(factor)


def latex(value: sympy.Basic, order: str | None = None) -> str:
    """A sympy value in LaTeX; the order of terms is sympy's, or "none" as written."""
    import sympy

    shape = "array" if len(getattr(value, "shape", ())) == 2 else "matrix"
    text = sympy.latex(value, mat_delim="(", mat_str=shape, order=order)
    return str(text).replace(r"\phi", r"\varphi")  # the φ of prose


def pretty(value: sympy.Basic, order: str | None = None) -> str:
    """A sympy value drawn in text over several lines."""
    import sympy

    text = sympy.pretty(value, use_unicode=True, wrap_line=False, order=order)
    return "\n".join(line.rstrip() for line in text.split("\n"))
