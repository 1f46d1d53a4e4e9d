"""Lesson: the mask before the softmax, targets shifted by one, padding left out; and what fails otherwise."""

from __future__ import annotations

import sympy
import torch
from torch import Tensor, nn

from regard.course import DialogueGPT, DialogueLoss
from regard.lessons.diagrams import shifted_targets
from regard.lessons.exercises.masks_and_losses import EXERCISES
from regard.lessons.figures import bars
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import train
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, table
from regard.pattern import Causal

VOCAB, LENGTH, STEPS = 12, 10, 120

# Perplexity on held-out dialogues and the first words of the sample after some epochs of `dialogue-course`,
# seed 0, from the record benchmarks/results/runs/dialogue-course.json.
SAMPLES = {
    1: (512.6, "I I , I I , I , I , I , I , I I"),
    2: (309.6, "I have you , I have you , and you , and the king , and"),
    4: (242.5, "I have been , sir , and you , and you , and the king ,"),
    8: (228.7, "I have been , sir , and the king , and the people , and the"),
}


def two_masks() -> list[Formula]:
    """Row i of both, for three scores of which the last is in the future."""
    a, b, c = sympy.symbols("s_1 s_2 s_3", real=True)
    before = [sympy.exp(s) / (sympy.exp(a) + sympy.exp(b)) for s in (a, b)]
    after = [sympy.exp(s) / (sympy.exp(a) + sympy.exp(b) + sympy.exp(c)) for s in (a, b)]
    return [
        Formula("Mask first: the future score is gone.", sympy.Matrix([[*before, 0]])),
        Formula("Mask last: the future score is still in every denominator.", sympy.Matrix([[*after, 0]])),
        Formula("and the row sums to", sympy.simplify(sum(after))),
    ]


def leak() -> list[Check]:
    """Change a future token and see who notices."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    changed = x.clone()
    changed[-1] = torch.randn(4, generator=generator, dtype=torch.float64)
    mask = Causal().dense(6)

    def first(x: Tensor) -> Tensor:
        return (x @ x.T).masked_fill(~mask, -torch.inf).softmax(-1) @ x

    def last(x: Tensor) -> Tensor:
        return ((x @ x.T).softmax(-1) * mask) @ x

    quiet, loud = ((f(x) - f(changed))[:-1].abs().max().item() for f in (first, last))
    sums = ((x @ x.T).softmax(-1) * mask).sum(-1)
    return [
        Check(
            "masked before the softmax, no earlier output notices a changed future token",
            quiet == 0,
            f"largest change {quiet:g}",
        ),
        Check(
            "masked after it, earlier outputs do",
            loud > 1e-3,
            f"largest change {loud:.3f}: the future leaks through the denominator",
        ),
        Check(
            "and rows no longer sum to one",
            sums.min().item() < 0.9,
            f"row sums from {sums.min().item():.2f} to {sums.max().item():.2f}",
        ),
    ]


def targets() -> list[Check | Picture]:
    """Which positions of one line are asked, and for what; the loss itself says which logits count."""
    words = ["<START>", "how", "are", "you", "<PAD>", "<PAD>"]
    vocabulary = sorted(set(words))
    ids = torch.tensor([[vocabulary.index(word) for word in words]])
    mask = torch.tensor([[int(word != "<PAD>") for word in words]])
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, len(words), len(vocabulary), generator=generator, requires_grad=True)
    loss = DialogueLoss()(logits, ids, mask)
    (slope,) = torch.autograd.grad(loss, logits)
    asked = (slope[0].abs().sum(-1) > 0).tolist()
    wanted = [target for target in words[1:] if target != "<PAD>"]
    by_hand = nn.functional.cross_entropy(logits[0, : len(wanted)], ids[0, 1 : 1 + len(wanted)])
    return [
        Picture(
            "targets",
            lambda: shifted_targets(words),
            "Six tokens, START, how, are, you and two of padding, with the target of each below: the token "
            "one place to the right; targets that are padding are struck out",
        ),
        Check(
            f"the loss of this line is the mean over {len(wanted)} targets: {', '.join(wanted)}",
            asked == [True] * len(wanted) + [False] * (len(words) - len(wanted))
            and torch.allclose(loss, by_hand),
            f"positions with a gradient: {', '.join(str(t + 1) for t, on in enumerate(asked) if on)}",
        ),
    ]


def _cycles(seed: int, size: int = 32) -> Tensor:
    """Sequences that count up from a random start by 1 or 2: a token follows from the two before it."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(VOCAB, (size, 1), generator=generator)
    step = torch.randint(1, 3, (size, 1), generator=generator)
    return (start + step * torch.arange(LENGTH)) % VOCAB


def _learned(shifted: bool) -> tuple[float, float]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = DialogueGPT(VOCAB, LENGTH, dim=32, attn_dim=8, mlp_dim=64, num_heads=2, num_layers=1)
    ones = torch.ones(32, LENGTH)

    def loss(step: int) -> Tensor:
        tokens = _cycles(step)
        logits, _ = model(tokens)
        if shifted:
            return DialogueLoss()(logits, tokens, ones)
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    losses = train(model.parameters(), loss, STEPS, rate=1e-2)
    tokens = _cycles(10**6, 256)
    with torch.no_grad():
        guess = model(tokens)[0][:, 1:-1].argmax(-1)
    return losses[-1], (guess == tokens[:, 2:]).float().mean().item()


def shift() -> list[Table | Check]:
    """One model, trained with targets shifted by one, and with the inputs themselves as targets."""
    right, wrong = _learned(shifted=True), _learned(shifted=False)
    rows = [["token t + 1 (shifted)", *right], ["token t (not shifted)", *wrong]]
    return [
        table(
            ["target of position t", "last training loss", "next token right"],
            rows,
            "Sequences that count up by one or two:",
        ),
        Check(
            "unshifted targets give a lower loss and a useless model",
            wrong[0] < right[0] + 0.05 and wrong[1] < 0.2 < right[1],
            f"loss {wrong[0]:.3f}, but the next token is right in {wrong[1]:.1%} of cases; shifted: "
            f"{right[1]:.1%}",
        ),
    ]


def padding() -> list[Table | Check | Prose | Picture]:
    """The same logits, with padding counted and not counted."""
    lengths = [10, 4, 3, 2]
    ids = torch.full((4, 10), 1)
    mask = torch.zeros(4, 10, dtype=torch.long)
    generator = torch.Generator().manual_seed(0)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(3, VOCAB, (length,), generator=generator)
        mask[row, :length] = 1
    logits = torch.zeros(4, 10, VOCAB)
    logits[..., 1] = 4.0  # a model that has learned to say <PAD>, and nothing else
    honest = DialogueLoss()(logits, ids, mask).item()
    counted = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).item()
    share = 1 - mask[:, 1:].float().mean().item()
    other = ids.clone()
    other[mask == 0] = 2
    same = DialogueLoss()(logits, other, mask).item()
    return [
        table(
            ["loss of a model that says <PAD> everywhere", "value"],
            [["padding counted", counted], ["padding left out", honest]],
            f"Four lines of {', '.join(map(str, lengths))} tokens; {share:.0%} of the targets are padding:",
        ),
        Check(
            "counting padding flatters a model that has learned nothing",
            counted < honest / 2,
            f"{counted:.2f} instead of {honest:.2f}",
        ),
        Check(
            "left out, padding cannot matter", honest == same, "another id in the padding gives the same loss"
        ),
        Picture(
            "padding",
            lambda: bars(
                {"padding counted": counted, "padding left out": honest},
                x="loss",
                title="A model that says <PAD> everywhere",
            ),
            "Two bars: the loss with padding counted is less than half of the loss without it",
        ),
    ]


def epochs() -> Table:
    """What the course's model wrote while it was trained on Tiny Shakespeare."""
    return table(
        ["epoch", "perplexity", "after “First Citizen :”"],
        [[epoch, perplexity, f"{said} …"] for epoch, (perplexity, said) in SAMPLES.items()],
        "`regard train dialogue-course` on one H200, 34 seconds; always the likeliest token is written:",
    )


LESSON = Lesson(
    name="masks-and-losses",
    title="Masks and losses",
    question=(
        "Why does the causal mask go before the softmax and not after it? Why are the targets of a language "
        "model its inputs shifted by one, and why must padding be left out of the loss? Show what fails "
        "otherwise."
    ),
    steps=(
        "**The mask.** A weight of zero after the softmax is too late: the forbidden score has already been "
        "part of the denominator. Putting −∞ in its place *before* the softmax makes e^(−∞) = 0 a summand "
        "that was never there.",
        two_masks,
        leak,
        "**The shift.** Position t has seen tokens up to t and shall say token t + 1. If its target is token "
        "t, the answer is in its own input; the model learns to copy, the loss falls towards zero, and "
        "nothing about the next token has been learned.",
        targets,
        shift,
        "**Padding.** Lines of unequal length are filled up so that a batch is a rectangle. The filling is "
        "easy to predict and says nothing. Counted in the loss it pulls the mean down, rewards a model for "
        "predicting it, and makes the loss depend on how batches were filled. The mean is taken over real "
        "targets only.",
        padding,
        "**How samples change over the epochs.** The same loss, on the dialogues of Tiny Shakespeare. After "
        "one epoch the model knows which tokens are frequent and nothing else. Then come pairs that often "
        "stand together, then short phrases that a person could begin with. Perplexity halves on the way, "
        "but the text still ends in a loop: writing always the likeliest token leads back to where it was, "
        "and from the same words the same words follow. Drawing from the probabilities, as `regard generate` "
        "does, leaves the loop; a lower loss alone does not.",
        epochs,
    ),
    exercises=EXERCISES,
)
