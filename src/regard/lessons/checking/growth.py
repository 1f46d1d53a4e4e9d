"""Big-O answers: sums of products compared as growth in several letters at once.

A sum of products grows, along letters that grow like X^r, with the largest exponent ⟨a, r⟩ among its products
X^a. One sum is O of another when that holds along every direction r ≥ 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import gcd, lcm

from regard.lessons.checking.diagnosis import explained
from regard.lessons.checking.evaluate import exact
from regard.lessons.checking.exercise import Exercise
from regard.lessons.checking.expression import Written
from regard.lessons.checking.nodes import CONSTANTS, Name, Node, Num, Op, names
from regard.lessons.checking.verdict import Finding

MOST = 400  # products in a sum
ONE = Fraction(1)
FINE = 5  # directions have whole sides below it

RULE = "a growth is a sum of products of powers and logarithms, such as O(n^2*h + n*log(n))"

Powers = tuple[tuple[str, Fraction], ...]  # sorted; ("log n", 1) is a logarithm
Terms = dict[Powers, Fraction]
Way = Mapping[str, int]


class TooFastError(ValueError):
    """No sum of products grows so fast."""


def find(exercise: Exercise, answer: Written) -> Finding:
    """The finding on an answer to a question for a growth."""
    if answer.growth == "Omega":
        return Finding(False, "Ω(…) is a lower bound only; the question asks how fast it grows: O(…) or Θ(…)")
    if answer.growth == "o":
        return Finding(False, "o(…) says that it grows more slowly than that; write O(…) for as fast as that")
    true = terms(exercise.truth())
    try:
        given = terms(answer.node)
    except TooFastError as error:
        return Finding(False, f"wrong: {error}; the truth is a sum of products of powers")
    if not given or any(factor < 0 for factor in leading(given).values()):
        return Finding(False, "wrong: a growth cannot be zero or negative")
    remarks = [] if answer.growth else [f"as a growth, write it {big_o(given)}"]
    ignored: tuple[str, ...] = ()
    if exercise.ignores and not names(answer.node) & set(exercise.ignores):
        ignored = exercise.ignores
        left_out = ", ".join(ignored)
        remarks.insert(0, f"{left_out} held constant; with {left_out} it is {big_o(true)}")
        true = fixed(true, ignored)
    directions = [way for way in ways(exercise.letters) if exercise.domain.holds(way)]
    found = _compared(given, true, directions)
    if found.right:
        return Finding(True, found.says, tuple(remarks))
    mistake = _diagnosed(exercise, given, ignored, directions)
    more = (explained(mistake),) if mistake else ()
    return Finding(False, found.says, (*found.details, *more), mistake)


def _compared(given: Terms, true: Terms, directions: Sequence[Way]) -> Finding:
    missing = [powers for powers in true if not within(powers, given, directions)]
    largest = leading(given)
    excess = [powers for powers in largest if not within(powers, true, directions)]
    wanted = big_o(true)
    if not missing and not excess:
        return Finding(True, f"right: the same growth as {wanted}")
    lacks = f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    much = f"{_listed(excess)} {'grows' if len(excess) == 1 else 'grow'} faster than"
    if missing and excess:
        return Finding(False, f"wrong: {lacks}, and {much} the truth")
    if missing:
        needed = conditions(missing, largest, directions)
        return Finding(False, f"only if {needed}", (f"{lacks}: in general it is {wanted}",))
    return Finding(False, "an upper bound, but not tight", (f"{much} {wanted}",))


def _listed(found: Sequence[Powers]) -> str:
    return " and ".join(map(written, found[:3]))


def _diagnosed(exercise: Exercise, given: Terms, ignored: tuple[str, ...], directions: Sequence[Way]) -> str:
    for formula, says in exercise.mistakes.items():
        wrong = fixed(terms(exercise.node(formula)), ignored)
        if alike(given, wrong, directions):
            return says
    return ""


def terms(node: Node) -> Terms:
    """The products of an expression with their factors; ValueError where it is no sum of products.

    >>> from regard.lessons.checking.expression import parse
    >>> [written(powers) for powers in terms(parse("n(h^2 + 3)", "nh").node)]
    ['h²n', 'n']
    """
    out = {powers: factor for powers, factor in _terms(node).items() if factor != 0}
    if len(out) > MOST:
        raise ValueError(f"a growth of more than {MOST} products")
    return out


def _terms(node: Node) -> Terms:  # noqa: PLR0911, PLR0912  one line for each sign
    if isinstance(node, Num):
        return {(): node.value}
    if isinstance(node, Name):
        if node.name in CONSTANTS:
            return {(): Fraction(1)}
        return {((node.name, Fraction(1)),): Fraction(1)}
    if node.sign == "exp" or (node.sign == "^" and names(node.args[1])):
        if names(node):
            raise TooFastError("an exponential grows faster than every power")
        return {(): Fraction(1)}
    if node.sign == "log":
        return _logarithm(node.args[0])
    if node.sign == "sum":
        return _summed(node)
    if node.sign in ("min", "mod", "%", "prod", "cases", "sin", "cos"):
        raise ValueError(f"a growth is written without {node.sign}: {RULE}")
    args = [terms(arg) for arg in node.args]
    if node.sign in ("floor", "ceil", "abs"):
        return args[0]
    if node.sign in ("+", "-", "max"):
        sign = -1 if node.sign == "-" else 1
        return {
            k: args[0].get(k, Fraction(0)) + sign * args[1].get(k, Fraction(0))
            for k in {**args[0], **args[1]}
        }
    if node.sign == "neg":
        return {k: -v for k, v in args[0].items()}
    if node.sign == "*":
        return _times(*args)
    if node.sign == "/" and len(args[1]) == 1:
        return _times(args[0], _raised(args[1], Fraction(-1)))
    if node.sign == "sqrt" and len(args[0]) == 1:
        return _raised(args[0], Fraction(1, 2))
    if node.sign == "^":
        return _power(args[0], _number(node.args[1]))
    raise ValueError(RULE)


def _summed(node: Op) -> Terms:
    """Σ i^p up to a product of letters grows as that to p + 1."""
    letter, first, last, term = node.args
    assert isinstance(letter, Name)
    if names(first) or letter.name in names(last):
        raise ValueError(f"a growth is written without such a sum: {RULE}")
    out: Terms = {}
    for powers, factor in terms(term).items():
        power = dict(powers).get(letter.name, Fraction(0)) + 1
        left = tuple(one for one in powers if one[0] != letter.name)
        if power < 1 or power.denominator != 1 or f"log {letter.name}" in dict(powers):
            raise ValueError(f"a growth is written without such a sum: {RULE}")
        for grown, more in _times({left: factor}, _power(leading(terms(last)), power)).items():
            out[grown] = out.get(grown, Fraction(0)) + more
    return out


def _number(node: Node) -> Fraction:
    try:
        return exact(node, {})
    except ArithmeticError:
        raise ValueError(RULE) from None


def _logarithm(node: Node) -> Terms:
    """Of a sum of products: a sum of the logarithms of its letters."""
    letters = {letter for powers in terms(node) for letter, power in powers if power > 0}
    if any(letter.startswith("log ") for letter in letters):
        raise ValueError("a growth with a logarithm of a logarithm is not read")
    return {((f"log {letter}", Fraction(1)),): Fraction(1) for letter in sorted(letters)} or {(): Fraction(1)}


def _times(a: Terms, b: Terms) -> Terms:
    if len(a) * len(b) > MOST:
        raise ValueError(f"a growth of more than {MOST} products")
    out: Terms = {}
    for (p, x), (q, y) in product(a.items(), b.items()):
        powers = dict(p)
        for letter, power in q:
            powers[letter] = powers.get(letter, Fraction(0)) + power
        key = tuple(sorted((letter, power) for letter, power in powers.items() if power != 0))
        out[key] = out.get(key, Fraction(0)) + x * y
    return out


def _raised(a: Terms, power: Fraction) -> Terms:
    """One product to a power."""
    ((powers, factor),) = a.items()
    if factor < 0 and power.denominator != 1:
        raise ValueError("a growth cannot be the root of something negative")
    return {
        tuple((letter, p * power) for letter, p in powers if p * power != 0): Fraction(
            -1 if factor < 0 and power % 2 else 1
        )
    }


def _power(a: Terms, power: Fraction) -> Terms:
    if len(a) == 1:
        return _raised(a, power)
    if power.denominator != 1 or not 0 <= power <= 12:
        raise ValueError("a growth raises sums to whole powers up to 12 only")
    out: Terms = {(): Fraction(1)}
    for _ in range(int(power)):
        out = _times(out, a)
    return out


def degree(powers: Powers, way: Way) -> tuple[Fraction, Fraction]:
    """How fast a product grows along a direction: its exponent, and that of its logarithms to break ties."""
    plain = sum((p * way[letter] for letter, p in powers if not letter.startswith("log ")), Fraction(0))
    logs = sum((p for letter, p in powers if letter.startswith("log ") and way[letter[4:]] > 0), Fraction(0))
    return plain, logs


def ways(letters: Collection[str]) -> list[Way]:
    """Directions in which the letters may grow; of more letters than six, which nothing asks for, none."""
    order = sorted(letters)
    sides = FINE if len(order) <= 4 else 3
    many = product(range(sides), repeat=len(order)) if len(order) <= 6 else ()
    return [dict(zip(order, r, strict=True)) for r in many if any(r)]


def within(powers: Powers, sum_: Terms, directions: Sequence[Way]) -> bool:
    """Whether a product is O of a sum."""
    return all(
        degree(powers, way)
        <= max((degree(other, way) for other in sum_), default=(Fraction(-1), Fraction(0)))
        for way in directions
    )


def alike(a: Terms, b: Terms, directions: Sequence[Way]) -> bool:
    """Whether two sums are O of each other."""
    return all(within(powers, b, directions) for powers in a) and all(within(p, a, directions) for p in b)


def leading(sum_: Terms) -> Terms:
    """The products that no other one swallows."""
    letters = {letter.removeprefix("log ") for powers in sum_ for letter, _ in powers}
    directions = ways(letters)
    return {
        p: f
        for p, f in sum_.items()
        if not any(within(p, {q: g}, directions) for q, g in sum_.items() if q != p)
    }


def fixed(sum_: Terms, letters: Collection[str]) -> Terms:
    """The sum with some letters held constant."""
    out: Terms = {}
    for powers, factor in sum_.items():
        left = tuple((one, p) for one, p in powers if one.removeprefix("log ") not in letters)
        out[left] = out.get(left, Fraction(0)) + factor
    return out


def big_o(sum_: Terms) -> str:
    """A sum for readers: O(h²n² + chn²)."""
    return "O(" + " + ".join(written(powers) for powers in leading(sum_)) + ")"


def conditions(missing: Sequence[Powers], given: Terms, directions: Sequence[Way]) -> str:
    """What must hold for products to be O of a sum that they are not O of: "c = O(h) or h = O(1)"."""
    found: list[list[tuple[frozenset[int], str]]] = []  # the directions in which it holds, and in words
    for powers in missing:
        ratios = [next(iter(_times({powers: ONE}, _raised({other: ONE}, -ONE)))) for other in given]
        found.append([(_where(ratio, directions), _bounded(ratio)) for ratio in ratios])
    allowed = frozenset(range(len(directions))).intersection(*(_union(one) for one in found))
    kept = [
        [one for i, one in enumerate(ways) if not _covered(i, [holds & allowed for holds, _ in ways])]
        for ways in found
    ]
    lacking = [frozenset(range(len(directions))) - _union(ways) for ways in kept]
    needed = [
        [says for _, says in sorted(ways, key=lambda one: len(one[1]))]
        for i, ways in enumerate(kept)
        if not _covered(i, lacking)
    ]
    if len(needed) == 1:
        return " or ".join(needed[0])
    parts = [[f"({' or '.join(says)})"] if len(says) > 1 else says[0].split(" and ") for says in needed]
    return " and ".join(dict.fromkeys(one for part in parts for one in part))


def _where(ratio: Powers, directions: Sequence[Way]) -> frozenset[int]:
    return frozenset(
        i for i, way in enumerate(directions) if degree(ratio, way) <= (Fraction(0), Fraction(0))
    )


def _union(ways: Sequence[tuple[frozenset[int], str]]) -> frozenset[int]:
    return frozenset().union(*(holds for holds, _ in ways))


def _covered(i: int, sets: Sequence[frozenset[int]]) -> bool:
    """Whether another set holds all of this one; of equal sets, the first counts."""
    return any(sets[i] < other or (sets[i] == other and j < i) for j, other in enumerate(sets))


def _bounded(ratio: Powers) -> str:
    """That a quotient of products stays bounded: c = O(h)."""
    top = {letter: p for letter, p in ratio if p > 0}
    bottom = {letter: -p for letter, p in ratio if p < 0 and letter.removeprefix("log ") not in top}
    if not bottom:  # each letter is at least 1
        letters = dict.fromkeys(letter.removeprefix("log ") for letter in top)
        return " and ".join(f"{letter} = O(1)" for letter in letters)
    powers = [*top.values(), *bottom.values()]
    common = Fraction(gcd(*(p.numerator for p in powers)), lcm(*(p.denominator for p in powers)))
    above, below = (written(tuple((x, p / common) for x, p in one.items())) for one in (top, bottom))
    return f"{above} = O({below})"


def written(powers: Powers) -> str:
    """A product for readers: h²n², or 1."""
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    out = []
    for letter, power in sorted(powers, key=lambda pair: pair[0].startswith("log ")):
        name = f" {letter}" if letter.startswith("log ") else letter
        whole = str(power).translate(raised) if power.denominator == 1 else f"^({power})"
        out.append(name + ("" if power == 1 else whole))
    return "".join(out).strip() or "1"
