"""Generating with transformers' caches and with one that the pattern bounds: the tokens of a full forward."""

import pickle

import pytest
import torch

from regard.hub import PatternCache, use
from tests.hub.families import DECODERS, close, logits, made, ours, padded, pair, tokens

GREEDY = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None}
SCORED = {**GREEDY, "return_dict_in_generate": True, "output_logits": True}
PATTERNS = ["strided(6)", "strided(5) | global(2) & causal", "windowed(4)", "global(3) & causal", "causal",
            "sparsestrided(3)", "dilated(2, 3) | global(1) & causal", "sparsefixed(5, 2)"]  # fmt: skip


def said(model, x, count, **more):
    """The tokens and the logits of each step (B,count,V)."""
    out = model.generate(input_ids=x, max_new_tokens=count, **{**SCORED, **more})
    return out.sequences, torch.stack(out.logits, dim=1)


@pytest.mark.parametrize("name", DECODERS)
def test_every_cache_says_what_the_model_says(name):
    theirs, mine = pair(name)
    x, mask = tokens(3, 9), padded([9, 2, 5], 9, "left")
    want, scores = said(theirs, x, 24, attention_mask=mask)
    for more in ({}, {"cache_implementation": "static"}, {"past_key_values": PatternCache(mine)},
                 {"use_cache": False}):  # fmt: skip
        found, mine_scores = said(mine, x, 24, attention_mask=mask, **more)
        assert torch.equal(found, want), more
        assert close(mine_scores, scores), more


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_bounded_cache_says_what_the_pattern_says(pattern):
    mine = ours(made("llama"))
    use(mine, pattern)
    x = tokens(2, 11)
    cache = PatternCache(mine)
    found, scores = said(mine, x, 30, past_key_values=cache)
    assert close(scores, logits(mine, input_ids=found)[:, 10:-1])
    kept = cache.layers[0].pattern.keys_kept()
    assert cache.layers[0].keys.shape[2] == (40 if kept is None else kept)
    assert cache.get_seq_length() == 40


@pytest.mark.parametrize("pattern", PATTERNS[:4])
def test_the_default_cache_says_the_same(pattern):
    mine = ours(made("llama"))
    use(mine, pattern)
    x = tokens(2, 11)
    assert close(said(mine, x, 30)[1], said(mine, x, 30, past_key_values=PatternCache(mine))[1])


@pytest.mark.parametrize("pattern", PATTERNS[:4])
def test_rows_with_padding_in_front_are_each_row_alone(pattern):
    mine = ours(made("llama"))
    use(mine, pattern)
    x, lengths = tokens(3, 9), [9, 2, 5]
    found, scores = said(
        mine, x, 20, attention_mask=padded(lengths, 9, "left"), past_key_values=PatternCache(mine, padding=7)
    )
    for row, n in enumerate(lengths):
        alone, want = said(mine, x[row : row + 1, 9 - n :], 20)
        assert torch.equal(found[row, 9 - n :], alone[0])
        assert close(scores[row], want[0])


def test_padding_that_was_not_announced_is_refused():
    mine = ours(made("llama"))
    use(mine, PATTERNS[1])
    with pytest.raises(ValueError, match=r"PatternCache\(model, padding=7\) keeps what it needs"):
        said(
            mine,
            tokens(3, 9),
            20,
            attention_mask=padded([9, 2, 5], 9, "left"),
            past_key_values=PatternCache(mine),
        )


def test_pieces_of_any_length_go_in():
    mine = ours(made("llama"))
    use(mine, [PATTERNS[1], "windowed(5)", None])
    x, cache = tokens(2, 50), PatternCache(mine)
    want = logits(mine, input_ids=x)
    for part, said_then in zip(
        x.split([7, 1, 20, 1, 1, 3, 17], dim=1), want.split([7, 1, 20, 1, 1, 3, 17], dim=1), strict=True
    ):
        assert close(logits(mine, input_ids=part, past_key_values=cache), said_then)
    assert [layer.keys.shape[2] for layer in cache.layers] == [8, 5, 50]


@pytest.mark.parametrize("more", [{"num_beams": 3}, {"num_return_sequences": 2, "num_beams": 2}])
def test_beams_keep_their_own_past(more):
    mine = ours(made("llama"))
    use(mine, PATTERNS[1])
    x = tokens(2, 6)
    want = mine.generate(input_ids=x, max_new_tokens=20, **GREEDY, **more)
    found = mine.generate(
        input_ids=x, max_new_tokens=20, **GREEDY, **more, past_key_values=PatternCache(mine)
    )
    assert torch.equal(found, want)


@pytest.mark.parametrize("helper", ["assistant_model", "prompt_lookup_num_tokens"])
def test_tokens_that_were_guessed_wrongly_are_taken_back(helper):
    mine = ours(made("llama"))
    use(mine, PATTERNS[1])
    x = tokens(1, 6)
    want = mine.generate(input_ids=x, max_new_tokens=25, **GREEDY, past_key_values=PatternCache(mine))
    more = {helper: ours(made("llama", seed=3)) if helper == "assistant_model" else 3}
    found = mine.generate(
        input_ids=x, max_new_tokens=25, **GREEDY, **more, past_key_values=PatternCache(mine)
    )
    assert torch.equal(found, want)


def test_the_bytes_stay():
    mine = ours(made("llama", max_position_embeddings=4096))
    use(mine, "strided(60) | global(4) & causal")
    cache, sizes = PatternCache(mine), []
    x = tokens(1, 5)
    with torch.no_grad():
        for _ in range(2000):
            x = mine(input_ids=x, past_key_values=cache).logits[:, -1:].argmax(-1)
            sizes.append(cache.nbytes)
    assert cache.get_seq_length() == 2004
    assert set(sizes[70:]) == {3 * 2 * 2 * 65 * 6 * 4}


def test_a_cache_of_another_pattern_is_refused():
    mine = ours(made("llama"))
    use(mine, "strided(6)")
    cache = PatternCache(mine)
    use(mine, "strided(9)")
    with pytest.raises(ValueError, match=r"made for strided\(6\).*the layer has strided\(9\)"):
        said(mine, tokens(1, 20), 3, past_key_values=cache)


def test_a_sliding_cache_that_dropped_what_a_pattern_sees_is_refused():
    mine = ours(made("mistral"))
    use(mine, "strided(12)")
    with pytest.raises(ValueError, match="the cache has dropped the keys before"):
        said(mine, tokens(1, 4), 20)
    found, scores = said(mine, tokens(1, 4), 20, past_key_values=PatternCache(mine))
    assert close(scores, logits(mine, input_ids=found)[:, 3:-1])


def test_a_static_cache_with_a_pattern_is_refused():
    mine = ours(made("llama"))
    use(mine, "strided(6)")
    with pytest.raises(ValueError, match=r"past_key_values=regard.hub.PatternCache\(model\)"):
        said(mine, tokens(1, 4), 9, cache_implementation="static")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: PatternCache(made("llama")), 'needs attn_implementation="regard", the model has "sdpa"'),
        (lambda: PatternCache(ours(made("llama")), positions="row"), "positions must be one of text, cache"),
        (lambda: PatternCache(ours(made("llama")), padding=-1), "padding must be at least 0"),
        (lambda: PatternCache(ours(made("llama")), "cache", 3), "takes rows without padding, got padding=3"),
        (lambda: PatternCache(ours(made("bert"))), "PatternCache is for causal models"),
        (lambda: PatternCache(torch.nn.Linear(2, 2)), "model must be a transformers model, got Linear"),
    ],
)
def test_what_has_no_bounded_cache(make, why):
    with pytest.raises(ValueError, match=why):
        make()


def test_a_cache_is_pickled_reset_and_cropped():
    mine = ours(made("llama"))
    use(mine, PATTERNS[1])
    x = tokens(1, 30)
    want = logits(mine, input_ids=x)
    cache = PatternCache(mine)
    logits(mine, input_ids=x[:, :20], past_key_values=cache)
    again = pickle.loads(pickle.dumps(cache))
    assert close(logits(mine, input_ids=x[:, 20:], past_key_values=again), want[:, 20:])
    assert cache.get_seq_length() == 20
    with pytest.raises(RuntimeError, match="activate_past_recording before crop"):
        cache.layers[0].crop(-3)
    with pytest.raises(ValueError, match="as a negative, got 3"):
        cache.layers[0].crop(3)
    cache.reset()
    assert close(logits(mine, input_ids=x, past_key_values=cache), want)
