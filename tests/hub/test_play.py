"""What a stranger does with a bounded cache: talk on, beams beside padding, threads, long texts."""

import threading

import pytest
import torch

from regard.hub import PatternCache, use
from tests.hub.families import close, logits, made, ours, padded, tokens
from tests.hub.test_cache import GREEDY

PATTERN = "strided(5) | global(2) & causal"


def patterned(name, pattern=PATTERN, **changes):
    mine = ours(made(name, **changes))
    use(mine, pattern)
    return mine


@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_a_second_turn_goes_on_with_the_cache_of_the_first(name):
    mine = patterned(name)
    cache = PatternCache(mine)
    first = mine.generate(input_ids=tokens(1, 7), max_new_tokens=9, past_key_values=cache, **GREEDY)
    asked = torch.cat([first, tokens(1, 5)], dim=1)
    found = mine.generate(input_ids=asked, max_new_tokens=9, past_key_values=cache, **GREEDY)
    want = mine.generate(input_ids=asked, max_new_tokens=9, use_cache=False, **GREEDY)
    assert torch.equal(found, want)


@pytest.mark.parametrize("name", ["qwen3", "mistral"])
def test_beams_beside_padding(name):
    mine = patterned(name)
    given = {"input_ids": tokens(3, 6), "attention_mask": padded([6, 2, 4], 6, "left"), "num_beams": 3}
    want = mine.generate(**given, max_new_tokens=14, use_cache=False, **GREEDY)
    cache = PatternCache(mine, padding=4)
    assert torch.equal(mine.generate(**given, max_new_tokens=14, past_key_values=cache, **GREEDY), want)


def test_threads_with_caches_of_two_models():
    models = [patterned("llama"), patterned("llama", "windowed(4)")]
    inputs = [tokens(1, n) for n in (5, 17, 30)]
    want = [[logits(model, input_ids=x) for x in inputs] for model in models]
    wrong = []

    def read(number):
        for x, said in zip(inputs, want[number], strict=True):
            cache = PatternCache(models[number])
            parts = [
                logits(models[number], input_ids=part, past_key_values=cache) for part in x.split(3, dim=1)
            ]
            if not close(torch.cat(parts, dim=1), said):
                wrong.append((number, x.shape))

    threads = [threading.Thread(target=read, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_positions_in_the_cache_never_reach_the_models_last():
    x, found = tokens(1, 40), []
    for most in (16, 512):
        mine = patterned("llama", max_position_embeddings=most)
        found.append(logits(mine, input_ids=x, past_key_values=PatternCache(mine, positions="cache")))
    assert close(*found)
