"""Words to ids and back, with what NLTK says and without its downloads."""

import re
import sys

import pytest
import torch
from torch.utils.data import DataLoader

from regard.course import DialogueDataset, MyTokenizer
from regard.data import WordTokenizer
from regard.errors import how_to_install

TEXT = 'I shall die. You "live", don\'t you?\nFirst Citizen: speak... speak! (It cost $3.50, 50%.)'
WORDS = [
    "I",
    "shall",
    "die",
    ".",
    "You",
    "``",
    "live",
    "''",
    ",",
    "do",
    "n't",
    "you",
    "?",
    "First",
    "Citizen",
]
WORDS += [":", "speak", "...", "speak", "!", "(", "It", "cost", "$", "3.50", ",", "50", "%", ".", ")"]


@pytest.fixture
def punkt(tmp_path, monkeypatch):
    """NLTK's sentence data as it is installed, with two abbreviations in it."""
    import nltk

    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (folder / name).write_text("")
    (folder / "abbrev_types.txt").write_text("mr\ndr\n")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])


@pytest.fixture
def no_punkt(monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])


@pytest.mark.usefixtures("no_punkt")
def test_words_are_those_of_nltk():
    assert MyTokenizer("").tokenize(TEXT) == WORDS


@pytest.mark.usefixtures("punkt")
def test_trained_sentence_data_is_used_where_it_is_installed():
    import nltk

    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    text = "Mr. Hyde met Dr. Jekyll. They left."
    assert MyTokenizer("").tokenize(text) == nltk.word_tokenize(text)
    assert MyTokenizer("").tokenize(text)[:2] == ["Mr.", "Hyde"]
    assert WordTokenizer.train([text]).words[3:6] == [".", "Dr", "Hyde"]  # the same on every machine
    nltk.tokenize._get_punkt_tokenizer.cache_clear()


@pytest.mark.usefixtures("no_punkt")
def test_without_it_every_full_stop_ends_a_sentence():
    assert MyTokenizer("").tokenize("Mr. Hyde left.") == ["Mr", ".", "Hyde", "left", "."]


@pytest.mark.usefixtures("no_punkt")
def test_words_are_those_of_word_tokenize_given_the_same_sentences(monkeypatch):
    import nltk

    untrained = nltk.tokenize.PunktSentenceTokenizer().tokenize
    monkeypatch.setattr("nltk.tokenize.sent_tokenize", lambda text, language: untrained(text))
    for text in (TEXT, "We die.\nWe live. ", "", " ", "end", '"quoted" text. "More," he said.'):
        assert MyTokenizer("").tokenize(text) == nltk.word_tokenize(text)


def test_full_stops_inside_a_text_are_split_too():
    """Classic mistake: `preserve_line=True`, which leaves "die." whole but for the last."""
    import nltk

    assert "die." in nltk.word_tokenize("We die. We live.", preserve_line=True)
    assert MyTokenizer("").tokenize("We die. We live.") == ["We", "die", ".", "We", "live", "."]


@pytest.mark.usefixtures("no_punkt")
def test_nothing_is_downloaded(monkeypatch):
    import nltk

    def refuse(*args, **kwargs):
        raise AssertionError(f"a download was asked for: {args}")

    monkeypatch.setattr(nltk, "download", refuse)
    assert MyTokenizer("We die. We live.").encode("We live.").tolist() == [0, 4, 6, 3]


def test_without_nltk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(ImportError, match=re.escape(f"nltk is not installed: {how_to_install('text')}")):
        MyTokenizer("a")


def test_ids_are_specials_then_sorted_words():
    tokenizer = MyTokenizer("we live . We die . we")
    assert tokenizer.tok_to_id == {
        "<START>": 0, "<PAD>": 1, "<UNK>": 2, ".": 3, "We": 4, "die": 5, "live": 6, "we": 7,
    }  # fmt: skip
    assert tokenizer.vocab_size == 8
    assert MyTokenizer("").vocab_size == 3
    assert [tokenizer.id_to_tok[i] for i in (tokenizer.start, tokenizer.pad, tokenizer.unk)] == [
        "<START>",
        "<PAD>",
        "<UNK>",
    ]
    assert all(tokenizer.id_to_tok[i] == tok for tok, i in tokenizer.tok_to_id.items())


def test_encode_gives_a_row_of_longs_that_begins_with_start():
    """The sheet: "convert a string to a series of token ids and prepend the token id for the start token"."""
    ids = MyTokenizer("we live .").encode("live, we")
    assert ids.tolist() == [0, 4, 2, 5]
    assert ids.dtype == torch.long
    nothing = MyTokenizer("we live .").encode("")
    assert nothing.tolist() == [0]
    assert nothing.dtype == torch.long


def test_unknown_words_are_kept_as_unk():
    """Classic mistake: leaving unknown words out, which shifts all that follow."""
    tokenizer = MyTokenizer("we live")
    assert tokenizer.encode("we never live forever").tolist() == [0, 4, 2, 3, 2]
    assert tokenizer.decode(tokenizer.encode("we never live forever")) == "<START> we <UNK> live <UNK>"


@pytest.mark.usefixtures("no_punkt")
def test_decode_joins_with_spaces_and_shows_specials():
    tokenizer = MyTokenizer(TEXT)
    assert tokenizer.decode(tokenizer.encode(TEXT)) == " ".join(["<START>", *WORDS])
    assert tokenizer.decode(torch.tensor([0, 2, 1, 1])) == "<START> <UNK> <PAD> <PAD>"
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize(
    ("ids", "message"), [([-1, 2], "0 to 4, got -1 to 2"), ([0, 5], "0 to 4, got 0 to 5")]
)
def test_decode_refuses_ids_it_does_not_have(ids, message):
    with pytest.raises(ValueError, match=message):
        MyTokenizer("we live").decode(ids)


def test_a_text_cannot_forge_a_special_token():
    tokenizer = MyTokenizer("<PAD> <START>")
    assert tokenizer.encode("<PAD>").tolist() == [0, *(tokenizer.tok_to_id[tok] for tok in ("<", "PAD", ">"))]
    assert (tokenizer.encode("<START> <PAD> <UNK> <pad>")[1:] >= 2).all()


def test_padding_fills_on_the_right():
    tokenizer = MyTokenizer("a b c")
    batch = tokenizer.pad_examples([torch.tensor([0, 3, 4, 5]), torch.tensor([0]), [0, 5]])
    assert batch.tolist() == [[0, 3, 4, 5], [0, 1, 1, 1], [0, 5, 1, 1]]
    assert batch.dtype == torch.long


def test_only_strings_are_texts():
    with pytest.raises(ValueError, match="text must be a str, got a list"):
        MyTokenizer(["we live"])
    with pytest.raises(ValueError, match="lines must be several strings, got one str"):
        DialogueDataset(MyTokenizer("we live"), "we live", max_N=4)
    with pytest.raises(ValueError, match="max_N must be at least 1, got max_N=0"):
        DialogueDataset(MyTokenizer("we live"), ["we live"], max_N=0)


def test_examples_begin_with_start_and_are_cut_to_max_n():
    tokenizer = MyTokenizer("a b c d e")
    data = DialogueDataset(tokenizer, iter(["a b", "a b c", "a b c d e", ""]), max_N=4)
    assert len(data) == 4
    assert [example.tolist() for example in data] == [[0, 3, 4], [0, 3, 4, 5], [0, 3, 4, 5], [0]]
    assert all(example.dtype == torch.long for example in data)


def test_collate_pads_and_marks_what_is_real():
    data = DialogueDataset(MyTokenizer("a b c"), ["a b c", "what", ""], max_N=9)
    batch = data.collate_fn([data[0], data[1], data[2]])
    assert set(batch) == {"input_ids", "input_mask"}
    assert batch["input_ids"].tolist() == [[0, 3, 4, 5], [0, 2, 1, 1], [0, 1, 1, 1]]
    assert batch["input_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]


def test_a_loader_can_use_it():
    data = DialogueDataset(MyTokenizer("a b c"), ["a b c", "a", "b b", "c"], max_N=3)
    batches = list(DataLoader(data, batch_size=3, collate_fn=data.collate_fn))
    assert [tuple(batch["input_ids"].shape) for batch in batches] == [(3, 3), (1, 2)]
