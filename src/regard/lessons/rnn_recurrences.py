"""Lesson: recurrences small enough to read off a diagram, and what one of them decides."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING

import sympy

from regard.lessons.diagrams import NAVY, ORANGE, arrow, box, canvas, say
from regard.lessons.exercises.rnn_recurrences import EXERCISES
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Block, Check, Formula, Picture, Table, table
from regard.paper.ink import INK
from regard.recurrence import ScalarRecurrence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALTERNATING = ScalarRecurrence(w_h=-1, w_x=1)
EXAMPLES = {
    "loop 1, input 1": ScalarRecurrence(w_h=1, w_x=1),
    "loop ½, input 1": ScalarRecurrence(w_h=Fraction(1, 2), w_x=1),
    "loop 2, input −1": ScalarRecurrence(w_h=2, w_x=-1),
    "loop −1, input 1": ALTERNATING,
}


def reading() -> Table:
    """Four diagrams, each with the recurrence and the fourth state that it draws."""
    rows = [[name, r.recurrence(), r.closed_form(4)] for name, r in EXAMPLES.items()]
    return table(["weights on the arrows", "recurrence", "unrolled"], rows)


def unrolled() -> list[Formula | Block | Picture]:
    """The alternating recurrence, unrolled by substitution."""
    xs = sympy.symbols("x_1:5")
    h = sympy.Integer(0)
    for x in xs:
        h = x - h
    t, T = sympy.symbols("t T", integer=True, positive=True)
    general = sympy.Sum((-1) ** (T - t) * sympy.Symbol("x_t"), (t, 1, T))
    return [
        Formula("Four steps:", sympy.Eq(sympy.Symbol("h_4"), sympy.expand(h))),
        Formula("T steps:", sympy.Eq(sympy.Symbol("h_T"), general)),
        Block(
            "\n".join(fill(line, 66, subsequent_indent="  ") for line in ALTERNATING.explain(4).split("\n"))
        ),
        Picture(
            "unrolled",
            _diagram,
            "The recurrence unrolled over four steps: x enters each state with weight 1, each state enters "
            "the next with weight −1",
        ),
    ]


def _diagram() -> Figure:
    figure, axes = canvas(6.4, 2.1)
    for i in range(4):
        x = 1.2 + 2.2 * i
        say(axes, (x, 0.5), f"x$_{i + 1}$", INK, font=12)
        arrow(axes, (x, 0.8), (x, 1.95))
        say(axes, (x + 0.2, 1.35), "1", INK, font=10)
        box(axes, (x, 2.4), f"h$_{i + 1}$", (0.84, 0.84), NAVY, "white", 12)
        arrow(axes, (x + 0.45, 2.4), (x + 1.75, 2.4), ORANGE if i < 3 else INK)
        say(axes, (x + 1.1, 2.65), "−1" if i < 3 else "", ORANGE, font=10)
    say(axes, (9.75, 2.4), "y", INK, font=12)
    return figure


def exhaustive() -> Check:
    """Every input of length 2 and 4 with values from −3 to 3."""
    seen = {Fraction(1): 0, Fraction(1, 2): 0, Fraction(0): 0}
    wrong = 0
    for length in (2, 4):
        for inputs in product(range(-3, 4), repeat=length):
            even, odd = sum(inputs[1::2]), sum(inputs[::2])
            y = ALTERNATING.output(inputs)
            wrong += y != (Fraction(1, 2) if even == odd else Fraction(int(even > odd)))
            seen[y] += 1
    counts = ", ".join(f"{y}: {count:,}" for y, count in seen.items())
    claim = "y is 1, ½ or 0 as the even positions sum to more than, as much as or less than the odd ones"
    return Check(claim, wrong == 0, f"{sum(seen.values()):,} inputs tried, {wrong} differ; outputs {counts}")


LESSON = Lesson(
    name="rnn-recurrences",
    title="Reading a recurrence off a diagram",
    question=(
        "A recurrent unit is drawn as a node with an arrow from the input, a loop from itself to itself and "
        "an arrow to the output. Which recurrence is it? And what does h_t = x_t − h_{t−1}, followed by a "
        "very steep sigmoid at the end, decide about a sequence of integers of even length?"
    ),
    steps=(
        "Every arrow into a node is a term of its sum, with the arrow's weight as factor; the loop brings "
        "the node's own value of the step before. So a loop with weight a and an input with weight b read "
        "h_t = b·x_t + a·h_{t−1}, starting from h_0 = 0.",
        reading,
        "Now a = −1 and b = 1. Substituting the recurrence into itself turns every step back into one more "
        "change of sign.",
        unrolled,
        "**Proof.** Claim: h_T is the sum of (−1)^(T−t) x_t over t. For T = 1 it is x_1. If it holds for T − "
        "1, then h_T = x_T − h_{T−1}, and the minus sign turns (−1)^(T−1−t) into (−1)^(T−t) for every t < T. "
        "For even T the sign of x_t is plus where t is even and minus where t is odd, so h_T > 0 exactly "
        "when the even positions sum to more than the odd ones. The steep sigmoid σ(s·h) tends to 1, ½ or 0 "
        "as h is positive, zero or negative; on integers h is either zero or at least 1 away from it, so a "
        "finite but large s decides the same. The unit answers: *do the even positions sum to more than the "
        "odd ones?*",
        exhaustive,
    ),
    exercises=EXERCISES,
)
