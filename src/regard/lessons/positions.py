"""Lesson: how a transformer can know where a token stands, and which ways survive longer inputs."""

from __future__ import annotations

import sympy
import torch

from regard.course import VisionTransformer
from regard.layers import Alibi, Learned, Natural, Position, Rotary, Scaled, Sinusoidal
from regard.lessons.diagrams import vision_transformer
from regard.lessons.exercises.positions import EXERCISES
from regard.lessons.figures import curves
from regard.lessons.last_name import LENGTH, NAMES, STARTS, hits, learned
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, equal, table
from regard.pattern import Strided

LONGER = (16, 32, 64, 128)
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
    return equal("permuting the tokens permutes the outputs and changes nothing else", (y[turn], z))


def scales() -> Table:
    """What each way adds at positions far apart."""
    rows = []
    for at in (1, 100, 10_000):
        natural = int(Natural().encode(1, start=at - 1).item())
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


def beyond() -> list[Table | Check | Prose | Picture]:
    """Six ways, three random starts each, learn on short inputs and then meet longer ones."""
    found: dict[str, list[list[float]]] = {}  # way, length, start
    for name, position in WAYS.items():
        model = learned(position)
        lengths = LONGER[:1] if isinstance(position, Learned) else LONGER
        found[name] = [hits(model, length) for length in lengths]
        if isinstance(position, Rotary):
            window = [hits(model, length, Strided(back=LENGTH - 1)) for length in LONGER]
    found["Rotary in a window"] = window
    rows = []
    for name, shares in found.items():
        cells = [f"{min(starts):.2f} to {max(starts):.2f}" for starts in shares]
        rows.append([name, *cells, *["no row for it"] * (len(LONGER) - len(cells))])
    worst = min(found, key=lambda name: min(found[name][0]))
    far = {name: shares for name, shares in found.items() if len(shares) == len(LONGER)}
    series = {name: (LONGER, [sum(starts) / STARTS for starts in shares]) for name, shares in far.items()}
    head = ["position", *(f"length {length}" for length in LONGER)]
    return [
        table(
            head,
            rows,
            f"Share right, lowest to highest of {STARTS} random starts; trained on length {LENGTH} only:",
        ),
        Check(
            f"with every way and from every start the task was learned at length {LENGTH}",
            min(found[worst][0]) > 0.95,
            f"the lowest share is {min(found[worst][0]):.3f}, of {worst}",
        ),
        Prose(_verdict({name: shares[-1] for name, shares in far.items()})),
        Check(
            f"rotary models that may look {LENGTH - 1} words back, and no farther, work at all these lengths",
            min(map(min, window)) > 0.95,
            f"the same weights; the lowest share is {min(map(min, window)):.3f}, so what failed above were "
            "distances that training had not shown, and not places",
        ),
        Picture(
            "beyond",
            lambda: curves(
                series,
                x="length of the input",
                y=f"share right, mean of {STARTS} starts",
                log="x",
                title="Beyond the training length",
            ),
            "Share of right answers against input length for the ways to give positions: close together at "
            "the training length, far apart beyond it",
        ),
    ]


def _verdict(longest: dict[str, list[float]]) -> str:
    """What the shares at the longest input say: what every start agrees on, and what it does not."""
    kept = [name for name, shares in longest.items() if min(shares) > 0.9]
    lost = [name for name, shares in longest.items() if max(shares) < 0.75]
    mixed = [name for name in longest if name not in kept + lost]
    found = {
        "From every start right in more than 90 % of cases": kept,
        f"From every start right in less than 75 % (guessing gives {100 // NAMES} %)": lost,
        "In between, or different from start to start": mixed,
    }
    said = " ".join(f"{what}: {', '.join(names) or 'none'}." for what, names in found.items())
    return (
        f"At length {LONGER[-1]}, {LONGER[-1] // LENGTH} times what was trained. {said} This is one small "
        "task, in which a near name must win over all far ones. It shows that being able to compute a "
        "position is not being able to use it; it does not rank the ways in general."
    )


def patches() -> list[Picture | Check]:
    """A vision transformer: its patches are a set too, until positions are added."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        vit = VisionTransformer(1, 10, 12, 4, dim=16, attn_dim=4, mlp_dim=32, num_heads=2, num_layers=2)
    line = torch.arange(12) - 5.5
    image = torch.exp(-(((line[:, None] ** 2 + line**2).sqrt() - 3.8) ** 2))  # a ring
    cut = image.unflatten(0, (3, 4)).unflatten(2, (3, 4)).transpose(1, 2).flatten(0, 1)  # 9 patches of 4×4
    moved = cut[torch.tensor([4, 8, 0, 3, 6, 1, 7, 2, 5])]
    other = moved.unflatten(0, (3, 3)).transpose(1, 2).flatten(2).flatten(0, 1)
    both = torch.stack([image, other])[:, None]
    with torch.no_grad():
        placed = vit(both)[0].diff(dim=0).abs().max().item()
        vit.pos_E.weight.zero_()
        bare = vit(both)[0].diff(dim=0).abs().max().item()
    return [
        Picture(
            "vit",
            lambda: vision_transformer(image.tolist()),
            "An image is cut into nine patches, one linear map makes a token of each, a position is added to "
            "each token, a class token joins them before the transformer, and a head reads its output alone",
        ),
        Check(
            "without positions the class token cannot see that patches were moved; with them it can",
            bare < 1e-5 and placed > 1e-3,
            f"nine patches moved: the scores change by {bare:.0e} without and {placed:.3f} with positions",
        ),
    ]


LESSON = Lesson(
    name="positions",
    title="Where does a token stand?",
    question=(
        "Attention treats its input as a set. How can positions be given to it: as natural numbers, as "
        "fractions, absolutely or relatively? What do sinusoidal, rotary and Alibi positions do, what "
        "happens beyond the training length, and how can one have no maximum length?"
    ),
    steps=(
        "Scores are products of tokens, and a sum over all tokens has no order.",
        order_is_lost,
        "**Images** are no exception. A vision transformer cuts an image into patches, maps each to a token "
        "by the same weights, and puts a learned class token before them, whose output is read. Without "
        "more, moving patches around would change nothing; the position added to each patch says where it "
        "lay. (In the course's model the class token has none: it lies nowhere.)",
        patches,
        "**Natural numbers** 1, 2, 3, … are the obvious repair, and they have a scale problem: at position "
        "10,000 the position outweighs every token, and values never met in training appear. **Dividing by "
        "the longest length** keeps them within 1, but then the step between neighbours depends on that "
        "length, and one must be fixed. **Waves** of many frequencies are bounded and tell neighbours apart "
        "at any length.",
        scales,
        "**Absolute or relative.** Most of language depends on how far apart tokens are, not on where the "
        "page begins. Sinusoidal codes are absolute but carry the relative inside: by the addition theorem, "
        "shifting by k is a fixed rotation.",
        shift,
        "**Rotary** positions turn queries and keys by angles proportional to their positions, so that their "
        "product sees the difference of angles alone. **Alibi** adds nothing to the tokens: it lowers a "
        "score by a slope times the distance.",
        rotary,
        "**Beyond the training length.** A text has two names and six other words, and at every word the "
        "model shall say which name came last. For each way three one-layer models, from three random "
        "starts, learn this on short inputs; all of them do. Then they are asked at the end of longer "
        "inputs. (Scaled positions are divided by the training length there too, and go beyond 1.) A learned "
        "table has no row for a position it never saw. (There is no norm before attention: a LayerNorm would "
        "subtract the mean, and with it a number that was added to all components. And beside natural "
        "numbers the tokens start four times as large, so as not to drown in them.)",
        beyond,
        "To have **no maximum length**, a way must be computed and not looked up; of the six only the "
        "learned table is not. Ways that know distances alone (rotary, Alibi) treat every place of a text "
        "alike, and a window of fixed reach such as `Strided` keeps distances that training never showed out "
        "of sight. A recurrence has no position at all. Being *defined* at every length is not the same as "
        "*working* there: what must work at a length should be trained or at least tested at that length.",
    ),
    exercises=EXERCISES,
)
