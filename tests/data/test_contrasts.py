import re
from collections import Counter

import pytest

from regard.data.contrasts import SLOT, contrasts, grammar
from regard.data.embedded.pairs import pairs

PHRASES = [("a sly and tender film", 1), ("is a bit of a slog", 0), ("is tart", 1), ("is not dull", 1)]


def plain(text):
    return re.sub(r"\W+", " ", text.casefold()).strip()


def test_they_differ_and_are_even():
    found = contrasts(2000, PHRASES, seed=3)
    assert len({one.text.casefold() for one in found}) == 2000
    assert 0.45 < sum(one.label for one in found) / 2000 < 0.55
    assert not any(SLOT.search(one.text) for one in found)
    assert contrasts(2000, PHRASES, seed=3) == found


def test_no_word_of_the_lists_tells_the_answer():
    found = contrasts(6000, seed=1)
    for sort in ("keep", "turn"):
        assert len(getattr(grammar(), sort)) > 50
    seen, positive = Counter(), Counter()
    for one in found:
        for word in set(plain(one.text).split()):
            seen[word] += 1
            positive[word] += one.label
    judging = [word for side in grammar().words["a"] for word in side]
    shares = [positive[word] / seen[word] for word in judging if seen[word] > 40]
    assert len(shares) > 40
    assert min(shares) > 0.2
    assert max(shares) < 0.8


def test_a_borrowed_word_is_told():
    found = [one for one in contrasts(3000, PHRASES, seed=0) if one.source is not None]
    assert {one.source for one in found} == {0, 1, 2}
    words = {0: "a sly and tender film", 1: "a bit of a slog", 2: "tart"}
    assert all(words[one.source] in one.text.casefold() for one in found)


def test_probes_have_rules_of_their_own():
    known = grammar()
    rules = {"keep": known.keep, "turn": known.turn, "each": known.each}
    apart = {name: [rule for i, rule in enumerate(all_) if i % 9 == 4] for name, all_ in rules.items()}
    probes = contrasts(300, seed=0, probes=True)
    bare = {side for rule in apart["each"] for side in map(plain, rule) if "{" not in str(rule)}
    learned = {plain(one.text) for one in contrasts(5000, seed=0)}
    assert bare
    assert not bare & learned
    assert not {plain(one.text) for one in probes} & learned


def test_none_is_one_of_the_pairs():
    measured = {plain(text) for pair in pairs() for text in (pair.positive, pair.negative)}
    found = {plain(one.text) for one in contrasts(20_000, seed=0)}
    assert not measured & found
    rules = {plain(rule) for one in grammar().each for rule in one}
    assert not measured & rules


def test_too_many():
    with pytest.raises(ValueError, match="count must be at least 0, got count=-1"):
        contrasts(-1)


def test_they_read_like_sentences():
    found = [one.text for one in contrasts(6000, seed=2)]
    assert not any(re.search(r"\b[Aa] [aeio]|comedys|documentarys|\?[.!]", text) for text in found)
    short = [text for text in found if re.search(r"\b(it's|isn't|wasn't|I'd)\b", text, re.IGNORECASE)]
    assert 200 < len(short) < 3000


def test_what_stands_beside_has_either_sentiment():
    """Of "about a {xa} man" both kinds of words come, and the film's own word decides."""
    pattern = re.compile(r"^.*an? (\S+) portrait of an? (\S+) man\W*$")
    sides = {word: side for side in (0, 1) for word in grammar().words["a"][side]}
    seen = Counter()
    for one in contrasts(30_000, seed=5):
        if (found := pattern.match(one.text)) and {found[1], found[2]} <= set(sides):
            assert sides[found[1]] == one.label
            seen[sides[found[2]] == one.label] += 1
    assert min(seen[True], seen[False]) > 3
