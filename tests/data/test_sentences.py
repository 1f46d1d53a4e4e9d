import pytest
import torch

from regard.data import Reviews, Texts, load
from regard.data.kinds import held_out
from regard.data.sentences import FILM, grouped, with_contrasts


def reviews(name, texts, labels, **more):
    part = Texts(tuple(texts), torch.tensor(labels))
    return Reviews(name, ("negative", "positive"), part, part.take(slice(0, 2)), **more)


SENTENCES = [
    f"the {noun} is {word} and {other} ."
    for noun in ("plot", "cast", "ending", "score")
    for word, other in (("dull", "cold"), ("sly", "warm"), ("tart", "brisk"))
]


def both():
    texts = [part for one in SENTENCES for part in (one, " ".join(one.split()[2:5]))]
    groups, whole = grouped(texts)
    sentences = reviews("s", texts, [i % 2 for i in range(len(texts))], groups=groups, whole=whole)
    films = reviews("f", [f"review {i}" for i in range(6 * FILM)], [0] * 3 * FILM + [1] * 3 * FILM)
    return films, sentences


def test_a_phrase_goes_with_its_sentence():
    _, sentences = both()
    learn, held = held_out(sentences, 0.25)
    texts = sentences.train.texts
    assert len(held) == 3
    assert all(texts[i].endswith(".") for i in held)
    learned = [texts[i] for i in learn]
    for i in held.tolist():
        assert texts[i] not in learned
    # "is dull and" is in four sentences and goes with one of them.
    assert len(learned) + len(held) < len(texts)


def test_films_are_held_out_whole_and_contrasts_with_their_sentence():
    films, sentences = both()
    found = with_contrasts(films, sentences, "both")
    learn, held = held_out(found, 0.3)
    count, texts = len(films.train), found.train.texts
    mine = held[held < count]
    assert len(mine) % FILM == 0
    assert len(mine)
    gone = {texts[i] for i in held.tolist() if count <= i < count + len(sentences.train)}
    assert gone
    assert not set(held.tolist()) & set(learn.tolist())
    probes = [i for i in held.tolist() if i >= count + len(sentences.train)]
    assert len(probes) == 2000
    assert set(probes) == set(range(len(texts) - 2000, len(texts)))
    assert len(found.test) == 4
    again = with_contrasts(films, sentences, "both")
    assert again.train.texts == texts


def test_sentences_need_groups():
    films, _ = both()
    with pytest.raises(ValueError, match="sentences must have groups, got f without"):
        with_contrasts(films, films, "both")


def test_sst2_in_sentences(real):
    found = load("sst2", folder=real)
    learn, held = held_out(found, 0.1)
    assert len(held) == 688
    learned = {" ".join(found.train.texts[i].split()) for i in learn.tolist()}
    whole = [" ".join(found.train.texts[i].split()) for i in held.tolist()]
    assert not learned & set(whole)
    long = [one.split() for one in whole]
    near = sum(any(" ".join(one[i : i + 8]) in learned for i in range(len(one))) for one in long)
    assert near < 20  # phrases of eight words that several sentences share
