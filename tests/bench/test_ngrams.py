"""Kneser-Ney against a definition in sums over sets, and as a distribution."""

import random
from math import log2

import pytest

from regard.bench.ngrams import KneserNey


def rows(seed, vocab=5, count=12):
    at = random.Random(seed)
    return [[0, *(at.randrange(1, vocab) for _ in range(at.randrange(1, 9)))] for _ in range(count)]


def grams(texts, length):
    """All grams of a length, with repetitions; none ends in the start token."""
    return [
        tuple(row[i : i + length]) for row in texts for i in range(len(row) - length + 1) if i + length > 1
    ]


def defined(texts, vocab, order, past, token):
    """Chen and Goodman's formula, each count looked up anew."""

    def count(gram):
        same = grams(texts, len(gram))
        if len(gram) == order or gram[0] == 0:
            return same.count(gram)
        return len({one for one in grams(texts, len(gram) + 1) if one[1:] == gram})

    def chance(context):
        if len(context) == 0 or context in {one[:-1] for one in grams(texts, len(context) + 1)}:
            seen = {one for one in set(grams(texts, len(context) + 1)) if one[0] != 0 or len(one) > 1}
            counts = {one: count(one) for one in seen}
            having = [sum(c == k for c in counts.values()) for k in (1, 2, 3, 4)]
            loss = losses(having)
            mine = {one: c for one, c in counts.items() if one[:-1] == context}
            total = sum(mine.values())
            rest = sum(loss[min(c, 3)] for c in mine.values()) / total
            own = counts.get((*context, token), 0)
            shorter = chance(context[1:]) if context else 1 / vocab
            return max(own - loss[min(own, 3)], 0) / total + rest * shorter
        return chance(context[1:])

    return chance(tuple(past[max(0, len(past) - order + 1) :]))


def losses(having):
    one, two, three, four = having
    if not one or not two:
        return [0, 0.5, 0.5, 0.5]
    y = one / (one + 2 * two)
    if not three or not four:
        return [0, y, y, y]
    found = [1 - 2 * y * two / one, 2 - 3 * y * three / two, 3 - 4 * y * four / three]
    return [0, *(min(max(loss, 0.01), most) for loss, most in zip(found, (0.99, 1.99, 2.99), strict=True))]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_formula_and_a_distribution(order, seed):
    texts = rows(seed)
    model, at = KneserNey(texts, 5, order), random.Random(seed)
    for _ in range(20):
        past = [0, *(at.randrange(1, 5) for _ in range(at.randrange(6)))]
        chances = [model.chance(past, token) for token in range(5)]
        assert sum(chances) == pytest.approx(1)
        assert chances == pytest.approx([defined(texts, 5, order, past, token) for token in range(5)])
    row = texts[0]
    assert model.bits(row) == [-log2(model.chance(row[:i], row[i])) for i in range(1, len(row))]


def test_faults():
    with pytest.raises(ValueError, match="order and vocab must be at least 1, got order=0, vocab=3"):
        KneserNey([[0, 1]], 3, 0)
