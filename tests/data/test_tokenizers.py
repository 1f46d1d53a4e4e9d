"""Tokenizers: there and back, the unknown, and one JSON file."""

import json
import os
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.course import MyTokenizer
from regard.data import BytePairTokenizer, CharTokenizer, WordTokenizer, load_tokenizer
from regard.data.tokenizers import PAD, START, UNK
from regard.errors import how_to_install

TEXTS = [
    "I shall not die. I shall live, and declare!",
    "Wasn't it Mr. Smith's? \"No,\" she said.",
    "Größe, naïveté, 東京, مرحبا, 👩‍👩‍👧 <PAD> <START> <UNK>",
    "a\tb\r\nc\u2028d\0e",
    "",
]
KINDS = {
    "word": lambda: WordTokenizer.train(TEXTS),
    "char": lambda: CharTokenizer.train(TEXTS),
    "byte-pair": lambda: BytePairTokenizer.train(TEXTS, vocab=300),
}
EACH = pytest.mark.parametrize("tokenizer", [make() for make in KINDS.values()], ids=list(KINDS))
BYTE_PAIR = BytePairTokenizer.train(TEXTS, vocab=300)


@EACH
def test_every_id_is_within_the_vocabulary(tokenizer):
    for text in [*TEXTS, "never seen: ζωή 🦁"]:
        ids = tokenizer.encode(text)
        assert all(isinstance(i, int) and 0 <= i < tokenizer.vocab for i in ids)
        assert START not in ids
        assert PAD not in ids
    assert (tokenizer.start, tokenizer.pad) == (START, PAD)


@EACH
def test_a_batch_is_one_after_another(tokenizer):
    assert tokenizer.encode_batch(iter(TEXTS)) == [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer.encode_batch([]) == []


@EACH
def test_saved_and_loaded(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    assert os.listdir(tmp_path) == ["tokenizer.json"]
    again = load_tokenizer(tmp_path)
    assert type(again) is type(tokenizer)
    assert again.vocab == tokenizer.vocab
    for text in [*TEXTS, "never seen: ζωή 🦁"]:
        assert again.encode(text) == tokenizer.encode(text)
        assert again.decode(tokenizer.encode(text)) == tokenizer.decode(tokenizer.encode(text))
    again.save(tmp_path)
    assert load_tokenizer(tmp_path).encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


@EACH
def test_wrong_ids_and_texts(tokenizer):
    for wrong in (-1, tokenizer.vocab):
        with pytest.raises(ValueError, match=f"ids must be from 0 to {tokenizer.vocab - 1}, got {wrong}"):
            tokenizer.decode([3, wrong])
    with pytest.raises(ValueError, match="texts must be several strings, got one str"):
        type(tokenizer).train("one text")
    with pytest.raises(ValueError, match="texts must be several strings, got one str"):
        tokenizer.encode_batch("one text")
    assert tokenizer.decode([]) == ""


def test_words_are_those_of_the_course():
    course, ours = MyTokenizer("\n".join(TEXTS[:2])), WordTokenizer.train(TEXTS[:2])
    assert ours.words == course.id_to_tok
    assert [START, *ours.encode(TEXTS[1] + " Never?")] == course.encode(TEXTS[1] + " Never?").tolist()
    ids = [START, *ours.encode("I shall sing."), PAD]
    assert ours.decode(ids) == course.decode(ids) == "<START> I shall <UNK> . <PAD>"


def test_the_most_frequent_words_are_kept():
    tokenizer = WordTokenizer.train(["c c c b b a a z"], vocab=5)
    assert tokenizer.words == ["<START>", "<PAD>", "<UNK>", "a", "c"]
    assert tokenizer.encode("a b c") == [3, UNK, 4]
    assert WordTokenizer.train(["a"], vocab=3).encode("a") == [UNK]
    with pytest.raises(ValueError, match="vocab must be at least 3, got vocab=2"):
        WordTokenizer.train(["a"], vocab=2)


@given(st.text())
def test_known_characters_come_back(text):
    tokenizer = CharTokenizer.train([text])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.vocab == 3 + len(set(text))


def test_unknown_characters():
    tokenizer = CharTokenizer.train(["ab"])
    assert tokenizer.encode("aXb") == [3, UNK, 4]
    assert tokenizer.decode([START, 3, UNK, 4, PAD]) == "a\ufffdb"


@given(st.text())
def test_byte_pairs_know_every_text(text):
    assert BYTE_PAIR.decode(BYTE_PAIR.encode(text)) == text


def test_byte_pairs():
    assert BYTE_PAIR.unk is None
    assert BYTE_PAIR.vocab == 300
    assert BytePairTokenizer.train(TEXTS, vocab=300).encode(TEXTS[2]) == BYTE_PAIR.encode(TEXTS[2])
    assert len(BytePairTokenizer.train(["abcd " * 50], vocab=270).encode("abcd abcd")) <= 3
    assert BYTE_PAIR.decode([START, *BYTE_PAIR.encode("die"), PAD]) == "die"
    with pytest.raises(ValueError, match="vocab must be at least 258, got vocab=257"):
        BytePairTokenizer.train(TEXTS, vocab=257)
    # Enough texts for several batches of the library.
    texts = [f"text {i}" for i in range(BytePairTokenizer.TOGETHER + 3)]
    assert BYTE_PAIR.encode_batch(texts) == [BYTE_PAIR.encode(text) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_character(kind, tmp_path):
    text = "a\ud800b"  # a lone surrogate, which has no UTF-8 form
    tokenizer = type(KINDS[kind]()).train([text])
    tokenizer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert again.encode(text) == tokenizer.encode(text)
    assert len(again.encode_batch([text])) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"tokenizer": "other"}',
        b'{"tokenizer": "word"}',
        b'{"tokenizer": "word", "words": [1]}',
        b'{"tokenizer": "word", "words": ["a", "a"]}',
        b'{"tokenizer": "char", "characters": ["ab"]}',
        b'{"tokenizer": "byte-pair", "library": {}}',
    ],
)
def test_a_damaged_file_is_named(content, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"tokenizer\.json holds no whole tokenizer"):
        load_tokenizer(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read: No such file"):
        load_tokenizer(tmp_path)


def test_a_cut_file_is_named(tmp_path):
    path = BYTE_PAIR.save(tmp_path)
    assert json.loads(path.read_bytes())["tokenizer"] == "byte-pair"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"tokenizer\.json holds no whole tokenizer"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(("hidden", "kind"), [("nltk", WordTokenizer), ("tokenizers", BytePairTokenizer)])
def test_a_library_that_is_not_installed(hidden, kind, monkeypatch):
    monkeypatch.setitem(sys.modules, hidden, None)
    CharTokenizer.train(["a"])
    with pytest.raises(ImportError, match=re.escape(f"{hidden} is not installed: {how_to_install('text')}")):
        kind.train(["a"])
