"""What the loop asks of a task, where a task is set up, and what most tasks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.attention.linear.reference import widest
from regard.data import Images, Reviews, Tokenizer
from regard.data.kinds import first_of, held_out
from regard.parallel import Shard
from regard.train.beginning import Begin
from regard.train.distributed import ALONE, Team
from regard.train.order import Examples, Stream
from regard.train.sequences import Sequences
from regard.values import Json

Batch = tuple[Tensor, ...]
Losses = tuple[Tensor, Tensor]  # their sum, and how many they are
Given = TypeVar("Given")
OWN_MODEL = ", or a function or class outside of regard that makes a model of one's own"
OWN_TASK = "; for a model of one's own, write a task: docs/tutorials/own-task.md"


@dataclass(frozen=True)
class TaskSetting:
    """Where and with what a task builds itself; `overfit` asks for that many examples alone.

    `begin` is the model to begin with, whose tokenizer is then the task's.
    """

    device: torch.device
    seed: int
    data_dir: Path | None = None
    overfit: int | None = None
    begin: Begin | None = None

    def tokenizer(self, learned: Callable[[], Tokenizer]) -> Tokenizer:
        """The tokenizer of what the run begins with, or else the one that is learned."""
        given = None if self.begin is None else self.begin.tokenizer
        return learned() if given is None else given


def parted(
    found: Images | Reviews, validation: float, overfit: int | None
) -> tuple[Tensor | slice, Tensor | slice]:
    """Which training examples train and which validate; with `overfit`, so many do both.

    The cut is the data's own and the same for every seed, so that scores can be compared.
    """
    learn, held = held_out(found, validation)
    if overfit is None:
        return learn, held
    few = first_of(learn, overfit)
    return few, few


class Task(Protocol):
    """Data and loss of one kind of training; built from the frozen value in a recipe by `build(setting)`.

    A batch is a pure function of the step; `prepare` and `loss` draw from one generator and wait for nothing,
    so that a CUDA graph can hold them. `prepare` sees the whole batch of all processes; the rows that it
    gives are then shared out, so `loss` sees some of them. It gives the sum over targets and their number,
    since a mean over parts of a batch is no mean over the batch.
    """

    better: str  # "max" or "min": which validation score is the better one
    unit: str  # what is counted per second: images, tokens or texts
    per_example: int  # units in one example
    examples: int  # how many training examples there are
    has_test: bool  # whether there is a part that neither training nor any choice has seen
    fingerprint: str  # of the data as this task sees them
    tokenizer: Tokenizer | None = None

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new model, on the CPU."""

    def batch(self, step: int, size: int) -> Batch:
        """What identifies the examples of a step: small tensors on the device."""

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """The examples themselves, gathered on the device, and their chance: a row for each in every tensor.

        Where the loss of a row needs rows ahead of it, as many stand before the first as it needs, and
        `loss` leaves them out.
        """

    def cut(self, inputs: Batch, sequences: Sequences) -> tuple[Batch, Shard]:
        """This process's part of the sequences of a batch, where several processes share each."""
        raise ValueError(f"parallel.context shares sequences, which {type(self).__name__} does not cut")

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of the losses and how many there are."""

    def validate(self, model: nn.Module, team: Team = ALONE) -> dict[str, float]:
        """Scores on the validation part, which the processes of a team share out; the first one counts."""

    def test(self, model: nn.Module) -> dict[str, float]:
        """Scores on the test part, for the final figure alone; a ValueError where there is none."""

    def show(self, model: nn.Module) -> str:
        """Samples or example predictions, for people."""

    def memorised(self, scores: dict[str, float]) -> bool:
        """Whether a run on a few examples knows them by heart."""

    def export(self, model: nn.Module) -> nn.Module:
        """The model that is saved for use: one that `regard.models.save` knows."""
        return model

    def describe(self) -> Json:
        """What using the model later takes besides its weights, as JSON."""

    def trial(self) -> tuple[str, ...]:
        """The verb that shows what the model does, and what follows its run's folder; empty without one."""
        return ()

    def save(self, folder: Path) -> None:
        """Write what JSON cannot hold: the tokenizer."""
        if self.tokenizer is not None:
            self.tokenizer.save(folder)


class BaseTask(Task):
    """What most tasks share: an order of their examples, and scores added up over a team."""

    per_example, has_test = 1, True
    certain = 0.1  # the loss, in nats a target, below which all targets are known by heart
    device: torch.device
    order: Examples | Stream

    @property
    def fixed(self) -> bool:
        """Whether batches have one shape: CUDA graphs need that, CPUs gain from short ones."""
        return self.device.type != "cpu"

    def batch(self, step: int, size: int) -> Batch:
        """The numbers of the examples of a step."""
        return (self.order.batch(step, size),)

    def memorised(self, scores: dict[str, float]) -> bool:
        """Whether all answers are right or, where the loss decides, all but certain."""
        return scores["accuracy"] == 1.0 if self.better == "max" else scores["loss"] < self.certain

    @torch.no_grad()
    def sums(
        self, team: Team, count: int, batches: Iterable[Given], score: Callable[[Given], Sequence[Tensor]]
    ) -> list[float]:
        """The `count` numbers that `score` gives for each batch, added up over batches and processes."""
        totals = torch.zeros(count, dtype=widest(self.device), device=self.device)
        for counts, batch in team.share(batches):
            totals += counts * torch.stack([one.to(totals.dtype) for one in score(batch)])
        team.sum(totals)
        return totals.tolist()

    def accuracy(
        self,
        team: Team,
        count: int,
        batches: Iterable[Given],
        answer: Callable[[Given], tuple[Tensor, Tensor]],
    ) -> dict[str, float]:
        """Accuracy and loss over `count` examples, of which `answer` gives a batch's logits and labels."""

        def score(batch: Given) -> Sequence[Tensor]:
            logits, labels = answer(batch)
            logits = logits.float()
            return (logits.argmax(1) == labels).sum(), cross_entropy(logits, labels, reduction="sum")

        right, loss = self.sums(team, 2, batches, score)
        return {"accuracy": right / max(1, count), "loss": loss / max(1, count)}
