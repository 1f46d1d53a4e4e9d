"""Pairs: short film reviews that differ in a few words and in nothing but that their sentiment is opposite.

Written by hand for this project, to probe what a sentiment model makes of grammar rather than of vocabulary.
The file beside this one has one pair a line: its kind, the positive sentence and the negative one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

KINDS = (
    "negation",  # a negator and what it reaches: "no scene outstays its welcome"
    "contrast",  # two judgements, of which one decides: "it looks cheap, yet it moved me deeply"
    "scope",  # the strong word is about something else: "a wonderful film about terrible people"
    "comparison",  # better or worse than what: "the remake puts the original to shame"
    "litotes",  # said by denying the contrary, and meant: "not without charm"
    "expectation",  # what was feared or promised, and what came: "I expected to hate it, and I was wrong"
    "hedge",  # a guarded judgement that is a judgement still: "I suppose it has flaws; I did not notice them"
    "quantity",  # how much or how many: "hardly a scene goes by without a laugh"
    "counterfactual",  # what would have been: "it could so easily have been a disaster"
    "report",  # what others say, and whether they are right: "my neighbour called it boring, and is wrong"
)


@dataclass(frozen=True)
class Pair:
    """Two sentences of opposite sentiment and the kind of grammar that tells them apart."""

    kind: str
    positive: str
    negative: str


@dataclass(frozen=True)
class PairScore:
    """How a model fared: the share of sentences right, and of pairs with both sentences right."""

    sentences: float
    pairs: float
    count: int

    def as_dict(self) -> dict[str, float | int]:
        """The figures by name."""
        return {"sentences": self.sentences, "pairs": self.pairs, "count": self.count}


def pairs() -> list[Pair]:
    """Return all pairs.

    >>> [pair for pair in pairs() if pair.kind == "litotes"][2]
    Pair(kind='litotes', positive='The film is not without charm.', negative='The film is without charm.')
    """
    text = files("regard.data.embedded").joinpath("pairs.tsv").read_text(encoding="utf-8")
    header, *lines = text.splitlines()
    assert header == "kind\tpositive\tnegative"
    return [Pair(*line.split("\t")) for line in lines]


def score_pairs(predict: Callable[[Sequence[str]], Sequence[int]]) -> dict[str, PairScore]:
    """Return the score of a model by kind and, under "all", as a whole; `predict` maps texts to 0s and 1s.

    >>> score_pairs(lambda texts: [1] * len(texts))["all"].sentences
    0.5
    """
    probes = pairs()
    texts = [text for pair in probes for text in (pair.positive, pair.negative)]
    labels = [int(label) for label in predict(texts)]
    if len(labels) != len(texts):
        raise ValueError(f"predict must return one label for each of {len(texts)} texts, got {len(labels)}")
    right = [(labels[2 * i] == 1, labels[2 * i + 1] == 0) for i in range(len(probes))]
    groups = {"all": right}
    for pair, both in zip(probes, right, strict=True):
        groups.setdefault(pair.kind, []).append(both)
    return {
        name: PairScore(
            sentences=sum(a + b for a, b in group) / (2 * len(group)),
            pairs=sum(a and b for a, b in group) / len(group),
            count=len(group),
        )
        for name, group in groups.items()
    }
