"""DialogueLoss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from regard.grade.functions import Functions, function_task
from regard.grade.modules import tried_case
from regard.grade.student import Student
from regard.grade.task import Case, Mistake, Tried, Views
from regard.grade.wire import Foreign

TEXT = '''"""The loss of a dialogue model: every real token is predicted by the logits one position before it."""

import torch
from torch import nn


class DialogueLoss(nn.Module):
    def forward(self, logits, input_ids, inp_mask):
        """The loss, a number: the mean cross-entropy over all real targets of the batch.

        logits (B, T, V): those at position i predict token i + 1. input_ids (B, T): token 0 is predicted by
        nothing. inp_mask (B, T): 1 for real tokens, 0 for padding, which does not count as a target.
        """
        raise NotImplementedError
'''
STOPPED = Mistake("gradient-stopped", "the right number, but no gradient reaches the logits")
KIT = """
import torch
def slope(loss, logits, ids, mask):
    with torch.enable_grad():
        logits = logits.clone().requires_grad_()
        value = loss(logits, ids, mask)
        value = value if isinstance(value, torch.Tensor) else torch.tensor(0.0)
        if not value.requires_grad:
            return 0.0
        found = torch.autograd.grad(value.sum(), logits, allow_unused=True)[0]
        return 0.0 if found is None else float(found.abs().sum())
"""


def dialogue_loss(logits: Tensor, input_ids: Tensor, inp_mask: Tensor, *, shift: str = "by one", mask: str = "targets",
                  mean: str = "all", probability: str = "softmax", over: str = "vocabulary", what: str = "−log p",
                  mixed: bool = False) -> Tensor:  # fmt: skip
    """The mean of what each target costs, with its choices."""
    T = logits.shape[1]
    logits = logits.double()
    if mask == "logits":
        logits = logits * inp_mask[..., None]
    a, b = {
        "by one": (slice(None, -1), slice(1, None)), "none": (slice(None), slice(None)),
        "backwards": (slice(1, None), slice(None, -1)), "by two": (slice(None, -2), slice(2, None)),
        "second on": (slice(1, -1), slice(2, None)), "wraps": (slice(None), slice(None)),
        "start left out": (slice(1, None), slice(1, None)), "last left out": (slice(None, -2), slice(1, -1)),
        "last": (slice(-2, -1), slice(-1, None)), "first": (slice(None, 1), slice(1, 2)),
    }[shift]  # fmt: skip
    guesses, targets, real = logits[:, a], input_ids[:, b], inp_mask[:, b].double()
    if shift == "wraps":
        targets = input_ids.roll(-1, 1)
        real = inp_mask.roll(-1, 1).double() if mask == "wraps" else inp_mask.double()
    elif mask == "guesses":
        real = inp_mask[:, a].double() if shift == "by one" else real
    elif mask == "both":
        real = real * inp_mask[:, a]
    if mask == "zeroed":
        targets, real = targets * real.long(), torch.ones_like(real)
    if mixed:  # (B, T, V) seen as (B, V, T)
        guesses = guesses.reshape(len(guesses), guesses.shape[2], -1).transpose(1, 2)
    if over == "positions":
        logs = guesses.log_softmax(1)
    elif over == "batch":
        logs = guesses.log_softmax(0)
    else:
        given = {"softmax": guesses, "twice": guesses.softmax(-1), "log twice": guesses.log_softmax(-1),
                 "sigmoid": guesses.sigmoid()}.get(probability, guesses)  # fmt: skip
        if probability == "each its own":
            logs = guesses.sigmoid().log()
        else:
            logs = given if probability == "raw" else given.log_softmax(-1)
    chosen = logs.gather(-1, targets[..., None])[..., 0]
    cost = {"−log p": -chosen, "log p": chosen, "−p": -chosen.exp(), "1−p": 1 - chosen.exp(), "bits": -chosen / math.log(2),
            "smoothed": -0.9 * chosen - 0.1 * logs.mean(-1), "perplexity": -chosen,
            "accuracy": (logs.argmax(-1) == targets).double(),
            "brier": cross_entropy_of_squares(logs, targets)}[what]  # fmt: skip
    real = {"none": torch.ones_like(real), "logits": torch.ones_like(real), "inverted": 1 - real}.get(
        mask, real
    )
    kept = cost * real
    means: dict[str, Callable[[], Tensor]] = {
        "all": lambda: kept.sum() / real.sum(), "sum": kept.sum, "positions": kept.mean, "kept": lambda: kept,
        "of means": (kept.sum(1) / real.sum(1)).mean, "batch": lambda: kept.sum() / len(kept),
        "of means over time": (kept.sum(0) / real.sum(0).clamp(min=1)).mean,
        "first": lambda: kept[0].sum() / real[0].sum(), "vocabulary": lambda: kept.sum() / real.sum() / logits.shape[-1],
        "of sums by T": lambda: kept.sum() / (len(kept) * T), "all tokens": lambda: kept.sum() / inp_mask.sum(),
        "flat": lambda: cost[real == 1], "by example": lambda: kept.sum(1) / real.sum(1),
    }  # fmt: skip
    total = means[mean]()
    return total.exp() if what == "perplexity" else total


def cross_entropy_of_squares(logs: Tensor, targets: Tensor) -> Tensor:
    """The squared distance of the probabilities from the target, a loss of another kind."""
    wanted = torch.nn.functional.one_hot(targets, logs.shape[-1])
    return (logs.exp() - wanted).square().mean(-1)


def _cases(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    logits = torch.tensor([[[0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]]])
    yield "without padding", "DialogueLoss", (logits, torch.tensor([[0, 3]]), torch.ones(1, 2).long())
    ids = torch.randint(2, 6, (2, 4), generator=generator)
    ids[:, 0] = 0
    yield "without padding", "DialogueLoss", (_logits(generator, 2, 4, 6), ids, torch.ones(2, 4).long())
    logits = torch.tensor([[[0.0, 0.0, 0.0, 2.0], [0.0, 3.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]])
    yield "with padding", "DialogueLoss", (logits, torch.tensor([[0, 3, 1]]), torch.tensor([[1, 1, 0]]))
    lengths = torch.tensor([6, 3, 2])
    real = (torch.arange(6) < lengths[:, None]).long()
    ids = torch.randint(2, 7, (3, 6), generator=generator)
    ids[:, 0] = 0
    yield (
        "with padding",
        "DialogueLoss",
        (_logits(generator, 3, 6, 7), ids.where(real == 1, torch.tensor(1)), real),
    )


def _logits(generator: torch.Generator, *shape: int) -> Tensor:
    return 2 * torch.randn(shape, generator=generator)


def _gradient(student: Student, name_of: Callable[[str], str]) -> Iterator[Tried]:
    generator = student.generator(5)

    def act() -> Views:
        student.give(KIT)
        ids, real = torch.tensor([[0, 3, 2]]), torch.ones(1, 3).long()
        loss = student.make(name_of("DialogueLoss"))
        found = student.call(Foreign("slope"), loss, _logits(generator, 1, 3, 5), ids, real)
        return {"holds": isinstance(found, float) and not found <= 1e-6}

    yield tried_case(student, Case("gradient", "the gradient of the logits", (), STOPPED), act)


LOSS_TASK = function_task(
    name="dialogue-loss", title="DialogueLoss", skeleton=TEXT, lesson="masks-and-losses",
    parts={"without padding": 2, "with padding": 2, "gradient": 1},
    functions=Functions(
        definitions={"DialogueLoss": dialogue_loss}, cases=_cases, checks=_gradient, spellings={},
    ),
    mistakes=(
        Mistake("targets-not-shifted", "a loss whose targets are not shifted: logits i are held against token i, which they have seen", {"shift": "none"}),
        Mistake("shift-backwards", "a loss that is shifted the wrong way: logits i are held against token i − 1", {"shift": "backwards"}),
        Mistake("shift-by-two", "a loss in which logits i are held against token i + 2", {"shift": "by two"}),
        Mistake("shift-wraps", "targets that are rolled: the last logits are held against <START>", {"shift": "wraps"}),
        Mistake("shift-wraps-with-mask", "targets and mask that are rolled: the last logits are held against <START>", {"shift": "wraps", "mask": "wraps"}),
        Mistake("first-real-token-skipped", "a loss that begins with the second target", {"shift": "second on"}),
        Mistake("start-ignored", "logits i held against token i, with <START> left out", {"shift": "start left out"}),
        Mistake("last-target-missing", "a loss that leaves out the last target", {"shift": "last left out"}),
        Mistake("last-target-only", "the loss of the last position alone", {"shift": "last"}),
        Mistake("first-target-only", "the loss of the first target alone", {"shift": "first"}),
        Mistake("targets-zeroed", "a mean over all targets in which padding became token 0, <START>", {"mask": "zeroed"}),
        Mistake("padding-counted", "a mean over all targets, padding too", {"mask": "none"}),
        Mistake("mask-inverted", "a mean over the padding alone", {"mask": "inverted"}),
        Mistake("mask-not-shifted", "a mask that is not shifted with the targets: it says whether the token before is real", {"mask": "guesses"}),
        Mistake("logits-masked", "logits that are set to zero at padding, and a mean over all targets", {"mask": "logits"}),
        Mistake("mean-of-means", "the mean of each example's mean: short examples count as much as long ones", {"mean": "of means"}),
        Mistake("mean-over-time", "the mean of each position's mean", {"mean": "of means over time"}),
        Mistake("divided-by-all", "a sum over real targets divided by all targets, padding too", {"mean": "positions"}),
        Mistake("divided-by-length", "a sum over real targets divided by B·T", {"mean": "of sums by T"}),
        Mistake("divided-by-tokens", "a sum over real targets divided by all real tokens, <START> too", {"mean": "all tokens"}),
        Mistake("first-example-only", "the loss of the first example alone", {"mean": "first"}),
        Mistake("mean-over-vocabulary", "a mean over the vocabulary as well: V times too small", {"mean": "vocabulary"}),
        Mistake("divided-by-batch", "a sum over real targets divided by the number of examples", {"mean": "batch"}),
        Mistake("sum-not-mean", "the sum over real targets, not their mean", {"mean": "sum"}),
        Mistake("no-mean", "a loss for every target, with zeros for padding, not one number", {"mean": "kept"}),
        Mistake("no-mean-flat", "a loss for every real target, not one number", {"mean": "flat"}),
        Mistake("no-mean-by-example", "a loss for every example, not one number", {"mean": "by example"}),
        Mistake("softmax-before-cross-entropy", "a softmax before the cross-entropy, which has one of its own", {"probability": "twice"}),
        Mistake("softmax-missing", "minus the logit of each target, without a softmax", {"probability": "raw"}),
        Mistake("sigmoid-before-cross-entropy", "a sigmoid before the cross-entropy", {"probability": "sigmoid"}),
        Mistake("binary", "a sigmoid of each logit in place of the softmax", {"probability": "each its own"}),
        Mistake("softmax-over-positions", "a softmax over positions in place of the vocabulary", {"over": "positions"}),
        Mistake("softmax-over-batch", "a softmax over the batch in place of the vocabulary", {"over": "batch"}),
        Mistake("sign-forgotten", "the mean of log p, without the minus", {"what": "log p"}),
        Mistake("log-missing", "minus the mean probability of the targets, without the logarithm", {"what": "−p"}),
        Mistake("one-minus-probability", "one minus the mean probability of the targets", {"what": "1−p"}),
        Mistake("log-base-two", "logarithms of base 2: bits", {"what": "bits"}),
        Mistake("label-smoothing", "a loss with label smoothing of 0.1, which nobody asked for", {"what": "smoothed"}),
        Mistake("perplexity", "the exponential of the loss", {"what": "perplexity"}),
        Mistake("accuracy", "the share of right guesses, which has no gradient", {"what": "accuracy"}),
        Mistake("squares", "squared errors of the probabilities", {"what": "brier"}),
        Mistake("axes-mixed", "logits whose axes are mixed by a reshape to (B, V, T); exchange them", {"mixed": True}),
    ),
)  # fmt: skip
