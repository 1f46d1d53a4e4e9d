"""Lesson: why attention without the exponential costs O(T), and where it breaks."""

from __future__ import annotations

import sympy
import torch

from regard.attention import attend, linear_attend
from regard.lessons.exercises.linear_attention import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import crossing, milliseconds, one_thread, slope
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, equal, table
from regard.pattern import Causal

T, d = sympy.symbols("T d", positive=True, integer=True)
WIDTH = 32
LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192]


def arrangements() -> list[Formula]:
    """One product of three matrices, bracketed in two ways, counted."""
    q, k, v, y = (sympy.MatrixSymbol(name, T, d) for name in "QKVY")
    scores, summary = sympy.MatrixSymbol("A", T, T), sympy.MatrixSymbol("S", d, d)
    return [
        Formula("Scores first, a T×T matrix:", sympy.Eq(scores, q * k.T)),
        Formula("then the outputs", sympy.Eq(y, scores * v)),
        Formula("Or the summary first, a d×d matrix:", sympy.Eq(summary, k.T * v)),
        Formula("then the same outputs", sympy.Eq(y, q * summary)),
        # (m, k) times (k, n) takes m·k·n.
        Formula("Multiplies, scores first: T×T scores, then T×T times T×d.", T * d * T + T * T * d),
        Formula("Multiplies, KᵀV first: a d×d summary, then T×d times d×d.", d * T * d + T * d * d),
    ]


def same_values() -> list[Check]:
    """Both brackets give the same outputs, and the softmax does not allow the second one."""
    generator = torch.Generator().manual_seed(64)
    q, k, v = (torch.rand(1, 1, 64, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    left = torch.tril(q @ k.mT)
    left = left @ v / left.sum(-1, keepdim=True)
    right = linear_attend(q, k, v, causal=True, impl="chunked")
    assert isinstance(right, torch.Tensor)
    scores = q[0, 0] @ k[0, 0].T
    rank = int(torch.linalg.matrix_rank(scores)), int(torch.linalg.matrix_rank(scores.exp()))
    return [
        equal("scores first and summary first agree, causal sums included", (left, right), within=1e-9),
        Check(
            "the exponential destroys the shortcut: exp(QKᵀ) is no product of thin matrices",
            rank[0] <= 8 < rank[1],
            f"rank of QKᵀ {rank[0]}, rank of exp(QKᵀ) {rank[1]}",
        ),
    ]


def timed() -> list[Table | Picture | Prose]:
    """Causal attention with and without the exponential, on one core of this machine."""
    soft, linear = [], []
    generator = torch.Generator().manual_seed(0)
    with one_thread():
        for length in LENGTHS:
            q, k, v = (torch.rand(1, 1, length, WIDTH, generator=generator) for _ in range(3))
            soft.append(milliseconds(attend, q, k, v, Causal(), impl="sdpa", budget=0.05))
            linear.append(milliseconds(linear_attend, q, k, v, causal=True, check=False, budget=0.05))
    rows = [[n, a, b, a / b] for n, a, b in zip(LENGTHS, soft, linear, strict=True)]
    series = {"softmax": (LENGTHS, soft), "linear": (LENGTHS, linear)}
    found = crossing([float(n) for n in LENGTHS], linear, soft)
    marks = {"T = 2d": 2.0 * WIDTH} | ({} if found is None else {"measured": found})
    return [
        table(
            ["T", "softmax, ms", "linear, ms", "softmax / linear"],
            rows,
            f"One head of width {WIDTH}, causal, forward, one core:",
        ),
        Prose(_verdict(soft, linear, found)),
        Picture(
            "timed",
            lambda: curves(
                series, x="T", y="milliseconds", log="xy", title="One exponential, two growths", marks=marks
            ),
            "Time against length: the linear line starts higher and is flatter, the softmax line crosses it",
        ),
    ]


def _verdict(soft: list[float], linear: list[float], found: float | None) -> str:
    """What the times say, whatever they are."""
    if found is not None:
        where = (
            f"The lines cross at T ≈ {found:.0f}: below, the softmax is faster; above, linear attention is."
        )
    else:
        faster = "linear attention" if linear[-1] < soft[-1] else "the softmax"
        where = f"The lines do not cross between these lengths: {faster} is faster at both ends."
    half = len(LENGTHS) // 2
    slopes = [slope(LENGTHS[half:], times[half:]) for times in (soft, linear)]
    return (
        f"{where} At T = {LENGTHS[-1]:,} the softmax takes {soft[-1] / linear[-1]:.1f} times as long. By "
        f"count the crossing would be at T = d, and at T = 2d = {2 * WIDTH} where, as here, only the causal "
        "half of the pairs is computed; it comes later because linear attention is several small calls, each "
        f"with a fixed time, where the softmax is one fused call. From T = {LENGTHS[half]:,} on, the "
        f"measured exponents of T are {slopes[0]:.2f} and {slopes[1]:.2f}; in the limit they are 2 and 1."
    )


def signs() -> list[Check]:
    """Without the exponential, weights may be negative and their sum may be zero."""
    q = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
    k = torch.tensor([[[[1.0, 0.0], [-1.0, 0.0]]]])
    v = torch.tensor([[[[1.0], [0.0]]]])
    try:
        linear_attend(q, k, v)
        refused = "nothing was raised"
    except ValueError as error:
        refused = str(error).split(", at most")[0]
    k[..., 1, 0] = -0.5
    outside = linear_attend(q, k, v)
    assert isinstance(outside, torch.Tensor)
    return [
        Check(
            "opposite keys make the sum of weights zero, and the package refuses",
            refused != "nothing was raised",
            f"ValueError: {refused}",
        ),
        Check(
            "a negative weight takes the output out of the range of the values",
            outside.max().item() > 1,
            f"values 1 and 0, weights 1 and −0.5: the output is {outside[0, 0, 0, 0].item():g}",
        ),
        Check(
            "a positive feature map repairs both",
            bool((linear_attend(q, k, v, feature="elu1") <= 1).all()),  # type: ignore[operator]
            "with φ(x) = elu(x) + 1 every weight is positive and the output is a mean again",
        ),
    ]


LESSON = Lesson(
    name="linear-attention",
    title="Attention in O(T)",
    question=(
        "Attention compares every token with every other, so it costs O(T²). If the exponential of the "
        "softmax is dropped, it gives other outputs, and these can be had in O(T). Why, and what is the "
        "price?"
    ),
    steps=(
        "With the exponential, yᵢ is a sum over j of e^(qᵢ·kⱼ) vⱼ. The exponential stands between qᵢ and kⱼ, "
        "so every pair must be computed before anything can be added up. Without it, yᵢ is a sum over j of "
        "(qᵢ·kⱼ) vⱼ, and qᵢ does not depend on j: it can be taken out of the sum. What remains, the sum of "
        "kⱼ vⱼᵀ, is the same for every i. It is a d×d matrix S, computed once. The divisor Σⱼ qᵢ·kⱼ is qᵢ·Σⱼ "
        "kⱼ in the same way.",
        arrangements,
        "The first count is O(T²d), the second O(Td²): once T is larger than d, the second bracket wins. The "
        "causal form works too: S after token i is S after token i−1 plus kᵢ vᵢᵀ, a recurrence, so decoding "
        "keeps a d×d matrix, and the d numbers Σkⱼ for the divisor, and no growing cache.",
        same_values,
        timed,
        "The price is in the signs. e^s is never negative, qᵢ·kⱼ may be: then the “weights” are no weights, "
        "their sum can be zero or close to it, and the output can be anything. A feature map φ with positive "
        "values, applied to queries and keys, keeps the shortcut and repairs the signs.",
        signs,
    ),
    exercises=EXERCISES,
)
