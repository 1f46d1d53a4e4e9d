"""The models on which counters are compared: small, and each with something that counters get wrong."""

from __future__ import annotations

import torch
from torch import nn

from regard.cost.compare.counters import CounterComparison, compare
from regard.models import GPT, ConvNet, ConvNetConfig, GPTConfig, GridRNN, GridRNNConfig, ViT, ViTConfig
from regard.paper import tables
from regard.pattern import Causal, Pattern, Windowed


def _gpt(pattern: Pattern) -> GPT:
    return GPT(GPTConfig(vocab=1000, context=256, depth=4, width=128, heads=4, pattern=pattern))


def comparisons() -> list[CounterComparison]:
    """Every tool on every model."""
    torch_own = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0.0)
    ids = torch.zeros(1, 256, dtype=torch.long)
    images = torch.zeros(1, 1, 28, 28)
    return [
        compare("GPT, 4 layers of 128, 256 tokens, causal", _gpt(Causal()), ids),
        compare("the same, windowed(32)", _gpt(Windowed(size=32)), ids),
        compare(
            "ViT 28×28, patches of 4, 6 layers of 128",
            ViT(ViTConfig(image=28, patch=4, channels=1, classes=10, width=128, heads=4)),
            images,
        ),
        compare(
            "torch's own TransformerEncoderLayer, 128 wide, 256 tokens", torch_own, torch.zeros(1, 256, 128)
        ),
        compare(
            "grid RNN 28×28, patches of 4", GridRNN(GridRNNConfig(image=28, patch=4, classes=10)), images
        ),
        compare("ConvNet 28×28", ConvNet(ConvNetConfig(image=28, classes=10)), images),
    ]


def markdown(found: list[CounterComparison]) -> str:
    """The comparison as the document that the command saves."""
    lines = [
        "# Counters compared",
        "",
        "The same models, one forward pass on a CPU, through the counters in use. Made by"
        " `regard cost --compare --out docs/cost-compare.md`; tools that report MACs are taken times two."
        " The true value is `executed`, which equals `price`: multiplies and adds apart, k−1 adds for k"
        " terms, biases and residuals included, only the pairs that the pattern allows.",
    ]
    head = ["tool", "flops", "of the true value", "parameters", "why"]
    for one in found:
        true = f"True: **{one.flops:,}** flops ({one.macs:,} MACs), {one.parameters:,} parameters."
        rows = [
            [x.tool, _told(x.flops, ","), _told(x.ratio, ".4f"), _told(x.parameters, ","), x.why]
            for x in one.readings
        ]
        lines += ["", f"## {one.model}", "", true, "", tables.markdown(head, rows, right=(1, 2, 3))]
    return "\n".join(lines) + "\n"


def _told(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
