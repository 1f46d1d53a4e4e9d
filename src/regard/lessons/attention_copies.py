"""Lesson: attention without weights copies what it attends to, once the vectors are long enough."""

from __future__ import annotations

import sympy
import torch

from regard.attention import self_attend
from regard.lessons.exercises.attention_copies import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Check, Formula, Picture, Table, equal, table

beta = sympy.Symbol("beta", positive=True)
# a, b, c, d are orthogonal and of length β: multiples of four unit vectors.
TOKENS = sympy.Matrix([[0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]])  # rows: d + b, a, c + b in units of β
BETAS = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0]


def norms() -> list[Formula]:
    """The lengths of the three tokens, and all products between them."""
    gram = beta**2 * (TOKENS * TOKENS.T)
    lengths = sympy.Matrix([[sympy.sqrt(gram[i, i]) for i in range(3)]])
    return [
        Formula("The norms of x₁ = d + b, x₂ = a and x₃ = c + b:", lengths),
        Formula("All products xᵢ·xⱼ; only b is shared, by the first and the third:", gram),
    ]


def _weights() -> sympy.Matrix:
    """The exact unscaled rows of softmax(x xᵀ)."""
    exps = (beta**2 * (TOKENS * TOKENS.T)).applyfunc(sympy.exp)
    return sympy.Matrix([[e / sum(row) for e in row] for row in exps.tolist()])


def rows() -> list[Formula]:
    """The weights row by row, and what becomes of them."""
    weights = _weights()
    limits = weights.applyfunc(lambda entry: sympy.limit(entry, beta, sympy.oo))
    return [
        *(Formula(f"Row {i + 1}, the weights of y{'₁₂₃'[i]}:", weights.row(i)) for i in range(3)),
        Formula("As β → ∞ the weights become the identity: y₁ → x₁, y₂ → x₂, y₃ → x₃.", limits),
    ]


def by_running() -> list[Check | Table | Picture]:
    """The package's own attention on such tokens, beside the exact rows."""
    exact = sympy.lambdify(beta, _weights().tolist(), "math")
    pairs, errors = [], []
    for value in BETAS:
        x = torch.tensor(TOKENS.tolist(), dtype=torch.float64) * value
        y = self_attend(x)
        pairs.append((y, torch.tensor(exact(value), dtype=torch.float64) @ x))
        errors.append(((y - x).norm(dim=1) / x.norm(dim=1)).tolist())
    lines = {name: (BETAS, [error[i] for error in errors]) for i, name in enumerate(("y₁ and y₃", "y₂"))}
    return [
        equal("`self_attend` gives the exact rows times the tokens", *pairs),
        table(
            ["β", "error of y₁", "error of y₂", "error of y₃"],
            [[b, *e] for b, e in zip(BETAS, errors, strict=True)],
            "The error ‖yᵢ − xᵢ‖ / ‖xᵢ‖ of the copy:",
        ),
        Picture(
            "error",
            lambda: curves(
                lines, x="β", y="relative error of the copy", log="y", title="Attention copies as β grows"
            ),
            "The error of all three copies falls faster than exponentially with β; y₁ and y₃ coincide and "
            "y₂ stays above them",
        ),
    ]


def copying() -> Check:
    """A query that equals a key copies that key's value, whatever the value is."""
    generator = torch.Generator().manual_seed(0)
    keys = torch.eye(6, dtype=torch.float64) * 6
    values = torch.randn(6, 3, dtype=torch.float64, generator=generator)
    picks = torch.tensor([4, 0, 4, 2])
    got = torch.softmax(keys[picks] @ keys.T, dim=-1) @ values
    claim = "a query equal to key j returns value j: attention looks up and copies"
    says = f"values of positions {picks.tolist()} copied, "
    return equal(claim, (got, values[picks]), within=1e-10, says=says)


LESSON = Lesson(
    name="attention-copies",
    title="How attention copies",
    question=(
        "Take four orthogonal vectors a, b, c, d of the same length β and the tokens x₁ = d + b, x₂ = a, "
        "x₃ = c + b. Attention without weights and without scaling is run on them. How long are the tokens, "
        "and what do the outputs become when β is large?"
    ),
    steps=(
        "Orthogonal vectors have products zero, and each with itself gives β². So a sum of two of them has "
        "the squared norm 2β², and two tokens that share one of them have the product β².",
        norms,
        "The weights of yᵢ are the softmax over j of xᵢ·xⱼ. Row 2 is the simplest: x₂ meets only itself.",
        rows,
        "In every row the token's product with itself is the largest score: 2β² against β² and 0 in the "
        "outer rows, β² against 0 and 0 in the middle one. The softmax sees only differences, and they grow "
        "with β². The middle row has the difference β² twice, the outer ones β² and 2β².",
        by_running,
        "So attention copies by making one score win. The same happens whenever a query points at one key: "
        "the output is that key's *value*, untouched. Weights W_Q and W_K choose who points at whom, W_V "
        "what is copied, and larger norms make the choice sharper.",
        copying,
    ),
    exercises=EXERCISES,
)
