"""Patterns given to models: one, one a layer, none; kept apart, saved, pickled, refused."""

import pickle

import pytest
import torch
from transformers import AutoModelForCausalLM, T5Config, T5ForConditionalGeneration

from regard.hub import open_folder, use
from regard.hub.models import attention_modules
from regard.pattern import Causal, Strided
from tests.hub.families import FAMILIES, close, logits, made, ours, pair, tokens


@pytest.mark.parametrize("name", FAMILIES)
def test_every_layer_is_found(name):
    mine = ours(made(name))
    assert len(attention_modules(mine)) == mine.config.num_hidden_layers


def test_two_models_keep_their_own_patterns():
    theirs, mine = pair("llama")
    other, x = ours(theirs), tokens(2, 20)
    use(mine, "strided(3)")
    use(other, ["strided(3)", None, "windowed(4)"])
    masks = [Strided(3).dense(20)[None, None], None]
    found = logits(mine, input_ids=x)
    assert close(found, logits(theirs, input_ids=x, attention_mask=masks[0]))
    assert not close(logits(other, input_ids=x), found)
    use(other, None)
    assert close(logits(other, input_ids=x), logits(theirs, input_ids=x))
    assert close(logits(mine, input_ids=x), found)


def test_use_turns_a_model_to_regard():
    model = made("llama")
    assert set(use(model, Strided(2)).values()) == {Strided(2)}
    assert model.config._attn_implementation == "regard"
    assert set(use(model, "causal").values()) == {Causal()}


def test_a_saved_model_is_the_models_own_again(tmp_path):
    theirs, mine = pair("llama")
    x = tokens(1, 9)
    use(mine, "strided(2)")
    mine.save_pretrained(tmp_path)
    for model in (
        AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="regard"),
        open_folder(tmp_path),
    ):
        assert model.config._attn_implementation == "regard"
        assert close(logits(model.eval(), input_ids=x), logits(theirs, input_ids=x))
    again = pickle.loads(pickle.dumps(mine))
    assert torch.equal(logits(again, input_ids=x), logits(mine, input_ids=x))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (["causal"], "one for each of the 3 layers, got 1"),
        ("strided(x)", "strided"),
        (3, "pattern must be"),
    ],
)
def test_wrong_patterns_are_refused_and_change_nothing(pattern, why):
    mine = ours(made("llama"))
    use(mine, "strided(2)")
    with pytest.raises(ValueError, match=why):
        use(mine, pattern)
    assert {module.regard_pattern for module in attention_modules(mine).values()} == {Strided(2)}


def test_models_of_two_stacks_take_no_pattern():
    config = T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    with pytest.raises(ValueError, match=r"does not let its attention be chosen|an encoder and a decoder"):
        use(T5ForConditionalGeneration(config), "causal")
    with pytest.raises(ValueError, match="model must be a transformers model, got Linear"):
        use(torch.nn.Linear(2, 2), "causal")
