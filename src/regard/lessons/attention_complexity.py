"""Lesson: what an attention layer costs, term by term, and which term wins when."""

from __future__ import annotations

import sympy
import torch

from regard.attention import attend
from regard.cost import AttentionShape, formulas, price
from regard.course import AttentionHead
from regard.lessons.diagrams import self_attention
from regard.lessons.exercises.attention_complexity import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import crossing, milliseconds, one_thread
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, table
from regard.paper.formulas import written
from regard.pattern import Full

n, d = sympy.symbols("n d", positive=True, integer=True)
WIDTH = 256
LENGTHS = [32, 64, 128, 256, 512, 1024]


def matrix_form() -> list[Formula]:
    """The layer in matrices, without its output projection."""
    x, y, q, k, v = (sympy.MatrixSymbol(name, n, d) for name in "XYQKV")
    w_q, w_k, w_v = (sympy.MatrixSymbol(f"W_{name}", d, d) for name in "QKV")
    rows = [sympy.Eq(q, x * w_q), sympy.Eq(k, x * w_k), sympy.Eq(v, x * w_v)]
    scores = sympy.MatrixSymbol("A", n, n)
    out = sympy.Eq(y, sympy.MatrixSymbol("P", n, n) * v)
    return [
        *(Formula("A projection, n·d·d multiplies:", row) for row in rows),
        Formula("All scores at once, n·d·n multiplies:", sympy.Eq(scores, q * k.T)),
        Formula("P is the softmax of A (scaled), row by row; the outputs take n·n·d multiplies:", out),
    ]


def drawn() -> Picture:
    """The same for one output."""
    return Picture(
        "self-attention",
        self_attention,
        "Four tokens become queries, keys and values; the second query is compared with all four keys, a "
        "softmax makes weights of the scores, and the values, weighted, add up to the second output",
    )


def terms() -> list[Formula | Table | Check | Prose]:
    """The package's price of the layer, left in letters and split by part."""
    cost = price(AttentionShape(width="d"), tokens="n")
    names = {
        "qkv": "queries, keys, values: three products (n,d)·(d,d)",
        "mix": "scores and weighted sums: two products over n² pairs",
        "out": "output projection: one product (n,d)·(d,d)",
    }
    rows = [[names[name], written(part.macs)] for name, part in cost.parts]
    number = price(AttentionShape(width=48), tokens=20)
    counted = sympy.expand(cost.macs).subs(
        {s: {"n": 20, "d": 48}[s.name] for s in sympy.sympify(cost.macs).free_symbols}
    )
    return [
        table(["part", "multiplies"], rows),
        Formula("Together:", sympy.expand(cost.macs)),
        Check(
            "the formula is the exact count at n = 20, d = 48",
            counted == number.macs,
            f"{number.macs:,} multiplies",
        ),
        Prose(
            f"In big-O the factors go and {formulas.big_o(cost.macs)} stays. The softmax adds n² "
            "exponentials, and the scaling n² multiplies; both are swallowed by n²d."
        ),
    ]


def other_counts() -> list[Formula | Check]:
    """What the sheet counts, from the same parts, and the scaling that it leaves out."""
    cost = price(AttentionShape(width="d"), tokens="n")
    parts = dict(cost.parts)
    three = sympy.expand(parts["qkv"].macs + parts["mix"].macs)
    # a head of width 1 needs no factor: the other case is meant
    scaling = sympy.expand(cost.multiplies - cost.macs).replace(sympy.Piecewise, lambda wide, _: wide[0])
    course = AttentionHead(48, 48)
    named = [name for name, child in course.named_modules() if isinstance(child, torch.nn.Linear)]
    return [
        Formula("The sheet's count, three projections and the pairs:", three),
        Formula("What the factor 1/√d adds, one multiply for every score:", scaling),
        Check(
            "the course's head has three projections, and no fourth",
            len(named) == 3,
            f"the linear maps of `regard.course.AttentionHead` are {', '.join(named)}",
        ),
    ]


def where() -> list[Formula]:
    """The length from which the pairs cost more than the projections, four of them or three."""
    cost = price(AttentionShape(width="d"), tokens="n")
    parts = {name: sympy.expand(part.macs) for name, part in cost.parts}
    (letter,) = [s for s in sympy.sympify(cost.macs).free_symbols if s.name == "n"]
    (four,) = sympy.solve((parts["mix"] - parts["qkv"] - parts["out"]) / letter, letter)
    (three,) = sympy.solve((parts["mix"] - parts["qkv"]) / letter, letter)
    return [
        Formula("Both terms are equal at", sympy.Eq(letter, four)),
        Formula("or, with three projections, at", sympy.Eq(letter, three)),
    ]


def measured() -> list[Table | Prose | Picture]:
    """Both parts timed on this machine."""
    generator = torch.Generator().manual_seed(0)
    projections, pairs = [], []
    W = torch.randn(WIDTH, 4 * WIDTH, generator=generator)
    with one_thread():
        for length in LENGTHS:
            x = torch.randn(length, WIDTH, generator=generator)
            q, k, v = (torch.randn(1, 1, length, WIDTH, generator=generator) for _ in range(3))
            projections.append(milliseconds(torch.matmul, x, W, budget=0.06))
            pairs.append(milliseconds(attend, q, k, v, Full(), impl="sdpa", budget=0.06))
    found = crossing([float(n) for n in LENGTHS], projections, pairs)
    at = "outside the measured lengths" if found is None else f"at n ≈ {found:.0f}"
    series = {"projections, 4nd²": (LENGTHS, projections), "pairs, 2n²d": (LENGTHS, pairs)}
    marks = {"n = 2d": 2.0 * WIDTH} | ({} if found is None else {"measured": found})
    return [
        table(
            ["n", "projections, ms", "pairs, ms"],
            list(zip(LENGTHS, projections, pairs, strict=True)),
            f"Width d = {WIDTH}, one head, one core:",
        ),
        Prose(
            f"By count the curves cross at n = 2d = {2 * WIDTH}; measured they cross {at}. A multiply inside "
            "attention takes longer than one inside a plain product, because the softmax and the traffic of "
            "n² scores are not in the count, and small calls cost a fixed time."
        ),
        Picture(
            "crossing",
            lambda: curves(series, x="n", y="milliseconds", log="xy", title="Which term wins", marks=marks),
            "Time of projections and of pairs against n: on these "
            "logarithmic axes the pairs are twice as steep, and overtake",
        ),
    ]


LESSON = Lesson(
    name="attention-complexity",
    title="What an attention layer costs",
    question=(
        "An attention layer maps n tokens of width d to n tokens of width d. Write it in matrices and count: "
        "why is it O(d²n + n²d), and when does which term matter?"
    ),
    steps=(
        "Put the tokens into a matrix X with n rows and d columns. Everything is a product of matrices, and "
        "a product of (m,k) by (k,l) takes m·k·l multiplies. The whole layer is softmax(QKᵀ/√d)·V.",
        matrix_form,
        drawn,
        "`regard.cost` counts the same from the layer's description; with letters in place of numbers it "
        "gives the formula.",
        terms,
        "**Three projections or four.** The sheet's layer ends with the weighted sum: it has W_Q, W_K and "
        "W_V and no output projection, so three products (n,d)·(d,d) are counted. Layers with several heads "
        "join their outputs by a fourth matrix, W_O, and this is the layer that `AttentionShape` describes. "
        "The sheet also leaves out the scaling by 1/√d, n² multiplies beside n²d. Neither changes O(d²n + "
        "n²d).",
        other_counts,
        where,
        "Below that length the layer is mostly its projections, and a cleverer attention would not help; "
        "above it the pairs dominate.",
        measured,
    ),
    exercises=EXERCISES,
)
