"""`regard bench sentiment`: what counting words reaches on IMDb, by scikit-learn, beside our trained recipes.

The reading of a text (its HTML, what a token is) and each method's settings are chosen on the validation
part that `ClassifyTexts` holds out; then each method is tested once, and once more after training on all
labelled texts, as published figures are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from regard.bench.report import BenchReport, BenchRow
from regard.bench.timing import clocked
from regard.data import Reviews, Texts, load, split
from regard.data.cleaning import without_markup
from regard.errors import need

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # one row per text, one column per feature
    from sklearn.feature_extraction.text import CountVectorizer

SEED = 0
TOKENS = {
    "two letters and more": r"\w\w+",  # scikit-learn's default: "don't" is "don"
    "words": r"\w+",  # "don't" is "don", "t"
    "words and marks": r"\w+|[^\w\s]",
    "words with apostrophes, and marks": r"\w+(?:'\w+)*|[^\w\s]",
}
RULE = (
    "k features are present in a held-out review on average; a feature's value times its weight is one "
    "multiply, summing k products k − 1 adds, a bias one add, a count times its inverse document frequency "
    "one multiply; cutting a text into tokens, logarithms, norms and activations are not flops"
)
FIRST = {"C": 0.03, "beta": 0.5}  # the setting of NB-SVM that judges readings
QUICK = 2000, 500  # texts to learn from, and to test on
Labels = np.ndarray  # 0 or 1 per text


class Counted(NamedTuple):
    """One part of the texts as counts, and the seconds that counting took."""

    counts: csr_matrix
    labels: Labels
    seconds: float


class Fitted(NamedTuple):
    """A trained method: what it answers, how many numbers it learnt, and its flops at k present features."""

    predict: Callable[[csr_matrix], Labels]
    parameters: int
    flops: Callable[[int], int]


@dataclass(frozen=True)
class NGramFeatures:
    """How texts become counts; `least` is in how many texts a feature must be."""

    tokens: str
    cleaned: bool
    longest: int = 2  # pairs of neighbours are features too
    least: int = 2

    def counter(self) -> CountVectorizer:
        """Scikit-learn's counter of features."""
        return need("sklearn.feature_extraction.text", "data").CountVectorizer(
            preprocessor=_cleaned if self.cleaned else str.lower,
            token_pattern=TOKENS[self.tokens],
            ngram_range=(1, self.longest),
            min_df=self.least,
            dtype=np.float32,
        )

    def __str__(self) -> str:
        return f"{self.tokens}, HTML {'cleaned' if self.cleaned else 'kept'}"


@dataclass(frozen=True)
class Method:
    """How to train on counts and labels, and the settings to choose from."""

    name: str
    fit: Callable[..., Fitted]
    settings: tuple[dict[str, float], ...]
    longest: int = 2
    least: int = 2


@dataclass(frozen=True)
class Scored(BenchRow):
    """One method with its chosen setting."""

    columns = (
        ("method", "<28"), ("parameters", ">10"), ("features", ">8"), ("flops", ">8"), ("train s", ">8"),
        ("text ms", ">8"), ("validation", ">10"), ("test", ">7"), ("on all", ">7"), ("  setting", ""),
    )  # fmt: skip

    method: str
    setting: str
    parameters: int
    features: int  # present in a held-out review, on average
    flops: int  # for such a review
    training_seconds: float  # from texts
    text_ms: float  # for one text, from its characters to its class
    validation: float
    test: float
    test_all: float  # after training on all labelled texts, the held-out part among them

    def cells(self) -> list[str]:
        """The cells as texts, accuracies in percent."""
        counts = [f"{count:,}" for count in (self.parameters, self.features, self.flops)]
        scores = [f"{100 * score:.2f}" for score in (self.validation, self.test, self.test_all)]
        times = [f"{self.training_seconds:.1f}", f"{self.text_ms:.3f}"]
        return [self.method, *counts, *times, *scores, f"  {self.setting}"]


ROW = Scored


def run(device: str, quick: bool, data_dir: Path | None = None) -> BenchReport:
    """Choose, then train and test each method; on the embedded verdicts if quick or without IMDb."""
    found = _reviews(quick, data_dir)
    learn, held = split(len(found.train), 0.1, seed=0)  # as ClassifyTexts cuts it
    parts = found.train.take(learn), found.train.take(held)
    versions = {name: need(name, "data").__version__ for name in ("sklearn", "scipy", "numpy")}
    report = BenchReport(
        "sentiment",
        {"device": "cpu", "quick": quick, "data": found.name, "seed": SEED}
        | {"training texts": len(learn), "held out": len(held), "tested": len(found.test)}
        | {"versions": versions, "note": RULE},
    )
    start = time.perf_counter()
    tried: dict[NGramFeatures, float] = {}
    for tokens in TOKENS:
        for cleaned in (False, True):
            reading = NGramFeatures(tokens, cleaned)
            tried[reading] = _try_reading(parts, reading)
            print(f"{'NB-SVM, validation':<28} {100 * tried[reading]:>6.2f} %   {reading}", flush=True)
    best = max(tried, key=lambda reading: tried[reading])
    report.settings["readings"] = {str(reading): score for reading, score in tried.items()}
    chosen: dict[str, dict[str, float]] = {}
    report.settings |= {"reading": str(best), "choices": chosen}
    counted: dict[NGramFeatures, tuple[list[Counted], list[Counted]]] = {}
    for method in METHODS:
        reading = replace(best, longest=method.longest, least=method.least)
        if reading not in counted:
            counted[reading] = _count(reading, *parts, found.test), _count(reading, found.train, found.test)
        cut, whole = counted[reading]
        choices = _choose(method, *cut[:2])
        chosen[method.name] = choices
        report.record(_score(method, cut, whole, max(choices, key=lambda text: choices[text])))
    report.settings["seconds of all"] = round(time.perf_counter() - start, 1)
    return report


def logistic(counts: csr_matrix, labels: Labels, C: float) -> Fitted:
    """Logistic regression on TF-IDF, logarithmic counts and rows of length one."""
    weigh = need("sklearn.feature_extraction.text", "data").TfidfTransformer(sublinear_tf=True)
    model = need("sklearn.linear_model", "data").LogisticRegression(
        C=C, solver="liblinear", dual=True, max_iter=1000, random_state=SEED
    )
    model.fit(weigh.fit_transform(counts), labels)
    return Fitted(lambda x: model.predict(weigh.transform(x)), 2 * counts.shape[1] + 1, lambda k: 3 * k)


def nb_svm(counts: csr_matrix, labels: Labels, C: float, beta: float) -> Fitted:
    """A linear SVM on log-count ratios of present features (Wang and Manning 2012).

    Its weights are drawn towards their mean size: (1 − β)·w̄ + β·w.
    """
    present = _present(counts)
    ratio = log_count_ratio(present, labels)
    model = need("sklearn.svm", "data").LinearSVC(C=C, random_state=SEED)
    model.fit(present.multiply(ratio).tocsr(), labels)
    weights = model.coef_.ravel()
    weights = ratio * ((1 - beta) * np.abs(weights).mean() + beta * weights)
    bias = float(model.intercept_[0])
    return Fitted(
        lambda x: (_present(x) @ weights + bias > 0).astype(np.int64), len(weights) + 1, lambda k: 2 * k
    )


def log_count_ratio(present: csr_matrix, labels: Labels, smooth: float = 1.0) -> np.ndarray:
    """How much likelier each feature is in positive texts, as a logarithm: log((p/‖p‖₁)/(q/‖q‖₁)).

    >>> x = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> log_count_ratio(x, np.array([1, 1, 0])).round(3).tolist()  # p = 3, 2 and q = 1, 2
    [0.588, -0.511]
    """
    p, q = (np.asarray(present[labels == label].sum(0)).ravel() + smooth for label in (1, 0))
    return np.log(p / p.sum()) - np.log(q / q.sum())


def perceptron(counts: csr_matrix, labels: Labels, epochs: int, hidden: int = 32) -> Fitted:
    """One hidden layer of ReLU over TF-IDF of single words, by scikit-learn and Adam."""
    weigh = need("sklearn.feature_extraction.text", "data").TfidfTransformer(sublinear_tf=True)
    x = weigh.fit_transform(counts)
    batch = min(256, len(labels))
    model = need("sklearn.neural_network", "data").MLPClassifier(
        (hidden,), batch_size=batch, random_state=SEED
    )
    for _ in range(epochs):
        model.partial_fit(x, labels, classes=[0, 1])
    parameters = x.shape[1] + sum(part.size for part in (*model.coefs_, *model.intercepts_))
    return Fitted(
        lambda x: model.predict(weigh.transform(x)),
        parameters,
        lambda k: k + 2 * k * hidden + 2 * hidden,
    )


METHODS = (
    Method("TF-IDF logistic regression", logistic, tuple({"C": C} for C in (3.0, 10.0, 30.0, 100.0))),
    Method(
        "NB-SVM",
        nb_svm,
        tuple({"C": C, "beta": beta} for C in (0.01, 0.03, 0.1) for beta in (0.25, 0.5, 0.75, 1.0)),
    ),
    Method("bag-of-words MLP", perceptron, tuple({"epochs": n} for n in (3, 5, 7)), longest=1, least=10),
)


def _reviews(quick: bool, data_dir: Path | None) -> Reviews:
    try:
        found = load("verdicts" if quick else "imdb", folder=data_dir)
    except ConnectionError as error:
        print(f"{error}; here: verdicts", flush=True)
        found = load("verdicts")
    assert isinstance(found, Reviews)
    if not quick:
        return found
    train, test = (part.take(torch.arange(min(most, len(part)))) for part, most in
                   zip((found.train, found.test), QUICK, strict=True))  # fmt: skip
    return replace(found, train=train, test=test)


def _count(reading: NGramFeatures, learn: Texts, *others: Texts) -> list[Counted]:
    """Counts, in all parts, of the features that the first part has."""
    counter, found = reading.counter(), []
    for part, count in ((learn, counter.fit_transform), *((other, counter.transform) for other in others)):
        counts, spent = clocked(partial(count, part.texts))
        found.append(Counted(counts, part.labels.numpy(), spent))
    return found


def _try_reading(parts: Sequence[Texts], reading: NGramFeatures) -> float:
    """The validation accuracy of NB-SVM with one setting."""
    learn, held = _count(reading, *parts)
    return _accuracy(nb_svm(learn.counts, learn.labels, **FIRST).predict(held.counts), held)


def _choose(method: Method, learn: Counted, held: Counted) -> dict[str, float]:
    """The validation accuracy of each setting."""
    return {
        _named(setting): _accuracy(
            method.fit(learn.counts, learn.labels, **setting).predict(held.counts), held
        )
        for setting in method.settings
    }


def _score(method: Method, cut: Sequence[Counted], whole: Sequence[Counted], chosen: str) -> Scored:
    """Train with the chosen setting and test, first on the cut training set, then on the whole one."""
    learn, held, test = cut
    (setting,) = (one for one in method.settings if _named(one) == chosen)
    fitted, training = clocked(partial(method.fit, learn.counts, learn.labels, **setting))
    answers, testing = clocked(partial(fitted.predict, test.counts))
    features = round(_present(held.counts).sum() / len(held.labels))
    everything, again = whole
    return Scored(
        method.name,
        chosen,
        fitted.parameters,
        features,
        fitted.flops(features),
        learn.seconds + training,
        (test.seconds + testing) * 1e3 / len(test.labels),
        _accuracy(fitted.predict(held.counts), held),
        _accuracy(answers, test),
        _accuracy(method.fit(everything.counts, everything.labels, **setting).predict(again.counts), again),
    )


def _cleaned(text: str) -> str:
    return without_markup(text).lower()


def _present(counts: csr_matrix) -> csr_matrix:
    """Ones where something was counted."""
    return (counts > 0).astype(np.float32)


def _named(setting: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def _accuracy(answers: Labels, part: Counted) -> float:
    return float((answers == part.labels).mean())
