import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import WordTokenizer
from regard.data.spacing import CLOSING, OPENING, spaced
from regard.data.tokenizers import WordRules

LINES = [
    "ROMEO: O, I am not a man; and I'll tell thee, sir!",
    "What, can you do nothing? 'Tis true (I think) that he cannot.",
    "I don't know--but they've seen it, and we're late: he'd say so.",
    'She said "good day" to him.',
    "It costs $5, or 20%.",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_comes_back_as_it_was_written(line):
    words = WordRules("").tokenize(line)
    assert spaced(words) == line
    assert " ".join(words) != line


@given(
    st.lists(
        st.sampled_from([*sorted(CLOSING | OPENING), "can", "not", "'t", "is", "word", "I"]), max_size=12
    )
)
def test_more_words_only_add_to_a_text(words):
    shown = ""
    for i in range(len(words) + 1):
        assert spaced(words[:i]).startswith(shown)
        shown = spaced(words[:i])


def test_what_the_model_sees_is_as_before():
    tokenizer = WordTokenizer.train(LINES)
    ids = tokenizer.encode(LINES[0])
    assert tokenizer.decode(ids) == " ".join(WordRules("").tokenize(LINES[0]))
    assert tokenizer.shown(ids) == LINES[0]
    assert tokenizer.encode(tokenizer.shown(ids)) == ids
