import pytest
import torch
from torch import nn

from regard.cost.compare import counters
from regard.cost.compare.counters import Reading, compare, explain, landmarks
from regard.cost.compare.models import markdown
from regard.cost.executed import executed
from regard.errors import how_to_install
from regard.models import GPT, GPTConfig

TOKENS = torch.zeros(1, 8, dtype=torch.long)


@pytest.fixture(scope="module")
def model() -> GPT:
    return GPT(GPTConfig(vocab=30, context=8, depth=1, width=16, heads=2))


def test_every_tool_has_a_line(model):
    found = compare("small", model, TOKENS)
    assert [one.tool for one in found.readings] == list(counters.TOOLS)
    assert all(isinstance(one, Reading) and one.why and "\n" not in one.why for one in found.readings)
    assert found.flops == executed(model, TOKENS).flops
    assert found.parameters == sum(weight.numel() for weight in model.parameters())
    text = markdown([found])
    assert f"**{found.flops:,}**" in text
    assert text.count("| ") > 6


def test_a_tool_that_fails_is_one_line(model, monkeypatch):
    def fails(model, inputs):
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(counters, "TOOLS", {"x": ("torch", fails), "y": ("no_such_tool", fails)})
    first, second = compare("small", model, TOKENS).readings
    assert first.why == "fails: RuntimeError: first"
    assert first.flops is None
    assert f"not installed: {how_to_install('compare')}" in second.why


def test_reasons(model):
    true = executed(model, TOKENS)
    known = landmarks(true, 1000)
    assert explain("thop", true.flops, known) == "exact"
    assert explain("thop", 2 * true.macs, known).startswith("takes 2 per multiply")
    assert explain("thop", 0, known).startswith("sees nothing: ")
    assert explain("thop", None, known) == "gives no count"
    assert explain("torchinfo", 2000, known).startswith("counts each weight once")
    assert "counts more than there is" in explain("thop", 3 * true.flops, known)
    assert "elementwise work adds" in explain("thop", true.flops + 5, known)


def test_torch_misses_attention_on_a_cpu(model):
    found = {one.tool: one for one in compare("small", model, TOKENS).readings}
    assert "misses attention" in found["torch FlopCounterMode"].why


def test_tools_leave_nothing_behind():
    layer = nn.Linear(3, 3)
    mine = layer.register_forward_hook(lambda *_: None)
    before = set(vars(layer))
    compare("layer", layer, torch.zeros(2, 3))
    assert layer.training  # nor is it switched for their sake
    assert list(layer._forward_hooks) == [mine.id]
    assert not layer._buffers
    assert set(layer.state_dict()) == {"weight", "bias"}
    assert before <= set(vars(layer))
