"""An answer as it was read, as MathML: every bracket, product and fraction where the reader put it."""

from __future__ import annotations

import re
from fractions import Fraction
from html import escape

from regard.lessons.checking.expression import Written
from regard.lessons.checking.nodes import Name, Node, Num, Op

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "lambda": "λ",
    "mu": "μ", "pi": "π", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
}  # fmt: skip
GROWTHS = {"O": "O", "Omega": "Ω", "o": "o"}
SUM, PRODUCT, RAISED, ALONE = 1, 2, 3, 4  # how tightly an expression holds together
AROUND = {"floor": "⌊⌋", "ceil": "⌈⌉", "abs": "||"}


def mathml(written: Written) -> str:
    """One displayed `<math>` element.

    >>> from regard.lessons.checking.expression import parse
    >>> mathml(parse("2n/3", "n")).removeprefix('<math display="block">')
    '<mfrac><mrow><mn>2</mn><mo>&#8290;</mo><mi>n</mi></mrow><mn>3</mn></mfrac></math>'
    """
    inner = _shown(written.node)
    if written.growth:
        inner = f"<mrow><mi>{GROWTHS[written.growth]}</mi>{_bracketed(inner)}</mrow>"
    return f'<math display="block">{inner}</math>'


def _shown(node: Node) -> str:  # noqa: PLR0911, PLR0912  one line for each sign
    if isinstance(node, Num):
        return _number(node.value)
    if isinstance(node, Name):
        return _name(node.name)
    sign, args = node.sign, node.args
    if sign == "/":
        return f"<mfrac>{_shown(args[0])}{_shown(args[1])}</mfrac>"
    if sign == "^":
        return f"<msup>{_within(args[0], ALONE)}{_shown(args[1])}</msup>"
    if sign == "exp":
        return f"<msup><mi>e</mi>{_shown(args[0])}</msup>"
    if sign == "sqrt":
        return f"<msqrt>{_shown(args[0])}</msqrt>"
    if sign in ("+", "-"):
        right = _within(args[1], SUM if sign == "+" and not _negative(args[1]) else PRODUCT)
        return f"<mrow>{_within(args[0], SUM)}<mo>{'+' if sign == '+' else '−'}</mo>{right}</mrow>"
    if sign == "neg":
        return f"<mrow><mo>−</mo>{_within(args[0], PRODUCT)}</mrow>"
    if sign == "*":
        between = "·" if _begins_with_number(args[1]) else "&#8290;"
        return f"<mrow>{_within(args[0], PRODUCT)}<mo>{between}</mo>{_within(args[1], PRODUCT)}</mrow>"
    if sign in ("mod", "%"):
        return f"<mrow>{_within(args[0], ALONE)}<mtext> mod </mtext>{_within(args[1], ALONE)}</mrow>"
    if sign in AROUND:
        signs = AROUND[sign]
        return f"<mrow><mo>{signs[0]}</mo>{_shown(args[0])}<mo>{signs[1]}</mo></mrow>"
    if sign in ("sum", "prod"):
        letter, first, last, term = args
        below = f"<mrow>{_shown(letter)}<mo>=</mo>{_shown(first)}</mrow>"
        large = f"<munderover><mo>{'∑' if sign == 'sum' else '∏'}</mo>{below}{_shown(last)}</munderover>"
        return f"<mrow>{large}{_within(term, PRODUCT)}</mrow>"
    if sign == "cases":
        return _cases(node)
    if sign == "index":
        return f"<msub>{_shown(args[0])}{_shown(args[1])}</msub>"
    if sign == "list":
        return _list(node)
    if sign == "and":
        return f"<mrow>{_shown(args[0])}<mtext> and </mtext>{_shown(args[1])}</mrow>"
    if len(args) == 2 and not sign[0].isalpha():  # a relation
        return f"<mrow>{_shown(args[0])}<mo>{escape(sign)}</mo>{_shown(args[1])}</mrow>"
    inner = "<mo>,</mo>".join(map(_shown, args))
    return f"<mrow>{_name(sign)}<mo>&#8289;</mo>{_bracketed(inner)}</mrow>"


def _number(value: Fraction) -> str:
    if value < 0:
        return f"<mrow><mo>−</mo>{_number(-value)}</mrow>"
    if value.denominator != 1:
        return f"<mfrac><mn>{value.numerator}</mn><mn>{value.denominator}</mn></mfrac>"
    return f"<mn>{value.numerator}</mn>"


def _name(name: str) -> str:
    match = re.fullmatch(r"([A-Za-z]+)_?(\d+)|([A-Za-z]+)_(\w+)", name)
    if match is None:
        return f"<mi>{escape(GREEK.get(name, name))}</mi>"
    family, index = match[1] or match[3], match[2] or match[4]
    kind = "mn" if index.isdigit() else "mi"
    return f"<msub>{_name(family)}<{kind}>{escape(index)}</{kind}></msub>"


def _within(node: Node, least: int) -> str:
    """In brackets, where it holds together less tightly than its place asks for."""
    inner = _shown(node)
    return _bracketed(inner) if _holds(node) < least else inner


def _holds(node: Node) -> int:
    if isinstance(node, Num):
        return ALONE if node.value >= 0 and node.value.denominator == 1 else PRODUCT
    if isinstance(node, Name):
        return ALONE
    if node.sign in ("+", "-", "neg", "and", "<", ">", "≤", "≥", "=", "≠"):
        return SUM
    if node.sign in ("*", "/", "mod", "%", "sum", "prod"):
        return PRODUCT
    return RAISED if node.sign in ("^", "exp") else ALONE


def _negative(node: Node) -> bool:
    return isinstance(node, Op) and node.sign == "neg"


def _begins_with_number(node: Node) -> bool:
    """Whether a factor needs a dot before it: 2·3, and not 23."""
    if isinstance(node, Num):
        return True
    return isinstance(node, Op) and node.sign in ("*", "^", "/") and _begins_with_number(node.args[0])


def _bracketed(inner: str) -> str:
    return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"


def _cases(node: Node) -> str:
    rows = []
    while isinstance(node, Op) and node.sign == "cases":
        condition, then, node = node.args
        rows.append((then, f"<mrow><mtext>if </mtext>{_shown(condition)}</mrow>"))
    if not (isinstance(node, Op) and node.sign == "nothing"):
        rows.append((node, "<mtext>otherwise</mtext>"))
    inner = "".join(f"<mtr><mtd>{_shown(then)}</mtd><mtd>{when}</mtd></mtr>" for then, when in rows)
    return f'<mtable class="cases">{inner}</mtable>'


def _list(node: Op) -> str:
    rows = [row.args for row in node.args if isinstance(row, Op)]
    if len(rows) == 1:
        return _bracketed("<mo>,</mo>".join(map(_shown, rows[0])))
    inner = "".join(f"<mtr>{''.join(f'<mtd>{_shown(one)}</mtd>' for one in row)}</mtr>" for row in rows)
    return f'<mtable class="matrix">{inner}</mtable>'
