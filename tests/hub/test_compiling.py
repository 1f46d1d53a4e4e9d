"""Compiled whole, a model says what it says: with patterns, padding and documents; or it is refused."""

import pytest
import torch

from regard.hub import use
from tests.hub.families import close, inputs, logits, made, ours, padded, tokens


def compiled(model):
    torch._dynamo.reset()
    return torch.compile(model, fullgraph=True, backend="eager")


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("llama", "strided(4) | global(2)"), ("mistral", None), ("bert", "sparsestrided(3)")],
)
def test_logits_are_the_same(name, pattern):
    mine = ours(made(name, num_hidden_layers=1))
    use(mine, pattern)
    given = {**inputs(name, 2, 19), "attention_mask": padded([19, 7], 19, "left")}
    real = given["attention_mask"].bool()
    whole = compiled(mine)
    assert close(logits(whole, **given)[real], logits(mine, **given)[real])


def test_documents_stay_apart():
    mine = ours(made("llama", num_hidden_layers=1))
    use(mine, "strided(4) | global(2)")
    x = tokens(1, 15)
    positions = torch.cat([torch.arange(n) for n in (5, 1, 9)])[None]
    found = logits(compiled(mine), input_ids=x, position_ids=positions)
    want = torch.cat([logits(mine, input_ids=part) for part in x.split([5, 1, 9], dim=1)], dim=1)
    assert close(found, want)


def test_a_pattern_in_place_of_a_window_is_refused():
    mine = ours(made("mistral", num_hidden_layers=1))
    use(mine, "strided(2)")
    with pytest.raises(Exception, match="a pattern in a model with a mask of its own, as for a window"):
        logits(compiled(mine), input_ids=tokens(1, 9))
