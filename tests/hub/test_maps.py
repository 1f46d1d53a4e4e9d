"""Maps are the weights of the run itself, by name, and leave the model as it was."""

import threading

import pytest
import torch

from regard.hub import maps, use
from regard.pattern import Causal, parse
from tests.hub.families import FAMILIES, close, inputs, logits, made, ours, padded, tokens


@pytest.mark.parametrize("name", FAMILIES)
def test_every_layer_is_there_and_sums_to_one(name):
    mine = ours(made(name))
    seen = maps(mine, inputs(name, 2, 9))
    assert len(seen) == mine.config.num_hidden_layers
    for weights in seen.values():
        assert weights.shape[:2] == (2, mine.config.num_attention_heads)
        total = weights.sum(-1)
        if name != "gpt_oss":  # whose sinks take a part
            assert close(total, torch.ones_like(total))


def test_they_are_the_weights_of_eager():
    theirs = made("llama")
    theirs.set_attn_implementation("eager")
    given = {"input_ids": tokens(2, 12), "attention_mask": padded([12, 5], 12, "right")}
    seen = maps(ours(theirs), given)
    with torch.no_grad():
        want = theirs(**given, output_attentions=True).attentions
    assert list(seen) == [f"model.layers.{i}.self_attn.weights" for i in range(3)]
    real = given["attention_mask"].bool()
    for found, other in zip(seen.values(), want, strict=True):
        assert close(found.transpose(1, 2)[real], other.transpose(1, 2)[real])


def test_a_weight_is_zero_where_the_pattern_hides_the_key():
    mine = ours(made("qwen3"))
    use(mine, "strided(2) | global(1)")
    hidden = ~(parse("strided(2) | global(1)") & Causal()).dense(20)
    for weights in maps(mine, tokens(2, 20)).values():
        assert (weights[..., hidden] == 0).all()


def test_threads_see_their_own_run():
    mine = ours(made("llama"))
    want = {n: list(maps(mine, tokens(1, n)).values()) for n in (5, 9, 14, 23)}
    plain, wrong = logits(mine, input_ids=tokens(1, 5)), []

    def look(n):
        for _ in range(20):
            found = list(maps(mine, tokens(1, n)).values())
            if not all(torch.equal(a, b) for a, b in zip(found, want[n], strict=True)):
                wrong.append(n)

    threads = [threading.Thread(target=look, args=(n,)) for n in want]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert torch.equal(logits(mine, input_ids=tokens(1, 5)), plain)


def test_another_implementation_is_refused():
    with pytest.raises(ValueError, match='maps needs attn_implementation="regard", the model has "sdpa"'):
        maps(made("llama"), tokens(1, 3))
