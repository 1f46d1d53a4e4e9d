"""How a classifier fared on labelled examples: accuracy, confusions, calibration, and its worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor
from torch.nn.functional import nll_loss

from regard.data.embedded.pairs import PairScore
from regard.errors import check_int

BINS = 5
WORST = 20


@dataclass(frozen=True)
class Bin:
    """The examples answered with a probability from `low` to `high`: how many, how sure, how often right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class WrongAnswer:
    """One wrong answer: the example's number, what it shows, its label, the answer and its probability."""

    index: int
    shown: str
    label: str
    answer: str
    probability: float


@dataclass(frozen=True)
class EvaluationReport:
    """What `judge` found; `confusion` counts labels (rows) by answers (columns).

    `calibration_error` is the mean gap between probability and accuracy over `bins`, weighted by their
    counts. `pairs` are the scores on the negation and contrast pairs, by kind, of a model of sentiment.
    `pictures` are those of the mistakes, uint8 (count,channels,rows,cols), where they are pictures.
    """

    classes: tuple[str, ...]
    count: int
    accuracy: float
    loss: float
    confusion: tuple[tuple[int, ...], ...]
    bins: tuple[Bin, ...]
    calibration_error: float
    mistakes: tuple[WrongAnswer, ...]
    name: str = "model"
    data: str = "examples"
    part: str = "test"
    pairs: dict[str, PairScore] | None = None
    pictures: Tensor | None = None

    @property
    def scores(self) -> dict[str, float]:
        """The figures that training records, by name."""
        return {"accuracy": self.accuracy, "loss": self.loss}

    def as_dict(self) -> dict[str, object]:
        """All figures and mistakes as plain values, but no pictures."""
        return {
            "name": self.name,
            "data": self.data,
            "part": self.part,
            "classes": list(self.classes),
            "count": self.count,
            **self.scores,
            "confusion": [list(row) for row in self.confusion],
            "bins": [asdict(one) for one in self.bins],
            "calibration_error": self.calibration_error,
            "mistakes": [asdict(one) for one in self.mistakes],
            "pairs": None if self.pairs is None else {k: one.as_dict() for k, one in self.pairs.items()},
        }


def judge(
    logits: Tensor, labels: Tensor, classes: Sequence[str], *, shown: Sequence[str], worst: int = WORST
) -> EvaluationReport:
    """Report on logits (N,classes) against labels (N,); `shown` are the examples as people see them.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 1.0]])
    >>> found = judge(logits, torch.tensor([0, 0, 1]), ["bad", "good"], shown=["a", "b", "c"])
    >>> found.confusion, found.mistakes[0].shown, found.mistakes[0].answer
    (((1, 1), (0, 1)), 'b', 'good')
    """
    check_int("worst", worst, 0)
    N = len(labels)
    if logits.shape != (N, len(classes)) or len(shown) != N or not N:
        raise ValueError(
            f"logits must be ({N}, {len(classes)}) and shown {N} for {N} labels, at least one, "
            f"got {tuple(logits.shape)} and {len(shown)}"
        )
    logits, labels = logits.float().cpu(), labels.cpu()
    chances = logits.softmax(1)
    sure, answers = chances.max(1)
    right = answers == labels
    cells = torch.zeros(len(classes) ** 2).index_add_(0, labels * len(classes) + answers, torch.ones(N))
    bins = calibration(sure, right, least=1 / len(classes))
    wrong = (~right).nonzero().flatten()
    wrong = wrong[sure[wrong].argsort(descending=True, stable=True)][:worst]
    mistakes = [
        WrongAnswer(i, shown[i], str(classes[int(labels[i])]), str(classes[int(answers[i])]), float(sure[i]))
        for i in wrong.tolist()
    ]
    return EvaluationReport(
        tuple(map(str, classes)),
        N,
        float(right.double().mean()),
        float(nll_loss(logits.log_softmax(1), labels)),
        tuple(tuple(row) for row in cells.long().view(len(classes), -1).tolist()),
        bins,
        sum(one.count * abs(one.confidence - one.accuracy) for one in bins) / N,
        tuple(mistakes),
    )


def calibration(sure: Tensor, right: Tensor, *, least: float, bins: int = BINS) -> tuple[Bin, ...]:
    """Examples by how sure the answer was, in `bins` equal steps from `least` to 1; empty ones are left out.

    >>> calibration(torch.tensor([0.6, 0.95, 1.0]), torch.tensor([False, True, True]), least=0.5, bins=2)[0]
    Bin(low=0.5, high=0.75, count=1, confidence=0.6000000238418579, accuracy=0.0)
    """
    width = (1 - least) / bins
    place = ((sure - least) / width).long().clamp(0, bins - 1)
    out = []
    for k in range(bins):
        here = place == k
        if here.any():
            low, high = least + k * width, least + (k + 1) * width
            here_sure, here_right = float(sure[here].mean()), float(right[here].float().mean())
            out.append(Bin(low, high, int(here.sum()), here_sure, here_right))
    return tuple(out)
