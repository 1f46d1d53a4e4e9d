"""Lesson: what becomes of the first input, and what a step costs, in an RNN and in a transformer."""

from __future__ import annotations

import sympy
import torch

from regard.attention import attend, pooled_attend
from regard.cost import AttentionShape, PooledAttentionShape, RNNShape, price
from regard.cost.formulas import big_o
from regard.lessons.exercises.rnn_or_transformer import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import crossing, milliseconds, one_thread
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, equal, table
from regard.pattern import Full
from regard.recurrence import contribution, identity, linear_rnn, readout, rnn

LENGTHS = [64, 256, 1024, 2048, 4096, 8192]
WIDTH = 64


def unrolled() -> list[Formula]:
    """Three steps by substitution, with matrices that do not commute, and the general one."""
    W_h, W_x, W_y, *xs = sympy.symbols("W_h W_x W_y x_1:4", commutative=False)
    phi_y = sympy.Function("phi_y")
    terms: list[sympy.Expr] = []
    states, outputs = [], []
    for x in xs:
        terms = [W_h * term for term in terms] + [W_x * x]
        states.append(sympy.Add(*terms, evaluate=False))
        outputs.append(phi_y(sympy.Add(*(W_y * term for term in terms), evaluate=False)))
    named = [(f"State {i}:", f"h_{i}", states[i - 1]) for i in (2, 3)]
    named += [(f"Output {i}:", f"y_{i}", outputs[i - 1]) for i in (2, 3)]
    out = [Formula(says, sympy.Eq(sympy.Symbol(name), value), as_written=True) for says, name, value in named]
    t, T = sympy.symbols("t T", integer=True, positive=True)
    x_t = sympy.Symbol("x_t", commutative=False)
    state = sympy.Sum(W_h ** (T - t) * W_x * x_t, (t, 1, T))
    output = phi_y(sympy.Sum(W_y * W_h ** (T - t) * W_x * x_t, (t, 1, T)))
    out.append(Formula("After T steps:", sympy.Eq(sympy.Symbol("h_T"), state)))
    out.append(Formula("and its output:", sympy.Eq(sympy.Symbol("y_T"), output)))
    return out


def checked() -> list[Check]:
    """The sums against the loop and the scan, on numbers, with tanh for φ_y."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 9, 3, generator=generator, dtype=torch.float64).requires_grad_()
    W_x, W_h = (torch.randn(4, k, generator=generator, dtype=torch.float64) * 0.5 for k in (3, 4))
    W_y = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    parts = [torch.linalg.matrix_power(W_h, 8 - t) @ W_x for t in range(9)]
    inside = sum(W_y @ part @ x[0, t] for t, part in enumerate(parts))
    assert isinstance(inside, torch.Tensor)
    loop = readout(rnn(x, W_x, W_h, activation=identity), W_y, activation=torch.tanh)
    scan = readout(linear_rnn(x, W_x, W_h), W_y, activation=torch.tanh)
    (slope,) = torch.autograd.grad(loop[0, -1, 0], x)
    by_hand = (1 - inside[0].tanh() ** 2) * (W_y @ parts[0])[0]
    claim = "loop, φ_y of the sum of powers and logarithmic scan agree"
    chain = "y_T changes with x_1 by the slope of φ_y times W_y W_h^{T−1} W_x"
    return [
        equal(claim, (loop[0, -1], inside.tanh()), (loop, scan), says="T = 9, φ_y = tanh, "),
        equal(chain, (slope[0, 0], by_hand), says="against the gradient, "),
    ]


def share_of_first() -> list[Table | Prose]:
    """How much of x_1 is left after T steps, inside φ_y and behind it, and in attention."""
    W_x, W_y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    turn = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    x = (0.1 * torch.randn(64, 100, 2, generator=generator, dtype=torch.float64)).requires_grad_()
    rows: list[list[object]] = []
    for radius in (0.9, 1.0, 1.1):
        found = [contribution(radius * turn, W_x, T, W_y) for T in (10, 100)]
        y = readout(linear_rnn(x, W_x, radius * turn), W_y, activation=torch.tanh)
        (slopes,) = torch.autograd.grad(y[:, -1].sum(), x)
        slope = slopes[:, 0].norm(dim=-1).mean().item()
        parts = [part.output_ratio for part in found]
        rows.append([f"RNN, radius {radius:g}", *parts, found[0].verdict, slope])
    weights = [1 / T for T in (10, 100)]
    rows.append(["attention, equal scores", *weights, "1/T, or as the scores say", "–"])
    return [
        table(
            ["model", "T = 10", "T = 100", "what becomes of x_1", "slope of y_100"],
            rows,
            "The part of x_1 in W_y h_T, inside φ_y, as a multiple of what it is in W_y h_1; and the slope "
            "with which y_100 itself changes with x_1, for φ_y = tanh (mean of 64 random sequences):",
        ),
        Prose(
            "Before x_1 reaches φ_y it has passed through T − 1 products with W_h: that part vanishes or "
            "explodes with the spectral radius. φ_y is applied once, whatever T is. It cannot bring back "
            "what has vanished; and where the sum has exploded, a bounded φ_y is saturated, its slope is "
            "zero, and y_T no longer shows what x_1 was. In attention every input is one product away, "
            "whatever T is; its weight is decided by scores and not by age."
        ),
    ]


def prices() -> list[Formula | Table]:
    """The multiplies of one layer of each kind on T tokens, from the package."""
    shapes = {
        "RNN": RNNShape(channels="d", hidden="d", bias=False),
        "attention": AttentionShape(width="d"),
        "the sheet's pooled attention, as written": PooledAttentionShape(
            width="d", head_width="d", value_width="d", arrangement="plain"
        ),
        "the same, sums first": PooledAttentionShape(width="d", head_width="d", value_width="d"),
    }
    rows = []
    for name, shape in shapes.items():
        cost = price(shape, tokens="n")
        rows.append([name, big_o(cost.macs).replace("n", "T"), str(cost.depth).replace("n", "T")])
    return [table(["layer", "multiplies", "steps in sequence"], rows)]


def pooled() -> list[Check]:
    """The sheet's attention in O(T): the same values."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 6, generator=generator, dtype=torch.float64)
    W_q, W_k, W_v = (torch.randn(6, 6, generator=generator, dtype=torch.float64) * 0.3 for _ in range(3))
    plain, linear = (pooled_attend(x, W_q, W_k, W_v, arrangement=name) for name in ("plain", "linear"))
    same = (plain - plain[:1]).abs().max().item() == 0
    return [
        equal("taking Σ_j K x_j first changes nothing but the cost", (plain, linear), within=1e-9),
        Check("as printed, y_t does not depend on t", same, "all rows of the output are equal"),
    ]


def measured() -> list[Table | Picture | Prose]:
    """One layer of each, forward, on this machine."""
    times: dict[str, list[float]] = {"RNN": [], "attention": []}
    generator = torch.Generator().manual_seed(0)
    W_x, W_h = (torch.randn(WIDTH, WIDTH, generator=generator) * WIDTH**-0.5 for _ in range(2))
    with one_thread():
        for length in LENGTHS:
            x = torch.randn(1, length, WIDTH, generator=generator)
            q = x[:, None]
            times["RNN"].append(milliseconds(rnn, x, W_x, W_h, budget=0.06))
            times["attention"].append(milliseconds(attend, q, q, q, Full(), impl="sdpa", budget=0.06))
    series = {name: (LENGTHS, found) for name, found in times.items()}
    found = crossing([float(n) for n in LENGTHS], times["RNN"], times["attention"])
    until = "at all or none of these lengths" if found is None else f"up to T ≈ {found:,.0f}"
    ratio = times["attention"][-1] / times["RNN"][-1]
    return [
        table(
            ["T", "RNN, ms", "attention, ms"],
            list(zip(LENGTHS, *times.values(), strict=True)),
            f"Width {WIDTH}, batch 1, one core:",
        ),
        Prose(
            f"Here attention is faster {until}, although it does more: the RNN must wait for each state "
            "before the next, and a machine that could do many products at once does one small one at a "
            f"time. O(T) wins in the end: at T = {LENGTHS[-1]:,} attention takes {ratio:.1f} times as long."
        ),
        Picture(
            "measured",
            lambda: curves(
                series,
                x="T",
                y="milliseconds",
                log="xy",
                title="Fewer flops, more waiting",
                marks={} if found is None else {"measured": found},
            ),
            "Time against T: the RNN grows with T, attention with T squared from a lower start",
        ),
    ]


LESSON = Lesson(
    name="rnn-or-transformer",
    title="RNN or transformer?",
    question=(
        "An RNN has the identity for its hidden activation, h_t = W_h h_{t−1} + W_x x_t, and some φ_y for "
        "its output, y_t = φ_y(W_y h_t). Unroll it. How much of x_1 reaches y_T, in it and in attention? "
        "What do both cost in T, how much of it in sequence, and what would you choose as T → ∞?"
    ),
    steps=(
        "Substitute the state into itself, starting from h_0 = 0. Only the hidden activation is the "
        "identity, so only the states are sums; each output is φ_y *of* such a sum, and φ_y cannot be taken "
        "apart over its terms.",
        unrolled,
        checked,
        share_of_first,
        "**Cost.** An RNN step costs the same at every t, so T steps are O(T) — one after another. Attention "
        "compares all pairs, O(T²), all at once. The attention printed on the sheet gives each token one "
        "score, α_t = Σ_j (Q x_t)·(K x_j) / √T, and every output is the same mean of values, y_t = Σ_i "
        "e^{α_i} V x_i / Σ_i e^{α_i}: t does not occur on the right. It sums over j *before* its softmax, "
        "and a sum of products with one common factor is the product with the sum: Σ_j (Q x_t)·(K x_j) = (Q "
        "x_t)·(K Σ_j x_j). So that one is O(T).",
        prices,
        pooled,
        measured,
        "**As T → ∞.** The RNN has constant cost per token and a state that does not grow, but it must press "
        "everything into that state, and x_1 fades or explodes unless the radius is held at 1. Attention "
        "keeps everything and pays T per token in time and memory. For T without bound choose what is O(T): "
        "a recurrence, linear attention, or attention with a bounded pattern such as `strided(1024)`; for "
        "moderate T on parallel hardware choose attention.",
    ),
    exercises=EXERCISES,
)
