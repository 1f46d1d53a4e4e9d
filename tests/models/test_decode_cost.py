"""Generating is slower than training on as many tokens, though it does a third of the work."""

import pytest
import torch

from regard.models import GPT, GPTConfig, Untied
from regard.models.decode_cost import compare, weights_read

CONFIG = GPTConfig(vocab=100, context=256, depth=2, width=64, heads=4)


def test_generating_waits_and_reads_again():
    found = compare(GPT(CONFIG), tokens=128, repeats=1)
    assert found.depth_generating == 64 * found.depth_training
    assert found.bytes_generating == 64 * found.bytes_training
    assert found.as_dict()["tokens"] == 128


@pytest.mark.alone
def test_generating_takes_several_times_as_long():
    model = GPT(CONFIG, generator=torch.Generator().manual_seed(0))
    assert compare(model, tokens=128, repeats=5).slower > 3


def test_weights_that_are_looked_up_are_not_read():
    tied = GPT(CONFIG)
    untied = GPT(GPTConfig(**{**CONFIG.__dict__, "head": Untied(bias=False)}))
    assert weights_read(tied) == weights_read(untied)
    total = sum(weight.nbytes for weight in tied.parameters())
    assert weights_read(tied) == total - 4 * 256 * 64
