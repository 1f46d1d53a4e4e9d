"""The tour trains an encoder on the embedded verdicts, beside a bag of words that cannot judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.cost import price
from regard.data import Reviews, Texts, load
from regard.errors import need
from regard.paper.pages import table
from regard.paper.quantities import percent
from regard.paper.tables import described, listed
from regard.probe import text_html
from regard.tour.curves import curves_html
from regard.tour.runs import TourRuns
from regard.tour.stop import Bill, Stop
from regard.train import Run
from regard.train.runs.texts import TextRun
from regard.train.tasks.rows import rows_of

RECIPE = "verdicts-encoder"
GOAL, MOST = 0.97, 0.75
EXAMPLES = 6


@dataclass(frozen=True)
class Judged:
    """The answers of one judge to the test verdicts, (N,), and how many of them are right."""

    name: str
    answers: Tensor
    accuracy: float


def verdicts(runs: TourRuns) -> Stop:
    """Good or bad, where no single word tells."""
    trained = runs.train(RECIPE)
    data = load("verdicts")
    assert isinstance(data, Reviews)
    test = data.test
    answers, length = read(trained.run, test)
    judges = [
        _judged("bag of words", bag(data, 1), test),
        _judged("bag of words and pairs of words", bag(data, 2), test),
        _judged(f"encoder, {trained.result.parameters:,} parameters", answers, test),
    ]
    recipe, model = trained.recipe, trained.run.model
    cost = price(model.config, tokens=length, batch=recipe.batch, training=True)
    bill = Bill.of(trained, cost, f"{recipe.batch} texts of the mean length, {length} tokens")
    kept = round(len(data.train) * recipe.task.validation)
    intro = (
        "“Verdicts” is a language of film reviews, made for this project, in which negation, contrast and "
        "scope decide: “not one dull minute” is praise, “far from good” is not. Someone who counts words "
        f"is helpless. The judges learnt from {len(data.train):,} verdicts, of which the encoder kept "
        f"{kept:,} aside to be checked on, and are asked about {len(test):,} others."
    )
    head = ["judge", "right on new verdicts"]
    rows = [(judge.name, percent(judge.accuracy)) for judge in judges]
    examples = misread(test, judges[0].answers, answers, data.classes)
    shown = ["where the bag of words fails", "truth", "bag of words", "encoder"]
    kinds = {truth: text for text, truth, *_ in reversed(examples)}  # the first of each class
    texts = trained.run.look(list(kinds.values())).texts
    cards = "\n".join(f'<div class="read">{text_html(found)}</div>' for found in texts)
    lines = {"goal": GOAL, "bag of words": judges[0].accuracy, "with pairs": judges[1].accuracy}
    use = f'regard look {trained.run.folder} "Not one dull minute in the whole plot."'
    html = (
        f"<p>{intro}</p>\n{table(head, rows, kind='words-first')}\n"
        f"{table(shown, examples, kind='words-first')}\n"
        f"{curves_html(trained.rows, 'accuracy', 'accuracy, held out, %', lines, 100)}\n"
        f"<h3>What it read</h3>\n{cards}\n{bill.html(use)}"
    )
    right = {"accuracy": judges[2].accuracy, "bag": judges[0].accuracy, "pairs": judges[1].accuracy}
    score, bagged = percent(judges[2].accuracy), percent(judges[0].accuracy)
    return Stop(
        html,
        [intro, listed(head, rows), listed(shown, examples, wrap=True), described(bill.rows())],
        {**right, "examples": [text for text, *_ in examples], **bill.as_dict()},
        bill,
        score,
        (score, f"of new verdicts are understood by an encoder, by a bag of words {bagged}"),
    )


def read(run: Run, part: Texts) -> tuple[Tensor, int]:
    """The encoder's answers (N,), and the mean length of the texts in tokens."""
    assert isinstance(run, TextRun)
    rows = rows_of(run.reader, part.texts, run.description["context"], run.description["keep"])
    return run.logits(part.texts).argmax(1), round(sum(map(len, rows)) / len(rows))


def bag(data: Reviews, longest: int) -> Tensor:
    """What logistic regression over counts of words, or of up to `longest` words in a row, answers."""
    text = need("sklearn.feature_extraction.text", "data")
    counts = text.CountVectorizer(ngram_range=(1, longest), token_pattern=r"\w+")
    judge = need("sklearn.linear_model", "data").LogisticRegression(max_iter=1000)
    judge.fit(counts.fit_transform(data.train.texts), data.train.labels.numpy())
    return torch.from_numpy(judge.predict(counts.transform(data.test.texts)))


def misread(
    test: Texts, words: Tensor, answers: Tensor, classes: Sequence[str]
) -> list[tuple[str, str, str, str]]:
    """Short verdicts that the bag of words gets wrong and the encoder right: text, truth, both answers."""
    at = ((words != test.labels) & (answers == test.labels)).nonzero().flatten().tolist()
    if not at:  # an encoder that has hardly learnt: show what there is
        at = (words != test.labels).nonzero().flatten().tolist()
    best: list[int] = []
    for i in sorted(at, key=lambda i: (len(test.texts[i]), i)):
        # Of each kind of sentence one: those that begin alike are mostly built alike.
        if len(best) < EXAMPLES and test.texts[i].split()[0] not in {test.texts[j].split()[0] for j in best}:
            best.append(i)
    rows = []
    for i in best:
        truth, bagged, found = (classes[int(value[i])] for value in (test.labels, words, answers))
        rows.append((test.texts[i], truth, bagged, found))
    return rows


def _judged(name: str, answers: Tensor, test: Texts) -> Judged:
    return Judged(name, answers, float((answers == test.labels).float().mean()))
