"""What a model by words is charged, and the benchmark of dialogues."""

import json
from itertools import product

import pytest

from regard.bench.charging import CODE_POINT, Spacing, Spelling, gaps
from regard.bench.dialogue import OURS, Charged, _words, ours
from regard.cli.main import main
from regard.data import WordTokenizer

TEXTS = ['ROMEO:\nI shall not die.\nNo, "never" -- never!', "JULIET:\nYou'll live, sir; cannot you?"]


def test_gaps_are_the_text():
    rules = WordTokenizer.train(TEXTS).rules
    for text in [*TEXTS, "  a\t\tb  ", "", "gonna (\u00e9t\u00e9) \U0001f600!!"]:
        words = rules.tokenize(text)
        between = gaps(text, words)
        written = ['"' if word in ("``", "''") else word for word in words]
        assert "".join(g + w for g, w in zip(between, written, strict=True)) == text.rstrip()
    with pytest.raises(ValueError, match="token 'b' is not what follows in 'ac'"):
        gaps("ac", ["b"])
    with pytest.raises(ValueError, match="no token stands for 'c'"):
        gaps("a c", ["a"])


def test_spelling_is_a_distribution_over_words():
    spelling = Spelling(["ab", "ba", "aab"])
    short = sum(2 ** -spelling.bits("".join(one)) for n in range(9) for one in product("ab", repeat=n))
    assert 0.9 < short < 1  # the rest are longer words and strange characters
    assert spelling.bits("\U0001f600") > CODE_POINT


def test_spacing_is_a_distribution():
    spacing = Spacing([(["a", ",", "B"], ["", "", " "]), (["a", "B"], ["", "\n"])])
    for words in (["a", "B"], ["x", "y"], ["a", ","]):
        chances = [2 ** -spacing.bits(words, ["", gap]) for gap in ("", " ", "\n")]
        assert sum(chances) < 2 ** -spacing.bits(words[:1], [""])
        assert all(chances)
    assert spacing.bits(["a", "B"], ["", "\n\n\n"]) > 4 * CODE_POINT


def test_every_word_is_paid_for():
    charged = Charged(TEXTS, ["ROMEO:\nNo zebra."])
    assert charged.characters == 16
    for row in _words(3, charged, "KN"):
        total = row.tokens + row.spelling + row.space
        assert row.bits_per_character == pytest.approx(total)
        assert row.unknown == (4 / 5 if row.setting.endswith("unknown") else 1 / 5)  # all but a colon
    assert charged.spelled({"ROMEO", ":", "No", "."}) == pytest.approx(charged.spelling.bits("zebra"))
    with pytest.raises(ValueError, match="must say 5 words, said 1"):
        charged.by_words("one", "", [1.0], set(), 0.0)


def test_ours_is_scored_as_the_run_scores_itself():
    """A word that the model knows costs what it says; here the text need not be what it was trained on."""
    charged = Charged(TEXTS, TEXTS)
    row = ours(OURS, charged)
    assert 2 < row.bits_per_character < 6
    with pytest.raises(ValueError, match="must be a language model by words"):
        ours("zoo:play-gpt", charged)


def test_quick(tmp_path):
    assert main(["bench", "dialogue", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
    found = json.loads(next(tmp_path.glob("dialogue-*.json")).read_text())
    words, characters = found["rows"]
    assert words["bits_per_character"] > words["tokens"] > 0
    assert characters["spelling"] == characters["space"] == 0
    assert min(found["settings"]["Kneser-Ney by words"].values()) > 0
