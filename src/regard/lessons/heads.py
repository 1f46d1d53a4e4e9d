"""Lesson: what several attention heads can do that one cannot."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.lessons.exercises.heads import EXERCISES
from regard.lessons.figures import grid
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import train
from regard.lessons.parts import Check, Picture, Table, table
from regard.pattern import Full

VOCAB, LENGTH, WIDTH, STEPS = 8, 6, 32, 300


class Neighbours(nn.Module):
    """Token plus position, one attention layer, and two linear read-outs; no bias anywhere."""

    def __init__(self, heads: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.heads = heads

        def matrix(rows: int, cols: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, cols, generator=generator) * cols**-0.5)

        self.token, self.position = matrix(VOCAB, WIDTH), matrix(LENGTH, WIDTH)
        self.W_Q, self.W_K, self.W_V = (matrix(WIDTH, WIDTH) for _ in range(3))
        self.left, self.right = matrix(VOCAB, WIDTH), matrix(VOCAB, WIDTH)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits for the left and for the right neighbour (B,N,VOCAB), and the weights (B,H,N,N)."""
        token = self.token[tokens]
        placed = token + self.position  # B N C
        parts = ((placed, self.W_Q), (placed, self.W_K), (token, self.W_V))
        q, k, v = ((x @ W.T).unflatten(-1, (self.heads, -1)).transpose(1, 2) for x, W in parts)
        out, weights = attend(q, k, v, Full(), return_weights=True)
        joined = out.transpose(1, 2).flatten(2)  # B H N D -> B N C
        return joined @ self.left.T, joined @ self.right.T, weights


def _batch(seed: int, size: int = 64) -> Tensor:
    return torch.randint(VOCAB, (size, LENGTH), generator=torch.Generator().manual_seed(seed))


def _trained(heads: int) -> Neighbours:
    model = Neighbours(heads, seed=1)

    def loss(step: int) -> Tensor:
        tokens = _batch(step)
        left, right, _ = model(tokens)
        return nn.functional.cross_entropy(left[:, 1:-1].flatten(0, 1), tokens[:, :-2].flatten()) + (
            nn.functional.cross_entropy(right[:, 1:-1].flatten(0, 1), tokens[:, 2:].flatten())
        )

    train(model.parameters(), loss, STEPS, rate=2e-2)
    return model


def trained() -> list[Table | Check | Picture]:
    """One head and two heads of the same total width, trained alike."""
    tokens = _batch(10**6, 512)
    rows, both, maps = [], {}, {}
    for heads in (1, 2):
        model = _trained(heads)
        with torch.no_grad():
            left, right, weights = model(tokens)
        hit_left = left[:, 1:-1].argmax(-1) == tokens[:, :-2]
        hit_right = right[:, 1:-1].argmax(-1) == tokens[:, 2:]
        both[heads] = (hit_left & hit_right).float().mean().item()
        maps[heads] = weights.mean(0)
        size = sum(p.numel() for p in model.parameters())
        rows.append(
            [heads, size, hit_left.float().mean().item(), hit_right.float().mean().item(), both[heads]]
        )
    seen = maps[2]

    places = [str(i + 1) for i in range(LENGTH)]
    pictures = [
        Picture(
            f"head-{h + 1}",
            partial(
                grid, seen[h].tolist(), title=f"Head {h + 1}: row looks at column", rows=places, cols=places
            ),
            f"The mean attention of head {h + 1} of two: it looks at one neighbour only",
        )
        for h in range(2)
    ]
    head = ["heads", "parameters", "left neighbour", "right neighbour", "both"]
    return [
        table(head, rows, f"Shares of positions read correctly after {STEPS} steps, fresh sequences:"),
        Check("two heads read both neighbours", both[2] > 0.99, f"both right at {both[2]:.1%} of positions"),
        Check("one head does not", both[1] < 0.9, f"both right at {both[1]:.1%} of positions"),
        *pictures,
    ]


LESSON = Lesson(
    name="heads",
    title="What several heads can do that one cannot",
    question=(
        "Multi-headed attention splits the width among heads that attend separately. What can two heads do "
        "that one head "
        "of the same total width cannot?"
    ),
    steps=(
        "A head makes one set of weights per query and returns one weighted mean. Ask for two things from "
        "two places and "
        "a single mean has to carry both, mixed. The task: at every inner position, name the token on the "
        "*left* and the "
        "token on the *right*.\n\n"
        "**Assumptions.** One attention layer; queries and keys read token vector plus position vector, "
        "values read the "
        "token alone; the read-outs are linear; there are no biases, no residual connection and no "
        "feed-forward layer. (With a feed-forward layer after it one head can do more: it "
        "could mark left and right by unequal weights and have them told apart.)\n\n"
        "**Why one head fails.** Fix the query and all tokens but its neighbours a (left) and b (right). "
        "Keys are sums, so the "
        "weight on a neighbour is a factor for its token times a factor for its place; call s the place "
        "factor of right over "
        "left. Up to a common divisor, which no argmax sees, the score of class j is M_ja + s·M_jb + r_j. "
        "For a linear read-out to "
        "name the right token on (a,a), (b,b), (a,b) and (b,a), write D = (M_aa − M_ba) + (M_bb − M_ab). "
        "Adding the demands of "
        "(a,a) and (b,b) gives D > 0; adding those of (a,b) and (b,a) gives (s−1)·D > 0, so s > 1. The "
        "read-out for "
        "the left token gives in the same way s < 1. One head has one s: both cannot be.\n\n"
        "**Why two heads succeed.** One head puts all its weight on the left neighbour, the other on the "
        "right one; each half of "
        "the joined output is a copy, and each read-out reads its half.",
        trained,
    ),
    exercises=EXERCISES,
)
