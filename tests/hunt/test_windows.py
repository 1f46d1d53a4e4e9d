"""A few tries of the hunt through windows, and a fault put in to see that it would be found."""

import random

import pytest
import torch

from regard.layers import Rotary
from regard.models import GPT, GPTConfig, decode
from regard.models.decode_store import DECODERS
from regard.pattern import Global, Strided, Windowed
from regard.pattern.spans import CacheBound
from tests.hunt import windows

CALL = {"lengths": [5], "count": 60, "segments": False, "grows_by": 1024, "left_after": 60, "seed": 1}


def model_of(*patterns):
    with pytest.MonkeyPatch.context() as patch:
        left = list(patterns)
        patch.setattr(windows, "a_pattern", lambda *_: left.pop(0))
        patch.setattr(random.Random, "randint", lambda self, low, high: max(low, min(high, len(patterns))))
        return windows.a_model(random.Random(3), 64)


def test_a_few_tries():
    assert windows.tries(10, seed=0, ways=windows.WAYS).faults == []


@pytest.mark.parametrize("way", ["lean", "prepacked", "graph"])
@pytest.mark.parametrize(
    "patterns",
    [[Strided(back=31)], [Windowed(size=32), Global(first=3)], [Strided(back=28) | Global(3)]],
    ids=str,
)
def test_a_window_as_wide_as_the_first_call_and_then_a_longer_one(way, patterns):
    """A ring of 32 slots is no row of 32 slots: the second call goes past them."""
    model = model_of(*patterns)
    for count in (20, 60, 3):
        assert windows.wrong(model, way, {**CALL, "count": count, "left_after": count}) is None


def test_a_slot_too_few_is_found(monkeypatch):
    monkeypatch.setattr(Strided, "kept", lambda self: CacheBound(recent=self.back))
    for way in windows.WAYS:
        assert "the logits are off" in windows.wrong(model_of(Strided(back=31)), way, CALL)


def test_a_decoder_that_failed_is_not_used_again(monkeypatch):
    config = GPTConfig(vocab=13, context=64, depth=1, width=8, heads=2, position=Rotary())
    model = GPT(config, generator=torch.Generator().manual_seed(0)).eval()
    prompt = torch.tensor([[3, 1]])
    want = model.generate(prompt, max_new_tokens=8)
    kept = DECODERS.latest[model]
    with monkeypatch.context() as broken:
        broken.setattr(decode.Decoder, "_look", lambda self, place: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            model.generate(prompt, max_new_tokens=8)
    assert model not in DECODERS.latest
    assert torch.equal(model.generate(prompt, max_new_tokens=8), want)
    stream = model.stream(prompt, max_new_tokens=8)
    next(stream)
    stream.close()  # left early, which is no failure
    assert DECODERS.latest[model] is not kept
    assert torch.equal(model.generate(prompt, max_new_tokens=8), want)
