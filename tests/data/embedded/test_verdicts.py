"""The review language: its labels against a reader written apart from it, its balance, its baseline."""

import math
import re
from collections import Counter

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from regard.data.embedded import verdicts
from regard.data.embedded.verdicts import sentences

POLARITY = dict.fromkeys(verdicts.GOOD + verdicts.JOYS, 1) | dict.fromkeys(verdicts.BAD + verdicts.BORES, -1)
# What turns a claim round, each wherever it occurs. The double negations come out right by counting.
TURNS = [
    r"\bnot one\b", r"\bis not (?!one)", r"\bfar from\b", r"\banything but\b", r"\bhardly a\b",
    r"\bcould not be less\b",
    r"\bnobody\b", r"\bnot even\b", r"\bonly a man\b", r"\bwrong to say\b", r"\bbroke their\b",
    r"\bI was wrong\b", r"\bnever right\b",
]  # fmt: skip


def read(text):
    """The label of a verdict, by finding the main clause, then its last judging word, then counting turns."""
    text = text[0].lower() + text[1:].removesuffix(".")
    if match := re.fullmatch(r"although (.*?), (.*)", text):
        text = match[2]
    text = re.split(r", although |, even if ", text)[0]
    text = re.split(r", but |; what is more, |; ", text)[-1]
    text = re.sub(r"^after a \w+ \w+, ", "", text)
    if re.search(r", and (?!I was)", text):
        text = re.split(r", and ", text)[-1]
    judging = [word for word in re.findall(r"\w+", text) if word in POLARITY]
    turned = sum(len(re.findall(turn, text)) for turn in TURNS)
    turned += bool(re.search(r"\bis no\b", text))
    return int(POLARITY[judging[-1]] * (-1) ** turned > 0)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Not one dull minute in the whole plot.", 1),
        ("The score is far from good.", 0),
        ("There is not one line in the score that is not warm.", 1),
        ("Nobody who loves a warm drama could call the plot dull.", 1),
        ("The cast is a joy, but the plot is no treat.", 0),
        ("It is wrong to say that the plot is anything but clever.", 1),
    ],
)
def test_the_reader_reads(text, label):
    assert read(text) == label


def test_labels_follow_from_the_grammar():
    wrong = [(text, label) for text, label in sentences(20_000, seed=1) if read(text) != label]
    assert not wrong, wrong[:5]


def test_deterministic_and_different():
    some = sentences(500, seed=3)
    assert some == sentences(500, seed=3)
    assert some != sentences(500, seed=4)
    assert len({text for text, _ in some}) == 500
    assert sentences(0, seed=3) == []


def test_the_language_does_not_change():
    assert sentences(2, seed=0) == [
        ("Nobody who loves a stale thriller could call the score lively.", 0),
        ("They promised a clumsy cast and kept their word.", 0),
    ]


@pytest.mark.parametrize(("count", "seed", "message"), [
    (-1, 0, "count must be at least 0, got count=-1"),
    (10**6, 0, "count must be at most 500,000, got count=1000000"),
    (5, -2, "seed must be at least 0, got seed=-2"),
])  # fmt: skip
def test_checks(count, seed, message):
    with pytest.raises(ValueError, match=message):
        sentences(count, seed)


def test_sentences_read_like_sentences():
    for text, _ in sentences(5_000, seed=2):
        assert re.fullmatch(r"[A-Z][A-Za-z]*(?:[,;]? [A-Za-z]+)+\.", text)
        assert not re.search(r"\ba [aeiou]", text.lower())
        assert len(text.split()) <= 40


def test_first_and_last_are_alike():
    lengths = [len(text.split()) for text, _ in sentences(20_000, seed=7)]
    first, last = sum(lengths[:4_000]) / 4_000, sum(lengths[-4_000:]) / 4_000
    assert abs(first - last) < 0.5


def test_no_word_tells_much():
    seen, good = Counter(), Counter()
    for text, label in sentences(20_000, seed=5):
        words = set(re.findall(r"\w+", text.lower()))
        seen.update(words)
        good.update(words if label else ())
    assert set(POLARITY) <= set(seen)
    for word, times in seen.items():
        assert times >= 100, word
        noise = 3 * math.sqrt(times) / 2  # three standard deviations of a fair coin
        assert abs(good[word] - times / 2) < 0.1 * times + noise, (word, good[word], times)


@pytest.mark.parametrize(("longest", "most"), [(1, 0.62), (2, 0.72)])
def test_no_bag_of_words_solves_it(longest, most):
    drawn = sentences(14_000, seed=0)
    texts, labels = zip(*drawn, strict=True)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, longest), token_pattern=r"\w+"),
        LogisticRegression(C=10, max_iter=1000),
    )
    model.fit(texts[:12_000], labels[:12_000])
    score = model.score(texts[12_000:], labels[12_000:])
    assert 0.45 < score < most
