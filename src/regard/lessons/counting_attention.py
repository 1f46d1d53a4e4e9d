"""Lesson: how many dot products three attention patterns need."""

from __future__ import annotations

import sympy

from regard.lessons.exercises.counting_attention import EXERCISES
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Block, Check, Formula, Picture, Table, table
from regard.pattern import Causal, Strided, Windowed

n, t, w = sympy.symbols("n t w")


def laws() -> list[Formula]:
    """The package's own closed forms, with their letters kept."""
    return [
        Formula("Autoregressive: the rows have 1, 2, …, n marks.", Causal().formula(symbolic=True)),
        Formula("Strided: itself and at most t before.", Strided(back=3).formula(symbolic=True)),
        Formula("Windowed: inside windows of w.", Windowed(size=4).formula(symbolic=True)),
    ]


def grids() -> list[Block | Picture]:
    """The three grids, n = 12, t = 3, w = 4."""
    patterns = {
        "autoregressive": Causal(),
        "strided, t = 3": Strided(back=3),
        "windowed, w = 4": Windowed(size=4),
    }
    drawn = [pattern.draw(12).split("\n") for pattern in patterns.values()]
    head = "   ".join(f"{name:<18}" for name in patterns)
    lines = ["   ".join(f"{row:<18}" for row in rows) for rows in zip(*drawn, strict=True)]
    return [
        Block("\n".join(line.rstrip() for line in [head, *lines])),
        Picture(
            "strided",
            lambda: Strided(back=3).figure(12),
            "Strided attention with t = 3 on 12 positions: a band of four keys along the diagonal",
        ),
        Picture(
            "windowed",
            lambda: Windowed(size=4).figure(12),
            "Windowed attention with w = 4 on 12 positions: three triangles on the diagonal",
        ),
    ]


def brute_force() -> Check:
    """Every formula against the marks of the mask itself."""
    compared = wrong = 0
    sizes = range(1, 13)
    for pattern in (Causal(), *(Strided(back=s - 1) for s in sizes), *(Windowed(size=s) for s in sizes)):
        law = pattern.formula()
        for length in range(1, 41):
            wrong += int(law.subs("n", length)) != int(pattern.dense(length).sum())
            compared += 1
    claim = "the formulas count the marks of the mask for every n ≤ 40, t ≤ 11, w ≤ 12"
    return Check(claim, wrong == 0, f"{compared:,} masks built and counted, {wrong} differ")


def two_spellings() -> list[Formula | Check]:
    """One number written in two ways."""
    (short, _), _ = Strided(back=3).formula(symbolic=True).args
    long = -(t**2) / 2 - t / 2 + n * t + n
    return [
        Formula("The strided count, multiplied out:", sympy.Eq(short, sympy.expand(short))),
        Check(
            "(2n−t)(t+1)/2 and −t²/2 − t/2 + nt + n are the same polynomial",
            sympy.expand(short - long) == 0,
            f"their difference expands to {sympy.expand(short - long)}",
        ),
    ]


def outside() -> Table:
    """What the short formulas say where their condition fails, beside the count."""
    rows: list[list[object]] = []
    for length, back in ((3, 3), (3, 5), (2, 9)):
        said = sympy.Rational((2 * length - back) * (back + 1), 2)
        rows.append(
            [f"strided({back})", length, str(said).replace("-", "−"), Strided(back=back).pairs(length)]
        )
    for length, size in ((10, 4), (11, 4), (3, 8)):
        said = sympy.Rational(length * (size + 1), 2)
        rows.append([f"windowed({size})", length, str(said), Windowed(size=size).pairs(length)])
    return table(["pattern", "n", "short formula", "counted"], rows)


LESSON = Lesson(
    name="counting-attention",
    title="Counting attention",
    question=(
        "A query-key pair that is looked at costs one dot product. How many dot products do autoregressive, "
        "strided (itself and t before) and windowed (triangles of w) attention need on n tokens?"
    ),
    steps=(
        "Draw a grid with one row per query and one column per key, and mark the pairs that are allowed. "
        "Counting dot products is counting marks, row by row.\n\n"
        "**Autoregressive.** Row i has i marks, so there are 1 + 2 + … + n of them.\n\n"
        "**Strided.** If every row had t + 1 marks there would be n(t+1). The first t rows lack t, t−1, …, 1 "
        "of them, which is t(t+1)/2. This needs n ≥ t rows to subtract from; on fewer, every row sees all "
        "that "
        "came before and the pattern is the autoregressive one.\n\n"
        "**Windowed.** Each window is a triangle of w(w+1)/2 marks. If w divides n there are n/w of them, "
        "so n(w+1)/2. Otherwise r = n mod w tokens are left over and make a smaller triangle.",
        laws,
        grids,
        brute_force,
        "Solutions often print the strided count in one of two forms. They look different and are equal.",
        two_spellings,
        "Each short formula has a condition. Beyond it the formula still gives a number, but the wrong one: "
        "for n < t it subtracts rows that do not exist, and where w does not divide n it counts the last "
        "window by its share.",
        outside,
    ),
    exercises=EXERCISES,
)
