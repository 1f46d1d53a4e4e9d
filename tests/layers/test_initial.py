import subprocess
import sys

import torch
from torch import nn

from regard.layers.initial import without_memory
from regard.models import Encoder, EncoderConfig

SLOW = ("torch._dynamo", "torch.distributed.tensor", "torch.fx.experimental.symbolic_shapes", "sympy", "nltk")
OPENED = f"""
import sys
from regard.train import open_run
run = open_run("zoo:sentiment")
assert run.predict(["Not one dull minute."])[0].label in run.classes
print([name for name in {SLOW} if name in sys.modules])
"""


def test_nothing_is_drawn():
    state = torch.get_rng_state()
    with without_memory():
        model = Encoder(EncoderConfig(vocab=9, context=8, classes=2, depth=1, width=8, heads=2))
        assert nn.init.normal_(torch.empty(2, device="cpu"), mean=5.0).min() > 0  # of what has memory
    assert all(weight.is_meta for weight in model.parameters())
    torch.set_rng_state(state)
    plain = nn.Linear(3, 3)
    torch.set_rng_state(state)
    with without_memory():
        nn.Linear(9, 9)
    assert torch.equal(nn.Linear(3, 3).weight, plain.weight)


def test_a_model_of_the_zoo_answers_without_the_compiler():
    found = subprocess.run([sys.executable, "-c", OPENED], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("[]\n", "")
