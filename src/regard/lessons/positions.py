"""Lesson: how a transformer can know where a token stands, and which ways survive longer inputs."""

from __future__ import annotations

import sympy
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.layers import Alibi, CourseBlock, Learned, Natural, Position, Rotary, Scaled, Sinusoidal
from regard.lessons.exercises.positions import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import train
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, table
from regard.models import GPT, GPTConfig, Untied

VOCAB, LENGTH, BACK, STEPS = 8, 16, 1, 200
LONGER = (16, 32, 64)
WAYS: dict[str, Position] = {
    "Natural": Natural(),
    "Scaled": Scaled(longest=LENGTH),
    "Sinusoidal": Sinusoidal(),
    "Learned": Learned(),
    "Rotary": Rotary(),
    "Alibi": Alibi(),
}


def order_is_lost() -> Check:
    """Without positions attention does not see order."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    turn = torch.tensor([3, 0, 4, 1, 2])
    y = torch.softmax(x @ x.T, -1) @ x
    z = torch.softmax(x[turn] @ x[turn].T, -1) @ x[turn]
    error = (y[turn] - z).abs().max().item()
    return Check(
        "permuting the tokens permutes the outputs and changes nothing else",
        error < 1e-12,
        f"largest difference {error:.1e}",
    )


def scales() -> Table:
    """What each way adds at positions far apart."""
    rows = []
    for at in (1, 100, 10_000):
        natural = Natural().encode(1, start=at - 1).item()
        scaled = Scaled(longest=10_000).encode(1, start=at - 1).item()
        waves = Sinusoidal().encode(1, 64, start=at - 1).norm().item()
        rows.append([at, natural, scaled, waves])
    return table(["position", "natural number", "divided by 10,000", "norm of 64 waves"], rows)


def shift() -> list[Formula | Check]:
    """A shift of the sinusoidal code is a rotation that does not depend on the position."""
    t, k, w = sympy.symbols("t k omega", real=True)
    wave = sympy.Matrix([sympy.sin(w * t), sympy.cos(w * t)])
    turn = sympy.Matrix([[sympy.cos(w * k), sympy.sin(w * k)], [-sympy.sin(w * k), sympy.cos(w * k)]])
    moved = sympy.Matrix([sympy.sin(w * (t + k)), sympy.cos(w * (t + k))])
    left = sympy.simplify(sympy.expand_trig(moved) - turn * wave)
    table_ = Sinusoidal().encode(60, 16).double()
    products = table_ @ table_.T
    spread = max(products.diagonal(k_).std().item() for k_ in range(20))
    return [
        Formula("The matrix that takes the wave at t to the wave at t + k, for every t:", turn),
        Check(
            "that holds for every t, as an identity",
            left == sympy.zeros(2, 1),
            f"the difference simplifies to {left.T.tolist()[0]}",
        ),
        Check(
            "so the product of two codes depends on their distance alone",
            spread < 1e-5,
            f"largest spread along a diagonal {spread:.1e}",
        ),
    ]


def rotary() -> Check:
    """Rotary scores depend on the distance alone."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(8, generator=generator).expand(12, 8) for _ in range(2))
    scores = [Rotary().turn(q, start) @ Rotary().turn(k, start).T for start in (0, 500)]
    error = (scores[0] - scores[1]).abs().max().item()
    spread = max(scores[0].diagonal(j).std().item() for j in range(10))
    return Check(
        "moving both by 500 changes no score",
        error < 1e-3,
        f"largest change {error:.1e}, spread along diagonals {spread:.1e}",
    )


def _sequences(seed: int, length: int, size: int = 32) -> Tensor:
    return torch.randint(VOCAB, (size, length), generator=torch.Generator().manual_seed(seed))


def _hits(model: GPT, length: int) -> float:
    tokens = _sequences(10**6 + length, length)
    with torch.no_grad():
        found = model(tokens)[:, BACK:].argmax(-1)
    return (found == tokens[:, :-BACK]).float().mean().item()


def beyond() -> list[Table | Picture | Prose]:
    """Six small models learn to repeat the token before, then meet longer inputs."""
    rows, series = [], {}
    for name, position in WAYS.items():
        config = GPTConfig(
            vocab=VOCAB,
            context=LENGTH,
            depth=1,
            width=32,
            heads=4,
            position=position,
            block=CourseBlock(),
            head=Untied(),
        )
        model = GPT(config, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            model.embed.weight.mul_(50)  # tokens as large as the waves, or the waves drown them

        def loss(step: int, model: GPT = model) -> Tensor:
            tokens = _sequences(step, LENGTH)
            return cross_entropy(model(tokens)[:, BACK:].flatten(0, 1), tokens[:, :-BACK].flatten())

        train(model.parameters(), loss, STEPS, rate=5e-3)
        longest = LENGTH if isinstance(position, Learned) else max(LONGER)
        hits = [_hits(model, length) if length <= longest else None for length in LONGER]
        rows.append([name, *("no row for it" if hit is None else hit for hit in hits)])
        series[name] = (
            [x for x, hit in zip(LONGER, hits, strict=True) if hit is not None],
            [hit for hit in hits if hit is not None],
        )
    lost = {
        name: ys[0] - ys[-1] for name, (xs, ys) in series.items() if len(xs) == len(LONGER) and ys[0] > 0.5
    }
    least = min(lost, key=lambda name: lost[name])
    head = ["position", *(f"length {length}" for length in LONGER)]
    return [
        table(head, rows, f"Share of tokens right; trained {STEPS} steps on length {LENGTH} only:"),
        Prose(
            f"Of those that learned the task, {least} loses least between length {LONGER[0]} and "
            f"{LONGER[-1]}: {lost[least]:.2f}. "
            "A model that finds the neighbour exactly on short inputs may still lose it on long ones, where "
            "weights that were "
            "never trained on so many competitors spread out."
        ),
        Picture(
            "beyond",
            lambda: curves(
                series, x="length of the input", y="share right", log="x", title="Beyond the training length"
            ),
            "Accuracy against input length for six ways to give positions",
        ),
    ]


LESSON = Lesson(
    name="positions",
    title="Where does a token stand?",
    question=(
        "Attention treats its input as a set. How can positions be given to it: as natural numbers, as "
        "fractions, absolutely "
        "or relatively? What do sinusoidal, rotary and Alibi positions do, what happens beyond the training "
        "length, and how can one have no maximum length?"
    ),
    steps=(
        "Scores are products of tokens, and a sum over all tokens has no order.",
        order_is_lost,
        "**Natural numbers** 1, 2, 3, … are the obvious repair, and they have a scale problem: at position "
        "10,000 the position outweighs every token, and "
        "values never met in training appear. **Dividing by the longest length** keeps them within 1, but "
        "then the step between neighbours depends on "
        "that length, and one must be fixed. **Waves** of many frequencies are bounded and tell neighbours "
        "apart at any length.",
        scales,
        "**Absolute or relative.** Most of language depends on how far apart tokens are, not on where the "
        "page begins. Sinusoidal codes are absolute but carry the "
        "relative inside: by the addition theorem, shifting by k is a fixed rotation.",
        shift,
        "**Rotary** positions turn queries and keys by angles proportional to their positions, so that their "
        "product sees the difference of angles alone. **Alibi** "
        "adds nothing to the tokens: it lowers a score by a slope times the distance.",
        rotary,
        "Now six one-layer models learn to repeat the token before, on short inputs, and are then given "
        "longer ones. A learned table has no row for a "
        "position it never saw. (There is no norm before attention here: a LayerNorm would subtract the "
        "mean, and with it a number that was added to all components.)",
        beyond,
        "To have **no maximum length**, use a way that is computed and not looked up, and that depends on "
        "distances (rotary, Alibi, or a window of fixed reach such as "
        "`Strided`), or a recurrence, whose state has no position at all. Being *defined* at every length is "
        "not the same as *working* there, as the table shows: what must "
        "work at a length should be trained or at least tested at that length.",
    ),
    exercises=EXERCISES,
)
