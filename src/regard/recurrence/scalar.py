"""A recurrence small enough to read: one number of state, exact arithmetic, a yes-or-no output."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from regard.errors import check_int

HALF = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class ScalarRecurrence:
    """h_t = w_h h_{t−1} + w_x x_t, h_0 = 0, and y_t = 1, ½ or 0 as w_y h_t is above, at or below `threshold`.

    The output is the limit of an ever steeper sigmoid σ(s (w_y h_t − threshold)). All numbers are integers
    or fractions, so that nothing is rounded.

    >>> alternating = ScalarRecurrence(w_h=-1, w_x=1)
    >>> print(alternating.explain(4))
    h_t = x_t − h_{t−1},  h_0 = 0
    h_4 = −x_1 + x_2 − x_3 + x_4
    y_4 = 1 if x_2 + x_4 > x_1 + x_3, ½ if they are equal, 0 otherwise
    in words: 1 if the sum of the even positions exceeds the sum of the odd positions
    >>> alternating.states([3, 1, 4, 1]), str(alternating.output([3, 1, 4, 1]))
    ((3, -2, 6, -5), '0')
    """

    w_h: Fraction | int
    w_x: Fraction | int
    w_y: Fraction | int = 1
    threshold: Fraction | int = 0

    def __post_init__(self) -> None:
        for name in ("w_h", "w_x", "w_y", "threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | Fraction):
                raise ValueError(f"{name} must be an integer or a Fraction, got {name}={value!r}")

    def states(self, inputs: Sequence[int]) -> tuple[Fraction | int, ...]:
        """h_1 … h_T, step by step."""
        if len(inputs) == 0:
            raise ValueError("inputs must hold at least one integer, got inputs of length 0")
        h: Fraction | int = 0
        states = []
        for position, x in enumerate(inputs, 1):
            if isinstance(x, bool) or not isinstance(x, int):
                raise ValueError(f"inputs must be integers, got {x!r} at position {position}")
            h = self.w_h * h + self.w_x * x
            states.append(h)
        return tuple(states)

    def coefficients(self, T: int) -> tuple[Fraction | int, ...]:
        """What h_T multiplies x_1 … x_T with: w_h^{T−t} w_x."""
        check_int("T", T, 1)
        return tuple(self.w_h ** (T - t) * self.w_x for t in range(1, T + 1))

    def output(self, inputs: Sequence[int]) -> Fraction:
        """y_T: 1 above the threshold, ½ at it, 0 below."""
        value = self.w_y * self.states(inputs)[-1]
        return HALF if value == self.threshold else Fraction(int(value > self.threshold))

    def recurrence(self) -> str:
        """The update as a formula."""
        x, h = _term(self.w_x, "x_t"), _term(self.w_h, "h_{t−1}")
        return f"h_t = {_sum([x, h])},  h_0 = 0"

    def closed_form(self, T: int) -> str:
        """h_T as a sum over the inputs."""
        terms = [_term(c, f"x_{t}") for t, c in enumerate(self.coefficients(T), 1)]
        return f"h_{T} = {_sum(terms)}"

    def decides(self, T: int) -> str:
        """The comparison that y_T makes: what weighs for it against what weighs against it."""
        weights = [self.w_y * c for c in self.coefficients(T)]
        for_it = [_term(w, f"x_{t}") for t, w in enumerate(weights, 1) if w > 0]
        against = [_term(-w, f"x_{t}") for t, w in enumerate(weights, 1) if w < 0]
        if self.threshold < 0:
            for_it.append(_term(-self.threshold, ""))
        else:
            against.append(_term(self.threshold, ""))
        left, right = _sum(for_it), _sum(against)
        return f"y_{T} = 1 if {left} > {right}, ½ if they are equal, 0 otherwise"

    def words(self, T: int) -> str | None:
        """The comparison in a sentence, where every input counts alike and the threshold is zero."""
        weights = [self.w_y * c for c in self.coefficients(T)]
        if self.threshold != 0 or len({abs(w) for w in weights}) != 1 or weights[0] == 0:
            return None
        if all(w > 0 for w in weights):
            return "1 if the sum of all positions is positive"
        if all(w < 0 for w in weights):
            return "1 if the sum of all positions is negative"
        # Signs that are neither all one nor all the other alternate: they come from powers of w_h = −1.
        more, less = ("even", "odd") if weights[1] > 0 else ("odd", "even")
        return f"1 if the sum of the {more} positions exceeds the sum of the {less} positions"

    def explain(self, T: int) -> str:
        """The recurrence, its unrolled form and what the output decides, one per line."""
        words = self.words(T)
        lines = [self.recurrence(), self.closed_form(T), self.decides(T)]
        return "\n".join(lines if words is None else [*lines, f"in words: {words}"])


def _term(coefficient: Fraction | int, name: str) -> str:
    """`2x`, `−x`, `1/2 x`; empty for zero, and the number alone where there is no name."""
    if coefficient == 0:
        return ""
    sign, size = "−" if coefficient < 0 else "", abs(coefficient)
    if not name:
        return f"{sign}{size}"
    return f"{sign}{name}" if size == 1 else f"{sign}{size}·{name}"


def _sum(terms: list[str]) -> str:
    terms = [term for term in terms if term]
    if not terms:
        return "0"
    rest = [f" − {term[1:]}" if term.startswith("−") else f" + {term}" for term in terms[1:]]
    return terms[0] + "".join(rest)
