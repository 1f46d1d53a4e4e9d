"""The probe pairs: enough of them, of every kind, all different, minimal, and scored as they should be."""

import re
from collections import Counter

import pytest

from regard.data.embedded.pairs import KINDS, Pair, pairs, score_pairs


def test_enough_of_every_kind():
    everything = pairs()
    assert len(everything) >= 220
    counts = Counter(pair.kind for pair in everything)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 20


def test_clean_and_different():
    texts = [text for pair in pairs() for text in (pair.positive, pair.negative)]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert re.fullmatch(r'[A-Z][A-Za-z\'";,. -]+\.', text), text
        assert "  " not in text


def words(text):
    return Counter(text.lower().replace(",", "").replace(".", "").replace(";", "").split())


def test_the_two_sentences_share_most_of_their_words():
    def shared(pair):
        a, b = words(pair.positive), words(pair.negative)
        return 2 * (a & b).total() / (a.total() + b.total())

    shares = {pair: shared(pair) for pair in pairs()}
    assert sum(shares.values()) / len(shares) > 0.7
    loose = [pair for pair, share in shares.items() if share < 0.25]
    assert not loose


def test_score_counts_sentences_and_pairs():
    everything = pairs()
    right = {pair.positive: 1 for pair in everything} | {pair.negative: 0 for pair in everything}
    perfect = score_pairs(lambda texts: [right[text] for text in texts])
    assert list(perfect) == ["all", *KINDS]
    assert perfect["all"].as_dict() == {"sentences": 1.0, "pairs": 1.0, "count": len(everything)}

    first = everything[0]
    assert isinstance(first, Pair)
    spoiled = right | {first.negative: 1}
    scores = score_pairs(lambda texts: [spoiled[text] for text in texts])
    count = len(everything)
    assert scores["all"].pairs == pytest.approx((count - 1) / count)
    assert scores["all"].sentences == pytest.approx((2 * count - 1) / (2 * count))
    assert scores[first.kind].pairs < 1
    assert scores["report"].pairs == 1

    constant = score_pairs(lambda texts: [0] * len(texts))
    assert all(score.sentences == 0.5 and score.pairs == 0 for score in constant.values())


def test_score_needs_a_label_for_each_text():
    with pytest.raises(ValueError, match=f"each of {2 * len(pairs())} texts, got 3"):
        score_pairs(lambda texts: [1, 0, 1])
