"""The play: its layout, its length, and that it is written rather than repeated."""

import re
from collections import Counter
from importlib.resources import files

import pytest


@pytest.fixture(scope="module")
def play():
    return files("regard.data.embedded").joinpath("play.txt").read_bytes()


@pytest.fixture(scope="module")
def speeches(play):
    """(speaker, what is said) for each block between blank lines."""
    blocks = play.decode().removesuffix("\n").split("\n\n")
    return [tuple(block.split(":\n", 1)) for block in blocks]


def test_every_speech_has_a_speaker(speeches):
    assert len(speeches) >= 600
    for speech in speeches:
        assert len(speech) == 2, speech
        speaker, said = speech
        assert re.fullmatch("[A-Z]+", speaker)
        assert said[-1] in ".!?", speech
        assert not re.search(r"^\s|\n\s|\s\n|  ", said), speech


def test_few_voices_of_some_weight(speeches):
    lines = Counter(speaker for speaker, _ in speeches)
    assert len(lines) <= 15
    assert min(lines.values()) >= 10


def test_plain_characters_and_short_lines(play):
    text = play.decode("ascii")
    assert set(text) <= set("\n abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:!?'-")
    assert text.endswith("one.\n")
    assert max(map(len, text.splitlines())) <= 75


def test_no_speech_more_than_twice(speeches):
    said, times = Counter(said for _, said in speeches).most_common(1)[0]
    assert times <= 2, said


def test_five_acts_opened_by_the_bellman(speeches):
    openings = [said for speaker, said in speeches if speaker == "BELLMAN"]
    acts = [said.split()[1] for said in openings if re.match(r"The \w+ act\.", said)]
    assert acts == ["first", "second", "third", "fourth", "fifth"]


def test_a_small_vocabulary_that_comes_back(play):
    words = re.findall("[a-z']+", play.decode().lower())
    assert len(words) >= 11_000
    counts = Counter(words)
    assert len(counts) < 2_500
    assert sum(times for times in counts.values() if times >= 5) / len(words) > 0.85
