"""What a loaded set is, and cutting parts off."""

import pytest
import torch

from regard.data import Corpus, Pictures, Texts, split


@pytest.mark.parametrize(
    ("count", "share", "held"), [(10, 0.3, 3), (7, 0.0, 0), (7, 1.0, 7), (0, 0.5, 0), (1797, 0.2, 359)]
)
def test_split_takes_every_example_once(count, share, held):
    train, validation = split(count, share, seed=3)
    assert len(validation) == held
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(count))
    assert train.dtype == validation.dtype == torch.int64


def test_split_depends_on_the_seed_alone():
    first, second = split(100, 0.2, seed=1), split(100, 0.2, seed=1)
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[1], split(100, 0.2, seed=2)[1])


def test_split_says_what_is_wrong():
    with pytest.raises(ValueError, match=r"share must be from 0 to 1, got share=1.5"):
        split(10, 1.5, seed=0)
    with pytest.raises(ValueError, match="count=-1"):
        split(-1, 0.5, seed=0)


def test_pictures_and_texts_check_themselves():
    images, labels = torch.zeros(2, 1, 3, 4, dtype=torch.uint8), torch.tensor([0, 1])
    assert len(Pictures(images, labels).to("cpu")) == 2
    with pytest.raises(ValueError, match=r"images must be uint8 .*, got torch.float32 \(2, 1, 3, 4\)"):
        Pictures(images.float(), labels)
    with pytest.raises(ValueError, match=r"labels must be int64 \(2,\), got torch.int64 \(1,\)"):
        Pictures(images, labels[:1])
    with pytest.raises(ValueError, match=r"labels must be int64 \(2,\), got torch.float32"):
        Texts(("a", "b"), labels.float())
    part = Texts(("a", "b", "c"), torch.tensor([0, 1, 0])).take(torch.tensor([2, 1]))
    assert part.texts == ("c", "b")
    assert part.labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("\n\n", []),
        ("a", ["a"]),
        ("\n\na\nb\n \t\nc\n\n\n", ["a\nb", "c"]),
        ("a\u2028b\n\nc", ["a\u2028b", "c"]),  # only a line feed ends a line
    ],
)
def test_dialogues_lie_between_blank_lines(text, parts):
    assert Corpus("x", text).dialogues() == parts
