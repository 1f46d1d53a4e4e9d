"""Choosing the next token: what is cut off, and how often the rest comes."""

import pytest
import torch

from regard.models import GPT, GPTConfig
from regard.models.sampling import Sampling, likeliest

CHANCES = torch.tensor([[0.1, 0.4, 0.2, 0.3], [0.25, 0.25, 0.25, 0.25]])


@pytest.mark.parametrize(
    ("top_k", "top_p", "kept"),
    [
        (None, None, [[0, 1, 2, 3], [0, 1, 2, 3]]),
        (2, None, [[1, 3], [0, 1]]),
        (9, None, [[0, 1, 2, 3], [0, 1, 2, 3]]),
        (None, 0.39, [[1], [0, 1]]),
        (None, 0.71, [[1, 2, 3], [0, 1, 2]]),
        (None, 1.0, [[0, 1, 2, 3], [0, 1, 2, 3]]),
        (2, 0.5, [[1], [0]]),  # top_p counts among the two that are left: 0.4/0.7 suffices
    ],
)
def test_what_is_kept(top_k, top_p, kept):
    logits = likeliest(CHANCES.log(), top_k, top_p)
    assert [row.isfinite().nonzero().flatten().tolist() for row in logits] == kept


def test_frequencies_follow_the_temperature():
    logits = CHANCES[:1].log().expand(20_000, 4)
    for temperature in (1.0, 2.0):
        found = Sampling(temperature).pick(logits, torch.Generator().manual_seed(0))
        want = (CHANCES[0].log() / temperature).softmax(-1)
        torch.testing.assert_close(found.bincount(minlength=4) / 20_000, want, atol=0.015, rtol=0)
    assert (Sampling().pick(logits) == 1).all()


def test_all_of_the_chances_are_all_of_the_tokens():
    """Rounded chances may add up to 1 long before the last of many tokens."""
    logits = 5 * torch.randn(2, 50_257, generator=torch.Generator().manual_seed(0))
    assert likeliest(logits, None, top_p=1.0).isfinite().all()
    assert likeliest(logits, 7, top_p=1.0).isfinite().sum(1).tolist() == [7, 7]


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-40, 1e-310, 5e-324])
@pytest.mark.parametrize("more", [{}, {"top_k": 3}, {"top_p": 0.9}, {"top_k": 2, "top_p": 1.0}])
def test_next_to_no_temperature_takes_the_likeliest(temperature, more):
    logits = torch.tensor([[-4.0, 1.0, 80.0, 3.0], [-1e4, -1e4 + 1, -2e4, -3e4]])
    for seed in range(20):
        draw = torch.Generator().manual_seed(seed)
        assert Sampling(temperature, **more).pick(logits, draw).tolist() == [2, 1]
    equal = torch.zeros(50, 3)
    assert Sampling(temperature).pick(equal, torch.Generator().manual_seed(0)).unique().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "bad"), [("temperature", -0.1), ("temperature", float("nan")), ("top_k", 0), ("top_p", 0.0)]
)
def test_errors_name_the_argument(name, bad):
    with pytest.raises(ValueError, match=name):
        Sampling(**{"temperature": 1.0, name: bad})


@pytest.mark.parametrize("bad", [[-1], [4], range(4)])
def test_what_cannot_be_banned(bad):
    with pytest.raises(ValueError, match="ban must"):
        Sampling(ban=bad).check(vocab=4)


def test_keywords_and_the_value_are_one_thing():
    model = GPT(GPTConfig(vocab=9, context=16, depth=1, width=8, heads=2))
    how, tokens = (
        {"temperature": 2.0, "top_k": 5, "top_p": 0.9, "ban": 3, "stop": [1]},
        torch.tensor([[4, 2]]),
    )

    def found(**more):
        return model.generate(tokens, max_new_tokens=9, generator=torch.Generator().manual_seed(5), **more)

    assert torch.equal(found(**how), found(sampling=Sampling(**how)))
    changed = found(sampling=Sampling(**how), ban=(), top_k=1)
    assert torch.equal(changed, found(**how | {"ban": (), "top_k": 1}))
    with pytest.raises(TypeError, match="heat"):
        found(heat=1.0)
