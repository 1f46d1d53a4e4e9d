"""Lesson: what several attention heads can do that one cannot."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.lessons.diagrams import arcs
from regard.lessons.exercises.heads import EXERCISES
from regard.lessons.figures import grid
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import train
from regard.lessons.parts import Check, Picture, Table, table
from regard.pattern import Full

VOCAB, LENGTH, WIDTH, STEPS = 8, 6, 32, 240
SENTENCE = ["The", "dog", "that", "chased", "the", "cats", "stopped", "because", "it", "was", "tired"]
# noun, verb, pronoun, singular, plural; the other words are all zeros here
GRAMMAR = {
    "dog": (1, 0, 0, 1, 0),
    "chased": (0, 1, 0, 0, 0),
    "cats": (1, 0, 0, 0, 1),
    "it": (0, 0, 1, 1, 0),
}


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


def in_a_sentence() -> list[Table | Check | Picture]:
    """Three heads made by hand, and one head that is asked two questions."""
    noun, verb, pronoun, singular, _, place = 6 * torch.eye(6)
    questions = {  # rows of W_Q: what a word asks for; rows of W_K: what a word answers with
        "who chased? the subject of the verb": ("chased", "dog", [verb, -verb], [noun, place]),
        "chased whom? its object": ("chased", "cats", [verb, verb], [noun, place]),
        "who is it? what the pronoun stands for": ("it", "dog", [pronoun, singular], [noun, singular]),
    }
    rows, heads = [], []
    for question, (word, answer, asked, answered) in questions.items():
        at = SENTENCE.index(word)
        weights = _head(SENTENCE, asked, answered)[0][at]
        best = SENTENCE[int(weights.argmax())]
        rows.append([question, f"{word} → {best}", weights.max().item(), best == answer])
        heads.append((question, at, weights.tolist()))
    swap = {"dog": "cats", "cats": "dog"}
    swapped = [swap.get(word, word) for word in SENTENCE]
    at = SENTENCE.index("chased")
    (weights, out), (_, turned) = (_head(words, [verb], [noun]) for words in (SENTENCE, swapped))
    change = (out - turned)[at].abs().max().item()
    _, _, asked, answered = questions["who chased? the subject of the verb"]
    apart = _head(SENTENCE, asked, answered)[1] - _head(swapped, asked, answered)[1]
    halves = [weights[at, SENTENCE.index(word)].item() for word in swap]
    return [
        table(["head", "looks", "weight"], [row[:3] for row in rows]),
        Check(
            "each of three heads answers its question",
            all(row[3] for row in rows),
            "first noun, last noun, and the singular noun although the plural one is nearer",
        ),
        Check(
            "one head that looks at both nouns alike cannot tell who chased whom",
            change < 1e-6 and apart[at].abs().max().item() > 0.5,
            f"weights dog {halves[0]:.2f}, cats {halves[1]:.2f}; if the cats chase the dog its output "
            f"changes by {change:.1g}, that of the first head above by {apart[at].abs().max().item():.2f}",
        ),
        Picture(
            "sentence",
            lambda: arcs(
                SENTENCE,
                {"Three heads": heads, "One head": [("who chased whom?", at, weights[at].tolist())]},
            ),
            "The sentence with arcs: of three heads one leads from chased to dog, one from chased to cats, "
            "one from it to dog; a single head splits its weight between dog and cats",
        ),
    ]


def _head(words: list[str], asked: list[Tensor], answered: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Weights (N, N) and outputs (N, 5) of a head whose W_Q and W_K have these rows; values are grammar."""
    value = torch.tensor([GRAMMAR.get(word, (0,) * 5) for word in words]).float()
    x = torch.cat([value, torch.linspace(0, 1, len(words))[:, None]], dim=1)  # and the place in the sentence
    q, k = (x @ torch.stack(rows).T for rows in (asked, answered))
    q, k, v = (part[None, None] for part in (q, k, value))  # B H N D
    out, weights = attend(q, k, v, scale=1.0, return_weights=True)
    return weights[0, 0], out[0, 0]


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
        "that one head of the same total width cannot?"
    ),
    steps=(
        "A head makes one set of weights per query and returns one weighted mean. Ask for two things from "
        "two places and a single mean has to carry both, mixed.\n\n"
        "**In a sentence.** A word needs several others, for different reasons. In “The dog that chased the "
        "cats stopped because it was tired” the verb *chased* needs its subject, *dog*, and its object, "
        "*cats*; the pronoun *it* needs the word that it stands for. Three heads do this below. They are "
        "made by hand: a word is a vector of grammar (noun, verb, pronoun, singular, plural) and its place; "
        "W_Q picks what a word asks for and W_K what a word answers with. In trained models heads of such "
        "kinds have been found, less pure: for the object of a verb, the noun of an article, the word "
        "before, what a pronoun stands for (Clark et al., *What does BERT look at?*, 2019).",
        in_a_sentence,
        "**Proved on a smaller task.** At every inner position, name the token on the *left* and the token "
        "on the *right*.\n\n"
        "**Assumptions.** One attention layer; queries and keys read token vector plus position vector, "
        "values read the token alone; the read-outs are linear; there are no biases, no residual connection "
        "and no feed-forward layer. (With a feed-forward layer after it one head can do more: it could mark "
        "left and right by unequal weights and have them told apart.)\n\n"
        "**Why one head fails.** Fix the query and all tokens but its neighbours a (left) and b (right). "
        "Keys are sums, so the weight on a neighbour is a factor for its token times a factor for its place; "
        "call s the place factor of right over left. Up to a common divisor, which no argmax sees, the score "
        "of class j is M_ja + s·M_jb + r_j. For a linear read-out to name the right token on (a,a), (b,b), "
        "(a,b) and (b,a), write D = (M_aa − M_ba) + (M_bb − M_ab). Adding the demands of (a,a) and (b,b) "
        "gives D > 0; adding those of (a,b) and (b,a) gives (s−1)·D > 0, so s > 1. The read-out for the left "
        "token gives in the same way s < 1. One head has one s: both cannot be.\n\n"
        "**Why two heads succeed.** One head puts all its weight on the left neighbour, the other on the "
        "right one; each half of the joined output is a copy, and each read-out reads its half.",
        trained,
    ),
    exercises=EXERCISES,
)
