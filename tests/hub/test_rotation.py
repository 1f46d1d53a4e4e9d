"""Positions counted in the cache: StreamingLLM written out, token by token, is what comes out."""

import pytest
import torch

from regard.hub import PatternCache, use
from tests.hub.families import close, made, ours, tokens

FIRST, RECENT = 2, 6
PATTERN = f"strided({RECENT - 1}) | global({FIRST}) & causal"


def streaming(model, x):
    """Logits by StreamingLLM: before each step, rotate all kept keys by their places in the cache.

    Here without a cache at all: a layer's input at earlier tokens does not depend on later ones, so each
    layer is run for every query over the keys that it keeps, at positions 0, 1, … of what is kept.
    """
    base = model.model
    h, n = base.embed_tokens(x), x.shape[1]
    for layer in base.layers:
        normed = layer.input_layernorm(h)
        rows = []
        for q in range(n):
            kept = [k for k in range(q + 1) if k < FIRST or k > q - RECENT]
            part = normed[:, kept]
            turn = base.rotary_emb(part, torch.arange(len(kept))[None])
            mask = torch.ones(1, 1, len(kept), len(kept)).tril().bool()
            rows.append(layer.self_attn(part, position_embeddings=turn, attention_mask=mask)[0][:, -1:])
        h = h + torch.cat(rows, dim=1)
        h = h + layer.mlp(layer.post_attention_layernorm(h))
    return model.lm_head(base.norm(h))


@pytest.mark.parametrize("parts", [[1] * 30, [30], [5, 1, 1, 11, 1, 3, 8]])
@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_it_is_streaming_llm(name, parts):
    theirs = made(name)
    mine = ours(theirs)
    use(mine, PATTERN)
    x = tokens(2, 30)
    with torch.no_grad():
        want = streaming(theirs, x)
        cache = PatternCache(mine, positions="cache")
        found = [mine(input_ids=part, past_key_values=cache).logits for part in x.split(parts, dim=1)]
    assert close(torch.cat(found, dim=1), want)
    assert cache.layers[0].keys.shape[2] == FIRST + RECENT
    with torch.no_grad():
        assert not close(mine(input_ids=x, past_key_values=PatternCache(mine)).logits, want)


@pytest.mark.parametrize("name", ["mistral", "phi3", "gemma3", "gpt_neox"])
def test_other_rotations_are_the_same_at_once_and_one_by_one(name):
    mine = ours(made(name))
    use(mine, PATTERN)
    x = tokens(1, 25)
    with torch.no_grad():
        whole = mine(input_ids=x, past_key_values=PatternCache(mine, positions="cache")).logits
        cache = PatternCache(mine, positions="cache")
        steps = [mine(input_ids=x[:, i : i + 1], past_key_values=cache).logits for i in range(25)]
    assert close(torch.cat(steps, dim=1), whole)


def test_models_without_rotation_are_refused():
    for name in ("gpt2", "opt"):
        mine = ours(made(name))
        use(mine, PATTERN)
        with pytest.raises(ValueError, match="needs rotary positions"):
            PatternCache(mine, positions="cache")


def test_a_rotation_that_changes_with_the_length_is_refused():
    scaled = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    mine = ours(made("llama", rope_parameters=scaled))
    use(mine, PATTERN)
    with pytest.raises(ValueError, match="does not change with the length, LlamaForCausalLM has dynamic"):
        PatternCache(mine, positions="cache")
